"""Colours: every text can be read in both schemes, no status is told by its colour alone."""

from __future__ import annotations

import pytest

from mdstudio.app.tokens import BACKGROUNDS, DARK, LIGHT, STATUSES, TEXTS, contrast, text_pairs
from mdstudio.resources import resource


@pytest.mark.parametrize(("name", "table"), [("light", LIGHT), ("dark", DARK)])
def test_every_text_reaches_4_5_to_1_on_every_ground_it_may_stand_on(name: str, table: dict[str, str]) -> None:
    poor = {pair: round(contrast(table[pair[0]], table[pair[1]]), 2) for pair in text_pairs()}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < 4.5} == {}, name


def test_the_pairs_cover_all_texts_on_all_grounds_and_all_statuses() -> None:
    pairs = set(text_pairs())
    assert {(text, ground) for text in TEXTS for ground in BACKGROUNDS} <= pairs
    assert {(status.tone, f"{status.tone}-bg") for status in STATUSES.values()} <= pairs


def test_contrast_is_what_wcag_says() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#FFFFFF", "#FFFFFF") == pytest.approx(1.0)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


def test_both_schemes_have_the_same_tokens() -> None:
    assert set(LIGHT) == set(DARK)


def test_statuses_differ_by_shape_and_word_and_fill_not_by_colour_alone() -> None:
    shapes = [status.icon for status in STATUSES.values()]
    words = [status.word for status in STATUSES.values()]
    fills = [(s.hatch, s.outline, s.dashed) for name, s in STATUSES.items() if name != "info"]  # info fills no area
    assert len(set(shapes)) == len(set(words)) == len(STATUSES)
    assert len(set(fills)) == len(fills)
    assert all(resource(f"icons/{shape}.svg").is_file() for shape in shapes)
