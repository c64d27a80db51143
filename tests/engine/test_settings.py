"""How a new dataset is stored: storage type by size, defaults from the environment, refusals (D1-D5, D9-D14)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.errors import UnsupportedError, UsageError
from mdstudio.engine.model import Description, GridDomain, Item, ItemStorage, LayerAxis, MeshDomain
from mdstudio.engine.settings import (
    RECOMMENDED_COMPRESSION,
    choose_settings,
    effective_defaults,
    encode_chunks,
    encode_workers,
)
from mdstudio.engine.times import TimeAxis

GRID, SERIES = "MD_DEFAULT_GRID_COMPRESSION", "MD_DEFAULT_TIMESERIES_COMPRESSION"
MESH = "MD_DEFAULT_MESH_COMPRESSION"
HOURLY = TimeAxis(3_600_000_000 * np.arange(10))


def description(cells: int = 1000, dtype: str = "float32", times: TimeAxis = HOURLY, *more: Item) -> Description:
    domain = GridDomain("projected", np.arange(cells), np.arange(1))
    return Description(domain, times, (Item("a", dtype), *more))


def storage(
    cells: int = 1000, environ: dict[str, str] | None = None, dtype: str = "float32", **parameters: Any
) -> ItemStorage:
    return choose_settings(description(cells, dtype), parameters, environ or {}).storage


@pytest.mark.rule("D3")
@pytest.mark.parametrize(("cells", "storage_type", "group"), [
    (655_361, "SingleTimestep", None), (655_360, "MultiTimestep", 2), (1_310_721, "SingleTimestep", None),
    (1000, "MultiTimestep", 1310), (26, "MultiTimestep", 49_999), (1, "MultiTimestep", 49_999)])
def test_the_storage_type_follows_the_size_of_a_layer(cells: int, storage_type: str, group: int | None) -> None:
    chosen = storage(cells)
    assert (chosen.storage_type, chosen.time_group_size) == (storage_type, group)


@pytest.mark.rule("D3")
@pytest.mark.parametrize("compression", NAMES)
@pytest.mark.parametrize("cells", [1000, 655_360, 655_361])
def test_compression_never_changes_the_layout(compression: str, cells: int) -> None:
    for environ, parameters in (({GRID: compression}, {}), ({}, {"Compression": compression})):
        chosen = storage(cells, environ, **parameters)
        assert chosen.compression == compression
        assert (chosen.storage_type, chosen.time_group_size) == (
            storage(cells).storage_type, storage(cells).time_group_size)


@pytest.mark.rule("D3")
@pytest.mark.parametrize("size", [1, 0, -5])
def test_a_time_group_size_of_one_or_less_means_single_timestep_unless_a_storage_type_is_given(size: int) -> None:
    chosen = storage(TimeGroupSize=size)
    assert (chosen.storage_type, chosen.time_group_size) == ("SingleTimestep", None)


@pytest.mark.rule("D3")
def test_the_storage_type_parameter_overrides_the_size() -> None:
    assert storage(10, StorageType="SingleTimestep").storage_type == "SingleTimestep"
    assert storage(10, StorageType="TimeSeries").storage_type == "TimeSeries"
    both = choose_settings(description(), {"StorageType": "SingleTimestep", "TimeGroupSize": 5}, {})
    assert both.storage.time_group_size is None
    assert "not used" in both.notes[0]
    assert storage(2_000_000, TimeGroupSize=7).time_group_size == 7


@pytest.mark.rule("D4")
@pytest.mark.parametrize(("cells", "group"), [(1_310_721, 1), (5_000_000, 1), (1_310_720, 1), (655_360, 2)])
def test_an_explicit_multitimestep_of_a_large_grid_gets_groups_of_one(cells: int, group: int) -> None:
    assert storage(cells, StorageType="MultiTimestep").time_group_size == group


@pytest.mark.rule("D5")
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
@pytest.mark.parametrize("parameters", [
    {"StorageType": "MultiTimestep", "TimeGroupSize": 0}, {"StorageType": "MultiTimestep", "TimeGroupSize": 50_000},
    {"TimeGroupSize": 50_000}, {"StorageType": "TimeSeries", "TimeGroupSize": 0},
    {"GridTileWidth": 15}, {"GridTileWidth": 4097}, {"LayoutVersion": 1}, {"LayoutVersion": 4}])
def test_settings_out_of_bounds_are_refused_compressed_or_not(parameters: dict[str, Any], compression: str) -> None:
    with pytest.raises(UsageError) as caught:
        storage(**parameters, Compression=compression)
    assert str(list(parameters.values())[-1]) in str(caught.value)


@pytest.mark.rule("D5")
@pytest.mark.parametrize("parameters", [
    {"StorageType": "MultiTimestep", "TimeGroupSize": 1}, {"TimeGroupSize": 49_999}, {"GridTileWidth": 16},
    {"GridTileWidth": 4096}, {"LayoutVersion": 2}, {"LayoutVersion": 3}])
def test_settings_at_the_bounds_are_taken(parameters: dict[str, Any]) -> None:
    chosen = storage(**parameters)
    names = {"TimeGroupSize": chosen.time_group_size, "GridTileWidth": chosen.grid_tile_width,
             "LayoutVersion": chosen.layout_version, "StorageType": chosen.storage_type}
    assert {name: names[name] for name in parameters} == parameters


@pytest.mark.rule("D1")
@pytest.mark.parametrize(("storage_type", "variable"), [
    ("SingleTimestep", GRID), ("MultiTimestep", GRID), ("TimeSeries", SERIES)])
def test_the_default_comes_from_the_variable_of_the_kind_and_is_none_in_code(storage_type: str, variable: str) -> None:
    assert storage(StorageType=storage_type).compression == "None"
    others = {name: "LZ4" for name in (GRID, SERIES, "MD_DEFAULT_MESH_COMPRESSION") if name != variable}
    assert storage(environ=others, StorageType=storage_type).compression == "None"
    chosen = choose_settings(description(), {"StorageType": storage_type}, others | {variable: "ZstdAuto"})
    assert chosen.storage.compression == "ZstdAuto"
    assert chosen.origins["Compression"] == f"variable {variable}"


@pytest.mark.rule("D2")
def test_a_default_applies_only_where_no_compression_is_given_and_with_an_explicit_group_size_too() -> None:
    assert storage(environ={GRID: "LZ4"}, Compression="None").compression == "None"
    assert storage(environ={GRID: "LZ4"}, Compression="ZstdAuto").compression == "ZstdAuto"
    assert storage(environ={GRID: "LZ4"}, TimeGroupSize=5).compression == "LZ4"


@pytest.mark.rule("D14")
def test_a_bad_variable_fails_only_a_creation_that_would_use_it_and_is_named() -> None:
    bad = {GRID: "Zstd"}
    with pytest.raises(UsageError, match=f"{GRID} is 'Zstd'"):
        storage(environ=bad)
    assert storage(environ=bad, Compression="LZ4").compression == "LZ4"
    assert storage(environ=bad, StorageType="TimeSeries").compression == "None"
    assert storage(environ={"MD_SOMETHING_NEW": "?", GRID: ""}).compression == "None"


VECTOR = Item("current", "float32", value_kind="vector", components=2)


@pytest.mark.rule("K4")
def test_an_explicit_request_to_compress_what_cannot_be_compressed_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="'current' has 2 values a cell"):
        choose_settings(description(1000, "int16", HOURLY, VECTOR), {"Compression": "ZstdAuto"}, {})
    plain = choose_settings(description(1000, "int16", HOURLY, VECTOR), {"Compression": "None"}, {})
    assert plain.storage.compression == "None"


@pytest.mark.rule("D12")
def test_a_default_for_what_cannot_be_compressed_is_skipped_with_a_note() -> None:
    skipped = choose_settings(description(1000, "int16", HOURLY, VECTOR), {}, {GRID: "ZstdAuto"})
    assert skipped.storage.compression == "None"
    assert skipped.origins["Compression"] == "default"
    assert len(skipped.notes) == 1
    assert "uncompressed" in skipped.notes[0]
    assert "'current'" in skipped.notes[0]
    assert choose_settings(description(1000, "int16", HOURLY, VECTOR), {}, {}).notes == ()


@pytest.mark.rule("K5", "T8")
def test_a_zlevel_item_is_refused_as_time_series_uncompressed_too() -> None:
    profile = Item("profile", "float32", value_kind="zlevel")
    with pytest.raises(UnsupportedError, match="'profile' has z-levels"):
        choose_settings(description(1000, "int16", HOURLY, profile), {"StorageType": "TimeSeries"}, {})


@pytest.mark.rule("D10")
@pytest.mark.parametrize(("dtype", "parameters", "group", "rows"), [
    ("int16", {}, 80, 205), ("float32", {}, 80, 103), ("float64", {}, 80, 52),
    ("float64", {"TimeGroupSize": 49_999}, 49_999, 4),
    ("int8", {"TimeGroupSize": 1}, 1, 256), ("float32", {"GridTileWidth": 4096}, 1, 256),
    ("float32", {"GridTileWidth": 16, "TimeGroupSize": 16}, 16, 256), ("int16", {"TimeGroupSize": 4096}, 4096, 4)])
def test_block_rows_are_the_fewest_that_reach_32_kb(
    dtype: str, parameters: dict[str, Any], group: int, rows: int
) -> None:
    chosen = storage(dtype=dtype, StorageType="TimeSeries", **parameters)
    assert (chosen.time_group_size, chosen.time_series_block_rows) == (group, rows)
    assert chosen.spatial_group_size == parameters.get("GridTileWidth", 128) ** 2


@pytest.mark.rule("D10")
def test_block_rows_follow_the_largest_element_of_all_items() -> None:
    mixed = description(1000, "int8", HOURLY, Item("b", "float64"))
    chosen = choose_settings(mixed, {"StorageType": "TimeSeries"}, {}).storage
    assert chosen.time_series_block_rows == 52


@pytest.mark.rule("T4")
@pytest.mark.parametrize(("times", "fixed"), [
    (HOURLY, True), (TimeAxis(np.array([0, 1, 3])), False), (TimeAxis(np.array([0])), False), (TimeAxis.none(), False)])
def test_time_series_of_equal_steps_have_fixed_groups(times: TimeAxis, fixed: bool) -> None:
    chosen = choose_settings(description(10, "int8", times), {"StorageType": "TimeSeries"}, {}).storage
    assert chosen.fixed_step is fixed
    assert not choose_settings(description(10, "int8", times), {}, {}).storage.fixed_step


@pytest.mark.rule("V1")
def test_every_new_dataset_carries_a_layout_version_uncompressed_too() -> None:
    assert storage().layout_version == 3
    assert storage(LayoutVersion=2, Compression="LZ4").layout_version == 2


@pytest.mark.rule("D13")
def test_the_effective_default_of_each_kind_is_shown_with_its_origin() -> None:
    rows = effective_defaults({SERIES: "ZstdFastAuto", "MD_DEFAULT_MESH_COMPRESSION": "Zpd"})
    assert [(row.kind, row.value, row.origin) for row in rows] == [
        ("grid", "None", "default"), ("mesh", "Zpd (not a compression)", "variable MD_DEFAULT_MESH_COMPRESSION"),
        ("TimeSeries", "ZstdFastAuto", f"variable {SERIES}")]
    assert RECOMMENDED_COMPRESSION == "ZstdAuto"
    assert choose_settings(description(), {"GridTileWidth": 64}, {}).origins == {
        "Compression": "default", "StorageType": "default", "TimeGroupSize": "default", "GridTileWidth": "parameter",
        "LayoutVersion": "default"}


@pytest.mark.rule("D9")
@pytest.mark.parametrize(("text", "count"), [("1", 1), ("3", 3), ("4", 4), ("99", 4), (" 2 ", 2)])
def test_the_variable_sets_the_workers_up_to_four(text: str, count: int) -> None:
    assert encode_workers({"MD_ENCODE_WORKERS": text}) == count


@pytest.mark.rule("D9", "D14")
@pytest.mark.parametrize("text", ["0", "-1", "many", "2.5", "1e1", "٣"])
def test_a_bad_count_of_workers_is_an_error_that_names_the_variable(text: str) -> None:
    with pytest.raises(UsageError, match="MD_ENCODE_WORKERS"):
        encode_workers({"MD_ENCODE_WORKERS": text})


@pytest.mark.rule("D9")
def test_without_the_variable_there_is_a_worker_for_each_cpu_at_most_four(monkeypatch: pytest.MonkeyPatch) -> None:
    for cpus, workers in ((1, 1), (3, 3), (64, 4)):
        monkeypatch.setattr("mdstudio.engine.settings.available_processors", lambda cpus=cpus: cpus)
        assert encode_workers({}) == workers
        assert encode_workers({"MD_ENCODE_WORKERS": ""}) == workers


@pytest.mark.rule("D9")
@settings(deadline=None)
@given(st.integers(1, 10_000))
def test_a_slice_is_one_chunk_below_16_tiles_and_four_fixed_ones_from_there(tiles: int) -> None:
    bounds = [i * tiles // 4 for i in range(5)]
    expected = [(0, tiles)] if tiles < 16 else [(bounds[i], bounds[i + 1]) for i in range(4)]
    assert encode_chunks(tiles) == expected


# Meshes

LAYERS = LayerAxis("depth", (0.0, 1.0, 2.0))


def mesh(elements: int = 1000, *items: Item, layer_counts: Any = None) -> Description:
    """A mesh of one triangle, so many times."""
    ends = np.arange(3.0)
    domain = MeshDomain(ends, ends, np.broadcast_to(np.array([0, 1, 2], np.int32), (elements, 3)),
                        np.broadcast_to(np.int32(0), elements), np.arange(3, dtype=np.int32), layer_counts=layer_counts)
    return Description(domain, HOURLY, items or (Item("a", "float32"),))


@pytest.mark.rule("D3", "D4")
@pytest.mark.parametrize(("elements", "given", "storage_type", "group"), [
    (655_361, {}, "SingleTimestep", None), (655_360, {}, "MultiTimestep", 2), (1000, {}, "MultiTimestep", 1310),
    (1_310_721, {"StorageType": "MultiTimestep"}, "MultiTimestep", 1),
    (655_361, {"StorageType": "TimeSeries"}, "TimeSeries", 80), (20, {"TimeGroupSize": 1}, "SingleTimestep", None)])
def test_the_layout_of_a_mesh_follows_the_elements_of_one_layer(
    elements: int, given: dict[str, Any], storage_type: str, group: int | None
) -> None:
    layered, sigma = Item("b", "float64", layers=LAYERS), Item("c", "float32", value_kind="sigma", layers=LAYERS)
    for described in (mesh(elements), mesh(elements, layered),
                      mesh(elements, sigma, layer_counts=np.broadcast_to(np.int32(3), elements))):
        chosen = choose_settings(described, given, {}).storage
        assert (chosen.storage_type, chosen.time_group_size) == (storage_type, group)
        assert chosen.grid_tile_width is None


@pytest.mark.rule("D10", "K6")
def test_a_mesh_gets_pages_of_16384_elements_and_a_timeseries_groups_of_as_many() -> None:
    for storage_type in ("SingleTimestep", "MultiTimestep"):
        chosen = choose_settings(mesh(), {"StorageType": storage_type, "Compression": "ZstdAuto"}, {}).storage
        assert (chosen.compressed_mesh_page_size, chosen.spatial_group_size) == (16_384, None)
        assert chosen.time_series_block_rows is None
    for compression in ("None", "ZstdAuto"):
        chosen = choose_settings(mesh(), {"StorageType": "TimeSeries", "Compression": compression}, {}).storage
        assert (chosen.compressed_mesh_page_size, chosen.spatial_group_size) == (None, 16_384)
        assert (chosen.time_group_size, chosen.time_series_block_rows) == (80, 103)


@pytest.mark.rule("D1", "D2")
@pytest.mark.parametrize(("storage_type", "variable"), [
    ("SingleTimestep", MESH), ("MultiTimestep", MESH), ("TimeSeries", SERIES)])
def test_the_default_of_a_mesh_comes_from_its_own_variable(storage_type: str, variable: str) -> None:
    others = {name: "LZ4" for name in (GRID, SERIES, MESH) if name != variable}
    chosen = choose_settings(mesh(), {"StorageType": storage_type}, others | {variable: "ZstdFastAuto"})
    assert chosen.storage.compression == "ZstdFastAuto"
    assert chosen.origins["Compression"] == f"variable {variable}"
    assert choose_settings(mesh(), {"StorageType": storage_type}, others).storage.compression == "None"
    explicit = {"StorageType": storage_type, "Compression": "None"}
    assert choose_settings(mesh(), explicit, {variable: "ZstdAuto"}).storage.compression == "None"


@pytest.mark.rule("D5")
def test_a_tile_width_for_a_mesh_is_noted_and_one_out_of_bounds_refused() -> None:
    assert any("GridTileWidth" in note for note in choose_settings(mesh(), {"GridTileWidth": 64}, {}).notes)
    with pytest.raises(UsageError, match="GridTileWidth is 5"):
        choose_settings(mesh(), {"GridTileWidth": 5}, {})


@pytest.mark.rule("K1", "P6")
def test_the_paged_nodes_of_z_level_items_are_counted_and_must_have_one_number_of_layers() -> None:
    profile = Item("p", "float32", value_kind="zlevel", location="node", layers=LAYERS)
    assert choose_settings(mesh(2049, profile), {}, {}).storage.zlevel_paged_node_count == 3 * 3 * 3
    assert choose_settings(mesh(), {}, {}).storage.zlevel_paged_node_count is None
    other = Item("q", "float32", value_kind="zlevel", location="node", layers=LayerAxis("depth", (0.0,)))
    with pytest.raises(UnsupportedError, match="have 1 and 3 layers"):
        choose_settings(mesh(1000, profile, other), {}, {})


@pytest.mark.rule("K1")
@pytest.mark.parametrize(("described", "message"), [
    (mesh(10, Item("p", "int8", value_kind="zlevel")), "'p' is of the kind 'zlevel', which needs a mesh and layers"),
    (description(10, "int8", HOURLY, Item("p", "int8", value_kind="sigma", layers=LAYERS)), "needs a mesh and layers"),
    (mesh(10, Item("p", "int8", value_kind="sigma", layers=LAYERS)), "has 3 sigma layers; the mesh has 0"),
    (mesh(2, Item("p", "int8", value_kind="sigma", layers=LAYERS), layer_counts=np.array([1, 2], np.int32)),
     "has 3 sigma layers; the mesh has 2"),
    (description(10, "int8", HOURLY, Item("p", "int8", location="node")), "values of nodes, which a grid has not"),
    (mesh(10, Item("p", "int8", components=2)), "vectors, and only they"),
    (mesh(10, Item("p", "int8", value_kind="vector")), "vectors, and only they"),
])
def test_items_that_a_domain_cannot_have_are_refused(described: Description, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choose_settings(described, {}, {})
