"""ecCodes, loaded when a GRIB file is opened: handles that are always released, keys that may be absent."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from mdstudio.engine.errors import UnsupportedError
from mdstudio.engine.model import Array

MISSING = 2147483647  # what ecCodes gives for a whole number of which all bits are set


class UndecodableError(Exception):
    """ecCodes cannot make sense of a message; the text is its own reason."""


@cache
def eccodes() -> Any:
    """The library. Raises `UnsupportedError` where it is not installed.

    pyproj comes first: ecCodes brings a PROJ of its own, and pyproj loaded after it finds the wrong one and crashes.
    """
    importlib.import_module("pyproj")
    try:
        return importlib.import_module("eccodes")
    except (ImportError, RuntimeError, OSError) as error:
        raise UnsupportedError(f"GRIB files are read by ecCodes, which cannot be loaded here: {error}.",
                               advice="Install it with: pip install eccodes") from None


class Header:
    """The keys of one message."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def number(self, key: str, default: int = MISSING) -> int:
        """A whole number; the default where the message has no such key or it is missing."""
        value = self._get(key, int)
        return default if value is None or value == MISSING else int(value)

    def real(self, key: str, default: float = float("nan")) -> float:
        value = self._get(key, float)
        return default if value is None else float(value)

    def text(self, key: str) -> str:
        """"" where ecCodes does not know it."""
        value = self._get(key, str)
        return "" if value in (None, "unknown", "unknown:unknown") else str(value)

    def array(self, key: str) -> Array:
        """Raises `UndecodableError` where there is none."""
        try:
            return np.asarray(eccodes().codes_get_array(self.handle, key))
        except eccodes().CodesInternalError as error:
            raise UndecodableError(plain(error)) from None

    def set(self, key: str, value: float | str) -> bool:
        try:
            eccodes().codes_set(self.handle, key, value)
        except eccodes().CodesInternalError:
            return False
        return True

    def values(self) -> Array:
        """(points,) float64 in the file's order, NaN for points without a value.

        The points that bitmap or packing leave out get NaN from ecCodes itself, so that no number stands for them.
        Raises `UndecodableError`.
        """
        try:
            eccodes().codes_set(self.handle, "missingValue", float("nan"))
            values: Array = eccodes().codes_get_values(self.handle)
        except (eccodes().CodesInternalError, MemoryError, ValueError) as error:
            raise UndecodableError(plain(error)) from None
        return values

    def _get(self, key: str, kind: type) -> Any:
        try:
            return eccodes().codes_get(self.handle, key, kind)
        except (eccodes().CodesInternalError, UnicodeDecodeError):
            return None


def gaussian_latitudes(number: int) -> Array:
    """(2 * number,) latitudes of a Gaussian grid, from north to south. Raises `UndecodableError`."""
    if not 0 < number < 100_000:
        raise UndecodableError("a Gaussian grid without its number")
    return np.array(list(eccodes().codes_get_gaussian_latitudes(number)))


@contextmanager
def opened(message: bytes) -> Iterator[Header]:
    """A message's keys. Raises `UndecodableError`."""
    try:
        handle = eccodes().codes_new_from_message(message)
    except eccodes().CodesInternalError as error:
        raise UndecodableError(plain(error)) from None
    try:
        yield Header(handle)
    finally:
        eccodes().codes_release(handle)


def plain(error: BaseException) -> str:
    """The reason that the library gives."""
    return str(error).strip().rstrip(".").lower() or type(error).__name__
