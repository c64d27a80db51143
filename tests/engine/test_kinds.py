"""Every kind of dataset in every storage type and compression: what was written is read back to the bit (K1-K10)."""

from __future__ import annotations

import dataclasses
import json
import zlib
from pathlib import Path

import lz4.block
import numpy as np
import pytest

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import LayoutGuardError, UnsupportedError
from mdstudio.engine.layout.document import render_document
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.metadata import save_metadata
from mdstudio.engine.model import Array, Item, ItemStorage, StorageType
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest, MapResult, SeriesRequest
from mdstudio.engine.settings import DEFAULT_VARIABLES, choose_settings
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import (
    KINDS,
    STORAGE_TYPES,
    Arrays,
    Made,
    expected_values,
    kind_of,
    kind_settings,
    make_kind,
    same_bits,
    write_kind,
)

CASES = [(kind, storage_type, compression, 3) for kind in KINDS for storage_type in kind_of(kind).layouts
         for compression in (NAMES if storage_type in kind_of(kind).compressed else ("None",))]
EARLY = [(kind, storage_type, "LZ4", 1) for kind in ("mesh", "mesh-zlevel")
         for storage_type in kind_of(kind).compressed]
MESHES = [kind for kind in KINDS if kind.startswith("mesh")]


def layers_of(item: Item) -> list[int | None]:
    return list(range(len(item.layers))) if item.layers else [None]


def expected_map(made: Made, item: Item, time: int, layer: int | None, found: MapResult) -> Array:
    """The stored numbers of a map of a mesh, one by one; no-data where there is none."""
    wanted = expected_values(made, item, time, layer or 0)
    values = np.full_like(found.stored, 0 if item.no_data is None else item.no_data)
    for position, number in enumerate(found.rows.tolist()):
        if number in wanted:
            values[position] = wanted[number]
    return values


def check_map(made: Made, dataset: Dataset, item: Item, time: int, layer: int | None) -> MapResult:
    """A whole slice of a mesh: which elements or nodes, their values, the mask."""
    found = dataset.map(MapRequest(item.name, time, layer))
    wanted = expected_values(made, item, time, layer or 0)
    assert found.rows.dtype == np.int64
    assert found.columns.tolist() == [0]
    assert set(found.rows[found.mask].tolist()) == set(wanted)
    assert same_bits(found.stored, expected_map(made, item, time, layer, found))
    empty = (found.stored != found.stored) if item.no_data is None else (
        (found.stored == item.no_data) | (found.stored != found.stored))
    empty[~found.mask] = True
    assert np.array_equal(np.isnan(found.values), empty)
    assert found.x.shape == found.y.shape == found.rows.shape
    return found


@pytest.mark.rule("K1", "K2", "K3", "K5", "K7", "K9", "C2", "C4", "P1", "P5", "P6", "P7", "P8", "T1", "T3", "V1")
@pytest.mark.parametrize(("kind", "storage_type", "compression", "version"), [
    *(case for case in CASES if case[0] in MESHES), *EARLY])
def test_every_mesh_is_read_back_to_the_bit(
    tmp_path: Path, kind: str, storage_type: StorageType, compression: str, version: int
) -> None:
    made = kind_of(kind)
    dataset = make_kind(tmp_path / "d", made, storage_type, compression, version=version)
    assert dataset.guards == ()
    for item in made.description.items:
        for layer in layers_of(item):
            maps = [check_map(made, dataset, item, time, layer) for time in range(len(made.description.times))]
            check_series(dataset, item, layer, maps)


