"""The one style sheet, built from the tokens: colours, borders, measures. Fonts are not its business.

Widgets are addressed by object name, or by the dynamic properties `tone` (labels) and `kind` (buttons), so that a
frame's border never leaks into what it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

_SHEET = """
QMainWindow, QDialog { background: $panel; }
QLabel { color: $text; background: transparent; border: none; }
QLabel[tone="text2"] { color: $text2; }
QLabel[tone="text3"] { color: $text3; }
QLabel[tone="accent"] { color: $accent; }
QLabel[tone="ok"] { color: $ok; }
QLabel[tone="advice"] { color: $advice; }
QLabel[tone="bad"] { color: $bad; }
QLabel[tone="info"] { color: $info; }
QLabel[tone="unreadable"] { color: $unreadable; }
QLabel[tone="unknown"] { color: $unknown; }
QLabel:disabled { color: $text3; }

QFrame#card { background: $surface; border: 1px solid $line; border-radius: 8px; }
QFrame#well { background: $sunken; border: 1px solid $line; border-radius: 6px; }
QFrame#guard { background: ${advice-bg}; border: 1px solid ${advice-fill}; border-radius: 8px; }
QFrame#hline { background: $line; border: none; max-height: 1px; min-height: 1px; }
QFrame#vline { background: $line; border: none; max-width: 1px; min-width: 1px; }
QWidget#page, QWidget#panel { background: $panel; }
QWidget#surface { background: $surface; }
QWidget#window { background: $window; }
QWidget#viewrow { background: $surface; border-bottom: 1px solid $line; }
QWidget#topbar { background: $window; border-bottom: 1px solid $line; }
QWidget#statusbar { background: $window; border-top: 1px solid $line; }
QWidget#places { background: $panel; border-right: 1px solid $line; }
QWidget#jobs { background: $surface; border-top: 1px solid $line; }

QPushButton { min-height: 28px; padding: 0 11px; border-radius: 6px; border: 1px solid $line2; background: $surface;
  color: $text; }
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $line; }
QPushButton:focus { border: 2px solid $accent; padding: 0 10px; min-height: 26px; }
QPushButton:disabled { color: $text3; border-color: $line; background: $surface; }
QPushButton[dense="true"] { min-height: 24px; padding: 0 9px; }
QPushButton[dense="true"]:focus { min-height: 22px; padding: 0 8px; }
QPushButton[kind="primary"] { background: $accent; color: $onaccent; border-color: $accent; }
QPushButton[kind="primary"]:focus { border: 2px solid $text; }
QPushButton[kind="primary"]:disabled { background: $hover; color: $text3; border-color: $line; }
QPushButton[kind="ghost"] { border-color: transparent; background: transparent; color: $text2; }
QPushButton[kind="ghost"]:hover { background: $hover; }
QPushButton[kind="ghost"]:focus { border: 2px solid $accent; }
QPushButton[kind="ghost"]:disabled { color: $text3; }
QPushButton[kind="link"] { border: none; background: transparent; color: $accent; padding: 0 4px; }
QPushButton[kind="link"]:focus { border: 2px solid $accent; padding: 0 2px; }
QPushButton[kind="toggle"]:checked { background: $accentbg; color: $accent; border-color: $accent; }
QPushButton[kind="icon"] { border-color: transparent; background: transparent; padding: 0; min-width: 28px;
  max-width: 28px; }
QPushButton[kind="icon"]:hover { background: $hover; }
QPushButton[kind="icon"]:checked { background: $accentbg; }
QPushButton[kind="icon"]:focus { border: 2px solid $accent; padding: 0; min-width: 26px; max-width: 26px; }
QPushButton[kind="icon"][dense="true"] { min-width: 22px; max-width: 22px; min-height: 22px; }
QPushButton[kind="icon"][dense="true"]:focus { min-width: 20px; max-width: 20px; min-height: 20px; }

QFrame#segmented { background: $track; border: 1px solid $line; border-radius: 6px; }
QPushButton[kind="segment"] { min-height: 24px; padding: 0 9px; border: 1px solid transparent; border-radius: 5px;
  background: transparent; color: $text2; }
QPushButton[kind="segment"]:hover { color: $text; }
QPushButton[kind="segment"]:checked { background: $chosen; color: $text; border: 1px solid $line2; }
QPushButton[kind="segment"]:focus { border: 2px solid $accent; padding: 0 8px; min-height: 22px; }
QPushButton[kind="segment"]:disabled { color: $text3; }

QLineEdit, QSpinBox, QDoubleSpinBox { min-height: 28px; padding: 0 9px; border-radius: 6px; border: 1px solid $line2;
  background: $surface; color: $text; selection-background-color: $accent; selection-color: $onaccent; }
QLineEdit:hover { border-color: $text3; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus { border: 2px solid $accent; padding: 0 8px; min-height: 26px; }
QLineEdit[invalid="true"] { border: 1px solid $bad; }
QLineEdit[invalid="true"]:focus { border: 2px solid $bad; }
QLineEdit:disabled { color: $text3; background: $sunken; border-color: $line; }
QLineEdit[dense="true"] { min-height: 24px; }
QAbstractScrollArea { background: transparent; border: none; }
QPlainTextEdit, QTextBrowser, QTextEdit { background: $sunken; border: 1px solid $line; border-radius: 6px;
  color: $text; selection-background-color: $accent; selection-color: $onaccent; padding: 4px; }
QPlainTextEdit:focus, QTextBrowser:focus, QTextEdit:focus { border: 1px solid $accent; }
QComboBox { min-height: 28px; border: none; background: transparent; color: $text; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $line2; color: $text; outline: none; padding: 4px;
  selection-background-color: $accentbg; selection-color: $text; }
QComboBox QAbstractItemView::item { min-height: 26px; padding: 0 6px; border-radius: 4px; }

QMenu { background: $surface; border: 1px solid $line2; border-radius: 6px; padding: 4px; color: $text; }
QMenu::item { padding: 5px 22px 5px 10px; border-radius: 4px; }
QMenu::item:selected { background: $accentbg; color: $text; }
QMenu::item:disabled { color: $text3; }
QMenu::separator { height: 1px; background: $line; margin: 4px 6px; }
QToolTip { background: $surface; color: $text; border: 1px solid $line2; padding: 4px 6px; }

QTableView, QTreeView, QListView { background: transparent; border: none; outline: none; color: $text;
  selection-background-color: $accentbg; selection-color: $text; }
QHeaderView { background: transparent; border: none; }
QFileDialog QHeaderView::section { background: $panel; color: $text2; border: none; border-bottom: 1px solid $line;
  padding: 3px 6px; }
QTableCornerButton::section { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 2px; }
QScrollBar::handle { background: $line2; border-radius: 3px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $text3; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QTabBar::scroller { width: 40px; }
QTabBar QToolButton { background: $window; border: none; border-radius: 4px; }
QTabBar QToolButton:hover { background: $hover; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $line2; }
QStackedWidget { background: transparent; }
"""


def sheet(colours: Mapping[str, str]) -> str:
    """The application's style sheet for one set of tokens."""
    values = dict(colours)
    light = colours["surface"] == "#FFFFFF"
    values["track"] = colours["hover"] if light else colours["surface"]
    values["chosen"] = colours["surface"] if light else colours["hover"]
    return _Tokens(_SHEET).substitute(values)


class _Tokens(Template):
    braceidpattern = r"[a-z][a-z0-9-]*"
