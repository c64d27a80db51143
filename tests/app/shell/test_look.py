"""Theme, fonts, icons: bundled, switchable, complete."""

from __future__ import annotations

import re

import pytest
from PySide6.QtGui import QColor, QFontInfo, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication

from mdstudio.app import fonts, icons, style
from mdstudio.app.commands import COMMANDS
from mdstudio.app.theme import Theme
from mdstudio.app.tokens import DARK, LIGHT
from mdstudio.resources import resource


def test_a_switch_renews_palette_and_sheet_before_it_is_told(qapp: QApplication) -> None:
    seen = []
    theme = Theme.current()
    theme.changed.connect(lambda: seen.append((theme.dark, qapp.palette().color(QPalette.ColorRole.Window).name())))
    theme.set_mode("dark")
    theme.set_mode("light")
    assert seen == [(True, DARK["panel"].lower()), (False, LIGHT["panel"].lower())]
    assert LIGHT["accent"] in qapp.styleSheet()
    assert theme.color("accent") == QColor(LIGHT["accent"])


def test_a_colour_is_a_copy() -> None:
    Theme.current().color("text").setAlpha(3)
    assert Theme.current().color("text").alpha() == 255


@pytest.mark.parametrize("table", [LIGHT, DARK])
def test_the_sheet_has_no_token_left(table: dict[str, str]) -> None:
    assert "$" not in style.sheet(table)


def test_figures_are_tabular_in_every_role() -> None:
    for role in fonts._SCALE:
        metrics = QFontMetricsF(fonts.font(role))
        widths = [metrics.horizontalAdvance(digit) for digit in "0123456789"]
        assert max(widths) - min(widths) < 0.05, role  # a sixty-fourth of a pixel is rounding


def test_the_bundled_families_are_used_not_a_substitute() -> None:
    assert {"Inter", "JetBrains Mono"} <= set(fonts.load())
    assert QFontInfo(fonts.font("dense")).family() == "Inter"
    assert QFontInfo(fonts.font("mono")).family() == "JetBrains Mono"


def test_a_licence_stands_beside_each_font() -> None:
    for family in ("Inter", "JetBrainsMono"):
        assert "SIL OPEN FONT LICENSE" in resource(f"fonts/{family}-OFL.txt").read_text()


def test_every_icon_draws_in_the_colour_asked_for() -> None:
    names = [path.stem for path in resource("icons").glob("*.svg") if path.stem != "mdstudio"]
    assert len(names) > 50
    for name in names:
        image = icons.pixmap(name, 32, "explain", ratio=2.0).toImage()
        colours = {image.pixelColor(x, y).name() for x in range(64) for y in range(64)
                   if image.pixelColor(x, y).alpha() == 255}
        assert Theme.current().hex("explain").lower() in colours, name


def test_icons_are_cached_by_name_size_colour_and_ratio() -> None:
    first = icons.pixmap("map", 16, ratio=1.0)
    assert icons.pixmap("map", 16, ratio=1.0).cacheKey() == first.cacheKey()
    assert icons.pixmap("map", 16, "accent", ratio=1.0).cacheKey() != first.cacheKey()
    assert icons.pixmap("map", 16, ratio=2.0).size() == 2 * first.size()


def test_a_status_shape_is_knocked_out_in_the_colour_of_its_ground() -> None:
    image = icons.pixmap("status-info", 48, "info", "info-bg", ratio=1.0).toImage()
    assert image.pixelColor(24, 28).name() == LIGHT["info-bg"].lower()


def test_every_icon_that_is_named_is_there() -> None:
    named = {command.icon for command in COMMANDS if command.icon}
    assert all(resource(f"icons/{name}.svg").is_file() for name in named)


def test_no_colour_is_named_outside_the_token_table() -> None:
    app = resource("icons").parent.parent / "mdstudio" / "app"
    if not app.is_dir():
        pytest.skip("not in a clone")
    colour = re.compile(r"[\"']#(?!000000|FFFFFF|ffffff)[0-9A-Fa-f]{6}[\"']")
    files = [path for path in app.rglob("*.py") if path.parent.name != "plots"]  # overlays on maps are not of a scheme
    assert {path.name for path in files if colour.search(path.read_text("utf-8"))} == {"tokens.py"}
