"""The import dialog: a source, its items, the parameters, how it will be stored and why, the recipe in three spellings.

It never blocks: files are described in a worker process, the target is looked at by the reader. *Import* hands a recipe
on; the job runs in the queue of the window.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QFileDialog, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from mdstudio.app import formats, workers
from mdstudio.app.import_form import ParameterForm
from mdstudio.app.import_source import SourceCard
from mdstudio.app.listing import is_remote
from mdstudio.app.reading import Reader
from mdstudio.app.recipe_box import RecipeBox
from mdstudio.app.session import short_name
from mdstudio.app.widgets import (
    Button,
    Card,
    Ground,
    IconButton,
    KeyValueList,
    Label,
    LineEdit,
    PrimaryButton,
    StateStack,
)
from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.engine.model import Description, ItemStorage
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import RECOMMENDED_COMPRESSION, Settings, choose_settings, effective_defaults
from mdstudio.jobs.recipe import Recipe

_LOOK_AFTER_MS = 250


@dataclass(frozen=True)
class _Described:
    descriptions: tuple[Description, ...]
    target: str


class ImportDialog(QDialog):
    """Signal `submitted`: the recipe to run; the dialog closes with it."""

    submitted = Signal(object)

    def __init__(self, sources: Sequence[str], folder: str, reader: Reader, parent: QWidget | None = None) -> None:
        """`folder` is where the dataset is proposed, where it can be written to."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"Import {short_name(sources[0])}")
        self.resize(1060, 760)
        self.setMinimumSize(820, 560)
        self._sources = tuple(sources)
        self._folder = folder
        self._reader = reader
        self._channel = f"import-{id(self)}/"
        self._known = False
        self._target_problem = ""
        self._settings: Settings | None = None
        self.source = SourceCard(sources)
        self.form = ParameterForm()
        self.target = LineEdit("", "Dataset to make", "folder, or az://account/container/prefix", mono=True)
        self.recipe_box = RecipeBox()
        self.submit = PrimaryButton("Import", "play")
        self._reason = Label("", "caption-medium", "bad", wrap=True)
        self._storage = KeyValueList(spacing=6)
        self._advice = Label("", "caption", "text2", wrap=True)
        self._given = Label("", "dense", "text3")
        self.states = StateStack(self._body())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.states)
        for button in self.findChildren(Button):
            button.setAutoDefault(button is self.submit)
        self.submit.setDefault(True)  # Return imports, from any field
        self._look_later = QTimer(self)
        self._look_later.setSingleShot(True)
        self._look_later.setInterval(_LOOK_AFTER_MS)
        self._look_later.timeout.connect(self._look_at_target)
        self.source.changed.connect(self._renew)
        self.form.changed.connect(self._parameter_changed)
        self.target.textChanged.connect(self._target_changed)
        self.submit.clicked.connect(self._submit)
        self._recommend()
        self._describe()

    def recipe(self) -> Recipe:
        """What the form says, as a recipe."""
        return Recipe(
            self._sources, self.target.text().strip(), self.form.values("writer"), self.form.values("reader"),
            self.source.chosen_names() if self._known else (), self.source.grid_name() if self._known else "")

    def problem(self) -> str:
        """Why *Import* is disabled; "" where it is not."""
        if not self._known:
            return "The source has not been described."
        if not self.source.items():
            return "Choose at least one item."
        wrong = self.form.problems()
        if wrong:
            return wrong[0]
        if not self.target.text().strip():
            return "Name the dataset to make."
        return self._target_problem or ("" if self._settings is not None else "These settings do not go together.")

    def closeEvent(self, event: QCloseEvent) -> None:
        self._reader.cancel_all(self._channel)
        super().closeEvent(event)

    def done(self, result: int) -> None:
        self._reader.cancel_all(self._channel)
        super().done(result)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _body(self) -> QWidget:
        parameters = Card("Parameters")
        parameters.add_to_head(self._given)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        holder = Ground("surface")
        inner = QVBoxLayout(holder)
        inner.setContentsMargins(0, 0, 10, 0)
        inner.addWidget(self.form)
        area.setWidget(holder)
        parameters.body.addWidget(area, 1)
        storage = Card("How it will be stored")
        storage.body.addWidget(self._storage)
        storage.body.addWidget(self._advice)
        left = QVBoxLayout()
        left.setSpacing(10)
        left.addWidget(self.source, 1)
        left.addWidget(storage)
        columns = QHBoxLayout()
        columns.setSpacing(10)
        columns.addLayout(left, 1)
        parameters.setFixedWidth(350)
        columns.addWidget(parameters)
        body = Ground("page")
        column = QVBoxLayout(body)
        column.setContentsMargins(18, 14, 18, 14)
        column.setSpacing(10)
        column.addLayout(columns, 1)
        column.addWidget(self._foot())
        return body

    def _foot(self) -> Card:
        card = Card()
        browse = IconButton("folder", "Choose a folder")
        browse.clicked.connect(self._browse)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(Label("Dataset", "dense-medium"))
        row.addWidget(self.target, 1)
        row.addWidget(browse)
        last = QHBoxLayout()
        last.setSpacing(10)
        cancel = Button("Cancel")
        cancel.clicked.connect(self.reject)
        last.addWidget(self._reason, 1)
        last.addWidget(cancel)
        last.addWidget(self.submit)
        card.body.setSpacing(8)
        card.body.addLayout(row)
        card.body.addWidget(self.recipe_box)
        card.body.addLayout(last)
        return card

    # -- the source ---------------------------------------------------------------------------------------------------

    def _describe(self) -> None:
        """Ask a worker process what the files hold, with the reader parameters as they are."""
        recipe, folder = self.recipe(), self._folder

        def job(progress: Progress) -> _Described:
            found = workers.descriptions(recipe, progress)
            return _Described(found, default_target(recipe.sources[0], folder))

        self.states.show_loading(f"Looking at {short_name(self._sources[0])}")
        self._reader.submit(self._channel + "describe", job, self._described, self._not_described)

    def _described(self, described: _Described) -> None:
        self._known = True
        self.source.set_descriptions(described.descriptions)
        if not self.target.text():
            self.target.setText(described.target)
        self.states.show_contents()
        self._renew()
        if self.focusWidget() in (None, self.source.all):
            self.target.setFocus()

    def _not_described(self, error: MdError) -> None:
        self._known = False
        if isinstance(error, Cancelled):
            error = MdError("The file was not looked at to its end.", where=short_name(self._sources[0]))
        self.states.show_error(error, [("Try again", self._describe), ("Close", self.reject)])
        self._renew()

    # -- changes ------------------------------------------------------------------------------------------------------

    def _recommend(self) -> None:
        """Choose the recommended compression, unless this machine's variables choose one (D13)."""
        self._defaults = effective_defaults(os.environ)
        if all(default.origin == "default" for default in self._defaults):
            self.form.fields["writer"]["Compression"].set_value(RECOMMENDED_COMPRESSION)

    def _parameter_changed(self, which: str) -> None:
        if which == "reader" and not self.form.problems():
            self._describe()
        else:
            self._renew()

    def _target_changed(self) -> None:
        self._target_problem = ""
        self._look_later.start()
        self._renew()

    def _look_at_target(self) -> None:
        target = self.target.text().strip()
        if target:
            self._reader.submit(self._channel + "target", lambda progress: target_problem(target), self._target_seen,
                                lambda error: self._target_seen("" if isinstance(error, Cancelled) else str(error)))

    def _target_seen(self, problem: str) -> None:
        self._target_problem = problem
        self.target.set_invalid(bool(problem))
        self._renew()

    def _renew(self) -> None:
        """Everything that follows from the form: settings with their origins, the recipe, whether it can run."""
        self._settings = None
        if self._known and self.source.items():
            self._choose()
        given = self.form.given()
        self._given.setText(f"{given} given" if given else "none given")
        self.recipe_box.set_recipe(self.recipe() if self._known else None)
        problem = self.problem()
        self.submit.setEnabled(not problem)
        self.submit.setToolTip(problem)
        self._reason.setText(problem)

    def _choose(self) -> None:
        description = replace(self.source.description(), items=self.source.items())
        self.form.refuse("")
        try:
            settings = choose_settings(description, self.form.values("writer"), os.environ)
        except MdError as error:
            self.form.refuse(str(error))
            self._storage.set_rows([("Refused", error.message, "dense-medium", "bad")])
            self._advice.setText(error.advice)
            return
        self._settings = settings
        self._show_settings(settings)

    def _show_settings(self, settings: Settings) -> None:
        storage, origins = settings.storage, settings.origins
        values = {
            "Compression": storage.compression,
            "StorageType": storage.storage_type,
            "TimeGroupSize": formats.count(storage.time_group_size) if storage.time_group_size else formats.DASH,
            "GridTileWidth": formats.count(storage.grid_tile_width) if storage.grid_tile_width else formats.DASH,
            "LayoutVersion": str(storage.layout_version),
        }
        self._storage.set_rows([
            (name, f"{value}  ({origin_text(origins.get(name, 'default'))})") for name, value in values.items()])
        self.form.set_effective({name: value for name, value in values.items() if origins.get(name) != "parameter"})
        self._advice.setText("  ".join((*settings.notes, self._recommendation(storage))))

    def _recommendation(self, storage: ItemStorage) -> str:
        series, mesh = storage.storage_type == "TimeSeries", storage.grid_tile_width is None
        kind = "TimeSeries" if series else "mesh" if mesh else "grid"
        default = next(entry for entry in self._defaults if entry.kind == kind)
        origin = "the code default" if default.origin == "default" else default.origin
        return (f"{RECOMMENDED_COMPRESSION} is recommended for grids, meshes and TimeSeries, ZstdFastAuto for data "
                "that is written in a hurry or appended to often. "
                f"Not given, Compression would be {default.value} ({origin}).")

    def _browse(self) -> None:
        start = os.path.dirname(self.target.text()) or self._folder
        folder = QFileDialog.getExistingDirectory(self, "Folder for the dataset", start)
        if folder:
            name = short_name(self.target.text()) or Path(self._sources[0]).stem
            self.target.setText(os.path.join(folder, name))

    def _submit(self) -> None:
        if not self.problem():
            self.submitted.emit(self.recipe())
            self.accept()


def origin_text(origin: str) -> str:
    """Where a setting comes from, in words: "parameter", "variable MD_...", "code default"."""
    return "code default" if origin == "default" else origin


def default_target(source: str, folder: str) -> str:
    """Reader thread: a free name for the dataset in `folder`, or at home where that cannot be written to."""
    base = folder if os.access(folder, os.W_OK) else str(Path.home())
    stem = Path(source).stem or "dataset"
    names = [stem, *(f"{stem}-{number}" for number in range(2, 100))]
    return next((path for path in (os.path.join(base, name) for name in names) if not os.path.exists(path)),
                os.path.join(base, stem))


def target_problem(target: str) -> str:
    """Reader thread: why a dataset cannot be made at a location; "" where it can."""
    from mdstudio.engine.storage import open_storage

    if not is_remote(target):
        if not os.path.isabs(os.path.expanduser(target)):
            return "Give the whole path of the dataset."
        if os.path.isfile(os.path.expanduser(target)):
            return "There is a file of this name."
    if open_storage(target).exists("dataset.json"):
        return "There is a dataset already; choose another name."
    return ""
