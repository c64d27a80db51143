"""The main job through the window: import a NetCDF, open it, heatmap, map, series; checked against the source.

Nothing is stood in for: the import runs in its worker process, the views read through the reader's threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from mdstudio.app.dataset_page import DatasetPage
from mdstudio.app.import_dialog import ImportDialog
from mdstudio.app.preferences import Preferences
from mdstudio.app.theme import Theme
from mdstudio.app.window import MainWindow

WAIT = 60_000


@pytest.fixture
def window(qapp: QApplication, qtbot: Any, tmp_path: Path) -> Iterator[MainWindow]:
    Theme.current().set_mode("light")
    Theme.current().install(qapp)
    made = MainWindow(Preferences(tmp_path / "mdstudio.ini"))
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()
    made.reader.close()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """10 times of 60 x 90 cells, packed, latitude north to south, land without data, one hot cell."""
    path = tmp_path / "waves.nc"
    rng = np.random.default_rng(3)
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", 10), ("lat", 60), ("lon", 90)):
            file.createDimension(name, size)
        for name, values, units in (("time", np.arange(10) * 6.0, "hours since 2020-02-28"),
                                    ("lat", np.linspace(59.75, 45.0, 60), "degrees_north"),
                                    ("lon", np.linspace(-10.0, 12.25, 90), "degrees_east")):
            variable = file.createVariable(name, "f8", (name,))
            variable.units = units
            variable[:] = values
        height = file.createVariable("height", "i2", ("time", "lat", "lon"), fill_value=-32767)
        height.units, height.scale_factor, height.add_offset = "m", 0.01, 20.0
        stored = rng.integers(-2000, -1000, (10, 60, 90)).astype("i2")
        stored[:, :20, :20] = -32767
        stored[4, 44, 33] = 30_000
        height.set_auto_maskandscale(False)
        height[:] = stored
    return path


def truth(path: Path, item: str, time: int) -> np.ndarray[Any, Any]:
    """Values straight from the file, float64, NaN for no data."""
    with netCDF4.Dataset(path) as file:
        return np.ma.filled(file[item][time].astype(np.float64), np.nan)


class Driver:
    """Does what a person does, and waits as a person waits."""

    def __init__(self, window: MainWindow, qtbot: Any) -> None:
        self.window, self.qtbot = window, qtbot

    def rest(self) -> None:
        for _ in range(3):  # an answer may lead to another read
            self.qtbot.wait(1)
            self.qtbot.waitUntil(lambda: not self.window.reader.busy(), timeout=WAIT)

    def import_file(self, path: Path, target: Path | str, **parameters: str) -> DatasetPage:
        self.window.open_location(str(path))
        self.qtbot.waitUntil(lambda: self.window.findChildren(ImportDialog) != [], timeout=WAIT)
        dialog = self.window.findChildren(ImportDialog)[0]
        self.qtbot.waitUntil(lambda: dialog.states.state == "contents", timeout=WAIT)
        dialog.target.setText(str(target))
        for name, value in parameters.items():
            dialog.form.fields["writer"][name].control.setText(value)
        self.rest()
        self.qtbot.waitUntil(dialog.submit.isEnabled, timeout=WAIT)
        QTest.mouseClick(dialog.submit, Qt.MouseButton.LeftButton)
        self.qtbot.waitUntil(lambda: self.window.documents.dataset_page() is not None, timeout=WAIT)
        page = self.window.documents.dataset_page()
        assert isinstance(page, DatasetPage)
        self.qtbot.waitUntil(lambda: page.session.dataset is not None, timeout=WAIT)
        self.rest()
        return page

    def view(self, page: DatasetPage, key: str) -> Any:
        page.show_view(key)
        self.rest()
        return page.view(key)


@pytest.fixture
def driver(window: MainWindow, qtbot: Any) -> Driver:
    return Driver(window, qtbot)


def main_job(driver: Driver, source: Path, target: Path, item: str, time: int) -> DatasetPage:
    """Import -> open -> overview -> heatmap -> map -> series, each against the source."""
    page = driver.import_file(source, target, GridTileWidth="16")
    session = page.session
    assert session.dataset is not None
    overview = driver.view(page, "overview")
    session.select(item=item)
    session.select(time=time)
    driver.rest()
    inspection = session.dataset.inspect()
    assert overview.cards["storage"].value.full_text() == inspection["storage_type"]
    assert [row[0].text for row in overview.table.table_model.rows] == [i["name"] for i in inspection["items"]]
    expected = truth(source, item, time)
    assert overview.preview.picture.numbers.maximum == np.nanmax(expected)

    storage = driver.view(page, "storage")
    storage.plot._choose(*storage.pages.field.raster.cell_centre(expected.shape[0] - 2, expected.shape[1] // 2))
    storage.read_page()
    driver.rest()
    assert storage.panel.badge.text() == "ok"
    assert storage.pages.table.length.sum() > 0

    map_view = driver.view(page, "map")
    np.testing.assert_array_equal(map_view.picture.result.values, expected)
    assert map_view.picture.shown == (np.nanmin(expected), np.nanmax(expected))
    row, column = (int(index) for index in np.unravel_index(np.nanargmax(expected), expected.shape))
    x, y = map_view.picture.raster.cell_centre(row, column)
    map_view.plot.probe_cell((row, column))
    assert map_view.plot.readout((row, column)).value.startswith(
        map_view.plot.value_text(float(expected[row, column])).split()[0])
    map_view.tools.set_tool("point")
    place = map_view.plot.screen_place(x, y).toPoint()
    QTest.mouseClick(map_view.plot.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    driver.qtbot.waitUntil(lambda: len(map_view.points.points) == 1, timeout=WAIT)
    driver.rest()

    series = driver.view(page, "series")
    result = series.series.result
    found = tuple(int(index) for index in result.cells[0])
    count = len(session.dataset.metadata.times)
    wanted = np.array([truth(source, item, step)[found] for step in range(count)])
    np.testing.assert_array_equal(result.values[:, 0], wanted)
    assert page.command_text().startswith("mdstudio query series")
    driver.view(page, "metadata")
    return page


@pytest.mark.rule("G2")
@pytest.mark.rule("G4")
@pytest.mark.rule("G5")
def test_import_open_heatmap_map_series(driver: Driver, source: Path, tmp_path: Path) -> None:
    page = main_job(driver, source, tmp_path / "waves", "height", 4)
    map_view = page.view("map")
    assert map_view.picture.shown[1] == pytest.approx(320.0)  # the one hot cell sets the range
    assert map_view.points.points[0].letter == "A"
    driver.window.set_scheme("dark")
    assert not driver.window.grab().isNull()
    driver.window.set_scheme("light")


@pytest.mark.rule("G5")
def test_the_main_job_on_a_real_file(driver: Driver, shared_data: Path, tmp_path: Path) -> None:
    main_job(driver, shared_data / "grid" / "SMALL_total_column_co2.nc", tmp_path / "co2", "tcco2", 7)


@pytest.mark.rule("G5")
def test_every_grid_kind_is_drawn_and_read_alike(driver: Driver, shared_data: Path, tmp_path: Path) -> None:
    """Projected, rotated and curvilinear: the value at a place is the one that a query of the place finds."""
    for name, item in (("test_lcc", "tas"), ("small_rotPole_precipitation", "pr"),
                       ("nemo_1m_20150101-20150201_grid-T", "tos")):
        source = shared_data / "grid" / f"{name}.nc"
        page = driver.import_file(source, tmp_path / name, GridTileWidth="32")
        page.session.select(item=item)
        view = driver.view(page, "map")
        expected = truth(source, item, 0)
        np.testing.assert_array_equal(view.picture.result.values, expected)
        geometry = page.session.dataset.geometry
        rng = np.random.default_rng(0)
        for _ in range(20):
            row, column = int(rng.integers(expected.shape[0])), int(rng.integers(expected.shape[1]))
            place = view.picture.raster.cell_centre(row, column)
            cell = view.picture.raster.cell_at(*place)
            assert cell == tuple(geometry.locate([place])[0])
            np.testing.assert_equal(view.picture.value_at(*cell), expected[cell])
        page.session.close()
        driver.window.close_tab()


def test_import_to_map_by_keys_alone(driver: Driver, source: Path, tmp_path: Path) -> None:
    window, qtbot = driver.window, driver.qtbot
    window.open_location(str(source))
    qtbot.waitUntil(lambda: window.findChildren(ImportDialog) != [], timeout=WAIT)
    dialog = window.findChildren(ImportDialog)[0]
    qtbot.waitUntil(lambda: dialog.states.state == "contents", timeout=WAIT)
    for _ in range(60):  # Tab reaches the field
        if dialog.focusWidget() is dialog.target:
            break
        QTest.keyClick(dialog.focusWidget() or dialog, Qt.Key.Key_Tab)
    assert dialog.focusWidget() is dialog.target
    dialog.target.selectAll()
    QTest.keyClicks(dialog.target, str(tmp_path / "by-keys"))
    driver.rest()
    qtbot.waitUntil(dialog.submit.isEnabled, timeout=WAIT)
    QTest.keyClick(dialog.target, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.documents.dataset_page() is not None
                    and window.documents.dataset_page().session.dataset is not None, timeout=WAIT)
    driver.rest()
    page = window.documents.dataset_page()
    assert page is not None
    window.activateWindow()
    qtbot.wait(1)
    QTest.keyClick(window, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)
    driver.rest()
    view: Any = page.view("map")
    assert page.view_key() == "map"
    for _ in range(20):  # F6 reaches the map
        if window.focusWidget() is view.plot:
            break
        window.activateWindow()
        QTest.keyClick(window.focusWidget() or window, Qt.Key.Key_F6)
    assert window.focusWidget() is view.plot
    QTest.keyClick(view.plot, Qt.Key.Key_Right)
    QTest.keyClick(view.plot, Qt.Key.Key_Return)
    driver.rest()
    assert [point.letter for point in view.points.points] == ["A"]
    assert view.series.result is not None