def check_series(dataset: Dataset, item: Item, layer: int | None, maps: list[MapResult]) -> None:
    """Series at centres of elements (nodes where the item has values of them) and outside, against the maps."""
    geometry = dataset.mesh.geometry
    elements = np.array([0, 17, dataset.mesh.order.domain.elements - 1])
    x, y = geometry.centres(elements)
    points = (*zip(x.tolist(), y.tolist(), strict=True), (-100.0, 0.0))
    found = dataset.series(SeriesRequest(item.name, points, layer, start=1))
    nodes = item.location == "node"
    numbers = geometry.nearest_node(elements, np.array(points[:3])) if nodes else elements
    assert found.cells[:, 0].tolist() == [*numbers.tolist(), -1]
    assert np.isnan(found.values[:, 3]).all()
    for point, number in enumerate(numbers.tolist()):
        places = [int(np.flatnonzero(whole.rows == number)[0]) for whole in maps[1:]]
        assert same_bits(np.stack([whole.stored[at] for whole, at in zip(maps[1:], places, strict=True)]),
                         np.ascontiguousarray(found.stored[:, point]))
        assert np.array_equal(np.stack([whole.values[at] for whole, at in zip(maps[1:], places, strict=True)]),
                              found.values[:, point], equal_nan=True)


@pytest.mark.rule("K1", "K2", "K3", "K5", "K9")
@pytest.mark.parametrize(("kind", "storage_type", "compression", "version"),
                         [case for case in CASES if case[0] not in MESHES])
def test_every_grid_is_read_back_to_the_bit(
    tmp_path: Path, kind: str, storage_type: StorageType, compression: str, version: int
) -> None:
    made = kind_of(kind)
    dataset = make_kind(tmp_path / "d", made, storage_type, compression, version=version)
    for item in made.description.items:
        values = made.values[item.name]
        for layer in layers_of(item):
            stored = values[:, layer or 0]
            for time in range(len(values)):
                found = dataset.map(MapRequest(item.name, time, layer))
                assert same_bits(np.ascontiguousarray(found.stored), np.ascontiguousarray(stored[time]))
                assert found.values.shape == stored[time].shape
            part = dataset.map(MapRequest(item.name, 1, layer, bbox=(3.2, 2.1, 11.9, 20.4)))
            assert same_bits(np.ascontiguousarray(part.stored), np.ascontiguousarray(stored[1, 2:21, 3:13]))
            found = dataset.series(SeriesRequest(item.name, ((5.0, 7.0), (-50.0, 0.0)), layer))
            assert same_bits(np.ascontiguousarray(found.stored[:, 0]), np.ascontiguousarray(stored[:, 7, 5]))
            assert np.isnan(found.values[:, 1]).all()
            block = dataset.block(item.name, slice(1, 3), -1 if layer is None else layer, slice(2, 30), slice(1, 17))
            assert same_bits(np.ascontiguousarray(block), np.ascontiguousarray(stored[1:3, 2:30, 1:17]))


@pytest.mark.rule("P2", "P6", "K9")
@pytest.mark.parametrize(("kind", "storage_type", "compression"), [
    case[:3] for case in CASES if case[0] in MESHES and case[2] in ("None", "ZstdAuto")])
def test_a_part_of_a_mesh_equals_that_part_of_the_whole_and_decodes_no_page_twice(
    tmp_path: Path, kind: str, storage_type: StorageType, compression: str
) -> None:
    made = kind_of(kind)
    dataset = make_kind(tmp_path / "d", made, storage_type, compression)
    for item in made.description.items:
        layer = layers_of(item)[-1]
        whole = dataset.map(MapRequest(item.name, 1, layer))
        for request in (MapRequest(item.name, 1, layer, bbox=(3.2, 3.1, 9.4, 8.9)),
                        MapRequest(item.name, 1, layer, polygon="POLYGON ((2 2, 12 3, 6 15, 2 2))")):
            part = dataset.map(request)
            assert 0 < part.rows.size < whole.rows.size
            at = np.searchsorted(whole.rows, part.rows)
            assert np.array_equal(whole.rows[at], part.rows)
            assert same_bits(np.ascontiguousarray(whole.stored[at]), np.ascontiguousarray(part.stored))
            assert np.array_equal(whole.mask[at], part.mask)
            pages = [(ref.blob, ref.page) for ref in part.explain.pages]
            assert len(pages) == len(set(pages)) > 0
            assert part.explain.pages_decoded <= len(pages) < whole.explain.pages_touched or dataset.pages(
                item.name, 1, layer).page.size <= 2
        empty = dataset.map(MapRequest(item.name, 1, layer, bbox=(1000, 1000, 1001, 1001)))
        assert empty.rows.size == empty.values.shape[0] == 0
        assert empty.empty_reason
        assert empty.explain.requests == 0


