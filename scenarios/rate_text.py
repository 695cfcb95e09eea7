"""Pass rates, causes, times and comparisons as people read them."""

from collections.abc import Mapping

from webmcp_agent.scenarios.console import seconds
from webmcp_agent.scenarios.pass_rates import Comparison, Rate, Statistics, causes_of

MOST_POWERS = 10
"""The largest k of the pass^k that are shown."""


def percent(share: float) -> str:
    """0.745 as `75 %`."""
    return f"{share * 100:.0f} %"


def rate_text(rate: Rate) -> str:
    """How many of how many."""
    return f"{rate.passed} of {rate.total}"


def causes_text(causes: Mapping[str, int]) -> str:
    """`3 wrong-tool, 1 no-call`."""
    return ", ".join(f"{count} {cause}" for cause, count in causes.items())


def statistics_lines(statistics: Statistics) -> list[tuple[str, str]]:
    """What results say together, each with its label."""
    rate = statistics.rate
    low, high = rate.interval
    lines = [
        ("rate", f"{percent(rate.share)} of {rate.total}; 95 % sure: {_between(low, high)}"),
    ]
    powers = {k: power for k, power in statistics.powers.items() if 1 < k <= MOST_POWERS}
    if powers:
        text = ", ".join(f"{k} times {percent(power)}" for k, power in powers.items())
        lines.append(("in a row", text))
    if causes := causes_of(statistics.judged):
        lines.append(("why", causes_text(causes)))
    if statistics.errors:
        lines.append(("", f"{statistics.errors} could not be judged and count in no rate"))
    lines.append(("a case", f"{_times(statistics)}; {_tokens(statistics)}"))
    return lines


def comparison_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """What is compared, before, and after."""
    old, new = comparison.before, comparison.after
    causes = dict.fromkeys([*causes_of(old.judged), *causes_of(new.judged)])
    old_causes, new_causes = causes_of(old.judged), causes_of(new.judged)
    return [
        ("passed", rate_text(old.rate), rate_text(new.rate)),
        ("rate", percent(old.rate.share), percent(new.rate.share)),
        ("95 % sure", _between(*old.rate.interval), _between(*new.rate.interval)),
        *(
            (cause, str(old_causes.get(cause, 0)), str(new_causes.get(cause, 0)))
            for cause in causes
        ),
        *(
            (f"{name} a case", seconds(old.ms[name]), seconds(new.ms[name]))
            for name in ("total", "model", "page", "own")
        ),
        *(
            (f"tokens {name}", f"{old.tokens[key]:.0f}", f"{new.tokens[key]:.0f}")
            for name, key in (("read", "prompt"), ("written", "completion"))
        ),
        ("model", _models(old), _models(new)),
    ]


def verdict_text(comparison: Comparison) -> str:
    """Whether the difference is more than chance."""
    low, high = (f"{bound * 100:+.0f}" for bound in comparison.interval)
    what = f"{comparison.difference * 100:+.0f} points, 95 % sure: {low} to {high}"
    count = len(comparison.after.cases)
    cases = "1 case" if count == 1 else f"{count} cases"
    if not count:
        return "undecided: no case was judged in both"
    return f"{comparison.verdict}: {what} ({cases} in both)"


def _between(low: float, high: float) -> str:
    return f"{low * 100:.0f} to {high * 100:.0f} %"


def _times(statistics: Statistics) -> str:
    ms = statistics.ms
    parts = ", ".join(f"{name} {seconds(ms[name])}" for name in ("model", "page", "own"))
    return f"{seconds(ms['total'])}: {parts}"


def _tokens(statistics: Statistics) -> str:
    tokens = statistics.tokens
    kept = f" ({tokens['cached']:.0f} kept)" if tokens["cached"] else ""
    return f"{tokens['prompt']:.0f} tokens read{kept}, {tokens['completion']:.0f} written"


def _models(statistics: Statistics) -> str:
    names = dict.fromkeys(record.model for record in statistics.judged if record.model)
    return ", ".join(names) or "unknown"
