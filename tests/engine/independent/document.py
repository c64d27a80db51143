"""`dataset.json` as the specification describes it: numbers, items, times and the name of each time."""

from __future__ import annotations

import json
import struct
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.codecs.independent_reader import RefusedError, must

Values = np.ndarray[Any, Any]
NAMES = ("None", "DeflateFast", "DeflateOptimal", "LZ4", "DeflateOptimalAuto", "ZstdAuto", "ZstdFastAuto")
MICROSECONDS = 1_000_000
DAY = 86_400 * MICROSECONDS


def parsed(text: bytes) -> Any:
    """JSON without NaN tokens, numbers beyond float64 and a byte order mark."""

    def no_token(token: str) -> None:
        raise RefusedError(f"{token} is no JSON")

    def real(token: str) -> float:
        value = float(token)
        must(abs(value) != float("inf"), f"{token} is beyond float64")
        return value

    try:
        return json.loads(text.decode("utf-8"), parse_constant=no_token, parse_float=real)
    except ValueError as error:
        raise RefusedError(f"no JSON: {error}") from error


def number(value: Any) -> int | float | None:
    """A number of the document: an exact int, or a float, `$float` included."""
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    text = value["$float"]
    if text.startswith("NaN:"):
        return float(struct.unpack(">d", bytes.fromhex(text[4:]))[0])
    return float(text)


def stored_pattern(value: int | float | None, dtype: str) -> bytes | None:
    """The bytes of a no-data value in the type of an item; None where the type cannot hold it."""
    if value is None:
        return None
    kind = np.dtype(dtype)
    if kind.kind == "f":
        bits = np.float64(value)
        if dtype == "float32" and np.isnan(bits):  # the upper bits of the payload, and quiet
            wide = int(bits.view(np.uint64))
            narrow = wide >> 63 << 31 | 0x7FC00000 | wide >> 29 & 0x7FFFFF
            return struct.pack("<I", narrow)
        return bits.astype("<" + kind.str[1:]).tobytes()
    if value != value or Fraction(value).denominator != 1:
        return None
    bounds = np.iinfo(kind)
    if not bounds.min <= value <= bounds.max:
        return None
    return int(value).to_bytes(kind.itemsize, "little", signed=kind.kind == "i")


@dataclass(frozen=True)
class Item:
    """An entry of `Items`."""

    name: str
    folder: str
    dtype: str
    no_data: int | float | None
    layers: int  # 0: none
    kind: str
    components: int
    location: str

    @property
    def pattern(self) -> bytes | None:
        """The bytes of a cell without data; of a vector, of each component."""
        return stored_pattern(self.no_data, self.dtype)

    @property
    def size(self) -> int:
        """Bytes of a cell."""
        return np.dtype(self.dtype).itemsize * self.components

    @property
    def blob_layers(self) -> list[int]:
        return [-1] if not self.layers or self.kind in ("ZLevel", "Sigma") else list(range(self.layers))


