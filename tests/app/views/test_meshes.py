"""Datasets of meshes and vectors in the views: what is not drawn yet is said, nothing fails."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel

from mdstudio.app.views.map_view import MapView
from mdstudio.app.views.metadata_view import MetadataView
from mdstudio.app.views.overview import OverviewView
from mdstudio.app.views.series_view import SeriesView
from mdstudio.app.views.storage import StorageView
from tests.app.views.opened import Opened
from tests.engine.made_datasets import kind_of, make_kind


@pytest.mark.parametrize("kind", ["mesh", "mesh-zlevel", "mesh-sigma", "mesh-vector", "grid-vector"])
@pytest.mark.parametrize("view", [OverviewView, MapView, SeriesView, StorageView, MetadataView])
def test_every_view_opens_on_every_kind(tmp_path, reader, qtbot, kind, view):
    make_kind(tmp_path / "d", kind_of(kind), "MultiTimestep")
    shown = Opened(str(tmp_path / "d"), reader, qtbot).show(view)
    texts = [label.text() for label in shown.findChildren(QLabel) if label.isVisible()]
    assert texts
    if kind.startswith("mesh") and view in (MapView, StorageView):
        assert any("This is a mesh" in text or "is a vector" in text for text in texts), texts
    assert not any("fault in MD Studio" in text for text in texts), texts


@pytest.mark.parametrize("view", [OverviewView, MapView, SeriesView, StorageView])
def test_a_vector_item_of_a_grid_is_told_where_it_is_not_drawn(tmp_path, reader, qtbot, view):
    make_kind(tmp_path / "d", kind_of("grid-vector"), "MultiTimestep")
    opened = Opened(str(tmp_path / "d"), reader, qtbot)
    shown = opened.show(view)
    opened.session.select(item="v")
    opened.rest()
    texts = [label.text() for label in shown.findChildren(QLabel) if label.isVisible()]
    assert not any("fault in MD Studio" in text for text in texts), texts
    if view is MapView:
        assert any("components" in text for text in texts), texts
