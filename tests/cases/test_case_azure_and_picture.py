"""Cases 11 to 13 of other people's issue trackers: a Data Lake, a blob that changes under the reader, the picture."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.app import colormaps
from mdstudio.app.plots.ranges import exact_range
from mdstudio.app.reading import Reader
from mdstudio.app.views.map_view import MapView
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import BlobChangedError
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.engine.storage import open_storage
from tests.app.conftest import reader, theme
from tests.app.views.opened import Opened
from tests.azurite import ACCOUNT, Azurite
from tests.cli.conftest import Run, azurite, run
from tests.sources.netcdf_builders import numbered, one_item

__all__ = ["azurite", "reader", "run", "theme"]


@pytest.fixture
def root(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a new container."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    return f"az://{ACCOUNT}/{azurite.new_container()}"


@pytest.mark.azure
def test_case_11_folders_of_a_data_lake_are_no_files_and_an_empty_file_is_one(
        tmp_path: Path, run: Run, azurite: Azurite, root: str) -> None:
    """https://github.com/Azure/azure-sdk-for-python/issues/30470: what stands for a folder (`hdi_isfolder`) beside,
    above and inside a dataset is never listed, read, found by the doctor or in the way; a blob of no bytes stays."""
    from azure.storage.blob import ContainerClient

    with ContainerClient.from_connection_string(azurite.connection_string, root.rpartition("/")[2]) as client:
        for folder in ("some", "some/waves", "some/waves/000-v", "empty"):
            client.upload_blob(folder, b"", metadata={"hdi_isfolder": "true"})
        client.upload_blob("some/nothing.txt", b"")
    assert run("import", one_item(tmp_path / "a.nc"), f"{root}/some/waves", "--quiet").status == 0
    assert [d["location"] for d in run("list", root, "--json").document["datasets"]] == [f"{root}/some/waves"]
    assert run("check", f"{root}/some/waves").status == 0
    assert run("compare", f"{root}/some/waves", tmp_path / "a.nc").status == 0
    listed = {blob.name: blob.length for blob in open_storage(root).list_blobs()}
    assert listed["some/nothing.txt"] == 0
    assert not {"some", "some/waves", "some/waves/000-v", "empty"} & set(listed)
    assert open_storage(f"{root}/some").list_folders()[0] == ["waves"]


@pytest.mark.azure
@pytest.mark.parametrize("query", ["map", "series"])
@pytest.mark.parametrize("often", [1, 1000])
def test_case_12_a_blob_that_is_written_again_while_it_is_read(
        tmp_path: Path, run: Run, root: str, monkeypatch: pytest.MonkeyPatch, query: str, often: int) -> None:
    """https://github.com/Azure/azure-storage-python/issues/602: each read is of one version; it is read once more from
    the new one, then it says that the blob changes while it is read."""
    values = numbered(4, 300, 300, dtype="i4") % 10007
    for name, data in (("old", values), ("new", values + 20000)):
        path = one_item(tmp_path / f"{name}.nc", data, times=range(4))
        assert run("import", path, f"{root}/{name}", "--quiet", "--set", "StorageType=MultiTimestep", "--set",
                   "Compression=ZstdAuto").status == 0
    dataset, new = Dataset.open(f"{root}/old"), open_storage(f"{root}/new")
    blobs = [blob.name for blob in new.list_blobs("000-v/")]
    left = [often]

    def rewritten_before(call: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **options: Any) -> Any:
            if left[0]:
                left[0] -= 1
                for blob in blobs:
                    open_storage(f"{root}/old").copy_from(new, blob)
            return call(*arguments, **options)

        return changed

    monkeypatch.setattr(dataset.storage, "read_range", rewritten_before(dataset.storage.read_range))

    def ask() -> Any:
        if query == "map":
            return dataset.map(MapRequest("v", 2)).stored
        return dataset.series(SeriesRequest("v", ((0.0, 60.0), (8.0, 50.0)))).stored

    if often > 1:
        with pytest.raises(BlobChangedError):
            ask()
        return
    wanted = values + 20000
    assert np.array_equal(ask(), wanted[2] if query == "map" else wanted[:, [0, -1], [0, -1]])


@pytest.fixture
def open_dataset(reader: Reader, qtbot: Any) -> Iterator[Callable[[Path], Opened]]:
    yield lambda path: Opened(str(path), reader, qtbot)
    gc.collect()


@pytest.mark.rule("G5")
@pytest.mark.parametrize("south_first", [False, True])
def test_case_13_one_hot_cell_counts_and_the_picture_has_north_up(
        tmp_path: Path, run: Run, open_dataset: Callable[[Path], Opened], south_first: bool) -> None:
    """https://github.com/pyqtgraph/pyqtgraph/issues/1608, #315: an imported file whose corners differ is painted with
    each corner in its place, over the exact range of its finite cells, from an only hot cell to no cell at all."""
    import netCDF4

    corners = {"north-west": 100.0, "north-east": 200.0, "south-west": 300.0, "south-east": 400.0}
    values = np.full((1, 6, 8), 50.0, np.float32)
    values[0, [0, 0, -1, -1], [0, -1, 0, -1]] = list(corners.values())
    values[0, 3, 4], values[0, 1, 5] = 1000.0, np.nan  # one hot cell, one without data
    path = one_item(tmp_path / "a.nc", values[:, ::-1] if south_first else values, times=np.array([0.0]))
    if south_first:
        with netCDF4.Dataset(path, "a") as file:
            file["lat"][...] = file["lat"][...][::-1]
    assert run("import", path, tmp_path / "d", "--quiet").status == 0
    view = open_dataset(tmp_path / "d").show(MapView, 900, 700)
    assert view.picture.shown == (50.0, 1000.0)
    table = colormaps.argb("viridis")
    view.plot.hud.hide()
    image = view.plot.grab().toImage()
    for name, value in corners.items():
        place = view.plot.screen_place(0.2 if "west" in name else 7.8, 59.6 if "north" in name else 50.4)
        found = image.pixel(round(place.x()), round(place.y())) & 0xFFFFFFFF
        assert found == int(table[min(255, int((value - 50) / 950 * 256))]), name
    top, bottom = view.plot.screen_place(0.0, 60.0), view.plot.screen_place(8.0, 50.0)
    assert top.y() < bottom.y()
    assert top.x() < bottom.x()
    assert exact_range(np.full((2, 2), np.nan)) is None
    assert exact_range(np.full((2, 2), 3.0)) == (3.0, 3.0)


@pytest.mark.parametrize("value", [3.0, np.nan], ids=["flat", "empty"])
def test_case_13_flat_and_empty_fields_are_painted(
        tmp_path: Path, run: Run, open_dataset: Callable[[Path], Opened], value: float) -> None:
    """https://github.com/pyqtgraph/pyqtgraph/issues/1608: no range to spread colours over, and no warning."""
    path = one_item(tmp_path / "a.nc", np.full((1, 4, 5), value, np.float32), times=np.array([0.0]))
    assert run("import", path, tmp_path / "d", "--quiet").status == 0
    assert open_dataset(tmp_path / "d").show(MapView, 500, 400).picture is not None
