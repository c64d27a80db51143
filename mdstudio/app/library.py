"""What a person keeps at hand: places and recent documents, remembered without secrets, shown in tree and Start."""

from __future__ import annotations

import datetime
import os

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from mdstudio.app import dialogs, formats, listing
from mdstudio.app.dataset_page import DatasetPage
from mdstudio.app.places import Places
from mdstudio.app.preferences import Preferences, Recent
from mdstudio.app.start import StartPage


class Library(QObject):
    """Keeps preferences, tree and Start screen the same. `locations` may hold a secret (a SAS), the preferences not."""

    def __init__(self, preferences: Preferences, places: Places, start: StartPage, window: QWidget) -> None:
        super().__init__(window)
        self.locations = preferences.places
        self._preferences, self._places, self._start, self._window = preferences, places, start, window
        places.add_folder_requested.connect(self.ask_folder)
        places.add_container_requested.connect(self.ask_container)
        places.remove_requested.connect(self.remove)
        start.clear_requested.connect(self.clear_recents)
        places.model.set_places(self.locations)
        self._show_recents()

    def add(self, location: str) -> None:
        """Put a folder or container into the tree and list it."""
        if location not in self.locations:
            self.locations = [*self.locations, location]
            self._store()
        self._places.expand(location)

    def expand_folders(self) -> None:
        """List the folders of this computer; containers are listed when they are opened."""
        for location in self.locations:
            if not listing.is_remote(location):
                self._places.expand(location)

    def remove(self, location: str) -> None:
        self.locations = [place for place in self.locations if place != location]
        self._store()

    def ask_folder(self) -> None:
        """Let the person choose a folder to add."""
        start = self._preferences.text("folder")
        folder = QFileDialog.getExistingDirectory(self._window, "Add a folder to the places", start)
        if folder:
            self._preferences.set_text("folder", os.path.dirname(folder))
            self.add(os.path.abspath(folder))

    def ask_container(self) -> None:
        """Let the person name a container to add."""
        location = dialogs.ask_url("Add a container", self._window)
        if location:
            self.add(location)

    def list_again(self, target: str) -> None:
        """List the place that a new dataset lies in, where it is one."""
        place = listing.parent(target)
        if place in self.locations:
            self._places.model.reload(self._places.model.find(place))

    def remember(self, page: DatasetPage) -> None:
        """Put an opened dataset into the recents."""
        from mdstudio.engine.storage import redact

        dataset = page.session.dataset
        if dataset is None:
            return
        metadata = dataset.metadata
        self._preferences.remember(Recent(
            redact(page.session.location), page.session.title, metadata.kind,
            formats.plural(len(metadata.times), "step"), metadata.data_size_bytes,
            datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")))
        self._show_recents()

    def clear_recents(self) -> None:
        self._preferences.forget_recents()
        self._show_recents()

    def _store(self) -> None:
        from mdstudio.engine.storage import redact

        self._preferences.places = [redact(place) for place in self.locations]
        self._places.model.set_places(self.locations)

    def _show_recents(self) -> None:
        recents = self._preferences.recents
        self._start.set_recents(recents)
        self._places.model.set_recents(recents)
        self._places.open_sections()
