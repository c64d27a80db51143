"""An item by what a person types."""

from __future__ import annotations

import pytest

from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.items import find_item
from mdstudio.engine.model import Item

ITEMS = (Item("swh", "int16"), Item("mwd", "int16"), Item("#0", "int16"))


@pytest.mark.parametrize(("name", "index"), [("swh", 0), ("mwd", 1), ("#1", 1), ("#2", 2), ("#0", 2)])
def test_a_name_comes_before_a_number(name: str, index: int) -> None:
    assert find_item(ITEMS, name) is ITEMS[index]


@pytest.mark.parametrize("name", ["swhh", "#3", "#-1", "#", "", "#²"])
def test_what_is_not_there_is_named_with_the_nearest(name: str) -> None:
    with pytest.raises(NotFoundError, match=r"There is no item '.*'; there are swh, mwd, #0") as caught:
        find_item(ITEMS, name, "here")
    assert caught.value.where == "here"
    if name == "swhh":
        assert "'swh'" in caught.value.advice
