"""Time bar, strip and series: steps snap, gaps stay gaps, a slow store is never outrun."""

from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from mdstudio.app.plots.colour_bar import ColourBar, ColourStrip
from mdstudio.app.plots.histogram_plot import HistogramPlot
from mdstudio.app.plots.series_plot import Line, SeriesPlot, letter_of
from mdstudio.app.plots.time_bar import TimeBar
from mdstudio.app.plots.time_strip import TimeStrip
from mdstudio.engine.times import TimeAxis, parse_time

DAY = 86_400_000_000


def axis(count, calendar="standard"):
    return TimeAxis(parse_time("2019-01-01", calendar) + np.arange(count) * DAY, calendar)


@pytest.fixture
def bar(qtbot):
    widget = TimeBar()
    qtbot.addWidget(widget)
    widget.resize(700, 44)
    widget.set_times(axis(365))
    widget.show()
    return widget


def test_keys_step_and_jump(bar):
    told = []
    bar.index_changed.connect(told.append)
    for key, modifier, expected in ((Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier, 1),
                                    (Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier, 11),
                                    (Qt.Key.Key_Left, Qt.KeyboardModifier.NoModifier, 10),
                                    (Qt.Key.Key_End, Qt.KeyboardModifier.NoModifier, 364),
                                    (Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier, 364),
                                    (Qt.Key.Key_Home, Qt.KeyboardModifier.NoModifier, 0)):
        QTest.keyClick(bar, key, modifier)
        assert bar.index == expected
    assert told == [1, 11, 10, 364, 0]
    assert bar.label.text() == "1 Jan 2019"


def test_a_click_on_the_slider_snaps_to_a_step(bar):
    QTest.mouseClick(bar.slider, Qt.MouseButton.LeftButton, pos=QPoint(bar.slider.width() // 2, 11))
    assert abs(bar.index - 182) <= 1


def test_the_slider_stands_still_while_the_count_grows(bar):
    QTest.qWait(1)
    places = set()
    for index in (0, 9, 99, 364):
        bar.set_index(index)
        QTest.qWait(1)
        places.add((bar.slider.x(), bar.slider.width()))
    assert len(places) == 1


def test_play_waits_for_the_picture(bar):
    told = []
    bar.index_changed.connect(told.append)
    bar.play.setChecked(True)
    bar._tick()
    bar._tick()
    assert told == [1]  # the first step is still being read
    bar.ready()
    bar._tick()
    assert told == [1, 2]
    bar.hide()
    assert not bar.playing


def test_months_are_labelled_and_do_not_touch(bar):
    labels = bar.slider.tick_labels()
    assert labels[0][1] == "Jan 2019"
    assert all(b - a > 20 for (a, _), (b, _) in pairwise(labels))


def test_static_data_has_no_player(bar):
    bar.set_times(TimeAxis.none())
    assert bar.play.isHidden()
    assert bar.label.text() == "no time"


@pytest.fixture
def series(qtbot):
    widget = SeriesPlot()
    qtbot.addWidget(widget)
    widget.resize(600, 240)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


@pytest.mark.rule("G5")
def test_a_gap_is_not_joined(series):
    values = np.full(100, 5.0)
    values[40:60] = np.nan
    values[0], values[99] = 0.0, 10.0
    series.set_lines(axis(100), (Line("A", "s1", values),))
    series.set_index(90)
    image = series.grab().toImage()

    def painted(step):
        place = series.view.mapFromScene(series.box.mapViewToScene(series_point(series, step, 5.0)))
        place = series.view.mapTo(series, place)
        return any(image.pixelColor(place.x() + dx, place.y() + dy).red() < 150  # blue ink, not a hairline
                   for dx in (-1, 0, 1) for dy in range(-3, 4))

    assert painted(20)
    assert painted(80)
    assert not painted(50)


def series_point(series, step, value):
    return QPointF(float(series._x[step]), value)


def test_a_value_between_gaps_is_still_seen():
    values = np.full(50, np.nan)
    values[7] = 1.0
    assert np.flatnonzero(SeriesPlot._marks(values, 0)).tolist() == [7]


def test_a_click_chooses_the_nearest_step(series, qtbot):
    series.set_lines(axis(11), (Line("A", "s1", np.arange(11.0)),))
    chosen = []
    series.index_chosen.connect(chosen.append)
    place = series.view.mapFromScene(series.box.mapViewToScene(series_point(series, 6, 5.0)))
    QTest.mouseMove(series.view.viewport(), place)
    QTest.mouseClick(series.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: chosen == [6])


def test_a_million_values_of_a_360_day_calendar_are_shown(series):
    times = axis(1_000_000, "360_day")
    series.set_lines(times, tuple(Line(letter_of(i), "s1", np.sin(np.arange(1_000_000.0) / 1e4) + i) for i in range(3)))
    assert series.grab().width() == 600
    assert series.bottom.shown_ticks()


def test_nothing_to_show_is_no_fault(series):
    series.set_lines(TimeAxis.none(), ())
    series.set_lines(axis(3), (Line("A", "s1", np.full(3, np.nan)),))
    series.set_index(2)
    series.grab()


def test_the_strip_chooses_steps_and_hatches_what_is_not_known(qtbot):
    strip = TimeStrip("bars", str)
    qtbot.addWidget(strip)
    strip.resize(600, 90)
    values = np.full(100, 10.0)
    values[50] = np.nan
    strip.set_values(axis(100), values)
    strip.set_index(99)
    chosen = []
    strip.index_chosen.connect(chosen.append)
    QTest.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(round(strip._x(20)), 40))
    QTest.keyClick(strip, Qt.Key.Key_Left)
    assert chosen == [20, 98]
    image = strip.grab().toImage()
    assert image.pixel(round(strip._x(50)), 30) != image.pixel(round(strip._x(20)), 30)


@pytest.mark.parametrize("style", ["bars", "line"])
def test_a_strip_of_many_steps_is_painted_by_the_pixel(qtbot, style):
    strip = TimeStrip(style, str)
    qtbot.addWidget(strip)
    strip.resize(600, 90)
    strip.set_values(axis(200_000), np.random.default_rng(0).uniform(1, 2, 200_000), " %")
    strip.grab()
    assert strip._columns(strip._area())[2].size <= 600


def test_the_colour_bar_points_at_a_value(qtbot):
    bar = ColourBar()
    qtbot.addWidget(bar)
    bar.resize(96, 300)
    bar.set_scale((0.0, 10.0), "viridis", "K", np.ones(256, np.int64))
    assert bar.position(0.0) > bar.position(5.0) > bar.position(10.0)
    assert bar.position(99.0) == bar.position(10.0)
    for shown in ((0.0, 10.0), (5.0, 5.0), (-1e308, 1e308), None):
        bar.set_scale(shown, "viridis", "K", np.ones(256, np.int64))
        bar.set_value(3.0 if shown else float("nan"))
        bar.grab()
        strip = ColourStrip()
        qtbot.addWidget(strip)
        strip.set_scale(shown, "viridis", "K")
        strip.grab()


def test_a_histogram_of_a_flat_rectangle_is_shown(qtbot):
    plot = HistogramPlot()
    qtbot.addWidget(plot)
    counts = np.zeros(256, np.int64)
    counts[128] = 9
    plot.set_counts(counts, (5.0, 5.0), (0.0, 10.0), "viridis")
    plot.grab()
    plot.set_counts(np.zeros(256, np.int64), None, None, "viridis")
    plot.grab()