class Document:
    """The metadata of a dataset in a folder."""

    def __init__(self, folder: Path) -> None:
        self.raw = parsed((folder / "dataset.json").read_bytes())
        kept = self.raw["ItemStorage"]
        self.is_mesh = self.raw["Kind"] == "Mesh"
        self.domain = self.raw["SpatialDomain"]
        self.schema = self.raw.get("SchemaVersion") or 1
        self.version: int | None = kept.get("LayoutVersion")
        self.storage_type: str = kept["StorageType"]
        self.group = kept.get("TimeGroupSize") or 0
        self.tile_width = kept.get("GridTileWidth") or 128
        self.page_size = kept.get("CompressedMeshPageSize")
        self.block_rows = kept.get("TimeSeriesBlockRows")
        self.group_size = kept.get("SpatialGroupSize")
        self.z_count = kept.get("ZLevelPagedNodeCount")
        self.fixed_step = bool(kept.get("FixedStep"))
        self.items = [_item(one) for one in self.raw["Items"]]
        times = self.raw["Times"]
        self.calendar, self.static = times.get("Calendar") or "standard", bool(times.get("Static"))
        self.times = [first + step * i for first, step, count in times["Runs"] for i in range(count)]
        must(times["Count"] == len(self.times), "Count is not that of Runs")
        must(all(a < b for a, b in zip(self.times, self.times[1:], strict=False)), "times that do not increase")
        self.compression = self._compression(folder, kept.get("Compression"))
        self._guard()

    @property
    def compressed(self) -> bool:
        return self.compression != "None"

    def _compression(self, folder: Path, value: str | int | None) -> str:
        name = "None" if value is None else NAMES[value] if isinstance(value, int) else value
        if self.is_mesh and self.storage_type == "SingleTimestep" and name != "None" and self.version is None:
            first = folder / self.items[0].folder  # V2
            if not any((first / layer / f"{self.key(0)}.idx").exists() for layer in ("L-1", "L0000")):
                return "None"
        return name

    def _guard(self) -> None:
        must((self.version or 0) <= 3, "MD-G001")
        must(self.compression in NAMES, "MD-G002")
        kinds = {item.kind for item in self.items}
        if self.compressed:
            series = self.storage_type == "TimeSeries"
            allowed = {"Single"} if not self.is_mesh or series else {"Single", "ZLevel"}
            must(kinds <= allowed and not self.domain.get("Sigma"), "MD-G003")
            lacks = self.block_rows is None if series else self.is_mesh and self.page_size is None
            must(not lacks, "MD-G005")
        must(self.storage_type in ("SingleTimestep", "MultiTimestep", "TimeSeries"), "MD-G006")

    def item(self, name: str) -> Item:
        return next(one for one in self.items if one.name == name)

    def key(self, time: int) -> str:
        """The name of a time in the blobs of SingleTimestep."""
        if self.static:
            return "static"
        days, rest = divmod(self.times[time], DAY)
        year, month, day = date_of(days, self.calendar)
        seconds, fraction = divmod(rest, MICROSECONDS)
        text = f"{abs(year):04d}{month:02d}{day:02d}T{seconds // 3600:02d}{seconds // 60 % 60:02d}{seconds % 60:02d}"
        text += f".{fraction:06d}".rstrip("0") if fraction else ""
        return ("n" if year < 0 else "") + text


def _item(entry: dict[str, Any]) -> Item:
    layers = entry.get("Layers")
    return Item(entry["Name"], entry["Folder"], entry["DataType"], number(entry.get("NoData")),
                len(layers["Values"]) if layers else 0, entry.get("ValueKind") or "Single",
                entry.get("Components") or 1, entry.get("Location") or "Cell")


def date_of(days: int, calendar: str) -> tuple[int, int, int]:
    """Year, month, day of a day counted from 1970-01-01 of a calendar."""
    if calendar == "360_day":
        months, day = divmod(days + 1970 * 360, 30)
        return months // 12, months % 12 + 1, day + 1
    if calendar in ("noleap", "all_leap"):
        length = 365 if calendar == "noleap" else 366
        year, rest = divmod(days + 1970 * length, length)
        return year, *_month(rest, calendar == "all_leap")
    if calendar == "julian":
        return _leap_date(days + _days(1970, julian=True), julian=True)
    count = days + _days(1970, julian=False)  # days since 0000-01-01 of the proleptic Gregorian calendar
    if calendar == "standard" and count < _days(1582, julian=False) + 287:  # before 15 October 1582
        return _leap_date(count + 2, julian=True)
    return _leap_date(count, julian=False)


def _days(year: int, *, julian: bool) -> int:
    """Days from 1 January of year 0 to that of `year`."""
    before = year - 1
    leaps = before // 4 + 1 if julian else before // 4 - before // 100 + before // 400 + 1
    return 365 * year + leaps


def _leap_date(days: int, *, julian: bool) -> tuple[int, int, int]:
    year = min(days // 365, days // 366) - 1
    while _days(year + 1, julian=julian) <= days:
        year += max(1, (days - _days(year + 1, julian=julian)) // 366)
    leap = year % 4 == 0 and (julian or year % 100 != 0 or year % 400 == 0)
    return year, *_month(days - _days(year, julian=julian), leap)


def _month(day: int, leap: bool) -> tuple[int, int]:
    starts = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
    starts = [start + (leap and month > 1) for month, start in enumerate(starts)]
    month = bisect_right(starts, day)
    return month, day - starts[month - 1] + 1
