"""Datasets of meshes and vectors in the views: drawn, probed, queried and exported as the arrays they were made of."""

from __future__ import annotations

import csv
import threading
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QLabel

from mdstudio.app import colormaps
from mdstudio.app.plots import mesh_raster
from mdstudio.app.plots.components import MAGNITUDE
from mdstudio.app.views.map_view import MapView
from mdstudio.app.views.metadata_view import MetadataView
from mdstudio.app.views.overview import OverviewView
from mdstudio.app.views.series_view import SeriesView
from mdstudio.app.views.storage import StorageView
from mdstudio.app.widgets import StateStack
from mdstudio.engine.model import Array, Item
from mdstudio.engine.requests import MapRequest
from tests.app.views.opened import Opened
from tests.engine.made_datasets import KINDS, STORAGE_TYPES, Made, expected_values, kind_of, make_kind

MESHES = [kind for kind in KINDS if kind.startswith("mesh")]


def open_kind(tmp_path: Any, reader: Any, qtbot: Any, kind: str, storage_type: str = "MultiTimestep") -> Opened:
    made = kind_of(kind)
    compression = "ZstdAuto" if storage_type in made.compressed else "None"
    make_kind(tmp_path / "d", made, storage_type, compression)  # type: ignore[arg-type]
    return Opened(str(tmp_path / "d"), reader, qtbot)


def expected(made: Made, item: Item, time: int, layer: int, component: int = MAGNITUDE) -> Array:
    """One number for each element or node by its stored number, NaN for none."""
    domain = made.mesh
    values = np.full(domain.nodes if item.location == "node" else domain.elements, np.nan)
    for number, stored in expected_values(made, item, time, layer).items():
        gone = item.no_data is not None and np.any(stored == item.no_data)
        one = stored if item.value_kind != "vector" else \
            np.sqrt(np.sum(stored.astype(float) ** 2)) if component == MAGNITUDE else stored[component]
        if not gone:
            values[number] = one
    return values


@pytest.mark.rule("K1", "G5")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("view", [OverviewView, MapView, SeriesView, StorageView, MetadataView])
def test_every_view_shows_every_kind(tmp_path, reader, qtbot, kind, view):
    opened = open_kind(tmp_path, reader, qtbot, kind)
    shown = opened.show(view)
    for item in opened.session.dataset.metadata.items:
        opened.session.select(item=item.name, time=1)
        opened.rest()
        texts = [label.text() for label in shown.findChildren(QLabel) if label.isVisible()]
        assert texts
        states = [(stack.state, stack.message()) for stack in shown.findChildren(StateStack) if stack.isVisible()]
        assert all(state in ("contents", "empty") for state, _ in states), states
        if view in (MapView, StorageView):
            assert shown.stack.state == "contents"


@pytest.mark.rule("G5", "P6")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("kind", MESHES)
def test_a_mesh_on_the_map_is_that_of_the_source(tmp_path, reader, qtbot, kind, storage_type):
    made = kind_of(kind)
    if storage_type not in made.layouts:
        return
    opened = open_kind(tmp_path, reader, qtbot, kind, storage_type)
    view = opened.show(MapView)
    for item in made.description.items:
        layer = len(item.layers) - 1 if item.layers else None
        opened.session.select(item=item.name)
        opened.session.select(time=3, layer=layer)
        opened.rest()
        wanted = expected(made, item, 3, -1 if layer is None else layer)
        np.testing.assert_allclose(view.picture.values, wanted, rtol=1e-15)
        assert view.picture.shown == pytest.approx((np.nanmin(wanted), np.nanmax(wanted)))
        assert view.picture.numbers.valid == np.count_nonzero(np.isfinite(wanted))


@pytest.mark.rule("G5")
def test_each_element_has_the_colour_of_its_value_where_it_lies_north_up(tmp_path, reader, qtbot):
    made = kind_of("mesh")
    opened = open_kind(tmp_path, reader, qtbot, "mesh")
    view = opened.show(MapView)
    view.tools.explain.setChecked(False)
    view.plot.box.setRange(xRange=(10, 20), yRange=(10, 20))
    opened.rest()
    wanted, (low, high) = expected(made, made.description.items[0], 0, -1), view.picture.shown
    raster, image, table = view.picture.raster, view.plot.grab().toImage(), colormaps.argb("viridis")
    checked = 0
    for x, y in np.random.default_rng(1).uniform(11, 19, (60, 2)):
        place = view.plot.screen_place(x, y).toPoint()
        near = view.plot.mesh_window.ids  # only where the element fills the pixels around, without a line or graticule
        pixels = view.plot.mesh_window.pixels
        i, j = round((y - pixels.y0) / pixels.dy), round((x - pixels.x0) / pixels.dx)
        element = int(raster.geometry.locate([(x, y)])[0])
        if (near[i - 3:i + 4, j - 3:j + 4] != element).any() or np.isnan(wanted[element]):
            continue
        colour = int(table[min(int((wanted[element] - low) / (high - low) * 256), 255)])
        seen = {image.pixel(place.x() + k, place.y() + n) for k in (-1, 0, 1) for n in (-1, 0, 1)}
        assert colour in seen
        checked += 1
    assert checked > 15


