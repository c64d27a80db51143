"""What a person types to choose layers, rectangles, points and time ranges."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mdstudio.engine.errors import NotFoundError, UsageError
from mdstudio.engine.model import Item
from mdstudio.engine.requests import Bbox
from mdstudio.engine.times import TimeAxis, parse_time

_UNITS = {  # unit -> (what it measures, its size)
    "mm": ("m", 0.001), "cm": ("m", 0.01), "m": ("m", 1.0), "metre": ("m", 1.0), "metres": ("m", 1.0),
    "meter": ("m", 1.0), "meters": ("m", 1.0), "km": ("m", 1000.0),
    "pa": ("Pa", 1.0), "hpa": ("Pa", 100.0), "mb": ("Pa", 100.0), "mbar": ("Pa", 100.0), "millibar": ("Pa", 100.0),
    "millibars": ("Pa", 100.0), "kpa": ("Pa", 1000.0), "bar": ("Pa", 100000.0), "dbar": ("Pa", 10000.0),
}
_VALUE = re.compile(r"(?P<number>[+-]?\d+(?:\.(?P<decimals>\d+))?)\s*(?P<unit>[A-Za-z]+)$")


def layer_index(item: Item, text: str) -> int:
    """The layer of `3` or `#3` (from 0; -1: the last) or of a value with its unit (`10m`, `500hPa`).

    A value names the layer that reads the same at the decimals given. Raises `NotFoundError` naming the nearest.
    """
    if item.layers is None:
        raise UsageError(f"The item '{item.name}' has no layers.", advice="Leave --layer out.")
    count = len(item.layers)
    try:
        index = int(text.removeprefix("#"))
    except ValueError:
        return _layer_at(item, text)
    if not -count <= index < count:
        raise NotFoundError(f"The item '{item.name}' has no layer {index}; it has {count}, from 0.")
    return index % count


def _layer_at(item: Item, text: str) -> int:
    assert item.layers is not None
    match = _VALUE.match(text.strip())
    if not match:
        raise UsageError(f"'{text}' is no layer.",
                         advice="Write an index such as 3, or a value with its unit such as 10m.")
    own = _UNITS.get(item.layers.unit.lower())
    given = _UNITS.get(match["unit"].lower())
    if own is None or given is None or own[0] != given[0]:
        if match["unit"].lower() != item.layers.unit.lower():
            unit = item.layers.unit
            why = f"are in '{unit}', not in '{match['unit']}'" if unit else f"have no unit, nor '{match['unit']}'"
            raise UsageError(f"The layers of '{item.name}' {why}.", advice="Give the layer's index instead.")
        own = given = ("", 1.0)
    values = [v * own[1] / given[1] for v in item.layers.values]
    decimals = len(match["decimals"] or "")
    wanted = abs(float(match["number"])) if item.layers.meaning == "depth" else float(match["number"])
    seen = [abs(v) for v in values] if item.layers.meaning == "depth" else values
    hits = [i for i, v in enumerate(seen) if f"{v:.{decimals}f}" == f"{wanted:.{decimals}f}"]
    if len(hits) == 1:
        return hits[0]
    near = min(range(len(seen)), key=lambda i: abs(seen[i] - wanted))
    if hits:
        raise UsageError(f"{len(hits)} layers read {text}; give more decimals or an index ({hits[0]} to {hits[-1]}).")
    raise NotFoundError(f"The item '{item.name}' has no layer at {text}; the nearest is "
                        f"{item.layers.values[near]:g} {item.layers.unit} (index {near}).")


def bbox(text: str) -> Bbox:
    """`x0,y0,x1,y1`, corners in any order."""
    x0, y0, x1, y1 = _numbers(text, 4, "a rectangle", "x0,y0,x1,y1 such as -10,50,5,60")
    return x0, y0, x1, y1


def polygon(text: str) -> str:
    """WKT of a POLYGON or MULTIPOLYGON, GeoJSON of it, or `@FILE` that holds either; what it says is checked when it is
    used."""
    if not text.strip():
        raise UsageError("The polygon is empty.", advice="Give a POLYGON or MULTIPOLYGON; leave it out to take all.")
    if not text.startswith("@"):
        return _from_geojson(text)
    try:
        found = Path(text[1:]).read_text(encoding="utf-8-sig").strip()
    except FileNotFoundError:
        raise NotFoundError("The file of the polygon is not there.", where=text[1:]) from None
    except UnicodeDecodeError:
        raise UsageError("The file of the polygon is no text.", where=text[1:]) from None
    if not found:
        raise UsageError("The file of the polygon is empty.", where=text[1:])
    return _from_geojson(found)


def _from_geojson(text: str) -> str:
    """WKT of what GeoJSON holds, several polygons as one MULTIPOLYGON; other text as it is."""
    if not text.lstrip().startswith("{"):
        return text
    import shapely
    from shapely.errors import ShapelyError

    try:
        shape = shapely.from_geojson(text)
    except (ShapelyError, ValueError) as error:
        raise UsageError(f"This is no GeoJSON: {str(error).splitlines()[0]}.") from None
    parts = list(shapely.get_parts(shape))
    if shape.geom_type != "GeometryCollection":
        return str(shape.wkt)
    if len(parts) == 1:
        return str(parts[0].wkt)
    polygons = [p for part in parts for p in shapely.get_parts(part) if p.geom_type == "Polygon"]
    return str(shapely.MultiPolygon(polygons).wkt)


def line(text: str) -> tuple[tuple[float, float], ...]:
    """`x,y x,y ...`, a LINESTRING as WKT or GeoJSON, or `@FILE` that holds one of them."""
    text = polygon(text).strip()
    if text.upper().startswith("LINESTRING"):
        import shapely
        from shapely.errors import ShapelyError

        try:
            return tuple((x, y) for x, y, *_ in shapely.from_wkt(text).coords)
        except (ShapelyError, ValueError) as error:
            raise UsageError(f"This is no LINESTRING: {str(error).splitlines()[0]}.") from None
    return tuple(point(part) for part in text.split())


def point(text: str) -> tuple[float, float]:
    """`x,y`."""
    x, y = _numbers(text, 2, "a point", "x,y such as 3.5,52.1")
    return x, y


def points_of_csv(path: str) -> list[tuple[float, float]]:
    """Points from the first two columns of a CSV file; a first line that holds no numbers is a header."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("The file of points is no text.", where=path) from None
    separator = ";" if ";" in text.partition("\n")[0] else ","
    rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if any(cell.strip() for cell in row)]
    result: list[tuple[float, float]] = []
    for number, row in enumerate(rows):
        try:
            x, y = (float(cell) for cell in row[:2])
            if not (math.isfinite(x) and math.isfinite(y)):
                raise ValueError
        except ValueError:
            if number == 0:
                continue
            raise UsageError(f"Row {number + 1} holds no point x{separator}y: '{separator.join(row)}'.",
                             where=path) from None
        result.append((x, y))
    if not result:
        raise UsageError("There is no point in the file.", where=path)
    return result


