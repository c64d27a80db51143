"""The main window: top bar, places, pages of open documents, jobs, status. It wires the parts and owns what lives as
long as it does: the reader, the queue of jobs, the preferences.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from mdstudio.app import dialogs, formats, listing
from mdstudio.app.commands import COMMANDS
from mdstudio.app.dataset_page import DatasetPage, ViewSpec, all_views
from mdstudio.app.job_queue import Job, JobQueue
from mdstudio.app.jobs_dock import JobsDock
from mdstudio.app.palette import Hit, Palette
from mdstudio.app.places import Places
from mdstudio.app.places_model import PlacesModel
from mdstudio.app.preferences import Preferences, Recent
from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession, short_name
from mdstudio.app.start import StartPage
from mdstudio.app.statusbar import StatusBar
from mdstudio.app.tabs import TabLook
from mdstudio.app.theme import Mode, Theme
from mdstudio.app.topbar import TopBar
from mdstudio.app.widgets import Ground
from mdstudio.engine.errors import Cancelled, MdError

if TYPE_CHECKING:
    from mdstudio.engine.layout.metadata import Metadata

NARROW = 1100  # below it the places give way
_FILES = "NetCDF (*.nc *.nc4 *.cdf *.netcdf *.h5 *.hdf5 *.he5);;Any file (*)"


class MainWindow(QMainWindow):
    """One window with everything. `open_location` is the way in for paths, addresses and drops."""

    def __init__(self, preferences: Preferences, views: Callable[[], Sequence[ViewSpec]] = all_views) -> None:
        super().__init__()
        self.preferences = preferences
        self._views = views
        self.reader = Reader(self)
        self.queue = JobQueue(preferences.workers, self)
        self.pages: list[QWidget] = []
        self._place_locations = preferences.places
        self.setWindowTitle("MD Studio")
        self.setAcceptDrops(True)
        self.setMinimumSize(720, 480)
        self.resize(1440, 900)
        self.topbar = TopBar(preferences)
        self.places_model = PlacesModel(self.reader, self)
        self.places = Places(self.places_model)
        self.start = StartPage()
        self.stack = QStackedWidget()
        self.jobs = JobsDock(self.queue)
        self.statusbar = StatusBar()
        self._lay_out()
        self.palette_list = Palette(self.topbar.search, self._hits, self)
        self._connect()
        self._add_shortcuts()
        self._show_recents()
        self.places_model.set_places(self._place_locations)
        self._add_page(self.start, "Start", TabLook("overview"))
        self.restoreGeometry(preferences.state("geometry"))
        self.setFocus()

    # -- opening ------------------------------------------------------------------------------------------------------

    def open_location(self, location: str) -> None:
        """Open a dataset in a tab, a folder or container in the places, a source file in the import dialog."""
        if not location:
            return
        if not listing.is_remote(location):
            location = os.path.abspath(os.path.expanduser(location))
        page = self._page_of(location)
        if page is not None:
            self.stack_page(page)
            return
        self.statusbar.set_words(f"opening {short_name(location)}\u2026")
        self.reader.submit(f"probe/{location}", lambda progress: listing.probe(location),
                           lambda kind: self._probed(location, kind), lambda error: self._not_probed(location, error))

    def open_dataset(self, location: str) -> DatasetPage:
        """A tab for a dataset, made or brought to the front; its metadata is read."""
        known = self._page_of(location)
        if known is not None:
            self.stack_page(known)
            return known
        page = self._new_page(location)
        page.open()
        return page

    def import_sources(self, sources: Sequence[str]) -> None:
        """The import dialog for files that make one dataset."""
        from mdstudio.app.import_dialog import ImportDialog

        folder = self.preferences.text("import-folder") or os.path.dirname(sources[0])
        dialog = ImportDialog(tuple(sources), folder, self.reader, self)
        dialog.submitted.connect(self._import)
        dialog.show()

    def add_place(self, location: str) -> None:
        """Put a folder or container into the tree and list it."""
        if location not in self._place_locations:
            self._place_locations = [*self._place_locations, location]
            self._store_places()
        self.places.expand(location)

    def remove_place(self, location: str) -> None:
        self._place_locations = [place for place in self._place_locations if place != location]
        self._store_places()

    # -- commands (named in `commands`) --------------------------------------------------------------------------------

    def show_palette(self) -> None:
        self.palette_list.open()

    def open_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Open folder", self.preferences.text("folder"))
        if folder:
            self.preferences.set_text("folder", os.path.dirname(folder))
            self.open_location(folder)

    def open_url(self) -> None:
        self.open_location(dialogs.ask_url("Open Azure URL", self))

    def import_file(self) -> None:
        files, _ = QFileDialog.getOpenFileNames(self, "Import a file", self.preferences.text("source-folder"), _FILES)
        if files:
            self.preferences.set_text("source-folder", os.path.dirname(files[0]))
            self.import_sources(files)

    def open_sample(self) -> None:
        """Open the sample dataset; it is made first where it is not there."""
        from mdstudio.app.workers import make_sample
        from mdstudio.jobs.sample import sample_recipe, user_data_folder

        recipe = sample_recipe(user_data_folder())
        if os.path.isfile(os.path.join(recipe.target, "dataset.json")):
            self.open_dataset(recipe.target)
        elif not any(job.target == recipe.target for job in self.queue.live()):
            self._follow(self.queue.add(recipe, "Make", make_sample))

    def reload(self) -> None:
        page = self.page()
        if isinstance(page, DatasetPage):
            page.open()

    def copy_command(self) -> None:
        page = self.page()
        if isinstance(page, DatasetPage):
            page.copy_command()

    def next_tab(self) -> None:
        self._step_tab(1)

    def previous_tab(self) -> None:
        self._step_tab(-1)

    def close_tab(self) -> None:
        self._close_page(self.topbar.tabs.currentIndex())

    def new_tab(self) -> None:
        """Bring the Start screen to the front."""
        if self.start not in self.pages:
            self._add_page(self.start, "Start", TabLook("overview"))
        self.stack_page(self.start)

    def toggle_jobs(self) -> None:
        self.jobs.show()
        self.jobs.set_open(not self.jobs.is_open(), by_person=True)

    def toggle_places(self) -> None:
        self.places.setVisible(not self.places.isVisible())

    def toggle_side_panel(self) -> None:
        page = self.page()
        toggle = getattr(page.view() if isinstance(page, DatasetPage) else None, "toggle_side_panel", None)
        if toggle is not None:
            toggle()

    def toggle_scheme(self) -> None:
        self.set_scheme("light" if Theme.current().dark else "dark")

    def follow_system(self) -> None:
        self.set_scheme("system")

    def next_pane(self) -> None:
        self._step_pane(1)

    def previous_pane(self) -> None:
        self._step_pane(-1)

    def show_keys(self) -> None:
        dialogs.KeysDialog(self).show()

    def quit(self) -> None:
        self.close()

    def stop_reading(self) -> None:
        """Esc: close the palette, or cancel what the page at the front reads."""
        if self.palette_list.isVisible():
            self.palette_list.close_list()
            return
        page = self.page()
        if isinstance(page, DatasetPage) and page.session.cancel():
            self.statusbar.set_words("Reading stopped")
        else:
            self.reader.cancel_all("probe/")

    def set_scheme(self, mode: Mode) -> None:
        self.preferences.scheme = mode
        Theme.current().set_mode(mode)

    # -- pages --------------------------------------------------------------------------------------------------------

    def page(self) -> QWidget | None:
        """The page at the front."""
        index = self.topbar.tabs.currentIndex()
        return self.pages[index] if 0 <= index < len(self.pages) else None

    def stack_page(self, page: QWidget) -> None:
        """Bring a page to the front."""
        self.topbar.tabs.setCurrentIndex(self.pages.index(page))

    def _page_of(self, location: str) -> DatasetPage | None:
        pages = (page for page in self.pages if isinstance(page, DatasetPage))
        return next((page for page in pages if page.session.location == location), None)

    def _new_page(self, location: str) -> DatasetPage:
        page = DatasetPage(DatasetSession(location, self.reader), views=self._views)
        page.looked.connect(lambda: self._page_looked(page))
        page.status.connect(self.statusbar.set_words)
        page.view_changed.connect(self._view_changed)
        page.session.opened.connect(lambda: self._remember(page))
        self._add_page(page, page.session.title, TabLook("grid"))
        return page

    def _add_page(self, page: QWidget, title: str, look: TabLook) -> None:
        self.pages.append(page)
        self.stack.addWidget(page)
        tabs = self.topbar.tabs
        tabs.blockSignals(True)
        index = tabs.addTab(title)
        tabs.set_tab(index, title, look)
        tabs.setCurrentIndex(index)
        tabs.blockSignals(False)
        self._page_shown(index)

    def _close_page(self, index: int) -> None:
        if not 0 <= index < len(self.pages):
            return
        page = self.pages.pop(index)
        self.stack.removeWidget(page)
        tabs = self.topbar.tabs
        tabs.blockSignals(True)
        tabs.removeTab(index)
        tabs.blockSignals(False)
        if isinstance(page, DatasetPage):
            page.close_session()
            page.deleteLater()
        else:
            page.setParent(None)
        if not self.pages:
            self.new_tab()
        self._page_shown(tabs.currentIndex())

    def _page_shown(self, index: int) -> None:
        page = self.page()
        if page is None or index < 0:
            return
        self.stack.setCurrentWidget(page)
        self._page_looked(page)
        if isinstance(page, DatasetPage):
            self.places.show_current(page.session.location)
            self._view_changed(page.view_key())
        else:
            self.places.show_current("")
            self._view_changed("start")

    def _page_looked(self, page: QWidget) -> None:
        """Title and state of a page changed: its tab and, if it is at the front, the status bar follow."""
        if page not in self.pages:
            return
        front = page is self.page()
        if not isinstance(page, DatasetPage):
            if front:
                self.setWindowTitle("MD Studio")
                self.statusbar.set_place("Ready", "nothing open" if len(self.pages) == 1 else "")
            return
        session, tabs, index = page.session, self.topbar.tabs, self.pages.index(page)
        dataset = session.dataset
        guards = dataset.guards if dataset else ()
        status = "bad" if session.error is not None and dataset is None else "advice" if guards else ""
        tabs.set_tab(index, session.title, TabLook(dataset.metadata.kind if dataset else "grid", status))
        tabs.setTabToolTip(index, session.location.split("?", 1)[0])
        if front:
            self.setWindowTitle(f"{session.title} \u2014 MD Studio")
            kind = "Azure" if listing.is_remote(session.location) else "local folder"
            words = _facts(dataset.metadata) if dataset else session.error.message if session.error else "opening\u2026"
            place = f"{os.path.dirname(session.location.split('?', 1)[0])} \u2014 {kind}"
            self.statusbar.set_place(place, words, status or "ok")

    def _view_changed(self, key: str) -> None:
        """The dock is open on Overview and closed elsewhere, or as it was left; on Start only when there are jobs."""
        self.jobs.setVisible(key != "start" or bool(self.queue.jobs))
        if key:
            self.jobs.set_open(bool(self.queue.jobs) and self.preferences.flag(f"jobs-open/{key}", key == "overview"))

    def _remember(self, page: DatasetPage) -> None:
        dataset = page.session.dataset
        if dataset is None:
            return
        from mdstudio.engine.storage import redact

        metadata = dataset.metadata
        steps = len(metadata.times)
        self.preferences.remember(Recent(
            redact(page.session.location), page.session.title, metadata.kind, f"{steps} step{'s' * (steps != 1)}",
            metadata.data_size_bytes, datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")))
        self._show_recents()

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _import(self, recipe: object) -> None:
        from mdstudio.jobs.recipe import Recipe

        assert isinstance(recipe, Recipe)
        if not listing.is_remote(recipe.target):
            self.preferences.set_text("import-folder", os.path.dirname(recipe.target))
        self._follow(self.queue.add(recipe))

    def _follow(self, job: Job) -> None:
        self.jobs.show()
        self.jobs.set_open(True)
        self.jobs.select(job)

    def _job_finished(self, job: object) -> None:
        assert isinstance(job, Job)
        for location in self._place_locations:
            if os.path.dirname(job.target) == location:
                self.places_model.reload(self.places_model.find(location))
        if job.state == "done":
            self.statusbar.set_words(f"{job.what} of {job.title} is done")
            self.open_dataset(job.target)
            self.jobs.set_open(True)
        elif job.state == "failed":
            self.statusbar.set_words(f"{job.what} of {job.title} failed: {job.message}")
            self.jobs.set_open(True)
            self.jobs.select(job)

    # -- the parts ----------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        centre = QVBoxLayout()
        centre.setSpacing(0)
        centre.addWidget(self.stack, 1)
        centre.addWidget(self.jobs)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.places)
        middle.addLayout(centre, 1)
        body = Ground("page")
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.topbar)
        column.addLayout(middle, 1)
        column.addWidget(self.statusbar)
        self.setCentralWidget(body)

    def _connect(self) -> None:
        tabs = self.topbar.tabs
        tabs.currentChanged.connect(self._page_shown)
        tabs.tabCloseRequested.connect(self._close_page)
        tabs.tabMoved.connect(lambda a, b: self.pages.insert(b, self.pages.pop(a)))
        self.topbar.new_tab_requested.connect(self.new_tab)
        self.topbar.scheme_chosen.connect(self.set_scheme)
        self.topbar.workers_chosen.connect(self._set_workers)
        self.topbar.keys_requested.connect(self.show_keys)
        self.places.open_requested.connect(self.open_dataset)
        self.places.import_requested.connect(lambda location: self.import_sources([location]))
        self.places.add_folder_requested.connect(self._add_folder)
        self.places.add_container_requested.connect(self._add_container)
        self.places.remove_requested.connect(self.remove_place)
        self.start.command_requested.connect(lambda key: getattr(self, key)())
        self.start.recent_requested.connect(
            lambda location, kind: self.import_sources([location]) if kind == "source" else self.open_dataset(location))
        self.start.clear_requested.connect(self._clear_recents)
        self.jobs.open_requested.connect(self.open_dataset)
        self.jobs.toggled.connect(self._jobs_toggled)
        self.queue.finished.connect(self._job_finished)
        self.reader.read.connect(self.statusbar.set_cost)
        self.reader.busy_changed.connect(self.statusbar.set_busy)

    def _add_shortcuts(self) -> None:
        for command in COMMANDS:
            if command.keys:
                QShortcut(QKeySequence(command.keys), self, getattr(self, command.key))
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self.stop_reading)
        for number in range(1, 8):
            QShortcut(QKeySequence(f"Ctrl+{number}"), self, lambda number=number: self._show_view(number))

    def _show_view(self, number: int) -> None:
        page = self.page()
        if isinstance(page, DatasetPage):
            page.show_number(number)

    def _hits(self) -> list[Hit]:
        """What the palette offers: commands, open tabs, recent documents."""
        hits = [Hit(command.text, command.icon or "chev", getattr(self, command.key),
                    command.keys.replace("+", " ")) for command in COMMANDS if command.key != "show_palette"]
        hits += [Hit(f"Go to {self.topbar.tabs.tabText(i)}", "overview", lambda page=page: self.stack_page(page))
                 for i, page in enumerate(self.pages)]
        hits += [Hit(f"Open {recent.title}", "file" if recent.kind == "source" else recent.kind,
                     lambda at=recent.location: self.open_location(at), recent.location)
                 for recent in self.preferences.recents]
        return hits

    def _step_tab(self, by: int) -> None:
        tabs = self.topbar.tabs
        if tabs.count():
            tabs.setCurrentIndex((tabs.currentIndex() + by) % tabs.count())

    def _step_pane(self, by: int) -> None:
        page = self.page()
        panes: list[QWidget] = [self.places.tree, self.topbar.tabs]
        if isinstance(page, DatasetPage):
            view = page.view()
            panes += [page.tabs, *([view] if view is not None else [])]
        elif page is not None:
            panes.append(page)
        panes += [self.jobs.table if self.jobs.is_open() else self.jobs.toggle]
        panes = [pane for pane in panes if pane.isVisible()]
        focus = self.focusWidget()
        at = next((i for i, pane in enumerate(panes) if focus is not None
                   and (pane is focus or pane.isAncestorOf(focus))), -1 if by > 0 else 0)
        pane = panes[(at + by) % len(panes)]
        pane.setFocus(Qt.FocusReason.TabFocusReason)
        if not pane.hasFocus():
            _first_focus(pane)

    def _probed(self, location: str, kind: object) -> None:
        if kind == "dataset":
            self.open_dataset(location)
        elif kind == "source":
            self.import_sources([location])
        else:
            self.add_place(location)
            self.statusbar.set_words(f"{short_name(location)} is in the places")

    def _not_probed(self, location: str, error: MdError) -> None:
        if isinstance(error, Cancelled):
            self.statusbar.set_words("Stopped")
            return
        page = self._new_page(location)
        page.fail(error)

    def _add_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Add a folder to the places", self.preferences.text("folder"))
        if folder:
            self.preferences.set_text("folder", os.path.dirname(folder))
            self.add_place(os.path.abspath(folder))

    def _add_container(self) -> None:
        location = dialogs.ask_url("Add a container", self)
        if location:
            self.add_place(location)

    def _store_places(self) -> None:
        from mdstudio.engine.storage import redact

        self.preferences.places = [redact(place) for place in self._place_locations]
        self.places_model.set_places(self._place_locations)

    def _show_recents(self) -> None:
        recents = self.preferences.recents
        self.start.set_recents(recents)
        self.places_model.set_recents(recents)
        self.places.open_sections()

    def _clear_recents(self) -> None:
        self.preferences.forget_recents()
        self._show_recents()

    def _set_workers(self, count: int) -> None:
        self.preferences.workers = count
        self.queue.set_workers(count)

    def _jobs_toggled(self, opened: bool) -> None:
        page = self.page()
        key = page.view_key() if isinstance(page, DatasetPage) else "start"
        self.preferences.set_flag(f"jobs-open/{key}", opened)

    # -- events -------------------------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped(event.mimeData()):
            event.acceptProposedAction()
            self.start.set_dropping(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.start.set_dropping(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self.start.set_dropping(False)
        locations = dropped(event.mimeData())
        event.acceptProposedAction()
        QTimer.singleShot(0, self, lambda: self.open_dropped(locations))

    def open_dropped(self, locations: Sequence[str]) -> None:
        """Several source files make one import; everything else opens one by one."""
        sources = [at for at in locations if at.lower().endswith(listing.SOURCE_SUFFIXES) and not listing.is_remote(at)]
        if sources:
            self.import_sources(sources)
        for location in locations:
            if location not in sources:
                self.open_location(location)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        before, now = event.oldSize().width(), event.size().width()
        if (before < NARROW) != (now < NARROW) or before < 0:
            self.places.setVisible(now >= NARROW)

    def closeEvent(self, event: QCloseEvent) -> None:
        live = self.queue.live()
        if live and not dialogs.ask_close(len(live), self):
            event.ignore()
            return
        self.preferences.set_state("geometry", self.saveGeometry())
        self.preferences.save()
        self.hide()
        self.queue.close()
        self.reader.close()
        event.accept()


def _facts(metadata: Metadata) -> str:
    """What the status bar says of an open dataset."""
    steps = formats.plural(len(metadata.times), "step")
    return f"{formats.plural(len(metadata.items), 'item')}, {steps}, {metadata.storage.storage_type}"


def dropped(data: QMimeData) -> list[str]:
    """Paths and addresses in what was dropped."""
    locations = [url.toLocalFile() if url.isLocalFile() else url.toString() for url in data.urls()]
    if not locations and data.hasText() and listing.is_remote(data.text().strip()):
        locations = [data.text().strip()]
    return [location for location in locations if location]


def _first_focus(pane: QWidget) -> None:
    """Give the focus to the first widget inside that takes it by Tab."""
    for child in pane.findChildren(QWidget):
        if child.isVisible() and child.isEnabled() and child.focusPolicy() & Qt.FocusPolicy.TabFocus:
            child.setFocus(Qt.FocusReason.TabFocusReason)
            return
