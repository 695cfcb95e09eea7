"""Where secrets can be read on a page: in its fields and in its text, by the protocol alone.

Looks through shadow roots, closed ones too, and frames of the page's process; a frame of another
process is covered as a whole. Not found: a secret in a picture, in a canvas, or spread over several
elements.
"""

from collections.abc import Sequence
from typing import Any

from webmcp_agent.browser.cdp import CdpSession
from webmcp_agent.browser.recording_cutting import Box

_ROOM = 3
"""CSS pixels around each place."""


async def boxes_of(cdp: CdpSession, secrets: Sequence[str], scale: float) -> tuple[Box, ...]:
    """The places in what is in view now, in pixels at `scale`. Raises: Playwright's `Error`."""
    if not secrets:
        return ()
    told = await cdp.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
    documents: list[dict[str, Any]] = told["documents"]
    strings: list[str] = told["strings"]
    found: list[tuple[float, float, float, float]] = []
    if documents:
        _search(documents, 0, 0.0, 0.0, strings, secrets, found)
    return tuple(
        (
            int((left - _ROOM) * scale),
            int((top - _ROOM) * scale),
            int((left + width + _ROOM) * scale) + 1,
            int((top + height + _ROOM) * scale) + 1,
        )
        for left, top, width, height in found
    )


def _search(
    documents: list[dict[str, Any]],
    number: int,
    left: float,
    top: float,
    strings: list[str],
    secrets: Sequence[str],
    found: list[tuple[float, float, float, float]],
) -> None:
    """Add the places in a document whose corner lies at `left`, `top` of what is in view."""
    document = documents[number]
    nodes, layout = document["nodes"], document["layout"]
    names: list[int] = nodes["nodeName"]
    left -= document.get("scrollOffsetX") or 0
    top -= document.get("scrollOffsetY") or 0
    values = _values(nodes, strings)
    inner = _sparse(nodes.get("contentDocumentIndex"))
    places: list[tuple[int, list[float], int]] = list(
        zip(layout["nodeIndex"], layout["bounds"], layout["text"], strict=True)
    )
    for node, (x, y, width, height), text in places:
        place = (left + x, top + y, width, height)
        if node in inner:
            _search(documents, inner[node], left + x, top + y, strings, secrets, found)
        elif strings[names[node]] in {"IFRAME", "FRAME"}:
            found.append(place)
        shown = values.get(node, "") + (strings[text] if text >= 0 else "")
        if any(secret in shown for secret in secrets):
            found.append(place)


def _values(nodes: dict[str, Any], strings: list[str]) -> dict[int, str]:
    """What is in each field."""
    values: dict[int, str] = {}
    for kind in ("inputValue", "textValue"):
        for node, text in _sparse(nodes.get(kind)).items():
            if text >= 0:
                values[node] = values.get(node, "") + strings[text]
    return values


def _sparse(data: dict[str, list[int]] | None) -> dict[int, int]:
    return dict(zip(data["index"], data["value"], strict=True)) if data else {}
