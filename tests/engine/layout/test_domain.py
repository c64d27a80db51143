"""The domain blob: coordinates to the bit, named by their content, refused when damaged."""

from __future__ import annotations

import dataclasses
import json
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import DamagedDataError, MdError, UnsupportedVersionError, UsageError
from mdstudio.engine.layout.domain import domain_name, load_domain, parse_domain, render_domain, store_domain
from mdstudio.engine.model import DTYPES, Array, Domain, GridDomain, MeshDomain
from mdstudio.engine.storage import CountingStorage, FolderStorage
from tests.engine.made_datasets import kind_of, make_kind, mesh

REGULAR = GridDomain(
    "regular", np.arange(0, 360, 0.25, dtype=np.float32), np.arange(90, -90.1, -0.25), crs="EPSG:4326",
    x_name="lon", y_name="lat", x_unit="degrees_east", y_unit="degrees_north",
    x_bounds=np.stack([np.arange(1440) * 0.25 - 0.125, np.arange(1440) * 0.25 + 0.125], axis=1),
    grid_mapping={"grid_mapping_name": "latitude_longitude", "semi_major_axis": 6378137.0, "odd": float("nan")},
    coordinate_attributes={"lon": {"valid_range": [0, 360]}})


def curvilinear(rows: int = 20, columns: int = 30) -> GridDomain:
    v, u = np.meshgrid(np.arange(rows) / 10, np.arange(columns) / 10, indexing="ij")
    return GridDomain("curvilinear", np.arange(columns, dtype=np.int32), np.arange(rows), longitude=u + v / 3,
                      latitude=50 + v, corner_longitude=np.stack([u] * 4, axis=-1),
                      corner_latitude=np.stack([v] * 4, axis=-1))


MESH = mesh(6, 5, crs="EPSG:25832")
SIGMA = mesh(4, 4, sigma=True, geographic=True)
BARE = dataclasses.replace(MESH, node_z=None, node_code=None, crs="", attributes={})


def arrays(domain: Domain) -> dict[str, Array]:
    fields = {field.name: getattr(domain, field.name) for field in dataclasses.fields(domain)}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}


def assert_same(a: Domain, b: Domain) -> None:
    first, second = arrays(a), arrays(b)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert second[name].dtype == values.dtype.newbyteorder("<")
        assert second[name].shape == values.shape
        assert second[name].tobytes() == values.astype(values.dtype.newbyteorder("<")).tobytes()
    rest = [{k: v for k, v in vars(domain).items() if not isinstance(v, np.ndarray)} for domain in (a, b)]
    assert repr(rest[0]) == repr(rest[1])


@pytest.mark.parametrize("domain", [REGULAR, curvilinear(), GridDomain("projected", np.array([1.5]), np.array([-0.0])),
                                    MESH, SIGMA, BARE])
def test_what_is_stored_is_loaded_to_the_bit(tmp_path: Path, domain: Domain) -> None:
    storage = FolderStorage(tmp_path)
    name = store_domain(storage, domain)
    counting = CountingStorage(storage)
    assert_same(domain, load_domain(counting, name))
    assert counting.requests == 1


@settings(deadline=None)
@given(st.data())
def test_every_type_and_bit_pattern_survives(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES))).newbyteorder(data.draw(st.sampled_from("<>")))
    bits = hnp.arrays(np.uint8, st.integers(1, 9).map(lambda n: n * dtype.itemsize))
    x, y = (data.draw(bits).view(dtype) for _ in range(2))
    domain = GridDomain("rotated", x, y, crs="é")
    assert_same(domain, parse_domain(render_domain(domain), ""))


