"""Meshes on their way into storage: whole source slices, gathered into stored order, within memory (P6, K9)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.errors import Cancelled, SourceError
from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.writer import create_dataset
from mdstudio.engine.writing import series, source_order
from mdstudio.engine.writing.source_order import in_stored_order
from tests.engine.made_datasets import Arrays, Made, blobs, kind_of, kind_settings, make_kind

MADE = kind_of("mesh")
ELEMENTS = MADE.mesh.elements


class Counted(Arrays):
    """Keeps the bytes of the largest answer."""

    most = 0

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        found = super().read(item, times, layer, rows, columns)
        self.most = max(self.most, found.nbytes)
        return found


def write(folder: Path, made: Made, reader: Arrays, progress: Progress | None = None) -> dict[str, bytes]:
    storage = FolderStorage(folder)
    create_dataset(storage, "made", made.description, reader, kind_settings(made, "TimeSeries", "ZstdAuto"),
                   progress or Progress(), {})
    return blobs(storage)


@pytest.mark.rule("D10", "T1")
@pytest.mark.parametrize("budget", [2 * ELEMENTS * 24, 3 * 500 * 24, 500 * 24, 100 * 24])
def test_a_mesh_timeseries_is_read_in_parts_within_the_budget_and_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    """All of it, several spatial groups, one, pieces of one: 3 times of float64 a group."""
    whole = write(tmp_path / "a", MADE, Arrays(MADE.values))
    monkeypatch.setattr(series, "PART_BYTES", budget)
    monkeypatch.setattr(source_order, "READ_BYTES", ELEMENTS * 8)
    reader = Counted(MADE.values)
    assert write(tmp_path / "b", MADE, reader) == whole
    assert reader.most <= ELEMENTS * 8


@pytest.mark.rule("P6", "K9", "K10")
@pytest.mark.parametrize("kind", ["mesh", "mesh-nodes", "mesh-zlevel", "mesh-sigma", "mesh-vector"])
def test_positions_serve_both_ways(kind: str) -> None:
    made = kind_of(kind)
    order = MeshOrder(made.mesh)
    for item in made.description.items:
        source = made.values[item.name][0, 0, 0]
        positions = order.source_positions(item)
        assert positions.dtype == np.int64
        back = np.zeros_like(source)
        back[positions] = source[positions]
        unused = made.mesh.node_number[-1]  # the node of no element is stored last, and has no z-levels
        if item.value_kind == "zlevel":
            assert not back.reshape(-1, 5)[unused].any()
            back.reshape(-1, 5)[unused] = source.reshape(-1, 5)[unused]
        assert np.array_equal(back, source, equal_nan=True)


def test_what_a_source_gives_in_another_shape_or_type_is_refused() -> None:
    class Short(Arrays):
        def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
            return super().read(item, times, layer, rows, columns)[..., :-1]

    for reader in (Short(MADE.values), Arrays({"v": MADE.values["v"].astype("f4")})):
        ordered = in_stored_order(reader, MADE.mesh, MADE.description.items, Progress())
        with pytest.raises(SourceError, match="'v'"):
            ordered.read("v", slice(0, 1), -1, slice(0, 1), slice(0, 5))


def test_a_cancel_takes_effect_between_the_slices_of_one_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_order, "READ_BYTES", 1)
    progress = Progress()

    class Cancelling(Arrays):
        def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
            if len(self.asked) == 1:
                progress.cancel()
            return super().read(item, times, layer, rows, columns)

    reader = Cancelling(MADE.values)
    with pytest.raises(Cancelled):
        write(tmp_path / "d", MADE, reader, progress)
    assert len(reader.asked) == 2
    assert not list((tmp_path / "d").rglob("*.dat"))


@pytest.mark.rule("D9")
def test_the_bytes_of_a_mesh_do_not_depend_on_the_workers(tmp_path: Path) -> None:
    made = kind_of("mesh")
    one, four = (make_kind(tmp_path / str(n), made, "MultiTimestep", "ZstdAuto", page=100, workers=n) for n in (1, 4))
    assert blobs(one.storage) == blobs(four.storage)
