"""The main window: top bar, places, pages of open documents, jobs, status. It wires the parts and owns what lives as
long as it does: the reader, the queue of jobs, the preferences.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from PySide6 import QtGui
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from mdstudio.app import dialogs, listing
from mdstudio.app.commands import COMMANDS
from mdstudio.app.dataset_page import DatasetPage, ViewSpec, all_views
from mdstudio.app.documents import Documents
from mdstudio.app.hits import command_hits, document_hits, tab_hits, view_hits
from mdstudio.app.job_queue import Job, JobQueue
from mdstudio.app.jobs_dock import JobsDock
from mdstudio.app.library import Library
from mdstudio.app.palette import Hit, Palette
from mdstudio.app.panes import dropped, step_pane
from mdstudio.app.places import Places
from mdstudio.app.places_model import PlacesModel
from mdstudio.app.preferences import Preferences
from mdstudio.app.reading import Reader
from mdstudio.app.session import short_name
from mdstudio.app.start import StartPage
from mdstudio.app.statusbar import StatusBar
from mdstudio.app.theme import Mode, Theme
from mdstudio.app.topbar import TopBar
from mdstudio.app.widgets import Ground
from mdstudio.app.widgets.table import chosen_widths
from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.sources.suffixes import SOURCE_SUFFIXES

FRAME = QSize(4, 40)  # what a window manager puts around a window
NARROW = 1100  # below it the places give way
_FILES = f"Sources ({' '.join('*' + suffix for suffix in SOURCE_SUFFIXES)});;Any file (*)"


class MainWindow(QMainWindow):
    """One window with everything. `open_location` is the way in for paths, addresses and drops."""

    def __init__(self, preferences: Preferences, views: Callable[[], Sequence[ViewSpec]] = all_views) -> None:
        super().__init__()
        self.preferences = preferences
        chosen_widths.update(preferences.widths)
        self.reader = Reader(self)
        self.queue = JobQueue(preferences.workers, self)
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
        self.library = Library(preferences, self.places, self.start, self)
        self.documents = Documents(self.topbar.tabs, self.stack, self.start, self.reader, views, self)
        self.palette_list = Palette(self.topbar.search, self._hits, self)
        self._connect()
        self._add_shortcuts()
        self._page_shown()
        self.restoreGeometry(preferences.state("geometry"))
        self.setFocus()

    def fit_screen(self) -> None:
        """Make a window that its screen cannot hold, frame and all, smaller: the status line must stay in sight."""
        self.resize(self.size().boundedTo(self.screen().availableSize() - FRAME))

    # -- opening ------------------------------------------------------------------------------------------------------

    def open_location(self, location: str) -> None:
        """Open a dataset in a tab, a folder or container in the places, a source file in the import dialog."""
        if not location:
            return
        if not listing.is_remote(location):
            location = os.path.abspath(os.path.expanduser(location))
        page = self.documents.find(location)
        if page is not None:
            self.documents.bring(page)
            return
        self.statusbar.set_words(f"opening {short_name(location)}\u2026")
        self.reader.submit(f"probe/{location}", lambda progress: listing.probe(location),
                           lambda kind: self._probed(location, kind), lambda error: self._not_probed(location, error))

    def open_dataset(self, location: str) -> DatasetPage:
        """A tab for a dataset, made or brought to the front; its metadata is read."""
        known = self.documents.find(location)
        if known is not None:
            self.documents.bring(known)
            return known
        page = self.documents.add(location)
        page.open()
        return page

    def import_sources(self, sources: Sequence[str]) -> None:
        """The import dialog for files that make one dataset."""
        from mdstudio.app.import_dialog import ImportDialog

        folder = self.preferences.text("import-folder") or os.path.dirname(sources[0])
        dialog = ImportDialog(tuple(sources), folder, self.reader, self)
        dialog.submitted.connect(self._import)
        dialog.show()

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
        if page := self.documents.dataset_page():
            page.open()

    def copy_command(self) -> None:
        if page := self.documents.dataset_page():
            page.copy_command()

    def next_tab(self) -> None:
        self.documents.step(1)

    def previous_tab(self) -> None:
        self.documents.step(-1)

    def close_tab(self) -> None:
        self.documents.close_page(self.topbar.tabs.currentIndex())

    def new_tab(self) -> None:
        """Bring the Start screen to the front."""
        self.documents.show_start()

    def toggle_jobs(self) -> None:
        self.jobs.show()
        self.jobs.set_open(not self.jobs.is_open(), by_person=True)

    def toggle_places(self) -> None:
        self.places.setVisible(not self.places.isVisible())

    def toggle_side_panel(self) -> None:
        page = self.documents.dataset_page()
        toggle = getattr(page.view() if page else None, "toggle_side_panel", None)
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
        """Esc: close the palette, else stop what the page at the front reads, else close what is beside its plot."""
        if self.palette_list.isVisible():
            self.palette_list.close_list()
            return
        page = self.documents.dataset_page()
        close_panel = getattr(page.view() if page else None, "close_panel", None)
        if page and page.session.cancel_all():
            self.statusbar.set_words("Reading stopped")
        elif not self.reader.cancel_all("probe/") and close_panel is not None:
            close_panel()

    def set_scheme(self, mode: Mode) -> None:
        self.preferences.scheme = mode
        Theme.current().set_mode(mode)

    # -- the page at the front --------------------------------------------------------------------------------------

    def _page_shown(self) -> None:
        page = self.documents.dataset_page()
        self._show_place()
        self._view_changed(page.view_key() if page else "start")

    def _show_place(self) -> None:
        page = self.documents.dataset_page()
        self.places.show_current(page.session.location if page else "")

    def _page_looked(self, page: QWidget) -> None:
        """Title and state of a page changed: if it is at the front, title and status bar follow."""
        if page is not self.documents.front():
            return
        if not isinstance(page, DatasetPage):
            self.setWindowTitle("MD Studio")
            self.statusbar.set_place("Ready", "nothing open" if len(self.documents.pages) == 1 else "")
            return
        session = page.session
        kind = "Azure" if listing.is_remote(session.location) else "local folder"
        folder = os.path.dirname(session.location.split("?", 1)[0])
        self.setWindowTitle(f"{session.title} \u2014 MD Studio")
        self.statusbar.set_place(f"{folder} \u2014 {kind}", page.facts(), page.verdict() or "ok")

    def _view_changed(self, key: str) -> None:
        """The dock is open on Overview and closed elsewhere, or as it was left; on Start only when there are jobs."""
        self.jobs.setVisible(key != "start" or bool(self.queue.jobs))
        if key:
            self.jobs.set_open(bool(self.queue.jobs) and self.preferences.flag(f"jobs-open/{key}", key == "overview"))

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _import(self, recipe: object) -> None:
        from mdstudio.jobs.recipe import Recipe

        assert isinstance(recipe, Recipe)
        if not listing.is_remote(recipe.target):
            self.preferences.set_text("import-folder", os.path.dirname(recipe.target))
        self._follow(self.queue.add(recipe))

    def keep_jobs(self) -> None:
        """Keep the queue on the disk, and show what an earlier window left unfinished."""
        from mdstudio.jobs.queue_store import QueueStore

        try:
            self.queue.keep(QueueStore())
        except MdError as error:
            self.statusbar.set_words(f"The queue of jobs is not kept: {error}")
        if self.queue.jobs:
            self.jobs.show()
            self.jobs.set_open(True)

    def _follow(self, job: Job) -> None:
        self.jobs.show()
        self.jobs.set_open(True)
        self.jobs.select(job)

    def _job_finished(self, job: object) -> None:
        assert isinstance(job, Job)
        self.library.list_again(job.target)
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
        self.documents.shown.connect(self._page_shown)
        self.documents.looked.connect(self._page_looked)
        self.documents.opened.connect(self.library.remember)
        self.documents.opened.connect(self._show_place)
        self.places_model.rowsInserted.connect(self._show_place, Qt.ConnectionType.QueuedConnection)
        self.documents.status.connect(self.statusbar.set_words)
        self.documents.view_changed.connect(self._view_changed)
        self.topbar.new_tab_requested.connect(self.new_tab)
        self.topbar.scheme_chosen.connect(self.set_scheme)
        self.topbar.workers_chosen.connect(self._set_workers)
        self.topbar.keys_requested.connect(self.show_keys)
        self.places.open_requested.connect(self.open_dataset)
        self.places.import_requested.connect(lambda location: self.import_sources([location]))
        self.start.command_requested.connect(lambda key: getattr(self, key)())
        self.start.recent_requested.connect(
            lambda location, kind: self.import_sources([location]) if kind == "source" else self.open_dataset(location))
        self.jobs.open_requested.connect(self.open_dataset)
        self.jobs.toggled.connect(self._jobs_toggled)
        self.queue.finished.connect(self._job_finished)
        self.reader.read.connect(self.statusbar.set_cost)
        self.reader.busy_changed.connect(self.statusbar.set_busy)

    def _add_shortcuts(self) -> None:
        for command in COMMANDS:
            if command.keys:
                QtGui.QShortcut(QtGui.QKeySequence(command.keys), self, getattr(self, command.key))
        QtGui.QShortcut(QtGui.QKeySequence(Qt.Key.Key_Escape), self, self.stop_reading)
        for number in range(1, 8):
            QtGui.QShortcut(QtGui.QKeySequence(f"Ctrl+{number}"), self, partial(self._show_view, number))

    def _show_view(self, number: int) -> None:
        if page := self.documents.dataset_page():
            page.show_number(number)

    def _hits(self) -> list[Hit]:
        """What the palette offers."""
        return [*view_hits(self.documents.dataset_page()), *command_hits(self), *tab_hits(self.documents),
                *document_hits(self.preferences.recents, self.places_model, self.open_location)]

    def _step_pane(self, by: int) -> None:
        page = self.documents.dataset_page()
        view = page.view() if page else None
        middle = [page.tabs, *([view] if view else [])] if page else [self.start]
        jobs = self.jobs.table if self.jobs.is_open() else self.jobs.toggle
        step_pane([self.places.tree, self.topbar.tabs, *middle, jobs], self.focusWidget(), by)

    def _probed(self, location: str, kind: object) -> None:
        if kind == "dataset":
            self.open_dataset(location)
        elif kind == "source":
            self.import_sources([location])
        else:
            self.library.add(location)
            self.statusbar.set_words(f"{short_name(location)} was added to the places")

    def _not_probed(self, location: str, error: MdError) -> None:
        if isinstance(error, Cancelled):
            self.statusbar.set_words("Stopped")
            return
        self.documents.add(location).fail(error)

    def _set_workers(self, count: int) -> None:
        self.preferences.workers = count
        self.queue.set_workers(count)

    def _jobs_toggled(self, opened: bool) -> None:
        page = self.documents.dataset_page()
        key = page.view_key() if page else "start"
        self.preferences.set_flag(f"jobs-open/{key}", opened)

    def dragEnterEvent(self, event: QtGui.QDragEnterEvent) -> None:
        if dropped(event.mimeData()):
            event.acceptProposedAction()
            self.start.set_dropping(True)

    def dragLeaveEvent(self, event: QtGui.QDragLeaveEvent) -> None:
        self.start.set_dropping(False)

    def dropEvent(self, event: QtGui.QDropEvent) -> None:
        self.start.set_dropping(False)
        locations = dropped(event.mimeData())
        event.acceptProposedAction()
        QTimer.singleShot(0, self, lambda: self.open_dropped(locations))

    def open_dropped(self, locations: Sequence[str]) -> None:
        """Several source files make one import; everything else opens one by one."""
        sources = [at for at in locations if at.lower().endswith(SOURCE_SUFFIXES) and not listing.is_remote(at)]
        if sources:
            self.import_sources(sources)
        for location in locations:
            if location not in sources:
                self.open_location(location)

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        before, now = event.oldSize().width(), event.size().width()
        if (before < NARROW) != (now < NARROW) or before < 0:
            self.places.setVisible(now >= NARROW)

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        live = self.queue.live()
        if live and not dialogs.ask_close(len(live), self):
            event.ignore()
            return
        self.preferences.set_state("geometry", self.saveGeometry())
        self.preferences.widths = chosen_widths
        self.preferences.save()
        self.hide()
        self.queue.close()
        self.reader.close()
        event.accept()
