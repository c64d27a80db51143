"""Colour maps: 256 entries, the stops of the design language, lightness that never turns back."""

from __future__ import annotations

import numpy as np
import pytest

from mdstudio.app import colormaps

STOPS = {
    "viridis": "440154 472D7B 3B528B 2C728E 21918C 28AE80 5EC962 ADDC30 FDE725",
    "ember": "140E36 3F0F72 6A1C81 962C80 C43C75 EA5661 FB8761 FEB97F FDEBAC",
    "tide": "003C76 2465A6 5C91CD A0C0E4 F0EFEE E0AE9B C37557 994521 6A1F00",
    "cividis": "00224E 1A386F 434E6C 61656F 7D7C78 9B9476 BCAE6C DEC958 FEE838",
}


def star(colours: np.ndarray) -> np.ndarray:
    """CIE L* of sRGB."""
    c = colours / 255
    y = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    return 116 * np.where(y > 216 / 24389, np.cbrt(y), (24389 / 27 * y + 16) / 116) - 16


@pytest.mark.parametrize("name", colormaps.NAMES)
def test_a_map_has_256_colours_and_the_stops_of_the_design(name: str) -> None:
    table = colormaps.table(name)
    assert table.shape == (256, 3)
    assert table.dtype == np.uint8
    stops = np.array([[int(stop[i : i + 2], 16) for i in (0, 2, 4)] for stop in STOPS[name].split()])
    at = np.rint(np.linspace(0, 255, 9)).astype(int)
    assert np.abs(table[at].astype(int) - stops).max() <= 3


@pytest.mark.parametrize("name", ["viridis", "ember", "cividis"])
def test_lightness_rises_all_the_way(name: str) -> None:
    light = star(colormaps.table(name).astype(float))
    assert (np.diff(light) > -0.05).all()  # 8 bit colours: neighbours may be equal, never darker by more than rounding
    assert (light[4:] > light[:-4]).all()


def test_tide_rises_to_its_centre_and_falls_behind_it() -> None:
    light = star(colormaps.table("tide").astype(float))
    assert (np.diff(light[:128]) > 0).all()
    assert (np.diff(light[128:]) < 0).all()
    assert light[127] == pytest.approx(light[128], abs=0.5)


def test_oklab_there_and_back_is_the_same_colour() -> None:
    table = colormaps.table("viridis")
    assert np.abs(colormaps.oklab_to_srgb(colormaps.srgb_to_oklab(table)).astype(int) - table).max() <= 1


def test_packed_colours_are_opaque_and_in_order() -> None:
    first = int(colormaps.argb("viridis")[0])
    assert first == 0xFF440154


def test_an_unknown_map_is_an_error() -> None:
    with pytest.raises(KeyError):
        colormaps.table("jet")
