"""The header of a message as plain data: what it is of, at which level, for which time and member, and how packed."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from mdstudio.engine.model import Hint
from mdstudio.sources.grib.framing import Place
from mdstudio.sources.grib.library import MISSING, Header, UndecodableError

MULADD64, MULADDMUL64 = 1, 4
_LINEAR = ("grid_simple", "grid_complex", "grid_second_order", "grid_jpeg", "grid_png", "grid_ccsds", "grid_run_length")
_EPOCH = datetime.datetime(1970, 1, 1)
_NEGATIVE = 1 << 31  # GRIB2 writes negative levels as sign and magnitude, which ecCodes reads as one number

# what tells two messages apart that are otherwise for the same item, time and place (`grouping`)
DETAILS = (
    "percentileValue", "probabilityType", "scaledValueOfLowerLimit", "scaledValueOfUpperLimit", "derivedForecast",
    "quantileValue", "numberOfQuantiles", "aerosolType", "constituentType", "scaledValueOfFirstSize",
    "scaledValueOfSecondSize", "scaledValueOfFirstWavelength", "scaledValueOfCentralWaveNumber", "satelliteNumber",
    "instrumentType", "waveDirectionNumber", "waveFrequencyNumber", "directionNumber", "frequencyNumber",
    "productDefinitionTemplateNumber", "typeOfEnsembleForecast", "typeOfGeneratingProcess",
    "generatingProcessIdentifier", "backgroundProcess", "typeOfStatisticalProcessing", "dataType", "stream", "expver",
    "methodNumber", "tile", "subCentre")


@dataclass(frozen=True)
class Parameter:
    """What a message holds values of.

    Attributes:
        name: ecCodes' short name; `param_` and the numbers of the message where it knows none.
        attributes: of the item, from the first message.
    """

    name: str
    identity: tuple[int, ...]
    long_name: str
    standard_name: str
    unit: str
    attributes: dict[str, Any] = field(hash=False, compare=False)


@dataclass(frozen=True, slots=True)
class Level:
    """Where in the vertical: a type, its unit, and the first and second surface (equal where there is one)."""

    kind: str
    unit: str
    first: float
    second: float

    @property
    def middle(self) -> float:
        return self.first if self.first == self.second else (self.first + self.second) / 2


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a file.

    Attributes:
        grid: bytes that say where its points lie.
        step_type: "instant", "accum", "avg", "max", ...
        window: seconds that it is a statistic of; 0 for an instant.
        from_start: the window begins with the forecast.
        reference, valid: microseconds since 1970; valid is the end of the window.
        member: number in an ensemble, None where it has none.
        hint: how its floats are made of whole numbers, None where they are not.
    """

    place: Place
    grid: bytes
    parameter: Parameter
    level: Level
    step_type: str
    window: int
    from_start: bool
    reference: int
    valid: int
    member: int | None
    hint: Hint | None


def field_of(header: Header, place: Place, grid: bytes) -> Field:
    """The field of a header. Raises `UndecodableError` with the reason, such as a time that is none."""
    reference = _reference(header)
    start, end = (_step_seconds(header, key) for key in ("startStep", "endStep"))
    valid = _valid(header, reference, end)
    member = header.number("perturbationNumber", header.number("number"))
    step_type = header.text("stepType") or "instant"
    window = max(0, end - start) if step_type != "instant" else 0
    return Field(place, grid, _parameter(header), _level(header), step_type, window, start == 0, reference, valid,
                 None if member == MISSING else member, _hint(header))


def details_of(header: Header) -> tuple[str, ...]:
    """The values of `DETAILS`, "" where the message has none."""
    return tuple(header.text(key) for key in DETAILS)


def _parameter(header: Header) -> Parameter:
    edition = header.number("edition")
    keys = ("discipline", "parameterCategory", "parameterNumber") if edition == 2 else (
        "table2Version", "indicatorOfParameter")
    numbers = tuple(header.number(key, -1) for key in keys)
    known, identity = header.text("shortName"), header.number("paramId", 0)
    name = known if known not in ("", "~") else "param_" + "_".join(str(n) for n in numbers)
    unit = header.text("units")
    attributes: dict[str, Any] = {"GRIB_" + key: value for key, value in (
        ("paramId", identity or None), ("shortName", known or None), *zip(keys, numbers, strict=True),
        ("typeOfLevel", header.text("typeOfLevel") or None), ("stepType", header.text("stepType") or None),
        ("packingType", header.text("packingType")), ("bitsPerValue", header.number("bitsPerValue", 0)),
        ("uvRelativeToGrid", header.number("uvRelativeToGrid", 0) or None)) if value is not None}
    return Parameter(name, (identity,) if identity else (edition, header.number("centre", 0), *numbers),
                     header.text("name"), header.text("cfName"), {"~": "", "(0 - 1)": "1"}.get(unit, unit), attributes)