@pytest.mark.rule("G5")
@pytest.mark.parametrize("kind", ["mesh", "mesh-zlevel", "mesh-sigma"])
def test_the_pointer_names_the_element_of_the_source_and_its_value(tmp_path, reader, qtbot, kind):
    made = kind_of(kind)
    domain = made.mesh
    opened = open_kind(tmp_path, reader, qtbot, kind)
    view = opened.show(MapView)
    item = made.description.items[0]
    wanted = expected(made, item, 0, 0 if item.layers else -1)
    view.plot.box.setRange(xRange=(10, 18), yRange=(10, 18))
    opened.rest()
    for x, y in np.random.default_rng(3).uniform(11, 17, (20, 2)):
        place = view.plot.box.mapViewToScene(QPointF(x, y))
        view.plot._hover(place)
        node, element = view.plot.cell
        found = int(view.picture.raster.geometry.locate([(x, y)])[0])
        corners = domain.element_nodes[element]
        edge = view.plot.mesh_window.pixels.dx
        assert element == found or abs(np.subtract(view.picture.raster.cell_centre(0, found), (x, y))).max() > edge
        note = view.plot.readout(view.plot.cell)
        told = note.cell.split("·")[1 if item.location == "node" else 0]
        assert "".join(told.split()) == f"element{domain.element_number[element]}"
        value = wanted[node] if item.location == "node" else wanted[element]
        assert note.value == view.plot.value_text(value)
        if item.location == "node":
            assert node in corners
            assert note.cell.startswith("nearest node ")


@pytest.mark.rule("G5", "P3")
@pytest.mark.parametrize("kind", ["mesh", "mesh-nodes", "mesh-vector"])
def test_a_rectangle_reports_what_a_query_finds(tmp_path, reader, qtbot, kind):
    opened = open_kind(tmp_path, reader, qtbot, kind, "TimeSeries")
    view = opened.show(MapView)
    view.set_rectangle((3.3, 4.4, 9.1, 11.7))
    opened.rest()
    found = opened.session.dataset.map(MapRequest(view.session.selection.item, 0, bbox=(3.3, 4.4, 9.1, 11.7)))
    assert view.rectangle.numbers.cells == np.count_nonzero(found.mask) > 20
    assert np.array_equal(view.rectangle.result.rows, found.rows)
    touched = np.flatnonzero(view.rectangle.touched.entries >= 0)
    if kind == "mesh":
        assert np.isin(found.rows, touched).all()
        assert touched.size < view.picture.raster.domain.elements / 2
    assert view.panel.rectangle.count.text().endswith("nodes" if kind == "mesh-nodes" else "elements")


@pytest.mark.rule("G5")
@pytest.mark.parametrize("kind", ["mesh-nodes", "mesh-zlevel", "mesh-sigma", "mesh-vector"])
def test_points_give_series_and_values(tmp_path, reader, qtbot, kind):
    made = kind_of(kind)
    opened = open_kind(tmp_path, reader, qtbot, kind)
    view = opened.show(MapView)
    view.points.add(7.25, 8.5)
    view.points.add(-50.0, 0.0)
    opened.rest()
    item = made.description.items[0]
    node, element = view.picture.raster.cell_at(7.25, 8.5)
    at = node if item.location == "node" else element
    wanted = [expected(made, item, time, 0 if item.layers else -1)[at] for time in range(5)]
    np.testing.assert_allclose(view.series.numbers(view.series.result)[:, 0], wanted, rtol=1e-15)
    pins = view.plot.pins._pins
    assert pins[0].text == view.plot.value_text(wanted[0])
    assert pins[1].text == "outside"
    series = opened.show(SeriesView)
    source = made.mesh.node_number[node] if item.location == "node" else made.mesh.element_number[element]
    text = series.table.model().index(0, 2).data()
    assert "".join(text.split()) == f"{'node' if item.location == 'node' else 'element'}{source}"


