"""Which datasets are refused, for what, and what one can still do with them (K3-K6, V2-V9)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import LayoutGuardError, MdError, UnknownCompressionError, UnsupportedVersionError
from mdstudio.engine.layout.guards import (
    guards,
    is_compression_supported,
    missing_layout_parameter,
    require_readable,
    require_saveable,
    require_writable,
)
from mdstudio.engine.layout.metadata import Metadata, load_metadata, save_metadata
from mdstudio.engine.model import Item, ItemStorage, Kind, LayerAxis
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis

SINGLE = Item("level", "float32")
LAYERED = Item("salinity", "int16", layers=LayerAxis("depth", (1.0, 2.0)))
VECTOR = Item("current", "float32", value_kind="vector", components=2)
ZLEVEL = Item("profile", "float32", value_kind="zlevel", location="node", layers=LayerAxis("depth", (1.0, 2.0)))
SIGMA = Item("sigma", "float32", value_kind="sigma", layers=LayerAxis("sigma", (0.0, 1.0, 2.0)))
NODES = Item("depth", "float32", location="node")
STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
CHECKS = {"read": require_readable, "write": require_writable, "save": require_saveable}


def metadata(kind: Kind = "grid", items: tuple[Item, ...] = (SINGLE,), sigma: bool = False, **storage: Any) -> Metadata:
    settings: dict[str, Any] = {"storage_type": "SingleTimestep", "compression": "ZstdAuto"}
    mesh: dict[str, Any] = {"nodes": 20, "element3d_count": 30 * sigma} if kind == "mesh" else {}
    return Metadata(kind, "d", (3, 4) if kind == "grid" else (1, 12), items, TimeAxis(np.arange(3)),
                    ItemStorage(**settings | storage), "domain-0.bin", {item.name: item.name for item in items},
                    sigma=sigma, **mesh)


def refused(found: Metadata) -> set[str]:
    """What is refused: "read", "write", "save"."""
    def fails(check: Callable[[Metadata], None]) -> bool:
        try:
            check(found)
        except MdError:
            return True
        return False

    return {name for name, check in CHECKS.items() if fails(check)}


@pytest.mark.rule("K3")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("items", [(SINGLE,), (LAYERED,), (SINGLE, LAYERED)])
@pytest.mark.parametrize("kind", ["grid", "mesh"])
def test_single_value_items_layered_or_not_are_compressed_in_every_storage_type(
    kind: Kind, items: tuple[Item, ...], storage_type: str
) -> None:
    assert is_compression_supported(kind, items, False, storage_type)


@pytest.mark.rule("K3", "K4", "T8")
@pytest.mark.parametrize(("kind", "items", "sigma", "storage_type", "supported"), [
    ("mesh", (ZLEVEL,), False, "SingleTimestep", True),
    ("mesh", (ZLEVEL,), False, "MultiTimestep", True),
    ("mesh", (ZLEVEL,), False, "TimeSeries", False),
    ("grid", (ZLEVEL,), False, "SingleTimestep", False),
    ("mesh", (SINGLE,), True, "SingleTimestep", False),
    ("mesh", (LAYERED,), True, "TimeSeries", False),
    ("mesh", (SIGMA,), False, "MultiTimestep", False),
    ("grid", (VECTOR,), False, "SingleTimestep", False),
    ("mesh", (VECTOR,), False, "MultiTimestep", False),
    ("grid", (SINGLE, VECTOR), False, "MultiTimestep", False),
    ("grid", (SINGLE, Item("pair", "int8", components=2)), False, "MultiTimestep", False),
])
def test_one_unsupported_item_or_a_sigma_domain_makes_the_dataset_unsupported(
    kind: Kind, items: tuple[Item, ...], sigma: bool, storage_type: str, supported: bool
) -> None:
    assert is_compression_supported(kind, items, sigma, storage_type) is supported


@pytest.mark.rule("K6")
@pytest.mark.parametrize(("kind", "storage", "missing"), [
    ("grid", ItemStorage("SingleTimestep", "LZ4"), None),
    ("grid", ItemStorage("MultiTimestep", "LZ4", 5), None),
    ("grid", ItemStorage("TimeSeries", "LZ4", 5), "TimeSeriesBlockRows"),
    ("grid", ItemStorage("TimeSeries", "LZ4", 5, time_series_block_rows=4), None),
    ("mesh", ItemStorage("TimeSeries", "LZ4", 5, compressed_mesh_page_size=16), "TimeSeriesBlockRows"),
    ("mesh", ItemStorage("SingleTimestep", "LZ4"), "CompressedMeshPageSize"),
    ("mesh", ItemStorage("MultiTimestep", "LZ4", 5), "CompressedMeshPageSize"),
    ("mesh", ItemStorage("MultiTimestep", "LZ4", 5, compressed_mesh_page_size=16_384), None),
    ("mesh", ItemStorage("MultiTimestep", "None", 5), None),
    ("grid", ItemStorage("TimeSeries", "None", 5), None),
])
def test_compressed_storage_carries_the_layout_parameter_of_its_kind(
    kind: Kind, storage: ItemStorage, missing: str | None
) -> None:
    assert missing_layout_parameter(kind, storage) == missing


@pytest.mark.parametrize("storage", [
    {"compression": "None"}, {}, {"layout_version": 2}, {"layout_version": 1, "compression": "LZ4"},
    {"storage_type": "MultiTimestep", "time_group_size": 4},
    {"storage_type": "TimeSeries", "time_group_size": 4, "time_series_block_rows": 8},
    {"compression": "None", "layout_version": None},
])
def test_a_grid_of_this_build_has_no_guard(storage: dict[str, Any]) -> None:
    assert guards(metadata(**storage)) == ()
    assert refused(metadata(**storage)) == set()


@pytest.mark.rule("V5")
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_a_newer_layout_version_refuses_everything_and_says_so(compression: str) -> None:
    newer = metadata(layout_version=4, compression=compression)
    assert refused(newer) == {"read", "write", "save"}
    with pytest.raises(UnsupportedVersionError, match="layout version 4; this build knows up to 3"):
        require_readable(newer, "somewhere")


@pytest.mark.rule("V6")
def test_an_unknown_compression_refuses_everything_and_names_it() -> None:
    unknown = metadata(compression="BrotliAuto")
    assert refused(unknown) == {"read", "write", "save"}
    for check in CHECKS.values():
        with pytest.raises(UnknownCompressionError, match="'BrotliAuto' is not known to this build"):
            check(unknown)


@pytest.mark.rule("V7")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize(("kind", "items", "sigma"), [
    ("grid", (VECTOR,), False), ("grid", (SINGLE, VECTOR), False), ("mesh", (VECTOR,), False),
    ("mesh", (SINGLE,), True), ("mesh", (SIGMA,), False), ("grid", (ZLEVEL,), False), ("mesh", (ZLEVEL,), False)])
def test_a_compressed_dataset_of_a_kind_this_build_cannot_read_loads_but_refuses_its_data(
    tmp_path: Path, kind: Kind, items: tuple[Item, ...], sigma: bool, storage_type: str
) -> None:
    found = metadata(kind, items, sigma, storage_type=storage_type, time_group_size=4, time_series_block_rows=8,
                     compressed_mesh_page_size=16_384)
    assert refused(found) == {"read", "write", "save"}
    by_predicate = not is_compression_supported(kind, items, sigma, storage_type)
    assert ("MD-G003" in [guard.code for guard in guards(found)]) is by_predicate
    with pytest.raises(LayoutGuardError):
        save_metadata(FolderStorage(tmp_path), found)
    assert not (tmp_path / "dataset.json").exists()


@pytest.mark.rule("V3")
def test_a_flag_without_a_version_on_a_grid_per_timestep_is_honoured_read_and_written(tmp_path: Path) -> None:
    legacy = metadata(layout_version=None, compression="LZ4")
    assert guards(legacy) == ()
    save_metadata(FolderStorage(tmp_path), legacy)
    assert load_metadata(FolderStorage(tmp_path))[0].storage == legacy.storage


@pytest.mark.rule("V3", "V4")
def test_a_flag_without_a_version_on_a_grid_multitimestep_is_read_and_not_written() -> None:
    dropped = metadata(layout_version=None, storage_type="MultiTimestep", time_group_size=4)
    assert refused(dropped) == {"write", "save"}
    assert [guard.code for guard in guards(dropped)] == ["MD-G004"]


@pytest.mark.rule("V3", "K6")
@pytest.mark.parametrize(("kind", "storage", "name"), [
    ("grid", {"storage_type": "TimeSeries"}, "TimeSeriesBlockRows"),
    ("mesh", {"storage_type": "TimeSeries"}, "TimeSeriesBlockRows"),
    ("mesh", {"storage_type": "MultiTimestep"}, "CompressedMeshPageSize")])
def test_a_dropped_layout_parameter_is_refused_by_name_rather_than_read_raw(
    kind: Kind, storage: dict[str, Any], name: str
) -> None:
    dropped = metadata(kind, layout_version=None, time_group_size=4, **storage)
    assert refused(dropped) == {"read", "write", "save"}
    with pytest.raises(LayoutGuardError, match=f"lacks {name}"):
        require_readable(dropped)


@pytest.mark.rule("V4")
@pytest.mark.parametrize("storage", [
    {"storage_type": "MultiTimestep", "time_group_size": 4},
    {"storage_type": "TimeSeries", "time_group_size": 4, "time_series_block_rows": 8}])
def test_the_save_path_refuses_a_compressed_layout_without_a_version_before_it_writes(
    tmp_path: Path, storage: dict[str, Any]
) -> None:
    with pytest.raises(LayoutGuardError, match="no layout version"):
        save_metadata(FolderStorage(tmp_path), metadata(layout_version=None, **storage))
    assert not (tmp_path / "dataset.json").exists()


def test_a_storage_type_that_this_build_has_no_reader_for_is_refused_uncompressed_too() -> None:
    assert refused(metadata(compression="None", storage_type="Woven")) == {"read", "write", "save"}


@pytest.mark.rule("K5", "T8")
@pytest.mark.parametrize(("kind", "items", "sigma", "storage", "message"), [
    ("grid", (ZLEVEL,), False, {}, "'profile' has z-levels, which only meshes have"),
    ("grid", (SIGMA,), False, {}, "'sigma' has sigma layers, which only meshes have"),
    ("grid", (SINGLE, NODES), False, {}, "'depth' has values of nodes, which only meshes have"),
    ("grid", (SINGLE,), True, {}, "only a mesh with a count of its 3-D elements has sigma layers"),
    ("mesh", (SIGMA,), False, {}, "'sigma' has sigma layers, but the mesh has none"),
    ("mesh", (ZLEVEL,), False, {"zlevel_paged_node_count": 40, "storage_type": "TimeSeries", "time_group_size": 4},
     "'profile' has z-levels, which TimeSeries cannot hold"),
    ("mesh", (ZLEVEL,), False, {}, "a ZLevelPagedNodeCount of None is no whole number of nodes"),
    ("mesh", (ZLEVEL,), False, {"zlevel_paged_node_count": 41}, "a ZLevelPagedNodeCount of 41 is no whole number"),
    ("mesh", (dataclasses.replace(ZLEVEL, layers=None),), False, {"zlevel_paged_node_count": 40},
     "has z-levels, but no layers"),
    ("mesh", (dataclasses.replace(SIGMA, layers=None),), True, {}, "has sigma layers, but no layers"),
    ("grid", (dataclasses.replace(SINGLE, components=3),), False, {}, "'level' has 3 components, but is no vector"),
])
def test_what_no_dataset_can_hold_is_refused_uncompressed_too(
    kind: Kind, items: tuple[Item, ...], sigma: bool, storage: dict[str, Any], message: str
) -> None:
    found = metadata(kind, items, sigma, compression="None", **storage)
    assert refused(found) == {"read", "write", "save"}
    assert [guard.code for guard in guards(found)] == ["MD-G006"]
    assert message in guards(found)[0].message


@pytest.mark.rule("V5", "P6")
def test_z_levels_after_a_newer_mesh_index_are_not_read_by_the_one_that_is_known() -> None:
    known = metadata("mesh", (ZLEVEL,), compression="None", zlevel_paged_node_count=40)
    newer = dataclasses.replace(known, schema_version=2)
    assert not guards(known)
    assert refused(newer) == {"read", "write", "save"}
    assert "version 2 of the mesh index; it knows 1" in guards(newer)[0].message
    assert not guards(dataclasses.replace(newer, items=(SINGLE,)))  # pages of elements know nothing of it


@pytest.mark.rule("K1", "K5")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize(("kind", "items", "sigma"), [
    ("grid", (SINGLE, LAYERED), False), ("grid", (VECTOR,), False), ("mesh", (SINGLE, LAYERED, NODES, VECTOR), False),
    ("mesh", (SINGLE, SIGMA), True), ("mesh", (ZLEVEL,), False)])
def test_every_kind_is_read_and_written_uncompressed_but_z_levels_in_timeseries(
    kind: Kind, items: tuple[Item, ...], sigma: bool, storage_type: str
) -> None:
    found = metadata(kind, items, sigma, compression="None", storage_type=storage_type, time_group_size=4,
                     zlevel_paged_node_count=40)
    refusal = {"read", "write", "save"} if ZLEVEL in items and storage_type == "TimeSeries" else set()
    assert refused(found) == refusal


@pytest.mark.rule("V9")
@pytest.mark.parametrize("found", [
    metadata(layout_version=4), metadata(compression="BrotliAuto"), metadata("grid", (VECTOR,)), metadata("mesh"),
    metadata(layout_version=None, storage_type="TimeSeries", time_group_size=4)])
def test_every_guard_has_a_code_a_message_and_advice(found: Metadata) -> None:
    holding = guards(found)
    assert holding
    assert len({guard.code for guard in holding}) == len(holding)
    for guard in holding:
        assert guard.code.startswith("MD-G")
        assert guard.message.endswith(".")
        assert guard.advice.endswith(".")


def test_the_refusal_names_the_dataset_and_what_was_not_done() -> None:
    with pytest.raises(LayoutGuardError) as caught:
        require_writable(metadata("grid", (NODES,), compression="None"), "/data/x")
    assert str(caught.value).startswith("/data/x: ")
    assert "Nothing was written." in str(caught.value)
    assert caught.value.exit_status == 12


def test_a_guard_never_hides_another() -> None:
    both = dataclasses.replace(metadata(layout_version=9, compression="BrotliAuto"))
    assert [guard.code for guard in guards(both)] == ["MD-G001", "MD-G002"]
