"""The form of the import parameters: name as persisted, a control, a line of description, what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from mdstudio.app.widgets import Combo, Label, LineEdit
from mdstudio.engine.errors import UsageError
from mdstudio.engine.parameters import Parameter, Value, parameters

Which = Literal["writer", "reader"]
NOT_GIVEN = "Not given"


class ParameterField(QWidget):
    """One parameter. `value()` is None while it is not given; `problem()` says what is wrong with what was typed."""

    changed = Signal()

    def __init__(self, parameter: Parameter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.parameter = parameter
        self._outside = ""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addWidget(Label(parameter.name, "dense-medium"))
        self.control: Combo | LineEdit = self._choice() if parameter.type != "integer" else self._line()
        told = f"{parameter.description}\n\n{parameter.takes}"
        self.control.setAccessibleDescription(told)
        column.addWidget(self.control)
        self._error = Label("", "caption-medium", "bad", wrap=True)
        self._error.hide()
        column.addWidget(self._error)
        column.addWidget(Label(_brief(parameter.description), "caption", "text3", wrap=True))
        self.setToolTip(told)

    def value(self) -> Value | None:
        """The value in its type; None where it is not given or wrong."""
        text = self._text()
        if not text:
            return None
        try:
            return self.parameter.parse(text)
        except UsageError:
            return None

    def problem(self) -> str:
        """What is wrong with the value by itself; "" where it is fine."""
        text = self._text()
        if not text:
            return ""
        try:
            self.parameter.parse(text)
        except UsageError as error:
            return error.message
        return ""

    def set_value(self, value: Value | None) -> None:
        """Give the value, or None to take it back; no signal."""
        with QSignalBlocker(self.control):
            text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            if isinstance(self.control, Combo):
                self.control.setCurrentIndex(max(0, self.control.findData(text)))
            else:
                self.control.setText(text)
        self._show_problem()

    def set_effective(self, text: str) -> None:
        """What is taken while the parameter is not given, shown where it would stand."""
        if isinstance(self.control, Combo):
            self.control.setItemText(0, f"{NOT_GIVEN} \u00b7 {text}" if text else NOT_GIVEN)
            self.control.update()
        else:
            self.control.setPlaceholderText(f"{NOT_GIVEN} \u00b7 {text}" if text else NOT_GIVEN)

    def set_refused(self, reason: str) -> None:
        """A reason from outside: the value does not go with the others."""
        self._outside = reason
        self._show_problem()

    def _choice(self) -> Combo:
        combo = Combo(name=self.parameter.name)
        combo.addItem(NOT_GIVEN, "")
        choices = self.parameter.choices or ("true", "false")
        for choice in choices:
            recommended = choice == self.parameter.recommended
            combo.addItem(f"{choice}  \u00b7 recommended" if recommended else choice, choice)
        combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        combo.currentIndexChanged.connect(self._changed)
        return combo

    def _line(self) -> LineEdit:
        line = LineEdit("", self.parameter.name, NOT_GIVEN)
        line.textChanged.connect(self._changed)
        return line

    def _text(self) -> str:
        if isinstance(self.control, Combo):
            return str(self.control.currentData() or "")
        return self.control.text().strip()

    def _changed(self) -> None:
        self._outside = ""
        self._show_problem()
        self.changed.emit()

    def _show_problem(self) -> None:
        problem = self.problem() or self._outside
        self._error.setText(problem)
        self._error.setVisible(bool(problem))
        if isinstance(self.control, LineEdit):
            self.control.set_invalid(bool(problem))


class ParameterForm(QWidget):
    """All parameters of the writer, then of the reader. `changed` carries which of the two was touched."""

    changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[Which, dict[str, ParameterField]] = {"writer": {}, "reader": {}}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        for which in self.fields:
            for name, parameter in parameters(which).items():
                field = ParameterField(parameter)
                field.changed.connect(lambda which=which: self.changed.emit(which))
                self.fields[which][name] = field
                column.addWidget(field)
        column.addStretch(1)

    def values(self, which: Which) -> dict[str, Value]:
        """The parameters that are given, checked and in their types."""
        values = {name: field.value() for name, field in self.fields[which].items()}
        return {name: value for name, value in values.items() if value is not None}

    def problems(self) -> list[str]:
        """What is wrong with values by themselves, one sentence a field."""
        return [field.problem() for which in self.fields.values() for field in which.values() if field.problem()]

    def given(self) -> int:
        """How many parameters are given."""
        return len(self.values("writer")) + len(self.values("reader"))

    def set_effective(self, texts: Mapping[str, str]) -> None:
        """What each writer parameter that is not given comes to."""
        for name, field in self.fields["writer"].items():
            field.set_effective(texts.get(name, ""))

    def refuse(self, message: str) -> None:
        """Show a refusal of the combination under the field that it names; "" takes it back."""
        for field in self.fields["writer"].values():
            field.set_refused(message if message and field.parameter.name in message else "")


def _brief(text: str) -> str:
    """The first sentence; the whole text is the tool tip."""
    first = text.split(". ", 1)[0]
    return first if first.endswith(".") else f"{first}."