@pytest.mark.rule("K9", "D8")
@pytest.mark.parametrize(("kind", "storage_type", "compression"), [
    (k, s, c) for k in KINDS for s in kind_of(k).layouts for c in ("None", "ZstdAuto")
    if c == "None" or s in kind_of(k).compressed])
def test_sizes_pages_and_inspection_tell_the_raw_bytes_of_every_kind(
    tmp_path: Path, kind: str, storage_type: StorageType, compression: str
) -> None:
    made = kind_of(kind)
    dataset = make_kind(tmp_path / "d", made, storage_type, compression, group=5)  # one whole group
    sizes, facts = dataset.sizes(), dataset.inspect()
    times = len(made.description.times)
    assert facts["kind"] == ("mesh" if kind in MESHES else "grid")
    assert facts["compressed_mesh_page_size"] == (500 if kind in MESHES and storage_type != "TimeSeries" else None)
    assert facts["schema_version"] == 1
    for number, item in enumerate(made.description.items):
        assert facts["items"][number]["raw_bytes"] == int(sizes.raw[number]) * times
        if compression == "None":
            assert int(sizes.stored[number].sum()) == int(sizes.raw[number]) * times
        if item.value_kind != "zlevel":  # a node of several pages is stored in each
            assert int(sizes.raw[number]) * times == made.values[item.name].nbytes
        table = dataset.pages(item.name, 1, layers_of(item)[0])
        raw = int(table.raw.sum()) // (5 if storage_type == "TimeSeries" else 1)
        assert raw * item.layer_count == int(sizes.raw[number])
        for position in range(len(table)):
            details = dataset.page_details(item.name, 1, layers_of(item)[0], position)
            assert not details.problem
            assert details.raw == int(table.raw[position])
    assert facts["stored_bytes"] == int(sizes.stored.sum()) == dataset.metadata.data_size_bytes


@pytest.mark.rule("P6", "P7")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep"])
def test_a_z_level_item_is_one_dat_and_idx_a_timestep_in_both_storage_types(
    tmp_path: Path, storage_type: StorageType
) -> None:
    made = kind_of("mesh-zlevel")
    dataset = make_kind(tmp_path / "d", made, storage_type, "ZstdAuto")
    keys = [made.description.times.key(time) for time in range(5)]
    names = {blob.name for blob in dataset.storage.list_blobs("000-v/")}
    assert names == {f"000-v/L-1/{key}.{ending}" for key in keys for ending in ("dat", "idx")}
    assert dataset.metadata.storage.zlevel_paged_node_count == 5 * paged_nodes(made).size
    multi = storage_type == "MultiTimestep"
    assert ("002-e/L-1/G00000000.dat" in {blob.name for blob in dataset.storage.list_blobs("002-e/")}) == multi


def paged_nodes(made: Made) -> Array:
    """The nodes of the pages of the mesh index, one after the other."""
    corners = made.mesh.element_nodes
    return np.array([node for start in range(0, len(corners), 1024)
                     for node in sorted(set(corners[start:start + 1024].ravel().tolist()) - {-1})])


@pytest.mark.rule("P6", "K9")
def test_z_levels_are_stored_page_after_page_of_the_mesh_index_nodes_outside_layers_inside(tmp_path: Path) -> None:
    made = kind_of("mesh-zlevel")
    dataset = make_kind(tmp_path / "d", made, "MultiTimestep")
    nodes = made.mesh.node_number[paged_nodes(made)]
    wanted = made.values["v"][3, 0, 0].reshape(-1, 5)[nodes]
    key = made.description.times.key(3)
    assert dataset.storage.read(f"000-v/L-1/{key}.dat").data == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.rule("P6", "P2")
