"""Widgets: tables, states, choices, text that gives way."""

from __future__ import annotations

import gc
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from mdstudio.app.reading import unexpected
from mdstudio.app.theme import Theme
from mdstudio.app.widgets import (
    Badge,
    Bar,
    Button,
    Card,
    Cell,
    Column,
    Combo,
    ElidedLabel,
    FactCard,
    KeyValueList,
    Segmented,
    StateStack,
    Table,
)
from mdstudio.engine.errors import Cancelled, DamagedDataError

COLUMNS = [Column("", "check", 36), Column("Item", stretch=True), Column("Type", "mono"), Column("Raw MB", "number"),
           Column("Ratio", "bar"), Column("Health", "badge")]


def row(name: str, size: float, checked: bool = True) -> list[Cell]:
    return [Cell(checked=checked), Cell(name, "long", "grid"), Cell("int16"), Cell(f"\u22121\u202f{size}", sort=size),
            Cell("21.3\u00a0%", bar=0.213), Cell("Clean", status="ok")]


@pytest.fixture
def table(qtbot) -> Table:
    table = Table(COLUMNS, "Items", sortable=True)
    qtbot.addWidget(table)
    table.set_rows([row("b", 2.0), row("a", 3.0), row("c", 1.0)])
    table.resize(700, 200)
    table.show()
    return table


def test_the_table_model_keeps_the_rules_of_qt(table: Table, qtmodeltester) -> None:
    qtmodeltester.check(table.table_model)
    qtmodeltester.check(table.model())


def test_the_same_number_of_rows_keeps_the_selection_and_another_number_drops_it(table: Table) -> None:
    table.select_row(1)
    table.set_rows([row("x", 1.0), row("y", 2.0), row("z", 3.0)])
    assert table.selected_row() == 1
    table.set_rows([row("x", 1.0)])
    assert table.selected_row() == -1


def test_rows_sort_by_number_and_signals_name_the_row_of_the_model(table: Table, qtbot) -> None:
    table.sortByColumn(3, Qt.SortOrder.AscendingOrder)
    first = table.model().index(0, 1)
    assert first.data() == "c"
    with qtbot.waitSignal(table.row_selected) as chosen:
        table.setCurrentIndex(first)
    assert chosen.args == [2]


def test_a_row_is_copied_as_ascii_with_tabs(table: Table, qtbot) -> None:
    table.select_row(0)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "\tb long\tint16\t-12.0\t21.3 %\tClean"
    table.clearSelection()
    assert table.text().splitlines()[0] == "\tItem\tType\tRaw MB\tRatio\tHealth"


def test_space_and_a_click_on_the_box_toggle_a_row(table: Table, qtbot) -> None:
    table.select_row(2)
    with qtbot.waitSignal(table.row_toggled) as toggled:
        qtbot.keyClick(table, Qt.Key.Key_Space)
    assert toggled.args == [2]
    with qtbot.waitSignal(table.row_toggled) as toggled:
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(18, 14))
    assert toggled.args == [0]


def test_enter_activates_a_row(table: Table, qtbot) -> None:
    table.select_row(1)
    with qtbot.waitSignal(table.row_activated) as activated:
        qtbot.keyClick(table, Qt.Key.Key_Return)
    assert activated.args == [1]


def test_a_cell_says_its_column_to_a_screen_reader(table: Table) -> None:
    index = table.table_model.index(0, 4)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Ratio: 21.3\u00a0%"


def test_a_table_paints_selection_in_both_schemes(table: Table) -> None:
    table.select_row(0)
    for mode in ("light", "dark"):
        Theme.current().set_mode(mode)
        image = table.grab().toImage()
        at = table.viewport().mapTo(table, QPoint(table.columnViewportPosition(1) + 200, 14))
        assert image.pixelColor(at).name() == Theme.current().hex("accentbg").lower()
        edge = table.viewport().mapTo(table, QPoint(1, 14))
        assert image.pixelColor(edge).name() == Theme.current().hex("accent").lower()


# -- states -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stack(qtbot) -> StateStack:
    stack = StateStack(QWidget())
    qtbot.addWidget(stack)
    stack.resize(500, 300)
    stack.show()
    return stack


def visible_texts(stack: StateStack) -> list[str]:
    return [label.text() for label in stack.findChildren(QLabel) if label.isVisible() and label.text()]


def test_loading_keeps_the_picture_and_shows_its_card_only_after_a_while(stack: StateStack, qtbot) -> None:
    stack.show_loading("Reading", 118, 284)
    assert stack.contents.isVisible()
    assert visible_texts(stack) == []
    qtbot.waitUntil(lambda: "Reading 118 of 284" in visible_texts(stack))
    assert "Esc stops" in visible_texts(stack)
    stack.show_contents()
    assert visible_texts(stack) == []


def test_a_quick_read_never_shows_the_card(stack: StateStack, qtbot) -> None:
    stack.show_loading("Reading")
    stack.show_contents()
    qtbot.wait(350)
    assert visible_texts(stack) == []
    assert stack.state == "contents"


