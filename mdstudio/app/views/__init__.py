"""The views of an open dataset: Overview, Storage, Map, Series, Metadata. Each is a widget made from (session, reader).

All reading goes through the session's channels of the reader; nothing here opens a blob on the main thread. Import the
classes from their modules; plots (and with them pyqtgraph) are loaded with the first view that draws one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdstudio.app.reading import Reader
    from mdstudio.app.session import DatasetSession
    from mdstudio.app.views.view import DatasetView


def _overview(session: DatasetSession, reader: Reader) -> DatasetView:
    from mdstudio.app.views.overview import OverviewView

    return OverviewView(session, reader)


def _storage(session: DatasetSession, reader: Reader) -> DatasetView:
    from mdstudio.app.views.storage import StorageView

    return StorageView(session, reader)


def _map(session: DatasetSession, reader: Reader) -> DatasetView:
    from mdstudio.app.views.map_view import MapView

    return MapView(session, reader)


def _series(session: DatasetSession, reader: Reader) -> DatasetView:
    from mdstudio.app.views.series_view import SeriesView

    return SeriesView(session, reader)


def _metadata(session: DatasetSession, reader: Reader) -> DatasetView:
    from mdstudio.app.views.metadata_view import MetadataView

    return MetadataView(session, reader)


VIEWS = (  # key, title, icon, factory; in the order of the tabs
    ("overview", "Overview", "overview", _overview),
    ("storage", "Storage", "storage", _storage),
    ("map", "Map", "map", _map),
    ("series", "Series", "series", _series),
    ("metadata", "Metadata", "meta", _metadata),
)


def warm() -> None:
    """Import what the views need (pyqtgraph above all); for a worker thread, so that the window never waits for it."""
    from mdstudio.app.views import map_view, metadata_view, overview, series_view, storage  # noqa: F401
