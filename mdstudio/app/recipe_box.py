"""A recipe as command, Python or JSON: three spellings of one thing, to be copied."""

from __future__ import annotations

import json

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from mdstudio.app import fonts
from mdstudio.app.widgets import Button, Segmented
from mdstudio.jobs.recipe import Recipe


class RecipeBox(QWidget):
    """Shows a recipe without secrets; empty where there is none yet."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._recipe: Recipe | None = None
        self.form = Segmented([("command", "Command"), ("python", "Python"), ("json", "JSON")], "Spelling")
        self.copy = Button("Copy", "copy", dense=False)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(fonts.font("mono-small"))
        self.text.setAccessibleName("Recipe")
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(66)
        side = QVBoxLayout()
        side.setSpacing(6)
        side.addWidget(self.form)
        side.addWidget(self.copy)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.text, 1)
        row.addLayout(side)
        self.form.changed.connect(lambda _: self._show())
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))

    def set_recipe(self, recipe: Recipe | None) -> None:
        self._recipe = recipe
        self._show()

    def _show(self) -> None:
        recipe = self._recipe
        self.copy.setEnabled(recipe is not None)
        if recipe is None:
            self.text.setPlainText("")
            return
        match self.form.value():
            case "python":
                self.text.setPlainText(recipe.to_python())
            case "json":
                self.text.setPlainText(json.dumps(recipe.to_json(), indent=2, ensure_ascii=False))
            case _:
                self.text.setPlainText(recipe.to_command())
