"""The check of every kind of dataset: clean where it is whole, and what is damaged named, in every layout."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.health import Finding, Summary, check
from mdstudio.engine.layout.domain import render_domain
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import KINDS, kind_of, make_kind, mesh

LAYOUTS = ("SingleTimestep", "MultiTimestep", "TimeSeries")
COMPRESSED = ("DeflateFast", "LZ4", "DeflateOptimalAuto", "ZstdAuto")
CASES = [(kind, layout, compression) for kind in KINDS for layout in kind_of(kind).layouts
         for compression in ("None", *(COMPRESSED if layout in kind_of(kind).compressed else ()))]
PAGED = [(kind, layout, compression) for kind, layout, compression in CASES
         if kind.startswith("mesh") and compression == "ZstdAuto"]
MADE: dict[tuple[str, str, str, int], Path] = {}


@pytest.fixture(autouse=True, scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    yield
    MADE.clear()


def dataset(folder: Path, kind: str, layout: Any, compression: str, version: int = 3) -> FolderStorage:
    """A copy of the dataset of a kind."""
    key = kind, layout, compression, version
    if key not in MADE:
        MADE[key] = folder / "made"
        make_kind(MADE[key], kind_of(kind), layout, compression, version=version)
    shutil.copytree(MADE[key], folder / "copy")
    return FolderStorage(folder / "copy")


def run(storage: FolderStorage, level: str = "full") -> tuple[list[Finding], Summary]:
    *found, summary = check(storage, level, sleep=lambda seconds: None)
    assert isinstance(summary, Summary)
    return [finding for finding in found if isinstance(finding, Finding)], summary


@pytest.mark.rule("K1", "K5", "G3", "P6")
@pytest.mark.parametrize(("kind", "layout", "compression"), CASES)
def test_a_whole_dataset_of_any_kind_is_clean_at_every_level(
    tmp_path: Path, kind: str, layout: str, compression: str
) -> None:
    storage = dataset(tmp_path, kind, layout, compression)
    for level in ("probe", "index", "full"):
        findings, summary = run(storage, level)
        assert (findings, summary.status) == ([], "clean")
    opened = Dataset.open(storage)
    assert summary.pages_checked == (0 if compression == "None" else summary.pages_total)
    assert summary.pages_total == sum(pages_of(opened, item.name) for item in opened.metadata.items)
    assert (summary.pages_not_checkable == 0) == (compression != "None")


def pages_of(opened: Dataset, name: str) -> int:
    """Pages of all times and layers, as the reader counts them."""
    layout = opened.layout(name)
    layers = layout.item.layer_ids() if not layout.item.layers_together else (-1,)
    starts = [layout.group_times(group)[0] for group in range(layout.groups)]
    times = starts if layout.stored_as == "TimeSeries" else range(len(layout.times))
    return sum(len(opened.pages(name, time, None if layer < 0 else layer)) for time in times for layer in layers)


@pytest.mark.rule("V1", "K6")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compression", ["LZ4", "ZstdAuto"])
def test_meshes_of_early_versions_are_clean_and_not_checkable(
    tmp_path: Path, layout: str, compression: str, version: int
) -> None:
    findings, summary = run(dataset(tmp_path, "mesh", layout, compression, version))
    assert findings == []
    assert summary.pages_checked == summary.pages_total >= summary.pages_not_checkable > 0


@pytest.mark.rule("V1", "P6")
@pytest.mark.parametrize(("kind", "layout", "compression"), PAGED)
def test_a_flipped_bit_of_a_mesh_page_is_found_by_a_read_and_exactly_by_the_check(
    tmp_path: Path, kind: str, layout: str, compression: str
) -> None:
    storage = dataset(tmp_path, kind, layout, compression)
    random = np.random.default_rng(0)
    for item in Dataset.open(storage).metadata.items:
        layer = 0 if item.layers and not item.layers_together else None
        table = Dataset.open(storage).pages(item.name, 1, layer)
        for position in random.permutation(np.flatnonzero(table.length))[:3].tolist():
            path = tmp_path / "copy" / table.blob_of(position)
            before = path.read_bytes()
            at = int(table.offset[position] + random.integers(table.length[position]))
            path.write_bytes(before[:at] + bytes([before[at] ^ 1 << int(random.integers(8))]) + before[at + 1:])
            (finding,), _ = run(storage)
            assert (finding.code, finding.item, finding.blob) == ("MD-H070", item.name, table.blob_of(position))
            assert finding.pages == (int(table.number[position]),)
            assert 1 in finding.timesteps
            opened = Dataset.open(storage)
            opened.sleep = lambda seconds: None
            with pytest.raises(DamagedDataError, match=r"checksum"):
                opened.map(MapRequest(item.name, 1, layer))
            path.write_bytes(before)


@pytest.mark.rule("P6", "P10", "T5")
@pytest.mark.parametrize(("kind", "layout", "compression"), CASES)
def test_a_blob_of_any_kind_that_is_gone_or_cut_short_is_found(
    tmp_path: Path, kind: str, layout: str, compression: str
) -> None:
    storage = dataset(tmp_path, kind, layout, compression)
    paths = sorted((tmp_path / "copy").rglob("*.dat"))
    cut, gone = paths[0], paths[-1]
    cut.write_bytes(cut.read_bytes()[:-1])
    gone.unlink()
    findings, _ = run(storage, "index")
    found = {finding.blob: finding.code for finding in findings if finding.severity == "damage"}
    assert found.pop(gone.relative_to(tmp_path / "copy").as_posix()) == "MD-H020"
    blob = cut.relative_to(tmp_path / "copy").as_posix()
    assert found.pop(blob) in ("MD-H022", "MD-H032", "MD-H033", "MD-H040", "MD-H041", "MD-H042")
    assert found == {}


@pytest.mark.rule("P6")
def test_a_z_level_item_is_a_pair_a_timestep_in_a_dataset_of_groups_too(tmp_path: Path) -> None:
    storage = dataset(tmp_path, "mesh-zlevel", "MultiTimestep", "ZstdAuto")
    index = sorted((tmp_path / "copy").rglob("*.idx"))[0]
    index.unlink()
    (finding,), _ = run(storage, "probe")
    assert (finding.code, finding.item) == ("MD-H021", "v")


def rewritten(storage: FolderStorage, folder: Path, change: dict[str, int]) -> list[str]:
    document = json.loads((folder / "dataset.json").read_bytes())
    document["SpatialDomain"] |= change
    (folder / "dataset.json").write_text(json.dumps(document))
    return [finding.code for finding in run(storage, "probe")[0] if finding.code == "MD-H011"]


def test_a_mesh_domain_that_is_damaged_or_of_another_mesh_is_found(tmp_path: Path) -> None:
    storage = dataset(tmp_path, "mesh-sigma", "SingleTimestep", "None")
    folder = tmp_path / "copy"
    domain = next(folder.glob("domain-*.bin"))
    before = domain.read_bytes()
    for damaged in (before[:-1], before[:100] + b"?" + before[101:], render_domain(mesh(20, 20)),
                    render_domain(mesh(sigma=False)), render_domain(mesh(sigma=True, seed=9))):
        domain.write_bytes(damaged)
        assert "MD-H011" in [finding.code for finding in run(storage, "probe")[0]]
    domain.write_bytes(before)
    assert run(storage, "probe")[0] == []
    stated = json.loads((folder / "dataset.json").read_bytes())["SpatialDomain"]
    for name in ("Elements", "Nodes", "Element3DCount"):
        assert rewritten(storage, folder, {name: stated[name] + 1}) == ["MD-H011"]
        assert rewritten(storage, folder, {name: stated[name]}) == []
