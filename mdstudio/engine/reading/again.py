"""Reading again where another writer came in between (P16, P18, T6)."""

from __future__ import annotations

import time
from collections.abc import Callable

from mdstudio.engine.errors import BlobChangedError, DamagedDataError
from mdstudio.engine.layout.item_layout import ItemLayout

Sleep = Callable[[float], None]

PAIR_WAITS = (0.2, 1.0)  # seconds before a SingleTimestep pair is read again, and once more (P18)


def again[T](layout: ItemLayout, read: Callable[[], T], sleep: Sleep) -> T:
    """Read of a layout, and again as its rule says: a `.dat` and `.idx` pair (P18), or a blob of one version (P16)."""
    if layout.stored_as == "SingleTimestep" and layout.format.compressed:
        return pair_again(read, sleep)
    return once_more(read)


def once_more[T](read: Callable[[], T]) -> T:
    """Read a group; a commit in between makes it read again once from the new version, then `BlobChangedError`."""
    try:
        return read()
    except BlobChangedError:
        return read()


def pair_again[T](read: Callable[[], T], sleep: Sleep = time.sleep) -> T:
    """Read a SingleTimestep pair; one that does not add up or decode is read again after each of `PAIR_WAITS`.

    The writer stores the `.idx` a moment after the `.dat`, so a reader can get one of each; then the last error is
    raised.
    """
    for wait in PAIR_WAITS:
        try:
            return read()
        except (DamagedDataError, BlobChangedError):
            sleep(wait)
    return read()
