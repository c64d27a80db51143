"""Types, scales, no-data and valid ranges: raw stored values, nothing inferred."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.model import Item
from mdstudio.engine.requests import decode_values
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import add, add_axes, new_file, numbered, one_item, whole


def described(path: Path, **parameters: Any) -> Item:
    with open_source([str(path)], parameters) as source:
        return source.descriptions()[0].items[0]


def stored(path: Path, **parameters: Any) -> np.ndarray:
    with open_source([str(path)], parameters) as source:
        description = source.descriptions()[0]
        return whole(source, description, description.items[0].name)


@pytest.mark.rule("K7")
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_every_number_type_is_kept_with_all_its_bits(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 256, 3 * 4 * 5 * np.dtype(dtype).itemsize, dtype="u1").view(dtype).reshape(3, 4, 5)
    path = one_item(tmp_path / "a.nc", values)
    assert described(path).dtype == np.dtype(dtype).name
    assert stored(path).tobytes() == values.tobytes()  # NaN payloads and -0.0 too


@pytest.mark.rule("W4")
def test_packed_int16_stays_int16_with_its_scale(tmp_path: Path) -> None:
    attributes = {"scale_factor": 0.001, "add_offset": 20.0, "_FillValue": np.int16(-32768)}
    item = described(one_item(tmp_path / "a.nc", attributes=attributes))
    assert (item.dtype, item.scale, item.offset, item.no_data) == ("int16", 0.001, 20.0, -32768)
    assert item.decoded == "float64"


def test_the_decoded_type_is_that_of_scale_and_offset(tmp_path: Path) -> None:
    # case 2: stored integers, decoded in double, the CF type told apart
    path = one_item(tmp_path / "a.nc", attributes={"scale_factor": np.float32(0.001), "add_offset": np.float32(20)})
    item = described(path)
    assert item.decoded == "float32"
    assert item.scale == float(np.float32(0.001))
    raw = stored(path)
    assert np.array_equal(decode_values(item, raw), raw.astype("f8") * float(np.float32(0.001)) + 20.0)


def test_two_different_missing_markers_are_both_kept(tmp_path: Path) -> None:
    # case 1: refused by others; the distinct codes stay in the integers
    values = numbered(3, 4, 5)
    values[0, 0, :3] = -999, -99, -98
    path = one_item(tmp_path / "a.nc", values, {
        "_FillValue": np.int16(-999), "missing_value": np.array([-99, -98], "i2")})
    item = described(path)
    assert (item.no_data, item.missing) == (-999, (-99, -98))
    raw = stored(path)
    assert raw.tobytes() == values.tobytes()
    assert np.isnan(decode_values(item, raw)[0, 0]).tolist() == [True, True, True, False, False]


def test_missing_value_alone_is_the_no_data_value(tmp_path: Path) -> None:
    item = described(one_item(tmp_path / "a.nc", attributes={"missing_value": np.int16(-1)}))
    assert (item.no_data, item.missing) == (-1, ())


def test_a_fill_of_zero_hides_nothing_else(tmp_path: Path) -> None:
    # case 3: no valid range is inferred from _FillValue
    values = np.arange(-30, 30, dtype="f4").reshape(3, 4, 5)
    path = one_item(tmp_path / "a.nc", values, {"_FillValue": np.float32(0)})
    item = described(path)
    assert (item.no_data, item.valid_min, item.valid_max) == (0.0, None, None)
    assert int(np.isnan(decode_values(item, stored(path))).sum()) == 1


def test_without_attributes_there_is_no_no_data(tmp_path: Path) -> None:
    item = described(one_item(tmp_path / "a.nc", np.full((3, 4, 5), 9.969209968386869e36, "f4")))
    assert (item.no_data, item.missing) == (None, ())


def test_float_codes_are_rounded_to_the_stored_type(tmp_path: Path) -> None:
    item = described(one_item(tmp_path / "a.nc", np.zeros((3, 4, 5), "f4"), {"missing_value": -99.9}))
    assert item.no_data == float(np.float32(-99.9))
    nan = described(one_item(tmp_path / "b.nc", np.zeros((3, 4, 5), "f4"), {"_FillValue": np.float32("nan")}))
    assert nan.no_data is not None
    assert np.isnan(nan.no_data)


@pytest.mark.parametrize("code", [1e37, np.inf, -np.inf, np.nan, 0.5])
def test_a_code_that_the_stored_type_cannot_hold_is_noted(tmp_path: Path, code: float) -> None:
    path = one_item(tmp_path / "a.nc", attributes={"missing_value": np.float32(code)})
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].items[0].no_data is None
        assert any("missing_value" in n.reason and n.what == "v" for n in source.dropped())


def test_missing_value_as_text_is_read(tmp_path: Path) -> None:
    assert described(one_item(tmp_path / "a.nc", attributes={"missing_value": "-99"})).no_data == -99


def test_unsigned_attribute_makes_signed_bytes_unsigned(tmp_path: Path) -> None:
    values = np.arange(-30, 30, dtype="i1").reshape(3, 4, 5)
    path = one_item(tmp_path / "a.nc", values, {
        "_Unsigned": "true", "_FillValue": np.int8(-1), "valid_range": np.array([0, -6], "i1")})
    item = described(path)
    assert (item.dtype, item.no_data, item.valid_min, item.valid_max) == ("uint8", 255, 0, 250)
    assert stored(path).tobytes() == values.tobytes()
    signed = described(one_item(tmp_path / "b.nc", values.view("u1"), {
        "_Unsigned": "false", "_FillValue": np.uint8(255)}))
    assert (signed.dtype, signed.no_data) == ("int8", -1)


@pytest.mark.parametrize(("attributes", "expected"), [
    ({"valid_min": np.int16(0), "valid_max": np.int16(100)}, (0, 100)),
    ({"valid_range": np.array([5, 9], "i2")}, (5, 9)),
    ({"valid_min": 21.0, "valid_max": 22.0, "scale_factor": 0.5, "add_offset": 20.0}, (2, 4)),
    ({"valid_min": 21.1, "valid_max": 21.9, "scale_factor": 0.5, "add_offset": 20.0}, (3, 3)),
    ({"valid_min": 18.0, "valid_max": 19.0, "scale_factor": -0.5, "add_offset": 20.0}, (2, 4)),
    ({"valid_min": np.int16(2), "valid_max": np.int16(4), "scale_factor": 0.5}, (2, 4)),
    ({"valid_min": -1e30, "valid_max": 1e30, "scale_factor": 0.5}, (None, None)),
    ({"valid_min": -np.inf, "valid_max": np.inf}, (-np.inf, np.inf)),
    ({"valid_min": np.nan, "valid_max": 9.5}, (None, 9.5)),
])
def test_valid_limits_are_brought_to_stored_numbers(tmp_path: Path, attributes: dict, expected: tuple) -> None:
    item = described(one_item(tmp_path / "a.nc", attributes=attributes))
    assert (item.valid_min, item.valid_max) == expected


@pytest.mark.rule("W4")
def test_double_stays_double_unless_asked(tmp_path: Path) -> None:
    values = np.linspace(0, 1, 60).reshape(3, 4, 5)
    values[0, 0, 0] = -9999.9
    path = one_item(tmp_path / "a.nc", values, {"_FillValue": -9999.9})
    assert described(path).dtype == "float64"
    assert stored(path).tobytes() == values.tobytes()
    item = described(path, DoubleAsFloat=True)
    assert (item.dtype, item.no_data, item.decoded) == ("float32", float(np.float32(-9999.9)), "float32")
    assert stored(path, DoubleAsFloat="true").tobytes() == values.astype("f4").tobytes()


@pytest.mark.rule("W4")
def test_double_as_float_leaves_other_types_and_counts_overflows(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset)
        add(dataset, "i", ["time", "lat", "lon"], numbered(3, 4, 5))
        add(dataset, "d", ["time", "lat", "lon"], np.full((3, 4, 5), 1e300))
    with open_source([str(path)], {"DoubleAsFloat": True}) as source:
        (description,) = source.descriptions()
        assert [i.dtype for i in description.items] == ["int16", "float32"]
        assert np.isinf(whole(source, description, "d")).all()
        assert [n.count for n in source.dropped() if "float32" in n.reason] == [60]


@pytest.mark.parametrize("endian", ["big", "little"])
def test_both_byte_orders_give_little_endian_values(tmp_path: Path, endian: Any) -> None:
    values = np.array([0x7FC00001, 1, 2**31], "u4").view("f4")[:, None, None] * np.ones((1, 4, 5), "f4")
    values[0] = np.array(0x7FC00123, "u4").view("f4")
    path = one_item(tmp_path / "a.nc", values, dtype=np.dtype("f4").newbyteorder(endian), endian=endian)
    got = stored(path)
    assert got.dtype.str == "<f4"
    assert got.tobytes() == values.astype("<f4").tobytes()


def test_enumerations_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset)
        kind = dataset.createEnumType(np.uint8, "surface", {"land": 0, "sea": 1})
        dataset.createVariable("e", kind, ("time", "lat", "lon"), fill_value=1)[:] = np.zeros((3, 4, 5), "u1")
    assert (described(path).dtype, described(path).no_data) == ("uint8", 1)
    assert stored(path).sum() == 0


def test_hints_come_from_the_attributes_and_plain_decimals(tmp_path: Path) -> None:
    def hints(values: np.ndarray, attributes: dict) -> list[tuple[int, float]]:
        path = one_item(tmp_path / "a.nc", values, attributes)
        with open_source([str(path)]) as source:
            return [(h.arithmetic, h.scale) for h in source.descriptions()[0].hints.get("v", ())]

    floats = np.zeros((3, 4, 5), "f4")
    assert hints(numbered(3, 4, 5), {}) == []
    assert hints(floats, {}) == [(3, 100.0), (3, 10.0), (3, 1000.0), (3, 10000.0)]
    assert hints(floats, {"least_significant_digit": np.int32(3)})[:2] == [(1, 2.0**-10), (3, 1000.0)]
    assert hints(floats, {"precision": np.int16(1)})[0] == (3, 10.0)
    assert hints(floats, {"FORTRAN_format": "f10.3"})[0] == (3, 1000.0)
    doubles = hints(floats.astype("f8"), {})
    assert doubles[:2] == [(3, 100.0), (1, 0.01)]
    assert len(doubles) == 8