def _level(header: Header) -> Level:
    kind = header.text("typeOfLevel")
    if header.number("edition") == 1:
        first, second = header.real("topLevel", 0.0), header.real("bottomLevel", 0.0)
        return Level(kind or f"level_{header.number('indicatorOfTypeOfLevel')}", _unit_1(kind), first, second)
    types = [header.number(f"typeOf{which}FixedSurface", 255) for which in ("First", "Second")]
    first = _surface(header, "First") if types[0] != 255 else 0.0
    second = _surface(header, "Second") if types[1] not in (255, 1) and types[1] == types[0] else first
    unit = header.text("unitsOfFirstFixedSurface")
    if kind.startswith("isobaric") and types[0] == 100:  # hPa and Pa are one axis
        kind = "isobaricLayer" if second != first or kind == "isobaricLayer" else "isobaricInhPa"
        return Level(kind, "hPa", first / 100, second / 100)
    known = unit not in ("-", "~") and len(unit) < 20
    return Level(kind or f"surface_{types[0]}_{types[1]}", unit if known else "", first, second)


def _surface(header: Header, which: str) -> float:
    value = header.number(f"scaledValueOf{which}FixedSurface")
    factor = header.number(f"scaleFactorOf{which}FixedSurface", 0)
    if value in (MISSING, (1 << 32) - 1, -1):
        return 0.0
    if value > _NEGATIVE:
        value = _NEGATIVE - value
    return value / 10.0**factor if factor >= 0 else value * 10.0**-factor


def _unit_1(kind: str) -> str:
    if kind in ("isobaricInhPa", "isobaricLayer"):
        return "hPa"
    if kind == "isobaricInPa":
        return "Pa"
    if kind.startswith("depthBelowLand"):
        return "cm"
    return "m" if kind.startswith(("heightAbove", "depthBelowSea")) else ""


def _reference(header: Header) -> int:
    date, hour, minute = header.number("dataDate"), header.number("hour", 0), header.number("minute", 0)
    second = header.number("second", 0)
    try:
        at = datetime.datetime(date // 10000, date // 100 % 100, date % 100, hour, minute, min(second, 59))
    except ValueError:
        raise UndecodableError(f"its date {date} {hour:02d}:{minute:02d} is none") from None
    return _microseconds(at)


def _step_seconds(header: Header, key: str) -> int:
    """A step in seconds; 0 where it is in months or years, which the time of validity takes into account."""
    header.set("stepUnits", "s")
    return header.number(key, 0)


def _valid(header: Header, reference: int, end: int) -> int:
    """The time of validity: what ecCodes says to the minute, and the seconds by the step."""
    date, time = header.number("validityDate"), header.number("validityTime")
    by_step = reference + end * 1_000_000
    if MISSING in (date, time):
        return by_step
    try:
        at = _microseconds(datetime.datetime(date // 10000, date // 100 % 100, date % 100, time // 100, time % 100))
    except ValueError:
        raise UndecodableError(f"its time of validity {date} {time:04d} is none") from None
    return by_step if 0 <= by_step - at < 60_000_000 else at


def _microseconds(at: datetime.datetime) -> int:
    passed = at - _EPOCH
    return (passed.days * 86400 + passed.seconds) * 1_000_000


def _hint(header: Header) -> Hint | None:
    """value = (k * 2^E + R) * 10^-D, computed as ecCodes does: 10^-D by repeated division."""
    if not header.text("packingType").startswith(_LINEAR) or not header.number("bitsPerValue", 0):
        return None
    binary, decimal = header.number("binaryScaleFactor"), header.number("decimalScaleFactor")
    offset = header.real("referenceValue")
    if MISSING in (binary, decimal) or not -1000 < binary < 1000 or not -300 < decimal < 300 or offset != offset:
        return None
    factor = 1.0
    for _ in range(abs(decimal)):
        factor = factor / 10 if decimal > 0 else factor * 10
    return Hint(MULADDMUL64 if decimal else MULADD64, 2.0**binary, offset, factor)
