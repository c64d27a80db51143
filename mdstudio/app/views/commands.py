"""The command line of what a view shows (G9): `mdstudio query ...` with the same request that the view reads by. No Qt.

Values are joined to their option by "=", since a rectangle or point may begin with a minus.
"""

from __future__ import annotations

from collections.abc import Sequence

from mdstudio.engine.requests import AreaRequest, Bbox, LineRequest
from mdstudio.engine.storage import redact
from mdstudio.engine.times import TimeAxis
from mdstudio.jobs.recipe import command_text


def inspect_command(location: str) -> str:
    return command_text(["mdstudio", "inspect", redact(location)])


def pages_command(location: str, item: str, times: TimeAxis, time: int, layer: int | None) -> str:
    """The page table of one slice."""
    return command_text(["mdstudio", "inspect", redact(location), "--pages", *_slice(item, times, time, layer)])


def map_command(location: str, item: str, times: TimeAxis, time: int, layer: int | None, bbox: Bbox | None = None,
                polygon: str = "", out: str = "") -> str:
    """One layer of one item at one time, the whole slice, a rectangle or a polygon in WKT."""
    words = ["mdstudio", "query", "map", redact(location), *_slice(item, times, time, layer), *_area(bbox, polygon)]
    return command_text([*words, *([f"--out={out}"] if out else []), "--explain"])


def area_command(location: str, request: AreaRequest) -> str:
    """Statistics of an area over all times."""
    return command_text(["mdstudio", "query", "area", redact(location), *_item(request.item, request.layer),
                         *_area(request.bbox, request.polygon), "--explain"])


def line_command(location: str, times: TimeAxis, request: LineRequest) -> str:
    """Values along a line at the first of its times."""
    line = " ".join(f"{_plain(x)},{_plain(y)}" for x, y in request.line)
    words = _slice(request.item, times, request.start or 0, request.layer)
    return command_text(["mdstudio", "query", "line", redact(location), *words, f"--line={line}", "--explain"])


def series_command(location: str, item: str, layer: int | None, points: Sequence[tuple[float, float]],
                   out: str = "") -> str:
    """Values at points over all times."""
    words = ["mdstudio", "query", "series", redact(location), *_item(item, layer)]
    words += [f"--point={_plain(x)},{_plain(y)}" for x, y in points]
    return command_text([*words, *([f"--out={out}"] if out else []), "--explain"])


def _slice(item: str, times: TimeAxis, time: int, layer: int | None) -> list[str]:
    words = [f"--item={item}", f"--time={times.text(time) or f'#{time}'}"]
    return [*words, *([] if layer is None else [f"--layer={layer}"])]


def _item(item: str, layer: int | None) -> list[str]:
    return [f"--item={item}", *([] if layer is None else [f"--layer={layer}"])]


def _area(bbox: Bbox | None, polygon: str) -> list[str]:
    box = [] if bbox is None else ["--bbox=" + ",".join(_plain(value) for value in bbox)]
    return [*box, *([f"--polygon={polygon}"] if polygon else [])]


def polygon_text(corners: Sequence[tuple[float, float]]) -> str:
    """POLYGON in WKT of the corners of a ring, in turn; "" for none."""
    ring = ", ".join(f"{_plain(x)} {_plain(y)}" for x, y in (*corners, *corners[:1]))
    return f"POLYGON (({ring}))" if corners else ""


def _plain(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value)).removesuffix(".0")
