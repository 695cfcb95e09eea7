"""Where two pictures of a page differ, as a few boxes that a person would draw."""

from collections.abc import Iterable

from PIL import Image, ImageChops

from webmcp_agent.browser.recording_cutting import Box

CELL = 8
"""Pixels: the grid on which changes are looked for."""
MOST_BOXES = 3
WHOLE_PAGE = 0.45
"""Share of the picture from which on everything changed, and nothing stands out."""
_NOISE = 20
"""Steps of brightness that a lossy picture differs in by itself."""
_NEAR = 3
"""Cells: changes this close belong together."""


def changed_boxes(before: Image.Image, after: Image.Image) -> list[Box]:
    """The places that changed, largest first, at most `MOST_BOXES`; none for another page.

    Both pictures are RGB and of one size; boxes are in their pixels."""
    marked = difference_of(before, after).point([0] * _NOISE + [255] * (256 - _NOISE))
    grid = marked.reduce(CELL).point([0] * 6 + [255] * 250)
    boxes = [_pixels(box, before.size) for box in _joined(_islands(grid))]
    width, height = before.size
    if sum(map(_area, boxes)) > WHOLE_PAGE * width * height:
        return []
    return sorted(boxes, key=_area, reverse=True)[:MOST_BOXES]


def difference_of(one: Image.Image, other: Image.Image) -> Image.Image:
    """How far two RGB pictures lie apart, in the channel where they lie furthest apart."""
    red, green, blue = ImageChops.difference(one, other).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue)


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _pixels(box: Box, size: tuple[int, int]) -> Box:
    left, top, right, bottom = (edge * CELL for edge in box)
    return left, top, min(right, size[0]), min(bottom, size[1])


def _islands(grid: Image.Image) -> list[Box]:
    """The bounds of each connected group of marked cells."""
    width, height = grid.size
    cells = bytearray(grid.tobytes())
    found: list[Box] = []
    for start, value in enumerate(cells):
        if not value:
            continue
        cells[start] = 0
        left, top, right, bottom = width, height, 0, 0
        open_cells = [start]
        while open_cells:
            y, x = divmod(open_cells.pop(), width)
            left, top, right, bottom = min(left, x), min(top, y), max(right, x), max(bottom, y)
            for near_y in range(max(0, y - 1), min(height, y + 2)):
                for near_x in range(max(0, x - 1), min(width, x + 2)):
                    if cells[near := near_y * width + near_x]:
                        cells[near] = 0
                        open_cells.append(near)
        found.append((left, top, right + 1, bottom + 1))
    return found


def _joined(boxes: Iterable[Box]) -> list[Box]:
    """Boxes that are near to each other as one."""
    joined: list[Box] = []
    for box in boxes:
        one = box
        while near := next((other for other in joined if _is_near(one, other)), None):
            joined.remove(near)
            left, top = min(one[0], near[0]), min(one[1], near[1])
            one = left, top, max(one[2], near[2]), max(one[3], near[3])
        joined.append(one)
    return joined


def _is_near(one: Box, other: Box) -> bool:
    return (
        one[0] - _NEAR <= other[2]
        and other[0] - _NEAR <= one[2]
        and one[1] - _NEAR <= other[3]
        and other[1] - _NEAR <= one[3]
    )