def test_the_name_comes_from_the_content_alone(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    name = store_domain(storage, REGULAR)
    assert name == domain_name(REGULAR) == store_domain(storage, REGULAR)
    assert len(name) == len("domain-0123456789abcdef.bin")
    other = dataclasses.replace(REGULAR, x=REGULAR.x + np.float32(1))
    assert store_domain(storage, other) != name
    assert store_domain(storage, dataclasses.replace(REGULAR, crs="")) != name
    swapped = dataclasses.replace(REGULAR, x=REGULAR.x.astype(">f4"))
    assert domain_name(swapped) == name


def test_large_coordinates_are_compressed() -> None:
    domain = curvilinear(300, 400)
    raw = sum(values.nbytes for values in arrays(domain).values())
    assert len(render_domain(domain)) < raw / 2


def test_a_type_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(UsageError, match="float16"):
        render_domain(GridDomain("projected", np.arange(3, dtype=np.float16), np.arange(3)))
    with pytest.raises(UsageError, match="0 coordinates"):
        render_domain(GridDomain("projected", np.arange(0.0), np.arange(3)))


def test_a_missing_blob_is_damage_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DamagedDataError, match="missing") as caught:
        load_domain(FolderStorage(tmp_path), "domain-0.bin")
    assert caught.value.where == "domain-0.bin"


def sealed(body: bytes) -> bytes:
    """The bytes with a checksum that fits: what the checks behind it must refuse."""
    return body + struct.pack("<I", zlib.crc32(body))


def rebuilt(change: Any) -> bytes:
    """A blob whose header was changed, lengths and checksum made to fit."""
    data = render_domain(REGULAR)
    _, version, length = struct.unpack_from("<8sII", data)
    header = json.loads(data[16:16 + length])
    change(header)
    text = json.dumps(header).encode()
    return sealed(struct.pack("<8sII", b"MDDOMAIN", version, len(text)) + text + data[16 + length:-4])


def entry(**changes: Any) -> Any:
    return lambda header: header["Arrays"][0].update(changes)


@pytest.mark.parametrize("change", [
    entry(Shape=[10**9, 10**9]), entry(Shape=[1439]), entry(Shape=[2, 720]), entry(Shape=[]), entry(Shape=[-1]),
    entry(Shape=[True]), entry(Shape="x"), entry(DataType="float64"), entry(DataType="object"), entry(Codec="LZ4"),
    entry(Codec="None"),
    entry(Length=1), entry(Length=10**9), entry(Length=-1), entry(Name="Z"), entry(Name="Y"),
    lambda header: header["Arrays"].pop(), lambda header: header.update(Kind="Cube"),
    lambda header: header.pop("Arrays"), lambda header: header.update(Crs=3),
    lambda header: header.update(GridMapping=[]), lambda header: header.update(Kind="Curvilinear"),
])
def test_a_header_that_does_not_fit_its_arrays_is_refused_behind_a_right_checksum(change: Any) -> None:
    with pytest.raises(DamagedDataError) as caught:
        parse_domain(rebuilt(change), "domain-1.bin")
    assert "domain-1.bin" in str(caught.value)


def test_a_later_version_is_refused_as_such() -> None:
    data = render_domain(REGULAR)
    with pytest.raises(UnsupportedVersionError, match="version 2"):
        parse_domain(sealed(data[:8] + struct.pack("<I", 2) + data[12:-4]), "")
    with pytest.raises(DamagedDataError):
        parse_domain(sealed(data[:8] + struct.pack("<I", 0) + data[12:-4]), "")
    with pytest.raises(DamagedDataError):
        parse_domain(sealed(data[:12] + struct.pack("<I", 2**32 - 1) + data[16:-4]), "")


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_any_flipped_byte_is_found(at: int, flip: int) -> None:
    data = bytearray(render_domain(curvilinear()))
    data[at % len(data)] ^= flip
    with pytest.raises(DamagedDataError):
        parse_domain(bytes(data), "")


@settings(deadline=None)
@given(st.integers(0, 400))
def test_a_truncated_blob_is_refused(length: int) -> None:
    data = render_domain(GridDomain("projected", np.arange(3), np.arange(3)))
    with pytest.raises(DamagedDataError):
        parse_domain(data[:min(length, len(data) - 1)], "")