def test_an_error_says_what_where_and_what_to_do_over_the_last_picture(stack: StateStack, qtbot) -> None:
    tried = []
    stack.show_error(DamagedDataError("The page is short.", where="a/b.dat", advice="Import it again."),
                     [("Try again", lambda: tried.append(1))])
    assert stack.contents.isVisible()
    assert visible_texts(stack) == ["The page is short.", "a/b.dat\nImport it again."]
    button = next(b for b in stack.findChildren(Button) if b.text() == "Try again")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert tried == [1]


def test_a_bug_offers_its_details_for_copying_and_shows_no_traceback(stack: StateStack, qtbot) -> None:
    try:
        raise KeyError("x")
    except KeyError as error:
        stack.show_error(unexpected(error))
    assert not any("Traceback" in text for text in visible_texts(stack))
    button = next(b for b in stack.findChildren(Button) if b.text() == "Copy details")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert "Traceback" in QGuiApplication.clipboard().text()


def test_a_stopped_read_says_so(stack: StateStack) -> None:
    """Neither an empty view nor an older picture passes for what was asked."""
    stack.show_loading("Reading")
    stack.show_error(Cancelled("Cancelled."), [("Read again", lambda: None)])
    assert (stack.state, stack.message()) == ("empty", "The read was stopped")
    stack.show_stopped("t, 1 Mar")
    assert stack.state == "stale"
    assert "Showing t, 1 Mar" in stack.message()


def test_empty_hides_the_contents_and_offers_the_way_out(stack: StateStack) -> None:
    stack.show_empty("map", "No cell in this polygon", "It lies outside.", [("Zoom to the data", lambda: None)])
    assert not stack.contents.isVisible()
    assert stack.message() == "No cell in this polygon It lies outside."
    stack.show_contents()
    assert stack.contents.isVisible()


def test_stale_keeps_the_picture_and_lets_the_mouse_through(stack: StateStack) -> None:
    stack.show_stale("Showing 20 Jan", "reading 21 Jan")
    assert stack.contents.isVisible()
    assert stack.childAt(250, 200) in (stack.contents, None)


# -- small parts ------------------------------------------------------------------------------------------------------


def test_a_segmented_choice_tells_once_and_answers_to_arrow_keys(qtbot) -> None:
    segmented = Segmented([("ratio", "Ratio"), ("bytes", "Bytes")], "Layer")
    qtbot.addWidget(segmented)
    segmented.show()
    told = []
    segmented.changed.connect(told.append)
    assert segmented.value() == "ratio"
    segmented.set_value("bytes")
    segmented.set_value("bytes")
    segmented.activateWindow()
    segmented.button("bytes").setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(segmented.button("bytes").hasFocus)
    qtbot.keyClick(segmented.button("bytes"), Qt.Key.Key_Left)
    assert told == ["bytes", "ratio"]


def test_an_elided_label_keeps_its_full_text_for_tip_and_screen_reader(qtbot) -> None:
    label = ElidedLabel("a rather long name of a dataset")
    qtbot.addWidget(label)
    label.resize(60, 20)
    label.show()
    assert label.text() != label.full_text()
    assert label.toolTip() == label.accessibleName() == "a rather long name of a dataset"
    label.resize(600, 20)
    assert label.text() == label.full_text()
    assert label.toolTip() == ""


def test_a_combo_ignores_the_wheel_without_focus(qtbot) -> None:
    combo = Combo("Colours")
    combo.addItems(["a", "b"])
    qtbot.addWidget(combo)
    combo.show()
    assert combo.accessibleName() == "Colours"
    assert combo.sizeHint().width() > 80
    combo.grab()


def test_bars_never_leave_their_track(qtbot) -> None:
    bar = Bar()
    qtbot.addWidget(bar)
    bar.set_fraction(7.0)
    assert bar.value() == bar.maximum()
    bar.set_unknown()
    assert bar.maximum() == 0
    bar.grab()


def test_facts_keys_and_badges_say_what_they_show(qtbot) -> None:
    fact, keys, badge = FactCard("Ratio", "overview"), KeyValueList(), Badge("Clean", "ok")
    for widget in (fact, keys, badge):
        qtbot.addWidget(widget)
    fact.set_fact("24.6 %", "1.31 of 5.33 GB", 0.246)
    assert fact.accessibleName() == "Ratio: 24.6 %, 1.31 of 5.33 GB"
    keys.set_rows([("Blob", "a"), ("Offset", "1")])
    keys.set_rows([("Blob", "b", "mono-small", "ok")])
    shown = [label for label in keys.findChildren(ElidedLabel) if label.isVisibleTo(keys)]
    assert [label.accessibleName() for label in shown] == ["Blob: b"]
    badge.set_badge("Damage", "bad")
    assert badge.accessibleName() == "Damage"


def test_widgets_are_made_and_destroyed_without_a_trace(qtbot) -> None:
    for make in (lambda: Card("Title"), lambda: StateStack(QWidget()), lambda: Table(COLUMNS, "x"), Bar,
                 lambda: Segmented([("a", "A")], "x"), lambda: Combo("x")):
        widget = make()
        ref = weakref.ref(widget)
        widget.show()
        widget.deleteLater()
        qtbot.waitUntil(lambda widget=widget: not shiboken6.isValid(widget))
        del widget
        gc.collect()
        assert ref() is None
