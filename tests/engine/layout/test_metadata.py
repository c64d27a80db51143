"""`dataset.json`: round trips to the bit, unknown fields, old and newer documents, refusals that name the key."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.errors import (
    BlobChangedError,
    DamagedDataError,
    MdError,
    NotADatasetError,
    NotFoundError,
    UnknownCompressionError,
    UnsupportedVersionError,
    UsageError,
)
from mdstudio.engine.layout.document import parse_document, render_document
from mdstudio.engine.layout.guards import guards
from mdstudio.engine.layout.metadata import Metadata, item_folders, load_metadata, save_metadata
from mdstudio.engine.model import Dropped, Item, ItemStorage, LayerAxis
from mdstudio.engine.storage import MUST_NOT_EXIST, CountingStorage, FolderStorage
from mdstudio.engine.times import TimeAxis

ITEMS = (
    Item("temperature", "int16", "degC", "Sea temperature", "sea_water_temperature", no_data=-32768, missing=(-99, -98),
         valid_min=-2000, valid_max=4000, scale=0.001, offset=20.0, decoded="float32",
         layers=LayerAxis("depth", (0.494025, 1.541375), "m", "down", "depth", "float32", {"axis": "Z"}),
         attributes={"cell_methods": "time: mean", "flags": [1, 2, 3], "ratio": 0.1, "bad": float("nan")}),
    Item("Höhe/Wind ü", "float32", no_data=float("nan")),
)


def metadata(**changes: Any) -> Metadata:
    base = Metadata(
        kind="grid", name="sample", shape=(300, 400), items=ITEMS,
        times=TimeAxis(3_600_000_000 * np.arange(50)), storage=ItemStorage("MultiTimestep", "ZstdAuto", 10),
        domain_blob="domain-0123456789abcdef.bin", folders=item_folders([item.name for item in ITEMS]),
        data_size_bytes=123, attributes={"title": "A title"}, source=({"file": "a.nc", "format": "NetCDF-4"},),
        dropped=(Dropped("crs", "not gridded"), Dropped("time step", "repeated", 3)),
        time_attributes={"units": "hours since 1950-01-01"})
    return dataclasses.replace(base, **changes)


def document(**changes: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(render_document(metadata(**changes)))
    return loaded


def parse(data: object) -> Metadata:
    return parse_document(json.dumps(data).encode(), "dataset.json")


def same(a: Metadata, b: Metadata) -> bool:
    """Equal, NaN taken as equal to NaN of the same bits."""
    return repr(dataclasses.replace(a, raw={})) == repr(dataclasses.replace(b, raw={})) and a.times == b.times


def test_what_is_saved_is_loaded() -> None:
    assert same(parse_document(render_document(metadata()), ""), metadata())


def test_the_keys_are_those_of_the_format() -> None:
    written = document()
    assert list(written) == ["SchemaVersion", "Name", "Kind", "ItemStorage", "Items", "Times", "SpatialDomain",
                             "DataSizeBytes", "Source", "Attributes", "TimeAttributes", "Dropped"]
    assert written["Kind"] == "Grid"
    assert written["ItemStorage"] == {"StorageType": "MultiTimestep", "Compression": "ZstdAuto", "LayoutVersion": 3,
                                      "TimeGroupSize": 10, "GridTileWidth": 128, "FixedStep": False}
    assert written["Items"][0]["Folder"] == "000-temperature"
    assert written["Items"][1]["Folder"] == "001-h_he_wind__"
    assert written["Times"] == {"Calendar": "standard", "Static": False, "Count": 50, "Runs": [[0, 3_600_000_000, 50]]}
    assert written["SpatialDomain"] == {"Blob": "domain-0123456789abcdef.bin", "Rows": 300, "Columns": 400}


ANY_FLOAT = st.one_of(
    st.floats(), st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]))


@settings(deadline=None)
@given(ANY_FLOAT, ANY_FLOAT, st.lists(ANY_FLOAT, min_size=1, max_size=4))
def test_numbers_are_kept_to_the_bit_nan_payloads_included(no_data: float, scale: float, layers: list[float]) -> None:
    item = Item("x", "float64", no_data=no_data, scale=scale, offset=-scale, missing=(no_data, 1), valid_min=scale,
                layers=LayerAxis("z", tuple(layers)), attributes={"v": [no_data, {"w": scale, "$float": no_data}]})
    loaded = parse_document(render_document(metadata(items=(item,), folders={"x": "000-x"})), "").items[0]
    assert loaded.layers is not None

    def bits(*values: Any) -> list[bytes]:
        return [struct.pack("<d", value) for value in values]

    assert bits(loaded.no_data, loaded.scale, loaded.offset, loaded.missing[0], loaded.valid_min) == \
        bits(no_data, scale, -scale, no_data, scale)
    assert bits(*loaded.layers.values) == bits(*layers)
    assert bits(loaded.attributes["v"][0], *loaded.attributes["v"][1].values()) == bits(no_data, scale, no_data)


@pytest.mark.parametrize(("dtype", "value"), [
    ("int64", -(2**63)), ("uint64", 2**64 - 1), ("int8", -128), ("float32", 9.969209968386869e36), ("float64", -0.0),
    ("float32", -999), ("float32", float("inf")), ("int16", 40_000), ("int16", -999.0)])
def test_a_no_data_value_keeps_its_type_and_value(dtype: str, value: float) -> None:
    written = metadata(items=(Item("x", dtype, no_data=value),), folders={"x": "000-x"})
    found = parse_document(render_document(written), "").items[0].no_data
    assert type(found) is type(value)
    assert repr(found) == repr(value)


@settings(deadline=None)
@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), ANY_FLOAT, st.text()),
                    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
                    max_leaves=8))
def test_attributes_of_any_form_survive(value: Any) -> None:
    loaded = parse_document(render_document(metadata(attributes={"a": value, "$float": value})), "")
    assert repr(loaded.attributes) == repr({"a": value, "$float": value})


def test_attributes_may_be_numpy_and_must_be_something_that_json_holds() -> None:
    written = metadata(attributes={"range": np.array([1, 2], np.int16), "scale": np.float32(0.1), "broken": "\udce4"})
    loaded = parse_document(render_document(written), "").attributes
    assert loaded == {"range": [1, 2], "scale": float(np.float32(0.1)), "broken": "\udce4"}
    with pytest.raises(UsageError, match=r"attributes of x\.when: a bytes cannot be stored"):
        render_document(metadata(items=(Item("x", "int8", attributes={"when": b"\0"}),), folders={"x": "000-x"}))


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**9), max_size=40), st.integers(-(10**17), 10**17), st.booleans())
def test_times_are_exact_whatever_their_steps(steps: list[int], first: int, irregular: bool) -> None:
    values = first + np.cumsum([0, *(steps if irregular else [steps[0]] * len(steps) if steps else [])])
    times = TimeAxis(values, "360_day")
    assert parse_document(render_document(metadata(times=times)), "").times == times


def test_times_are_short_for_fifty_thousand_equal_steps_and_for_a_gap_in_them() -> None:
    values = 3_600_000_000 * np.arange(50_000)
    assert document(times=TimeAxis(values))["Times"]["Runs"] == [[0, 3_600_000_000, 50_000]]
    gap = TimeAxis(np.delete(values, [30_000, 30_001]))
    assert len(document(times=gap)["Times"]["Runs"]) == 2
    assert parse(document(times=gap)).times == gap


@pytest.mark.parametrize("times", [TimeAxis.none(), TimeAxis(np.zeros(0, np.int64)), TimeAxis(np.array([5]), "noleap")])
def test_no_times_one_time_and_data_without_times_survive(times: TimeAxis) -> None:
    assert parse(document(times=times)).times == times


def _with_strangers(value: Any) -> Any:
    """A field that nobody knows in every object of the document; {"$float": ...} is a number."""
    if isinstance(value, dict) and "$float" not in value:
        return {key: _with_strangers(part) for key, part in value.items()} | {"Stranger": [1, {"Deep": 2.5}]}
    return [_with_strangers(part) for part in value] if isinstance(value, list) else value


@pytest.mark.rule("V8")
def test_fields_that_this_build_does_not_know_survive_at_every_level(tmp_path: Path) -> None:
    strange = _with_strangers(document())
    storage = FolderStorage(tmp_path)
    storage.write("dataset.json", json.dumps(strange).encode())
    loaded, version = load_metadata(storage)
    save_metadata(storage, loaded, if_match=version)
    assert json.loads((tmp_path / "dataset.json").read_bytes()) == strange


@pytest.mark.rule("V8")
def test_unknown_fields_stay_with_what_changed_and_with_their_item() -> None:
    strange = _with_strangers(document())
    loaded = parse(strange)
    changed = dataclasses.replace(loaded, items=loaded.items[::-1], times=loaded.times[:7], data_size_bytes=9,
                                  storage=dataclasses.replace(loaded.storage, time_group_size=None))
    written = json.loads(render_document(changed))
    assert written["Times"]["Count"] == 7
    assert written["Times"]["Stranger"] == [1, {"Deep": 2.5}]
    assert [entry["Name"] for entry in written["Items"]] == ["Höhe/Wind ü", "temperature"]
    assert written["Items"][1]["Layers"]["Stranger"] == [1, {"Deep": 2.5}]
    assert "TimeGroupSize" not in written["ItemStorage"]
    assert written["ItemStorage"]["Stranger"] == [1, {"Deep": 2.5}]


@pytest.mark.rule("C1")
@pytest.mark.parametrize(("ordinal", "name"), list(enumerate(NAMES)))
def test_an_old_ordinal_loads_as_the_compression_that_it_meant(ordinal: int, name: str) -> None:
    old = document()
    old["ItemStorage"]["Compression"] = ordinal
    assert parse(old).storage.compression == name


@pytest.mark.rule("C1", "V6")
@pytest.mark.parametrize("value", ["BrotliAuto", 17, "zstdauto", -1])
def test_an_unknown_compression_loads_and_its_metadata_is_never_written_back(tmp_path: Path, value: object) -> None:
    newer = document()
    newer["ItemStorage"]["Compression"] = value
    storage = FolderStorage(tmp_path)
    storage.write("dataset.json", before := json.dumps(newer).encode())
    loaded, version = load_metadata(storage)
    assert loaded.raw["ItemStorage"]["Compression"] == value
    with pytest.raises(UnknownCompressionError, match=str(value)):
        save_metadata(storage, loaded, if_match=version)
    assert (tmp_path / "dataset.json").read_bytes() == before


@pytest.mark.rule("V5")
def test_a_newer_layout_version_loads_shows_and_is_not_written_back(tmp_path: Path) -> None:
    newer = document()
    newer["ItemStorage"] |= {"LayoutVersion": 4, "StorageType": "Woven"}
    storage = FolderStorage(tmp_path)
    storage.write("dataset.json", json.dumps(newer).encode())
    loaded, version = load_metadata(storage)
    assert [item.name for item in loaded.items] == ["temperature", "Höhe/Wind ü"]
    with pytest.raises(UnsupportedVersionError, match="layout version 4"):
        save_metadata(storage, loaded, if_match=version)


@pytest.mark.rule("V5")
def test_a_newer_document_that_cannot_even_be_parsed_says_that_it_is_newer() -> None:
    newer = document()
    newer["ItemStorage"]["LayoutVersion"] = 9
    newer["Items"] = {"Packed": "..."}
    with pytest.raises(UnsupportedVersionError, match="layout version 9"):
        parse(newer)


def _mesh(tmp_path: Path, *, version: int | None = None, compression: str = "LZ4") -> FolderStorage:
    old = document()
    old["Kind"] = "Mesh"
    old["SpatialDomain"] = {"Blob": old["SpatialDomain"]["Blob"], "Elements": 300, "Nodes": 200}
    old["Items"] = [{"Name": "level", "Folder": "000-level", "DataType": "float32"}]
    old["ItemStorage"] = {"StorageType": "SingleTimestep", "Compression": compression}
    if version:
        old["ItemStorage"]["LayoutVersion"] = version
    storage = FolderStorage(tmp_path)
    storage.write("dataset.json", json.dumps(old).encode())
    return storage


@pytest.mark.rule("V2")
def test_a_legacy_flag_on_a_mesh_loads_as_uncompressed(tmp_path: Path) -> None:
    loaded, _ = load_metadata(_mesh(tmp_path))
    assert loaded.storage.compression == "None"
    assert json.loads(render_document(loaded))["ItemStorage"]["Compression"] == "None"


@pytest.mark.rule("V2")
@pytest.mark.parametrize("layer", ["L-1", "L0000"])
def test_a_mesh_with_a_page_index_keeps_its_flag_and_is_refused_for_its_missing_parameter(
    tmp_path: Path, layer: str
) -> None:
    storage = _mesh(tmp_path)
    storage.write(f"000-level/{layer}/19700101T000000.idx", b"\1\0\0\0")
    loaded, _ = load_metadata(storage)
    assert loaded.storage.compression == "LZ4"
    assert any("CompressedMeshPageSize" in guard.message for guard in guards(loaded))


@pytest.mark.rule("V2")
def test_a_mesh_with_a_version_is_no_legacy_and_costs_one_request(tmp_path: Path) -> None:
    counting = CountingStorage(_mesh(tmp_path, version=1))
    loaded, _ = load_metadata(counting)
    assert loaded.storage.compression == "LZ4"
    assert counting.requests == 1


@pytest.mark.rule("W3")
def test_loading_reads_one_blob(tmp_path: Path) -> None:
    save_metadata(FolderStorage(tmp_path), metadata())
    counting = CountingStorage(FolderStorage(tmp_path))
    load_metadata(counting)
    assert counting.requests == 1
    assert counting.bytes_read == (tmp_path / "dataset.json").stat().st_size


@pytest.mark.rule("W3")
def test_only_a_folder_that_holds_dataset_json_is_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(NotADatasetError, match=r"holds no dataset\.json"):
        load_metadata(FolderStorage(tmp_path))
    with pytest.raises(NotFoundError, match="nothing here"):
        load_metadata(FolderStorage(tmp_path / "absent"))
    assert NotADatasetError.exit_status == 12
    assert NotFoundError.exit_status == 10


@pytest.mark.rule("W2")
def test_a_save_is_conditional(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    save_metadata(storage, metadata(), if_none_match=MUST_NOT_EXIST)
    with pytest.raises(BlobChangedError):
        save_metadata(storage, metadata(), if_none_match=MUST_NOT_EXIST)
    loaded, version = load_metadata(storage)
    assert save_metadata(storage, loaded, if_match=version) != version
    with pytest.raises(BlobChangedError):
        save_metadata(storage, loaded, if_match=version)


@pytest.mark.parametrize("data", [
    b"", b"{", b"\xff\xfe", b"[1]", b"null", b'{"Items": NaN}', b'{"Items": 1e999}', b'{"a": ' * 100_000,
    b'{"a":' * 60 + b"1" + b"}" * 60, b'{"Items": ' + b"9" * 5000 + b"}"])
def test_bytes_that_are_no_json_object_are_damage(data: bytes) -> None:
    with pytest.raises(DamagedDataError) as caught:
        parse_document(data, "dataset.json")
    assert caught.value.where == "dataset.json"


def test_json_of_something_else_is_no_dataset() -> None:
    with pytest.raises(NotADatasetError, match="no MD metadata"):
        parse({"name": "package", "version": 1})


@pytest.mark.parametrize(("path", "value", "words"), [
    ("Kind", "Cube", 'Kind: expected one of Grid, Mesh, found the text "Cube"'),
    ("Kind", None, "Kind: expected one of Grid, Mesh, found null"),
    ("ItemStorage", [], "ItemStorage: expected an object, found a list"),
    ("ItemStorage.TimeGroupSize", None, "ItemStorage.TimeGroupSize: expected a whole number"),
    ("ItemStorage.TimeGroupSize", 0, "from 1 to 2147483647, found the number 0"),
    ("ItemStorage.TimeGroupSize", "10", 'found the text "10"'),
    ("ItemStorage.GridTileWidth", 46_341, "from 1 to 46340"),
    ("ItemStorage.Compression", True, "the name of a compression"),
    ("ItemStorage.LayoutVersion", 0, "ItemStorage.LayoutVersion"),
    ("ItemStorage.FixedStep", 1, "true or false"),
    ("SpatialDomain.Rows", 2**40, "SpatialDomain.Rows"),
    ("SpatialDomain.Rows", True, "SpatialDomain.Rows"),
    ("SpatialDomain.Blob", "../../etc/passwd", "the name of a blob or folder"),
    ("SpatialDomain.Blob", "..", "the name of a blob or folder"),
    ("Items", {}, "Items: expected a list"),
    ("Items.0.Name", "", "Items[0].Name"),
    ("Items.0.Name", "Höhe/Wind ü", "a name that no other item has"),
    ("Items.0.Folder", "001-h_he_wind__", "a folder that no other item has"),
    ("Items.0.Folder", "a/b", "Items[0].Folder"),
    ("Items.0.DataType", "complex64", "Items[0].DataType: expected one of int8"),
    ("Items.0.NoData", "-999", "Items[0].NoData: expected a number"),
    ("Items.0.NoData", 2**64, "Items[0].NoData: expected a number"),
    ("Items.0.Missing", [1, "x"], "Items[0].Missing"),
    ("Items.0.Scale", "0.1", "Items[0].Scale"),
    ("Items.0.Layers.Values", [], "Items[0].Layers.Values"),
    ("Items.0.Attributes", 3, "Items[0].Attributes: expected an object, found the number 3"),
    ("Times.Count", 10**15, "Times.Count"),
    ("Times.Count", 51, "strictly increasing microseconds, 51 in all"),
    ("Times.Runs", [[0, 3_600_000_000, 10**12]], "Times.Runs"),
    ("Times.Runs", [[0, 10**18, 50]], "Times.Runs"),
    ("Times.Runs", [[0, 0, 50]], "Times.Runs"),
    ("Times.Runs", [[0, 1, 25], [20, 1, 25]], "Times.Runs"),
    ("Times.Runs", [[0, 1]], "Times.Runs"),
    ("Times.Calendar", "maya", "Times.Calendar"),
    ("DataSizeBytes", -1, "DataSizeBytes"),
    ("Source", [3], "Source[0]: expected an object"),
])
def test_a_wrong_field_is_named_with_what_was_expected_and_found(path: str, value: object, words: str) -> None:
    changed = document()
    *parents, key = path.split(".")
    target: Any = changed
    for part in parents:
        target = target[int(part)] if part.isdigit() else target[part]
    target[key] = value
    with pytest.raises(DamagedDataError) as caught:
        parse(changed)
    assert words in caught.value.message
    assert caught.value.where == "dataset.json"


def test_a_grid_of_more_tiles_than_memory_holds_is_damage() -> None:
    changed = document()
    changed["SpatialDomain"] |= {"Rows": 2**20, "Columns": 2**20}
    changed["ItemStorage"]["GridTileWidth"] = 1
    with pytest.raises(DamagedDataError, match="at most 2\\^40 cells"):
        parse(changed)


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
              st.text(max_size=5), st.sampled_from(["NaN", {"$float": "NaN"}, [], {}])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=4)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(*at, key) for key, _ in parts] + [path for key, part in parts for path in _paths(part, (*at, key))]


@settings(deadline=None)
@given(st.data())
def test_no_mutation_of_the_document_gives_anything_but_an_error_of_ours_or_metadata_that_saves(
    data: st.DataObject
) -> None:
    changed = copy.deepcopy(document())
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(_paths(changed)))
        target = changed
        for part in path[:-1]:
            target = target[part]
        if data.draw(st.booleans()):
            target[path[-1]] = data.draw(JSON_VALUES)
        else:
            del target[path[-1]]
        if not _paths(changed):
            return
    try:
        loaded = parse(changed)
        guards(loaded)
    except MdError:
        return
    assert same(parse_document(render_document(loaded), ""), loaded)


@settings(deadline=None)
@given(st.data())
def test_no_damaged_byte_gives_a_traceback(data: st.DataObject) -> None:
    good = bytearray(render_document(metadata()))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    with suppress(MdError):
        parse_document(bytes(good[:data.draw(st.integers(0, len(good)))]), "dataset.json")


def test_folders_are_safe_short_and_distinct() -> None:
    folders = item_folders(["CON", "a" * 99, "Größe (m²)", "x", "X"])
    assert list(folders.values()) == ["000-con", "001-" + "a" * 40, "002-gr__e__m__", "003-x", "004-x"]


def test_the_nan_of_no_data_is_the_usual_one_unless_it_was_another() -> None:
    assert document()["Items"][1]["NoData"] == {"$float": "NaN"}
    assert math.isnan(parse(document()).items[1].no_data or 0)
