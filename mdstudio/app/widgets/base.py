"""The plain parts: labels of the type scale, cards, facts, hairlines, lists of keys and values. Main thread only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from mdstudio.app import fonts, icons
from mdstudio.app.fonts import Role
from mdstudio.app.theme import Theme

UNBOUND = 16_777_215  # QWIDGETSIZE_MAX: no largest size
Tone = Literal["text", "text2", "text3", "accent", "ok", "advice", "bad", "info", "unreadable", "unknown"]


def repolish(widget: QWidget) -> None:
    """Make the style sheet look again after a dynamic property has changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()


class Label(QLabel):
    """Text in a role of the type scale and a tone of the tokens; plain text unless made rich on purpose."""

    def __init__(self, text: str = "", role: Role = "dense", tone: Tone = "text", *, wrap: bool = False,
                 parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(fonts.font(role))
        self.setWordWrap(wrap)
        self.setProperty("tone", tone)

    def set_tone(self, tone: Tone) -> None:
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            repolish(self)


class ElidedLabel(Label):
    """A label that gives way: elided in the middle or at the end, the full text in its tool tip and accessible name."""

    def __init__(self, text: str = "", role: Role = "dense", tone: Tone = "text", *,
                 mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight, parent: QWidget | None = None) -> None:
        super().__init__("", role, tone, parent=parent)
        self._full = ""
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setText(text)

    def full_text(self) -> str:
        return self._full

    def setText(self, text: str) -> None:
        self._full = text
        self.setAccessibleName(text)
        self._elide()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._full) + 2, metrics.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(24, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = QFontMetrics(self.font()).elidedText(self._full, self._mode, self.width())
        super().setText(shown)
        self.setToolTip(self._full if shown != self._full else "")


class Icon(QWidget):
    """An icon that follows the scheme; decoration, so it has no accessible name unless one is given."""

    def __init__(self, name: str, size: int = 16, token: str = "text2", ground: str = "surface",
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._token, self._ground = name, token, ground
        self.setFixedSize(size, size)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def set_icon(self, name: str, token: str = "text2", ground: str = "surface") -> None:
        self._name, self._token, self._ground = name, token, ground
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = Theme.current()
        painter = QPainter(self)
        icons.paint(painter, self._name, self.rect().toRectF(), theme.color(self._token), theme.color(self._ground))
        painter.end()


class HLine(QFrame):
    """A hairline across."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hline")
        self.setFixedHeight(1)


class VLine(QFrame):
    """A hairline down."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("vline")
        self.setFixedWidth(1)


class Card(QFrame):
    """Surface with a hairline and radius 8: an optional head (title, caption, things at the right) over `body`."""

    def __init__(self, title: str = "", caption: str = "", *, margins: tuple[int, int, int, int] = (14, 10, 14, 10),
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(*margins)
        outer.setSpacing(8)
        self.title = Label(title, "section")
        self.caption = ElidedLabel(caption, "dense", "text3")
        self.head = QHBoxLayout()
        self.head.setSpacing(10)
        self.head.addWidget(self.title)
        self.head.addWidget(self.caption, 1)
        self.body = QVBoxLayout()
        self.body.setSpacing(6)
        if title:
            self.setAccessibleName(title)
            outer.addLayout(self.head)
        outer.addLayout(self.body, 1)

    def set_title(self, title: str, caption: str = "") -> None:
        self.title.setText(title)
        self.caption.setText(caption)
        self.setAccessibleName(title)

    def add_to_head(self, widget: QWidget) -> None:
        """Put a widget at the right end of the head."""
        self.head.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)


class FactCard(QFrame):
    """One fact: small capitals over a metric over a caption, an icon in the corner, maybe a bar beside the caption."""

    def __init__(self, label: str, icon: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        from mdstudio.app.widgets.bars import Bar

        self.setObjectName("card")
        self._label = label
        self.value = ElidedLabel("", "metric")
        self.note = ElidedLabel("", "dense", "text2")
        self.bar = Bar()
        self.bar.setFixedWidth(38)
        self.bar.hide()
        grid = QGridLayout(self)
        grid.setContentsMargins(14, 11, 12, 11)
        grid.setVerticalSpacing(3)
        grid.setHorizontalSpacing(8)
        grid.addWidget(Label(label, "over", "text3"), 0, 0)
        if icon:
            grid.addWidget(Icon(icon, 16, "text2"), 0, 1, Qt.AlignmentFlag.AlignRight)
        grid.addWidget(self.value, 1, 0, 1, 2)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.bar)
        foot.addWidget(self.note, 1)
        grid.addLayout(foot, 2, 0, 1, 2)
        grid.setColumnStretch(0, 1)
        self.setAccessibleName(label)

    def set_fact(self, value: str, note: str = "", bar: float | None = None) -> None:
        """Show a value, what it rests on, and a bar of a fraction 0 to 1 where there is one."""
        self.value.setText(value)
        self.note.setText(note)
        self.bar.setVisible(bar is not None)
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight if bar is not None else Qt.AlignmentFlag.AlignLeft)
        if bar is not None:
            self.bar.set_fraction(bar)
        self.setAccessibleName(f"{self._label}: {value}, {note}")


class KeyValueList(QWidget):
    """Labels at the left, values at the right, one row each; a value may be mono or carry a tone."""

    def __init__(self, parent: QWidget | None = None, spacing: int = 9) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(spacing)
        self._grid.setHorizontalSpacing(12)
        self._grid.setColumnStretch(1, 1)
        self._rows: list[tuple[Label, ElidedLabel]] = []

    def set_rows(self, rows: Sequence[tuple[str, str] | tuple[str, str, Role, Tone]]) -> None:
        """Show (key, value) or (key, value, role, tone) rows; labels are reused."""
        while len(self._rows) > len(rows):
            for label in self._rows.pop():
                self._grid.removeWidget(label)
                label.hide()
                label.deleteLater()
        for i, row in enumerate(rows):
            role: Role = row[2] if len(row) == 4 else "dense-medium"
            tone: Tone = row[3] if len(row) == 4 else "text"
            if i == len(self._rows):
                pair = (Label("", "dense", "text2"), ElidedLabel("", mode=Qt.TextElideMode.ElideMiddle))
                pair[1].setAlignment(Qt.AlignmentFlag.AlignRight)
                pair[1].setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
                self._grid.addWidget(pair[0], i, 0)
                self._grid.addWidget(pair[1], i, 1)
                self._rows.append(pair)
            key, value = self._rows[i]
            key.setText(row[0])
            value.setFont(fonts.font(role))
            value.set_tone(tone)
            value.setText(row[1])
            value.setAccessibleName(f"{row[0]}: {row[1]}")


class Ground(QWidget):
    """A plain widget that paints the background of its object name (`page`, `panel`, `surface`, `window`, ...)."""

    def __init__(self, name: str = "page", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


class Toolbar(QHBoxLayout):
    """The row of controls over a page: gap 8, no margins."""

    def __init__(self) -> None:
        super().__init__()
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(8)


def is_scheme_change(event: QEvent) -> bool:
    """Whether a `changeEvent` means that colours must be read again."""
    return event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange)