@settings(deadline=None)
@given(st.data())
def test_damage_behind_a_right_checksum_gives_an_error_of_ours_or_a_domain(data: st.DataObject) -> None:
    body = bytearray(render_domain(data.draw(st.sampled_from((curvilinear(5, 6), SIGMA))))[:-4])
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(8, len(body) - 1))] = data.draw(st.integers(0, 255))
    with suppress(MdError):
        parse_domain(sealed(bytes(body)), "domain-1.bin")


def changed(field: str, change: Any) -> MeshDomain:
    values = getattr(SIGMA, field).copy()
    return dataclasses.replace(SIGMA, **{field: change(values)})


def put(at: Any, value: Any) -> Any:
    def change(values: Array) -> Array:
        values[at] = value
        return values

    return change


@pytest.mark.rule("K1")
@pytest.mark.parametrize(("domain", "message"), [
    (changed("element_nodes", put((2, 0), SIGMA.nodes)), "ElementNodes: expected three or more of 26 nodes"),
    (changed("element_nodes", put((2, 1), -1)), "for element 2"),
    (changed("element_nodes", put((2, 3), -2)), "ElementNodes"),
    (changed("element_nodes", lambda values: values[:, :2]), "elements x 3 or more corners"),
    (changed("element_nodes", lambda values: values.ravel()), "elements x 3 or more corners"),
    (changed("element_nodes", lambda values: values.astype(np.int64)), "ElementNodes: expected int32, found int64"),
    (changed("element_number", put(0, SIGMA.element_number[1])), "ElementNumber: expected each number from 0 to"),
    (changed("element_number", put(0, -1)), "ElementNumber"),
    (changed("element_number", lambda values: values[1:]), "ElementNumber: expected the shape"),
    (changed("node_number", put(0, 10**6)), "NodeNumber: expected each number"),
    (changed("node_number", lambda values: values.astype(np.uint32)), "NodeNumber: expected int32"),
    (changed("node_y", lambda values: values[1:]), "NodeY: expected the shape"),
    (changed("node_x", lambda values: values.astype(np.int32)), "NodeX: expected floats"),
    (changed("node_z", lambda values: values[:, None]), "NodeZ: expected the shape"),
    (changed("node_code", lambda values: values[1:]), "NodeCode: expected the shape"),
    (changed("layer_counts", put(0, -1)), "LayerCounts: expected numbers from 0"),
    (changed("layer_counts", lambda values: values * 0), "LayerCounts"),
    (changed("layer_counts", lambda values: values[1:]), "LayerCounts: expected the shape"),
])
def test_a_mesh_that_cannot_be_one_is_refused_where_it_is_read(domain: MeshDomain, message: str) -> None:
    with pytest.raises(DamagedDataError, match=message):
        parse_domain(render_domain(domain), "domain-1.bin")


def test_a_mesh_without_an_array_that_it_needs_is_refused() -> None:
    data = render_domain(SIGMA)
    _, version, length = struct.unpack_from("<8sII", data)
    for name in ("NodeX", "NodeNumber", "ElementNodes", "ElementNumber"):
        text = data[16:16 + length].replace(f'"{name}"'.encode(), b'"Other"')
        blob = struct.pack("<8sII", b"MDDOMAIN", version, len(text)) + text + data[16 + length:-4]
        with pytest.raises(DamagedDataError, match=f"found no {name}"):
            parse_domain(sealed(blob), "")


def test_the_coordinates_of_another_mesh_are_refused(tmp_path: Path) -> None:
    dataset = make_kind(tmp_path / "d", kind_of("mesh-layered"), "SingleTimestep")
    other = render_domain(mesh(20, 21))
    dataset.storage.write(dataset.metadata.domain_blob, other)
    with pytest.raises(DamagedDataError, match=r"those of a mesh of 1 x 560 cells .* the metadata speaks of a mesh"):
        _ = Dataset.open(dataset.storage).domain
