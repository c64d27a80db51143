"""The component sheet (mock-up 07) as a window: tokens, type, measures, icons, states, controls, a table.

    python -m mdstudio.app.gallery [--dark] [--grab FILE]

It is the reference for anyone who builds a view, and the picture that a change of look is compared by.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from mdstudio.app import colormaps, fonts, icons
from mdstudio.app.fonts import Role
from mdstudio.app.theme import Theme
from mdstudio.app.tokens import DARK, LIGHT, SERIES, STATUSES, TEXTS, contrast
from mdstudio.app.widgets import (
    Badge,
    Bar,
    Button,
    Card,
    Cell,
    Column,
    Combo,
    Ground,
    Icon,
    KeyValueList,
    Label,
    LineEdit,
    PrimaryButton,
    Segmented,
    StateStack,
    Table,
    fill_status,
)
from mdstudio.engine.errors import AccessError

SIZE = (1440, 1350)
_SHOWN = ("window", "panel", "surface", "sunken", "hover", "line", "line2", "nodata", *TEXTS, "accent", "accentbg",
          "ok", "advice", "bad", "unreadable", "info", "unknown", "explain", *SERIES)
_WITH_RATIO = {*TEXTS, "accent", "ok", "advice", "bad", "unreadable", "info", "unknown", "explain", *SERIES}
_ROLES: tuple[tuple[str, Role, str], ...] = (
    ("hero 24/32 600", "hero", "Open a dataset"), ("title 20/28 600", "title", "gridmet-daily-2019"),
    ("metric 17/22 600", "metric", "SingleTimestep  24.6 %"), ("section 14/20 600", "section", "Ratio per timestep"),
    ("body 13/20 400", "body", "See what is in a dataset"), ("dense 12/16 400", "dense", "0123456789  tabular, tables"),
    ("caption 11/16 500", "caption-medium", "maps per ms, axis labels"),
    ("over 10/14 600 +0.5", "over", "Storage type"),
    ("mono 11/16 500", "mono-small", "az://metocean/prod 9F02 71C4"),
)
_MEASURES = (("Top bar, view row", "44"), ("Control height", "30, dense 26"), ("Table row", "28, header 30"),
             ("Card padding", "14 / 10"), ("Gap between cards", "10"), ("Page margin", "18"), ("Places width", "256"),
             ("Side panel", "284 \u2013 300"), ("Status bar", "26"), ("Radius", "4 \u00b7 6 \u00b7 8"),
             ("Jobs dock", "34 closed"), ("Focus ring", "2 px accent"))
_ICONS = (
    "folder", "cloud", "clock", "grid", "mesh", "overview", "storage", "health", "map", "series", "meta", "trial",
    "search", "copy", "terminal", "reload", "play", "pause", "prev", "next", "lock", "pin", "pan", "rect", "poly",
    "transect", "export", "plus", "close", "chev", "chevd", "sun", "moon", "settings", "file", "explain", "compare",
    "more", "jobs", "treemap", "link", "wrench", "eye", "stop", "key", "layers", "cube", "import", "trash",
    "keyboard", "sidebar", "home", "check",
)
_SPACES = (2, 4, 6, 8, 10, 12, 14, 18, 24, 32)


class _Painted(QWidget):
    """A fixed area that a function paints."""

    def __init__(self, width: int, height: int, paint: Callable[[QPainter, QRectF], None], name: str) -> None:
        super().__init__()
        self._paint = paint
        self.setAccessibleName(name)
        self.setFixedHeight(height)
        if width:
            self.setFixedWidth(width)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint(painter, QRectF(self.rect()))
        painter.end()


class Gallery(Ground):
    """The sheet."""

    def __init__(self) -> None:
        super().__init__("window")
        self.setWindowTitle("MD Studio components")
        self.resize(*SIZE)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 18)
        column.setSpacing(10)
        column.addLayout(self._head())
        for row in ((_tokens("Light tokens", LIGHT), _tokens("Dark tokens", DARK)), (_type(), _measures(), _icons()),
                    (_statuses(), _maps(), _controls()), (_table(),)):
            line = QHBoxLayout()
            line.setSpacing(10)
            for card in row:
                line.addWidget(card, 1)
            column.addLayout(line)
        states = QHBoxLayout()
        states.setSpacing(10)
        for card in _states():
            states.addWidget(card, 1)
        column.addLayout(states, 1)

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(10)
        logo = Icon("mdstudio", 26)
        row.addWidget(logo)
        row.addWidget(Label("MD Studio", "title"))
        row.addWidget(Label(f"component sheet \u00b7 {'dark' if Theme.current().dark else 'light'}", "body", "text3"))
        row.addStretch(1)
        row.addWidget(Label("Every text pair is 4.5 : 1 or better in both schemes", "dense", "text3"))
        return row


def _tokens(title: str, colours: Mapping[str, str]) -> Card:
    card = Card(title, "hex, contrast on surface")
    grid = QGridLayout()
    grid.setVerticalSpacing(8)
    for i, name in enumerate(_SHOWN):
        row, column = divmod(i, 5)
        cell = QHBoxLayout()
        cell.setSpacing(8)

        def swatch(painter: QPainter, rect: QRectF, colour: str = colours[name]) -> None:
            painter.setPen(QPen(Theme.current().color("line2"), 1))
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

        cell.addWidget(_Painted(28, 26, swatch, f"{name} {colours[name]}"))
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(Label(name, "caption-strong"))
        ratio = f"  {contrast(colours[name], colours['surface']):.1f}" if name in _WITH_RATIO else ""
        words.addWidget(Label(f"{colours[name]}{ratio}", "mono-small", "text3"))
        cell.addLayout(words, 1)
        grid.addLayout(cell, row, column)
    card.body.addLayout(grid)
    return card


def _type() -> Card:
    card = Card("Type")
    grid = QGridLayout()
    grid.setVerticalSpacing(7)
    grid.setColumnMinimumWidth(0, 130)
    for i, (name, role, text) in enumerate(_ROLES):
        grid.addWidget(Label(name, "caption", "text3"), i, 0)
        grid.addWidget(Label(text, role), i, 1)
    grid.setColumnStretch(1, 1)
    card.body.addLayout(grid)
    card.body.addStretch(1)
    return card


def _measures() -> Card:
    card = Card("Spacing and measures", "px at 96 dpi")

    def squares(painter: QPainter, rect: QRectF) -> None:
        x = 0.0
        painter.setFont(fonts.font("caption"))
        for side in _SPACES:
            painter.fillRect(QRectF(x, 32 - side, side, side), Theme.current().color("accent"))
            painter.setPen(Theme.current().color("text3"))
            painter.drawText(QRectF(x - 10, 36, side + 20, 16), Qt.AlignmentFlag.AlignCenter, str(side))
            x += max(side, 14) + 12

    card.body.addWidget(_Painted(0, 54, squares, "Spacing steps"))
    halves = QHBoxLayout()
    halves.setSpacing(18)
    for half in (_MEASURES[:6], _MEASURES[6:]):
        values = KeyValueList()
        values.set_rows(half)
        halves.addWidget(values, 1)
    card.body.addLayout(halves)
    card.body.addStretch(1)
    return card


def _icons() -> Card:
    card = Card("Icons", "24 grid, 1.7 stroke, round; drawn at 15, 16, 20")
    grid = QGridLayout()
    grid.setVerticalSpacing(6)
    for i, name in enumerate(_ICONS):
        cell = QVBoxLayout()
        cell.setSpacing(1)
        cell.addWidget(Icon(name, 20), 0, Qt.AlignmentFlag.AlignHCenter)
        cell.addWidget(Label(name, "caption", "text3"), 0, Qt.AlignmentFlag.AlignHCenter)
        grid.addLayout(cell, *divmod(i, 9))
    card.body.addLayout(grid)
    card.body.addStretch(1)
    return card


def _statuses() -> Card:
    card = Card("Status", "shape + word + hatch, never colour alone")
    grid = QGridLayout()
    grid.setVerticalSpacing(8)
    grid.setHorizontalSpacing(10)
    for i, (key, state) in enumerate(STATUSES.items()):
        row, column = i % 5, 4 * (i // 5)

        def fill(painter: QPainter, rect: QRectF, key: str = key) -> None:
            fill_status(painter, rect, key)

        grid.addWidget(_Painted(44, 26, fill, f"Fill of {state.word}"), row, column)
        grid.addWidget(Icon(state.icon, 15, state.tone), row, column + 1)
        grid.addWidget(Label(state.word, "dense-strong", state.tone), row, column + 2)  # type: ignore[arg-type]
        grid.setColumnStretch(column + 2, 1)
    card.body.addLayout(grid)
    card.body.addStretch(1)
    return card


def _maps() -> Card:
    card = Card("Colour maps", "the same in light and dark; lightness monotone")
    for name, use in (("viridis", "values, default"), ("ember", "storage: ratio, bytes, age"),
                      ("tide", "differences, centre fixed"), ("cividis", "choice, safest without colour vision")):
        row = QHBoxLayout()
        row.addWidget(Label(name, "dense-strong"))
        row.addStretch(1)
        row.addWidget(Label(use, "caption", "text3"))
        card.body.addLayout(row)

        def ramp(painter: QPainter, rect: QRectF, name: str = name) -> None:
            table = colormaps.table(name)
            image = QImage(256, 1, QImage.Format.Format_RGB32)
            for x in range(256):
                image.setPixel(x, 0, QColor(*(int(v) for v in table[x])).rgb())
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(rect.adjusted(0, 0, -70, 0), image)
            light = colormaps.lightness(table)
            painter.setPen(QPen(Theme.current().color("text3"), 1.2))
            left = rect.right() - 62
            high = rect.height() - 2
            painter.drawPolyline([QPointF(left + 62 * i / 255, rect.bottom() - 1 - float(light[i]) * high)
                                  for i in range(256)])

        card.body.addWidget(_Painted(0, 14, ramp, f"Colour map {name}"))
    card.body.addStretch(1)
    return card


def _controls() -> Card:
    card = Card("Controls")
    first = QHBoxLayout()
    first.setSpacing(8)
    toggle = Button("Explain", "explain", "toggle")
    toggle.setChecked(True)
    for button in (PrimaryButton("Import", "play"), Button("Copy as command", "terminal"),
                   Button("Export", "export", "ghost"), toggle):
        first.addWidget(button)
    first.addStretch(1)
    second = QHBoxLayout()
    second.setSpacing(8)
    second.addWidget(Segmented([("ratio", "Ratio"), ("transform", "Transform"), ("bytes", "Bytes")], "Layer"))
    combo = Combo("Colours")
    combo.addItems([colormaps.TITLES[name] for name in colormaps.NAMES])
    second.addWidget(combo)
    second.addStretch(1)
    third = QHBoxLayout()
    third.setSpacing(8)
    good, bad = LineEdit("124", "TimeGroupSize"), LineEdit("60000", "TimeGroupSize, refused")
    bad.set_invalid(True)
    for field in (good, bad):
        field.setFixedWidth(100)
        third.addWidget(field)
    third.addWidget(Label("TimeGroupSize is 1 to 49\u202f999", "dense-medium", "bad"))
    third.addStretch(1)
    fourth = QHBoxLayout()
    fourth.setSpacing(8)
    for badge in (Badge("Grid", icon="grid"), Badge("Clean", "ok"), Badge("Advice", "advice"), Badge("Damage", "bad"),
                  Badge("Transient", "unreadable"), Badge("Running", "info", "none")):
        fourth.addWidget(badge)
    fourth.addStretch(1)
    fifth = QHBoxLayout()
    fifth.setSpacing(10)
    known, unknown = Bar(), Bar()
    known.set_fraction(0.62)
    unknown.set_unknown()
    for bar, text in ((known, "62\u00a0%"), (unknown, "size not known yet")):
        bar.setFixedWidth(130)
        fifth.addWidget(bar)
        fifth.addWidget(Label(text))
    fifth.addStretch(1)
    for row in (first, second, third, fourth, fifth):
        card.body.addLayout(row)
    card.body.addStretch(1)
    return card


def _table() -> Card:
    card = Card("Table", "numbers right, tabular; bar beside its number; one hairline a row; selection = tint + edge",
                margins=(2, 10, 2, 4))
    table = Table([Column("Item", stretch=True), Column("Type", "mono", 90), Column("Raw MB", "number", 90),
                   Column("Stored MB", "number", 100), Column("Ratio", "bar", 140, role="dense-strong"),
                   Column("Health", "badge", 120)], "Items")
    table.set_rows([
        [Cell("air_temperature_max", "tmmx", "grid"), Cell("uint16"), Cell("591.9"), Cell("126.1"),
         Cell("21.3\u00a0%", bar=0.213), Cell("Clean", status="ok")],
        [Cell("precipitation_amount", "pr", "grid"), Cell("uint16"), Cell("591.9"), Cell("55.6"),
         Cell("9.4\u00a0%", bar=0.094), Cell("Clean", status="ok")],
        [Cell("depth", "san-diego-adh", "mesh"), Cell("float64"), Cell("6.6"), Cell("3.4"),
         Cell("52.3\u00a0%", bar=0.523, bar_token="bad-fill"), Cell("Damage", status="bad")],
        [Cell("wind_speed", "vs", "grid"), Cell("uint16"), Cell("591.9"), Cell("\u2014", muted=True),
         Cell("not read", muted=True), Cell("Not checked", status="unknown")],
    ])
    table.fit_height()
    table.select_row(0)
    card.head.setContentsMargins(12, 0, 12, 0)
    card.body.addWidget(table)
    return card


def _states() -> list[Card]:
    def picture(painter: QPainter, rect: QRectF) -> None:
        table = colormaps.table("viridis")
        for y in range(0, int(rect.height()), 8):
            for x in range(0, int(rect.width()), 8):
                value = int(128 + 60 * ((x * 7 + y * 3) % 97) / 97 - 0.3 * y) % 256
                painter.fillRect(QRectF(x, y, 8, 8), QColor(*(int(v) for v in table[value])))

    stacks = []
    for title, caption, show in (
        ("Empty", "says why, offers the way out", lambda s: s.show_empty(
            "map", "No cell in this polygon", "It lies outside the grid (25\u201349\u00b0 N).",
            [("Zoom to the data", lambda: None)])),
        ("Loading", "coarse first, then page by page", lambda s: (s.show_loading("Reading", 118, 284), s.reveal())),
        ("Error", "where, what, what to do", lambda s: s.show_error(AccessError(
            "Access denied (403)", where="metocean/prod", advice="The SAS token expired 4 min ago."),
            [("Renew access", lambda: None)])),
        ("Stale", "old picture kept and marked", lambda s: s.show_stale(
            "Showing 20 Jan, reading 21 Jan", "blob changed, reading again")),
    ):
        card = Card(title, caption, margins=(8, 8, 8, 8))
        card.title.setFont(fonts.font("dense-strong"))
        area = _Painted(0, 10, picture, f"Picture of {title}")
        area.setMinimumHeight(120)
        area.setMaximumHeight(16777215)
        stack = StateStack(area)
        show(stack)
        card.body.addWidget(stack, 1)
        stacks.append(card)
    return stacks


def main(argv: list[str] | None = None) -> int:
    """Show the sheet, or write it to a PNG."""
    parser = argparse.ArgumentParser(description="The component sheet of MD Studio.")
    parser.add_argument("--dark", action="store_true", help="the dark scheme")
    parser.add_argument("--grab", metavar="FILE", help="write the sheet to a PNG and end")
    options = parser.parse_args(argv)
    application = QApplication(sys.argv[:1])
    Theme.current().set_mode("dark" if options.dark else "light")
    Theme.current().install(application)
    application.setWindowIcon(icons.application_icon())
    gallery = Gallery()
    gallery.show()
    gallery.setFocus()
    if options.grab:
        for _ in range(5):
            application.processEvents()
        return 0 if gallery.grab().save(options.grab) else 1
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
