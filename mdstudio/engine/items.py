"""Which item a person means by a name or a number."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.model import Item


def find_item(items: Sequence[Item], name: str, where: str = "") -> Item:
    """The item of a name, or of `#n` counted from 0; raises `NotFoundError` naming `where` and the nearest name."""
    by_name = {item.name: item for item in items}
    if name in by_name:
        return by_name[name]
    if name.startswith("#") and name[1:].isdecimal() and int(name[1:]) < len(items):
        return items[int(name[1:])]
    near = get_close_matches(name, by_name, 1, 0.0)
    raise NotFoundError(f"There is no item '{name}'; there are {', '.join(by_name)}.", where=where,
                        advice=f"Did you mean '{near[0]}'?" if near else "")
