"""Values are ecCodes' own to the bit: every packing, bitmaps, scanning modes, several fields in one message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import (
    COLUMNS,
    LAMBERT,
    REGULAR,
    ROWS,
    decoded,
    key,
    managed,
    message,
    smooth,
    temperature,
    write,
)
from tests.sources.netcdf_builders import whole

PACKINGS = [
    (2, "grid_simple"), (2, "grid_complex"), (2, "grid_complex_spatial_differencing"), (2, "grid_jpeg"),
    (2, "grid_png"), (2, "grid_ccsds"), (2, "grid_ieee"), (1, "grid_simple"), (1, "grid_second_order"),
]
HOLES = (np.arange(ROWS * COLUMNS) % 7 == 3).reshape(ROWS, COLUMNS)
TALL, WIDE = 40, 60  # ecCodes writes no PNG of few points
SPREAD = (np.arange(TALL * WIDE) % 11 < 4).reshape(TALL, WIDE)


def read_only_item(path: Path, **reader: Any) -> np.ndarray:
    with open_source([str(path)], reader) as source:
        (description,) = source.descriptions()
        (item,) = description.items
        values = whole(source, description, item.name)
        assert values.dtype == item.numpy
        assert values.flags.c_contiguous
        return values


@pytest.mark.rule("W4")
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize(("edition", "packing"), PACKINGS)
def test_every_packing_with_and_without_bitmap(tmp_path: Path, edition: int, packing: str, holes: bool) -> None:
    values = np.round(smooth(TALL, WIDE))
    data = message(values, {"Ni": WIDE, "Nj": TALL}, edition=edition, packing=packing, bits=8,
                   missing=SPREAD if holes else None)
    assert key(data, "packingType") == packing
    got = read_only_item(write(tmp_path / "a.grib", [data]))
    assert got.shape == (1, TALL, WIDE)
    assert got[0].tobytes() == decoded(data).reshape(TALL, WIDE).tobytes()
    assert np.array_equal(np.isnan(got[0]), SPREAD if holes else np.zeros_like(SPREAD))
    assert np.allclose(got[0], np.where(np.isnan(got[0]), np.nan, values), atol=0.3, equal_nan=True)


@pytest.mark.parametrize("packing", ["grid_complex", "grid_complex_spatial_differencing"])
def test_points_that_the_packing_leaves_out_are_no_data(tmp_path: Path, packing: str) -> None:
    data = managed(np.round(smooth(TALL, WIDE)), SPREAD, packing)
    assert (key(data, "bitmapPresent"), key(data, "missingValueManagementUsed")) == (0, 1)
    got = read_only_item(write(tmp_path / "a.grib2", [data]))
    assert got[0].ravel().tobytes() == decoded(data).tobytes()
    assert np.array_equal(np.isnan(got[0]), SPREAD)


@pytest.mark.parametrize("valid", [9999.0, -9999.0, 0.0, 9e20, 1e30])
def test_a_valid_value_never_counts_as_missing(tmp_path: Path, valid: float) -> None:
    """9999 is what ecCodes gives for a missing point unless it is told otherwise."""
    values = np.full((ROWS, COLUMNS), valid)
    values[0, 0] = valid + 1
    data = message(values, packing="grid_ieee")
    got = read_only_item(write(tmp_path / "a.grib2", [data]))
    assert not np.isnan(got).any()
    assert got[0, 1, 1] == valid


def test_a_constant_field_has_no_bits_and_may_have_a_bitmap(tmp_path: Path) -> None:
    flat = np.full((ROWS, COLUMNS), 273.5)
    for missing in (None, HOLES, np.ones_like(HOLES)):
        data = message(flat, missing=missing)
        got = read_only_item(write(tmp_path / "a.grib2", [data]))[0]
        holes = np.zeros_like(HOLES) if missing is None else missing
        assert np.array_equal(np.isnan(got), holes)
        assert (got[~holes] == 273.5).all()


@pytest.mark.parametrize("scan_j", [0, 1])
@pytest.mark.parametrize("scan_i", [0, 1])
@pytest.mark.parametrize("by_column", [0, 1])
@pytest.mark.parametrize("alternating", [0, 1])
@pytest.mark.parametrize("grid", ["regular_ll", "lambert"])
def test_every_scanning_mode_puts_values_where_they_are(
        tmp_path: Path, grid: str, alternating: int, by_column: int, scan_i: int, scan_j: int) -> None:
    """The value of each point is made of its own place, and written in the order that FM 92 table 3.4 says."""
    field = np.arange(ROWS * COLUMNS, dtype=np.float64).reshape(ROWS, COLUMNS)  # rows from south, columns from west
    lines = field[:: 1 if scan_j else -1, :: -1 if scan_i else 1]
    lines = lines.T.copy() if by_column else lines.copy()
    if alternating:
        lines[1::2] = lines[1::2, ::-1].copy()
    mode = {"iScansNegatively": scan_i, "jScansPositively": scan_j, "jPointsAreConsecutive": by_column,
            "alternativeRowScanning": alternating}
    if grid == "regular_ll":
        south, north, west, east = 50.0, 60.0, 2.0, 16.0
        mode |= {"latitudeOfFirstGridPointInDegrees": south if scan_j else north,
                 "latitudeOfLastGridPointInDegrees": north if scan_j else south,
                 "longitudeOfFirstGridPointInDegrees": east if scan_i else west,
                 "longitudeOfLastGridPointInDegrees": west if scan_i else east}
    keys = REGULAR if grid == "regular_ll" else LAMBERT
    data = message(lines, {**keys, **mode}, grid=grid, bits=16)
    with open_source([str(write(tmp_path / "a.grib2", [data]))]) as source:
        (description,) = source.descriptions()
        got, domain = whole(source, description, description.items[0].name)[0], description.domain
    assert (domain.rows, domain.columns) == (ROWS, COLUMNS)
    assert (domain.y[1] > domain.y[0]) == bool(scan_j)
    assert (domain.x[1] < domain.x[0]) == bool(scan_i)
    upright = got[np.argsort(domain.y)][:, np.argsort(domain.x)]
    assert np.array_equal(upright, field)
    assert sorted(got.ravel()) == sorted(decoded(data))


def test_the_file_with_alternating_rows_is_smooth(shared_data: Path) -> None:
    got = read_only_item(shared_data / "grib" / "alternate-scanning.grib")[0]
    jumps = np.abs(np.diff(got, axis=0)).mean()
    zigzag = got.copy()
    zigzag[1::2] = zigzag[1::2, ::-1]
    assert jumps < 0.3 * np.abs(np.diff(zigzag, axis=0)).mean()


def test_rows_and_columns_are_cut_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", [message(missing=HOLES)])
    everything = read_only_item(path)
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        part = source.read(description, description.items[0].name, slice(0, 1), -1, slice(1, 4), slice(2, 7))
        none = source.read(description, description.items[0].name, slice(0, 0), -1, slice(1, 4), slice(2, 7))
    assert part.tobytes() == np.ascontiguousarray(everything[:, 1:4, 2:7]).tobytes()
    assert none.shape == (0, 3, 5)


@pytest.mark.parametrize("earlier_bitmap", [False, True])
def test_a_message_with_several_fields_gives_them_all(tmp_path: Path, earlier_bitmap: bool) -> None:
    """Two fields in one message, sections 4 to 7 repeated; the second may take over the bitmap of the first."""
    one, other = (message(smooth(start=s), {"parameterCategory": 2, "parameterNumber": n, "discipline": 0},
                          missing=HOLES) for s, n in ((1.0, 2), (9.0, 3)))
    head, sections = _sections(one)
    repeated = [part for part in _sections(other)[1] if part[4] >= 4]
    if earlier_bitmap:
        repeated = [b"\0\0\0\6\6\xfe" if part[4] == 6 else part for part in repeated]
    body = b"".join([*sections, *repeated])
    joined = head[:8] + (16 + len(body) + 4).to_bytes(8, "big") + body + b"7777"
    path = write(tmp_path / "uv.grib2", [joined, temperature()])
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert [i.name for i in description.items] == ["u", "v", "2t"]
        for name, data in (("u", one), ("v", other)):
            got = whole(source, description, name)
            step = 0 if not np.isnan(got[0]).all() else 1
            assert got[step].ravel().tobytes() == decoded(data).tobytes()


def _sections(data: bytes) -> tuple[bytes, list[bytes]]:
    parts, at = [], 16
    while data[at:at + 4] != b"7777":
        size = int.from_bytes(data[at:at + 4], "big")
        parts.append(data[at:at + size])
        at += size
    return data[:16], parts


@pytest.mark.rule("W4")
def test_double_as_float_stores_float32_of_the_doubles(tmp_path: Path) -> None:
    values = smooth()
    values[0, 0] = 1e39  # beyond float32
    path = write(tmp_path / "a.grib2", [message(values, packing="grid_ieee")])
    doubles = read_only_item(path)
    with open_source([str(path)], {"DoubleAsFloat": True}) as source:
        (description,) = source.descriptions()
        (item,) = description.items
        assert item.dtype == "float32"
        assert np.isnan(item.no_data)
        got = whole(source, description, item.name)
        notes = [n for n in source.dropped() if n.what == "values"]
    with np.errstate(over="ignore"):
        assert got.tobytes() == doubles.astype("<f4").tobytes()
    assert [n.count for n in notes] == [int(np.isinf(got).sum())]
