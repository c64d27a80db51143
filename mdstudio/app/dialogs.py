"""Small dialogs: an address to open, the list of keys, whether to close with jobs running. Each is asked by a function,
so that a test can answer in its place.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QMessageBox, QScrollArea, QVBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.commands import COMMANDS, VIEW_KEYS
from mdstudio.app.listing import is_remote
from mdstudio.app.widgets import Button, Ground, Label, LineEdit, PrimaryButton


class UrlDialog(QDialog):
    """An address of a dataset or container: az:// or https:// with a SAS."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setMinimumWidth(560)
        self.field = LineEdit("", "Address", "az://account/container/prefix", mono=True)
        self._error = Label("", "caption-medium", "bad")
        self._ok = PrimaryButton("Open")
        self._ok.setDefault(True)
        cancel = Button("Cancel")
        cancel.clicked.connect(self.reject)
        self._ok.clicked.connect(self._accept)
        self.field.textChanged.connect(lambda: self._say(""))
        foot = QHBoxLayout()
        foot.addWidget(self._error, 1)
        foot.addWidget(cancel)
        foot.addWidget(self._ok)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addWidget(Label(title, "section"))
        column.addWidget(Label(
            "A container or a dataset: az://account/container/prefix (signed in by this machine, or by "
            "AZURE_STORAGE_CONNECTION_STRING), or https://\u2026blob\u2026?sas. A SAS is used and never stored.",
            "dense", "text2", wrap=True))
        column.addWidget(self.field)
        column.addLayout(foot)

    def _accept(self) -> None:
        if is_remote(self.field.text().strip()):
            self.accept()
        else:
            self._say("An address begins with az:// or https://")

    def _say(self, text: str) -> None:
        self._error.setText(text)
        self.field.set_invalid(bool(text))


def ask_url(title: str, parent: QWidget) -> str:
    """The address that was typed; "" when the person changed their mind."""
    dialog = UrlDialog(title, parent)
    accepted = dialog.exec() == QDialog.DialogCode.Accepted
    text = dialog.field.text().strip()
    dialog.deleteLater()
    return text if accepted else ""


def ask_close(running: int, parent: QWidget) -> bool:
    """Whether to close although jobs are running; they are cancelled then."""
    box = QMessageBox(parent)
    box.setWindowTitle("Jobs are running")
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setText(f"{formats.plural(running, 'job is', 'jobs are')} not done.")
    box.setInformativeText("Closing cancels them; what they have written so far is taken back.")
    stay = box.addButton("Keep running", QMessageBox.ButtonRole.RejectRole)
    leave = box.addButton("Cancel jobs and close", QMessageBox.ButtonRole.DestructiveRole)
    box.setDefaultButton(stay)
    box.exec()
    closing = box.clickedButton() is leave
    box.deleteLater()
    return closing


class KeysDialog(QDialog):
    """The list of keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Keys")
        self.resize(460, 620)
        body = Ground("panel")
        grid = QGridLayout(body)
        grid.setContentsMargins(18, 14, 18, 14)
        grid.setVerticalSpacing(7)
        grid.setColumnStretch(1, 1)
        rows = [(_keys(command.keys), command.text) for command in COMMANDS if command.keys]
        for i, (keys, text) in enumerate([*rows, *VIEW_KEYS]):
            grid.addWidget(Label(keys, "dense-strong"), i, 0)
            grid.addWidget(Label(text, "dense", "text2"), i, 1)
            grid.setColumnMinimumWidth(0, 120)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(body)
        close = PrimaryButton("Close")
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.setContentsMargins(18, 0, 18, 14)
        foot.addStretch(1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(area, 1)
        column.addLayout(foot)


def _keys(text: str) -> str:
    return QKeySequence(text).toString(QKeySequence.SequenceFormat.NativeText).replace("+", " ")
