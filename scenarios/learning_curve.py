"""A learning curve as a picture: loss by step, smoothed, and the held-out loss, in one SVG."""

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 40, 44
_STYLE = (
    "text{font:13px sans-serif;fill:#444}.t{font-size:15px;fill:#111}.g{stroke:#ddd}"
    ".r{fill:none;stroke:#9db7e0;stroke-width:1}.s{fill:none;stroke:#1f57b5;stroke-width:2.5}"
    ".h{fill:none;stroke:#c2410c;stroke-width:2}.p{fill:#c2410c}"
)


def smoothed(values: Sequence[float], weight: float = 0.95) -> list[float]:
    """A running mean that forgets; the first values count fully."""
    mean, total, out = 0.0, 0.0, list[float]()
    for value in values:
        mean = weight * mean + (1 - weight) * value
        total = weight * total + (1 - weight)
        out.append(mean / total)
    return out


def curve_svg(
    losses: Sequence[float], held_out: Sequence[tuple[int, float]] = (), title: str = "Loss"
) -> str:
    """The picture; `losses` by step, `held_out` as (step, loss). Without any, an empty frame."""
    highest = max([*losses, *(loss for _, loss in held_out), 0.1])
    steps = max(len(losses), 1)

    def at(step: float, loss: float) -> str:
        x = _LEFT + (WIDTH - _LEFT - _RIGHT) * step / steps
        y = HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * min(loss, highest) / highest
        return f"{x:.1f},{y:.1f}"

    def line(kind: str, points: Sequence[tuple[float, float]]) -> str:
        path = " ".join(at(step, loss) for step, loss in points)
        return f'<polyline class="{kind}" points="{path}"/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text class="t" x="{_LEFT}" y="24">{escape(title)}</text>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x1, y = at(0, highest * share).split(",")
        parts.append(f'<line class="g" x1="{x1}" y1="{y}" x2="{WIDTH - _RIGHT}" y2="{y}"/>')
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y}" text-anchor="end">{highest * share:.2f}</text>'
        )
        x = at(steps * share, 0).split(",")[0]
        label = f"{round(steps * share)}"
        parts.append(f'<text x="{x}" y="{HEIGHT - 22}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{WIDTH // 2}" y="{HEIGHT - 6}" text-anchor="middle">step</text>')
    if losses:
        parts.append(line("r", list(enumerate(losses, 1))))
        parts.append(line("s", list(enumerate(smoothed(losses), 1))))
    if held_out:
        parts.append(line("h", held_out))
        parts += [
            f'<circle class="p" r="3.5" cx="{x}" cy="{y}"/>'
            for x, y in (at(step, loss).split(",") for step, loss in held_out)
        ]
    right = WIDTH - _RIGHT
    parts.append(
        f'<text x="{right}" y="24" text-anchor="end">blue: training, orange: held out</text></svg>'
    )
    return "\n".join(parts) + "\n"
