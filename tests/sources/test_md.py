"""MD datasets as a source: every kind is copied, cut anew and compressed anew to the bit, and read at one version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import BlobChangedError, NotFoundError
from mdstudio.engine.model import Item
from mdstudio.engine.progress import Progress
from mdstudio.sources.registry import open_source
from tests.azurite import ACCOUNT, Azurite
from tests.cli.conftest import Run, azurite, run
from tests.engine.made_datasets import KINDS, Made, kind_of, make_kind

__all__ = ["azurite", "run"]
ALL = slice(None)


def stored_values(dataset: Dataset, item: Item) -> Any:
    rows, columns = dataset.metadata.shape
    if dataset.metadata.kind == "mesh":
        columns = dataset.metadata.values_of(item)
    times = slice(0, len(dataset.metadata.times))
    return [dataset.block(item.name, times, layer, slice(0, rows), slice(0, columns), Progress())
            for layer in item.layer_ids()]


@pytest.mark.rule("K1", "P6", "T8")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_copied_into_every_layout_that_it_has(tmp_path: Path, run: Run, kind: str) -> None:
    made: Made = kind_of(kind)
    for layout in made.layouts:
        packed = layout in made.compressed
        source = make_kind(tmp_path / f"from-{layout}", made, layout, "ZstdAuto" if packed else "None")
        for target in made.layouts:
            copy = tmp_path / f"{layout}-{target}"
            compression = "LZ4" if target in made.compressed else "None"
            done = run("import", source.location, copy, "--quiet", "--set", f"StorageType={target}", "--set",
                       f"Compression={compression}")
            assert done.status == 0, done.err
            found = Dataset.open(str(copy))
            assert found.metadata.storage.storage_type == target
            for item, other in zip(found.metadata.items, source.metadata.items, strict=True):
                assert item == other
                for a, b in zip(stored_values(found, item), stored_values(source, other), strict=True):
                    assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
            assert run("compare", copy, source.location).status == 0


@pytest.mark.parametrize("kind", ["grid", "mesh-sigma", "mesh-zlevel"])
def test_values_come_in_the_order_of_their_first_source(tmp_path: Path, kind: str) -> None:
    made = kind_of(kind)
    dataset = make_kind(tmp_path / "a", made, made.layouts[0])
    with open_source([dataset.location]) as source:
        description, = source.descriptions()
        for item in description.items:
            values = source.read(description, item.name, slice(0, 2), -1, ALL, ALL)
            expected = made.values[item.name][:2, 0]
            assert values.shape == expected.shape
            if item.value_kind != "zlevel":  # nodes of no element are not stored
                assert values.tobytes() == expected.tobytes()


def test_a_time_group_is_decoded_once_for_all_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = make_kind(tmp_path / "a", kind_of("grid"), "TimeSeries", group=3)
    times, asked = len(dataset.metadata.times), []
    block = Dataset.block

    def counted(self: Dataset, item: str, steps: slice, *rest: Any) -> Any:
        asked.append((steps.start, steps.stop))
        return block(self, item, steps, *rest)

    monkeypatch.setattr(Dataset, "block", counted)
    with open_source([dataset.location]) as source:
        description, = source.descriptions()
        steps = [source.read(description, "v", slice(t, t + 1), -1, ALL, ALL) for t in range(times)]
        assert asked == [(t, min(t + 3, times)) for t in range(0, times, 3)]
        backwards = source.read(description, "v", slice(0, times, 2), -1, slice(3, 9), slice(1, 30, 4))
    assert np.array_equal(np.concatenate(steps), kind_of("grid").values["v"][:, 0])
    assert np.array_equal(backwards, kind_of("grid").values["v"][::2, 0, 3:9, 1:30:4])


def test_doubles_are_narrowed_on_request_and_their_no_data_stays_none(tmp_path: Path) -> None:
    dataset = make_kind(tmp_path / "a", kind_of("mesh"), "SingleTimestep")
    with open_source([dataset.location], {"DoubleAsFloat": True}) as source:
        description, = source.descriptions()
        assert [(i.dtype, i.no_data) for i in description.items] == [("float32", -7.0), ("uint8", None)]
        values = source.read(description, "v", ALL, -1, ALL, ALL)
    assert values.tobytes() == kind_of("mesh").values["v"][:, 0].astype("f4").tobytes()


def test_a_dataset_that_is_written_meanwhile_is_never_mixed(tmp_path: Path, run: Run) -> None:
    dataset = make_kind(tmp_path / "a", kind_of("grid"), "SingleTimestep")
    other = make_kind(tmp_path / "b", kind_of("grid"), "SingleTimestep")
    with open_source([dataset.location]) as source:
        description, = source.descriptions()
        assert run("import", other.location, dataset.location, "--replace", "--quiet").status == 0
        with pytest.raises(BlobChangedError):
            source.read(description, "v", slice(0, 1), -1, ALL, ALL)


def test_onto_itself_and_out_of_nothing_are_refused(tmp_path: Path, run: Run) -> None:
    dataset = make_kind(tmp_path / "a", kind_of("grid"), "SingleTimestep")
    assert "already" in run("import", dataset.location, dataset.location).err
    with pytest.raises(NotFoundError):
        open_source([f"file://{tmp_path}/none"])


def test_a_dataset_is_replaced_by_itself_in_another_layout(tmp_path: Path, run: Run) -> None:
    """Its blobs stay until the metadata names those of the new version."""
    made = kind_of("grid")
    dataset = make_kind(tmp_path / "a", made, "SingleTimestep")
    assert run("import", dataset.location, dataset.location, "--replace", "--quiet", "--set",
               "StorageType=TimeSeries", "--set", "Compression=LZ4").status == 0
    found = Dataset.open(dataset.location)
    assert found.metadata.storage.storage_type == "TimeSeries"
    for item, other in zip(found.metadata.items, dataset.metadata.items, strict=True):
        assert stored_values(found, item)[0].tobytes() == made.values[other.name][:, 0].tobytes()
    assert run("check", dataset.location).status == 0


@pytest.mark.azure
@pytest.mark.rule("G1")
def test_a_dataset_is_copied_out_of_a_container_and_its_secret_stays_out(
        azurite: Azurite, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    dataset = make_kind(tmp_path / "a", kind_of("mesh"), "MultiTimestep", "ZstdAuto")
    container = azurite.new_container()
    assert run("import", dataset.location, f"az://{ACCOUNT}/{container}/waves", "--quiet").status == 0
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    sas = azurite.container_sas(container)
    done = run("import", f"{azurite.endpoint}/{container}/waves?{sas}", tmp_path / "b", "--json")
    assert done.status == 0, done.err
    assert sas not in done.out + done.err + (tmp_path / "b" / "dataset.json").read_text()
    assert run("compare", tmp_path / "a", tmp_path / "b").status == 0