def time_range(times: TimeAxis, first: str | None, last: str | None) -> tuple[int, int]:
    """Start and stop (excluded) of the times from `first` to `last`, both included; raises `NotFoundError` for none."""
    start = 0 if first is None else _bound(times, first, "left")
    stop = len(times) if last is None else _bound(times, last, "right")
    if start >= stop:
        raise NotFoundError(f"There is no time from {first or 'the start'} to {last or 'the end'}; the dataset has "
                            f"{times.text(0)} to {times.text(len(times) - 1)}.")
    return start, stop


def times_of(times: TimeAxis, texts: Sequence[str]) -> list[int]:
    """Sorted indices of the times that texts name: each an ISO 8601 time, an index (`#0`, `#-1`), or a range of two of
    them, both included (`#2/#5`, `2019-01-01/2019-01-31T18:00`; an end left out is the dataset's).

    Raises `NotFoundError` for a time that is not there and for a range that holds none.
    """
    found: set[int] = set()
    for text in texts:
        first, slash, last = text.partition("/")
        if slash:
            found.update(range(*time_range(times, first or None, last or None)))
        else:
            found.add(times.find(text))
    return sorted(found)


def split_names(text: str, option: str) -> list[str]:
    """Names between commas; `\\,` is a comma within one. Raises `UsageError` where there is none."""
    names = [""]
    for piece in text.split(","):
        if names[-1].endswith("\\"):
            names[-1] = f"{names[-1][:-1]},{piece}"
        else:
            names.append(piece)
    found = [name.strip() for name in names[1:] if name.strip()]
    if not found:
        raise UsageError(f"{option} names no item.", advice="Leave it out to take all of them.")
    return found


def _bound(times: TimeAxis, text: str, side: str) -> int:
    if text.startswith("#") or times.static:
        return times.find(text) + (side == "right")
    wanted = parse_time(text, times.calendar)
    return int(np.searchsorted(times.microseconds, wanted, "right" if side == "right" else "left"))


def _numbers(text: str, count: int, what: str, form: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        raise UsageError(f"'{text}' is not {what}.", advice=f"Write {form}.")
    return values
