"""Metadata: `dataset.json` as it is stored, and the attributes of the source; read when the dataset was opened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QSplitter, QVBoxLayout, QWidget

from mdstudio.app import fonts, formats
from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.commands import inspect_command
from mdstudio.app.views.view import GAP, PAGE_MARGIN, DatasetView
from mdstudio.app.widgets import Button, Card, Cell, Column, SearchField, Table
from mdstudio.engine.layout.metadata import Metadata

MOST_TEXT = 2_000_000  # characters of dataset.json that are laid out


class MetadataView(DatasetView):
    """The document at the left, attributes of source, items and times at the right, with a filter."""

    key, title, icon = "metadata", "Metadata", "meta"

    def __init__(self, session: DatasetSession, reader: Reader, parent: QWidget | None = None) -> None:
        super().__init__(session, reader, parent)
        self._document = ""
        self._attributes: list[tuple[str, str, str]] = []
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(fonts.font("mono"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName("dataset.json")
        self.document = Card("dataset.json")
        self.copy = Button("Copy", "copy", "ghost", dense=True)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._document))
        self.document.add_to_head(self.copy)
        self.document.body.addWidget(self.text)
        self.filter = SearchField("Filter attributes")
        self.filter.textChanged.connect(self._show_attributes)
        self.table = Table([Column("Of", width=130), Column("Attribute", width=150), Column("Value", stretch=True,
                                                                                           width=200)], "Attributes")
        self.attributes = Card("Attributes")
        self.copy_table = Button("Copy table", "copy", "ghost", dense=True)
        self.copy_table.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.table.text()))
        self.attributes.add_to_head(self.copy_table)
        self.attributes.body.addWidget(self.filter)
        self.attributes.body.addWidget(self.table)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setHandleWidth(GAP)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.document)
        splitter.addWidget(self.attributes)
        column = QVBoxLayout()
        column.addWidget(splitter)
        page = QHBoxLayout(self)
        page.setContentsMargins(PAGE_MARGIN, GAP, PAGE_MARGIN, 12)
        page.addLayout(column)

    def command_text(self) -> str:
        return inspect_command(self.dataset.location) if self.dataset is not None else ""

    def dataset_changed(self) -> None:
        assert self.dataset is not None
        metadata = self.dataset.metadata
        self.session.submit("document", lambda progress: _prepare(metadata), self._prepared)

    def renew(self) -> None:
        """The selection does not change what is shown here."""

    def _prepared(self, made: tuple[str, list[tuple[str, str, str]]]) -> None:
        self._document, self._attributes = made
        shown = self._document if len(self._document) <= MOST_TEXT else self._document[:MOST_TEXT] + "\n…"
        self.text.setPlainText(shown)
        self.document.set_title("dataset.json", formats.plural(self._document.count("\n") + 1, "line"))
        self._show_attributes()

    def _show_attributes(self, _: str = "") -> None:
        wanted = self.filter.text().strip().lower()
        rows = [row for row in self._attributes if not wanted or wanted in " ".join(row).lower()]
        self.table.set_rows([(Cell(owner, muted=True), Cell(name, strong=True), Cell(value, tip=value[:2000]))
                             for owner, name, value in rows])
        self.attributes.set_title("Attributes", f"{formats.count(len(rows))} of {formats.count(len(self._attributes))}")


def _prepare(metadata: Metadata) -> tuple[str, list[tuple[str, str, str]]]:
    """Worker thread: the document as text, and the attributes as rows."""
    document = json.dumps(metadata.raw, indent=2, ensure_ascii=False, default=str)
    return document, list(attribute_rows(metadata))


def attribute_rows(metadata: Metadata) -> Iterator[tuple[str, str, str]]:
    """(owner, attribute, value): of source, files, time axis, items and their layers; then what was left out."""
    yield from _rows("source", metadata.attributes)
    for number, source in enumerate(metadata.source):
        yield from _rows("file" if len(metadata.source) == 1 else f"file {number + 1}", source)
    yield from _rows("time", metadata.time_attributes)
    for item in metadata.items:
        yield from _rows(item.name, item.attributes)
        if item.layers is not None:
            yield from _rows(f"{item.name} · {item.layers.name}", item.layers.attributes)
    for dropped in metadata.dropped:
        yield "left out", dropped.what, f"{dropped.reason} ({dropped.count})" if dropped.count > 1 else dropped.reason


def _rows(owner: str, attributes: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, value in attributes.items():
        yield owner, str(name), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