def test_a_z_level_query_decodes_the_pages_that_the_index_pages_it_hit_cover_and_no_others(tmp_path: Path) -> None:
    made = kind_of("mesh-zlevel")
    dataset = make_kind(tmp_path / "d", made, "SingleTimestep", "ZstdAuto", page=300)
    found = dataset.map(MapRequest("v", 1, 2, bbox=(3.2, 3.1, 5.4, 5.9)))
    hit = np.unique(dataset.mesh.geometry.select((3.2, 3.1, 5.4, 5.9)).elements // 1024)
    assert 0 < hit.size < 3
    spans = [(int(dataset.mesh.order.index.offsets[page]) * 5, int(dataset.mesh.order.index.offsets[page + 1]) * 5)
             for page in hit]
    covered = {page for start, stop in spans for page in range(start // 300, (stop - 1) // 300 + 1)}
    assert [ref.page for ref in found.explain.pages] == sorted(covered)
    assert len(covered) < len(dataset.pages("v", 1))


@pytest.mark.rule("K10", "K5", "T8")
@pytest.mark.parametrize("group", [3, 5])
def test_an_uncompressed_sigma_timeseries_holds_exactly_its_3d_elements(tmp_path: Path, group: int) -> None:
    made = kind_of("mesh-sigma")
    dataset = make_kind(tmp_path / "d", made, "TimeSeries", group=group)
    rows = made.mesh.element3d_count
    blobs = [blob for blob in dataset.storage.list_blobs("000-v/") if blob.name.endswith("G00000000.dat")]
    assert sum(blob.length for blob in blobs) == rows * group * 4
    assert len(blobs) == -(-rows // 500)
    counts = dataset.mesh.order.layer_counts
    last = made.mesh.elements - 1
    for element, layer in ((0, 0), (last, int(counts[last]) - 1)):  # the first 3-D element and the last one
        x, y = dataset.mesh.geometry.centres(np.array([element]))
        series = dataset.series(SeriesRequest("v", ((float(x[0]), float(y[0])),), layer))
        wanted = [expected_values(made, made.description.items[0], time, layer)[element] for time in range(5)]
        assert series.stored[:, 0].tolist() == wanted
    block = dataset.block("v", slice(0, 5), -1, slice(0, 1), slice(0, rows))
    assert block[:, 0, 0].tolist() == [expected_values(made, made.description.items[0], t, 0)[0] for t in range(5)]


@pytest.mark.rule("K1")
def test_a_sigma_layer_counts_from_the_bottom_and_elements_with_fewer_are_not_in_it(tmp_path: Path) -> None:
    made = kind_of("mesh-sigma")
    dataset = make_kind(tmp_path / "d", made, "MultiTimestep")
    for layer in range(4):
        found = dataset.map(MapRequest("v", 0, layer))
        assert np.array_equal(found.mask, made.mesh.layer_counts > layer)
        assert (found.stored[~found.mask] == np.float32(-7.0)).all()


@pytest.mark.rule("P1", "K6", "D10")
def test_a_compressed_mesh_timestep_is_its_pages_of_runs_of_elements_back_to_back(tmp_path: Path) -> None:
    made = kind_of("mesh")
    dataset = make_kind(tmp_path / "d", made, "SingleTimestep", "DeflateFast", version=2)
    key = made.description.times.key(0)
    data = dataset.storage.read(f"000-v/L-1/{key}.dat").data
    lengths = np.frombuffer(dataset.storage.read(f"000-v/L-1/{key}.idx").data, "<i4")
    assert lengths.size == -(-made.mesh.elements // 500)
    ends = np.cumsum(lengths)
    pages = [zlib.decompress(data[end - size:end], -15) for end, size in zip(ends, lengths, strict=True)]
    assert [len(page) // 8 for page in pages] == [500] * 5 + [60]
    wanted = made.values["v"][0, 0, 0][made.mesh.element_number]
    assert b"".join(pages) == wanted.tobytes()


@pytest.mark.rule("C4")
@pytest.mark.parametrize("version", [1, 2])
def test_lz4_of_the_first_layout_encodes_a_buffer_of_a_page_of_elements(tmp_path: Path, version: int) -> None:
    made = kind_of("mesh")
    dataset = make_kind(tmp_path / "d", made, "SingleTimestep", "LZ4", version=version)
    key = made.description.times.key(0)
    data = dataset.storage.read(f"001-w/L-1/{key}.dat").data
    lengths = np.frombuffer(dataset.storage.read(f"001-w/L-1/{key}.idx").data, "<i4")
    last = lz4.block.decompress(data[-int(lengths[-1]):], uncompressed_size=500)
    assert len(last) == (500 if version == 1 else 60)
    assert last[:60] == made.values["w"][0, 0, 0][made.mesh.element_number][-60:].tobytes()


# ------------------------------------------------------------------------------------------------------ refusals

@pytest.mark.rule("K4", "D12", "T8")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_an_explicit_compression_of_what_cannot_be_is_refused_and_a_default_is_skipped(
    kind: str, storage_type: StorageType
) -> None:
    made = kind_of(kind)
    if storage_type not in made.layouts:
        with pytest.raises(UnsupportedError, match="'v' has z-levels, which TimeSeries cannot hold"):
            choose_settings(made.description, {"StorageType": storage_type}, {})
        return
    asked = {"StorageType": storage_type, "Compression": "ZstdAuto"}
    variables = dict.fromkeys(DEFAULT_VARIABLES.values(), "ZstdAuto")
    by_default = choose_settings(made.description, {"StorageType": storage_type}, variables)
    if storage_type in made.compressed:
        assert choose_settings(made.description, asked, {}).storage.compression == "ZstdAuto"
        assert by_default.storage.compression == "ZstdAuto"
        return
    reason = "a mesh with sigma layers" if kind == "mesh-sigma" else "'v' has"
    with pytest.raises(UnsupportedError, match=f"ZstdAuto was asked for, but .*{reason}"):
        choose_settings(made.description, asked, {})
    assert by_default.storage.compression == "None"
    assert any("does not apply" in note and reason in note for note in by_default.notes)


UNSUPPORTED = [(kind, storage_type) for kind in KINDS for storage_type in STORAGE_TYPES
               if storage_type not in kind_of(kind).compressed]


@pytest.mark.rule("V7", "K3", "K4", "T8")
@pytest.mark.parametrize(("kind", "storage_type"), UNSUPPORTED)
def test_a_compressed_dataset_of_a_kind_that_is_not_read_loads_and_refuses_its_data(
    tmp_path: Path, kind: str, storage_type: StorageType
) -> None:
    """As a newer build may write it: the flag on a dataset of this build's."""
    made = kind_of(kind)
    written = storage_type if storage_type in made.layouts else "SingleTimestep"
    metadata = make_kind(tmp_path / "d", made, written).metadata
    kept = dataclasses.replace(
        metadata.storage, storage_type=storage_type, compression="ZstdAuto", time_group_size=3,
        compressed_mesh_page_size=500, time_series_block_rows=7, spatial_group_size=500)
    storage = FolderStorage(tmp_path / "d")
    storage.write("dataset.json", render_document(dataclasses.replace(metadata, storage=kept)))
    before = {path: path.read_bytes() for path in (tmp_path / "d").rglob("*") if path.is_file()}

    dataset = Dataset.open(storage)
    assert dataset.inspect()["guards"][0]["code"] == "MD-G003"
    reads = (lambda: dataset.map(MapRequest("v")), lambda: dataset.series(SeriesRequest("v", ((1.0, 1.0),))),
             lambda: dataset.pages("v", 0), lambda: dataset.page_details("v", 0, None, 0), dataset.sizes,
             lambda: dataset.block("v", slice(0, 1), -1, slice(0, 1), slice(0, 1)))
    for read in reads:
        with pytest.raises(LayoutGuardError, match=r"is compressed \(ZstdAuto\), but .* Its data is not read"):
            read()
    with pytest.raises(LayoutGuardError, match="Nothing was written"):
        require_writable(dataset.metadata)
    with pytest.raises(LayoutGuardError, match="The metadata was not saved"):
        save_metadata(storage, dataset.metadata)
    assert {path: path.read_bytes() for path in (tmp_path / "d").rglob("*") if path.is_file()} == before


@pytest.mark.rule("K4")
@pytest.mark.parametrize("kind", ["grid-vector", "mesh-sigma"])
def test_a_write_of_settings_that_are_refused_writes_nothing(tmp_path: Path, kind: str) -> None:
    made = kind_of(kind)
    settings = kind_settings(made, "SingleTimestep")
    compressed = dataclasses.replace(settings, storage=dataclasses.replace(settings.storage, compression="ZstdAuto"))
    with pytest.raises(LayoutGuardError):
        write_kind(FolderStorage(tmp_path / "d"), made, compressed)
    assert not list((tmp_path / "d").rglob("*"))


# ------------------------------------------------------------------------------------------------------ legacy meshes

@pytest.mark.rule("V2")
def test_a_legacy_mesh_with_a_flag_is_read_raw(tmp_path: Path) -> None:
    """The writers of the time set the flag on meshes and stored raw values, without version and page size."""
    made = kind_of("mesh-layered")
    dataset = make_kind(tmp_path / "d", made, "SingleTimestep")
    legacy = ItemStorage("SingleTimestep", "LZ4", grid_tile_width=None, layout_version=None)
    metadata = dataclasses.replace(dataset.metadata, storage=legacy)
    dataset.storage.write("dataset.json", render_document(metadata))
    opened = Dataset.open(dataset.storage)
    assert opened.metadata.storage.compression == "None"
    assert opened.metadata.storage.layout_version is None
    assert opened.guards == ()
    for layer in range(3):
        check_map(made, opened, made.description.items[0], 1, layer)


@pytest.mark.rule("V2", "D7")
def test_a_legacy_mesh_is_appended_raw_and_saved_as_such(tmp_path: Path) -> None:
    made = kind_of("mesh-layered")
    first = dataclasses.replace(made, description=dataclasses.replace(
        made.description, times=made.description.times[:3]))
    dataset = make_kind(tmp_path / "d", first, "SingleTimestep")
    legacy = ItemStorage("SingleTimestep", "LZ4", grid_tile_width=None, layout_version=None)
    dataset.storage.write("dataset.json", render_document(dataclasses.replace(dataset.metadata, storage=legacy)))
    later = dataclasses.replace(made.description, times=made.description.times[3:])
    append_times(dataset.storage, later, Arrays({"v": made.values["v"][3:]}), {}, Progress(), {})

    opened = Dataset.open(dataset.storage)
    saved = json.loads(dataset.storage.read("dataset.json").data)["ItemStorage"]
    assert saved["Compression"] == "None"
    assert "LayoutVersion" not in saved
    assert not [blob.name for blob in dataset.storage.list_blobs() if blob.name.endswith(".idx")]
    for time in range(5):
        for layer in range(3):
            check_map(made, opened, made.description.items[0], time, layer)


@pytest.mark.rule("W1", "K5", "P6")
@pytest.mark.parametrize(("kind", "storage_type", "compression"), [
    case[:3] for case in CASES if case[2] in ("None", "ZstdAuto")])
def test_every_kind_is_appended_to(tmp_path: Path, kind: str, storage_type: StorageType, compression: str) -> None:
    made = kind_of(kind)
    first = dataclasses.replace(made, description=dataclasses.replace(
        made.description, times=made.description.times[:4]))
    storage = make_kind(tmp_path / "d", first, storage_type, compression).storage
    later = dataclasses.replace(made.description, times=made.description.times[4:])
    append_times(storage, later, Arrays({name: values[4:] for name, values in made.values.items()}), {}, Progress(), {})
    whole = make_kind(tmp_path / "e", made, storage_type, compression)
    appended = Dataset.open(storage)
    assert appended.metadata.storage == whole.metadata.storage
    for item in made.description.items:
        for layer in (range(len(item.layers)) if item.layers and not item.layers_together else (-1,)):
            at = slice(0, 5), layer, slice(0, appended.layout(item.name).tiles.rows), \
                slice(0, appended.layout(item.name).tiles.columns)
            assert same_bits(np.ascontiguousarray(appended.block(item.name, *at)),
                             np.ascontiguousarray(whole.block(item.name, *at)))