@pytest.mark.rule("G5")
@pytest.mark.parametrize("kind", ["grid-vector", "mesh-vector"])
def test_a_vector_is_drawn_by_its_magnitude_or_a_component_without_another_read(tmp_path, reader, qtbot, kind):
    made = kind_of(kind)
    opened = open_kind(tmp_path, reader, qtbot, kind)
    view = opened.show(MapView)
    opened.session.select(item="v")
    opened.rest()
    values = view.picture.result.values
    np.testing.assert_allclose(view.picture.values, np.sqrt((values ** 2).sum(axis=-1)), rtol=1e-15)
    assert view.tools.picker.component.isVisible()
    reads = []
    reader.read.connect(lambda report: reads.append(report.channel.split("/")[-1]))
    view.tools.picker.component.setCurrentIndex(2)
    opened.rest()
    np.testing.assert_array_equal(view.picture.values, values[..., 1])
    assert "slice" not in reads
    assert view.plot.readout((3, 5)).value.endswith("(component 2)") or \
        view.plot.readout((3, 5)).value.startswith("no data")
    assert made.description.items[0].name in ("v", "s")


@pytest.mark.rule("G3", "G4")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("kind", MESHES)
def test_the_heatmap_of_a_mesh_is_that_of_its_pages(tmp_path, reader, qtbot, kind, storage_type):
    made = kind_of(kind)
    if storage_type not in made.layouts:
        return
    opened = open_kind(tmp_path, reader, qtbot, kind, storage_type)
    view = opened.show(StorageView)
    for item in made.description.items:
        opened.session.select(item=item.name)
        opened.session.select(layer=1 if item.layers else None)
        opened.rest()
        table, entries = view.pages.table, view.pages.lattice.entries
        assert entries.max() < len(table)
        if item.value_kind == "single" and item.location == "cell":
            held = [np.arange(*span) for span in zip(table.column0, table.column1, strict=True)]
            for position, elements in enumerate(held):
                assert (entries[elements] == table.rect_page[position]).all()
        element = int(np.flatnonzero(entries >= 0)[-1])
        view.plot._choose(*view.pages.field.raster.cell_centre(0, element))
        assert view.page == entries[element]
        assert view.panel.isVisible()
        view.read_page()
        opened.rest()
        assert view.panel.badge.text() in ("ok", "no data")


@pytest.mark.rule("G10")
def test_elements_are_drawn_to_pixels_in_worker_threads_only(tmp_path, reader, qtbot, monkeypatch):
    threads, kernels = [], mesh_raster.kernels
    real = kernels.raster_elements

    def watched(*args: Any) -> None:
        threads.append(threading.current_thread())
        real(*args)

    monkeypatch.setattr(kernels, "raster_elements", watched)
    opened = open_kind(tmp_path, reader, qtbot, "mesh")
    view = opened.show(MapView)
    for width in (30, 10, 4, 40):
        view.plot.box.setRange(xRange=(2, 2 + width), yRange=(2, 2 + width))
        opened.rest()
        assert view.plot.mesh_window.pixels == view.plot._wanted
    assert len(threads) >= 5
    assert threading.main_thread() not in threads


@pytest.mark.rule("G5")
def test_what_is_shown_of_a_mesh_is_exported(tmp_path, reader, qtbot):
    opened = open_kind(tmp_path, reader, qtbot, "mesh")
    view = opened.show(MapView)
    view.set_rectangle((3.0, 4.0, 9.0, 11.0))
    opened.rest()
    for ending in ("png", "csv", "nc", "npz"):
        view.export_to(str(tmp_path / f"map.{ending}"))
        opened.rest()
        assert (tmp_path / f"map.{ending}").stat().st_size > 500
    rows = list(csv.DictReader((tmp_path / "map.csv").read_text().splitlines()))
    result = view.rectangle.result
    assert [int(row["element"]) for row in rows] == kind_of("mesh").mesh.element_number[result.rows].tolist()


@pytest.mark.rule("G2")
@pytest.mark.parametrize(("kind", "words"), [
    ("mesh", ["2 560 elements", "Nodes 2010", "SchemaVersion 1"]),
    ("mesh-sigma", ["Element3DCount"]), ("mesh-zlevel", ["ZLevelPagedNodeCount"])])
def test_the_overview_says_the_sizes_of_a_mesh(tmp_path, reader, qtbot, kind, words):
    shown = open_kind(tmp_path, reader, qtbot, kind).show(OverviewView)
    texts = " | ".join(label.text() for label in shown.findChildren(QLabel))
    texts = " ".join(texts.split())
    assert all(word in texts for word in words), texts
