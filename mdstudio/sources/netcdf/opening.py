"""Opening NetCDF files safely: clear refusals, no masks, no scaling, few files open at a time."""

from __future__ import annotations

import gc
import os
import struct
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdstudio.engine.errors import AccessError, NotFoundError, SourceError
from mdstudio.sources.netcdf.classic import promised_size

MAX_OPEN_FILES = 16
NOT_UTF_8 = "A name in the file is not UTF-8 text."
_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_OTHERS = {
    b"GRIB": "a GRIB file", b"PK\x03\x04": "a zip file", b"\x0e\x03\x13\x01": "an HDF4 file",
    b"\x1f\x8b": "a gzip file; unpack it first", b"BZh": "a bzip2 file; unpack it first", b"%PDF": "a PDF file",
    b"DHI_": "a dfs file", b"II*\x00": "a TIFF file", b"MM\x00*": "a TIFF file", b"<": "a web page or XML",
    b"{": "JSON",
}


def is_netcdf(path: str) -> bool:
    """True where the first bytes are those of NetCDF-3 or HDF5 (also behind a user block). Reads a few bytes."""
    with open(path, "rb") as file:
        if file.read(4) in _CLASSIC:
            return True
        size, at = os.path.getsize(path), 0
        while at + 8 <= size:  # HDF5: at 0, 512, 1024, 2048, ...
            file.seek(at)
            if file.read(8) == _HDF5:
                return True
            at = max(512, at * 2)
    return False


def check_file(path: str) -> None:
    """Refuse what cannot be a whole NetCDF file, before the library sees it.

    Raises `NotFoundError`, `AccessError` or `SourceError`, each naming the file. Reads a few bytes, of a NetCDF-3 file
    the header.
    """
    try:
        if Path(path).is_dir():
            raise SourceError("This is a folder, not a NetCDF file.", where=path, advice="Name the files in it.")
        size = os.path.getsize(path)
        if size == 0:
            raise SourceError("The file is empty.", where=path)
        if not is_netcdf(path):
            raise SourceError(f"This is not a NetCDF file{_what_instead(path)}.", where=path)
        with open(path, "rb") as file:
            if file.read(4) in _CLASSIC:
                file.seek(0)
                _check_classic(path, promised_size(file), size)
    except FileNotFoundError:
        raise NotFoundError("There is no such file.", where=path) from None
    except PermissionError:
        raise AccessError("The file may not be read: no permission.", where=path) from None
    except (struct.error, KeyError, IndexError, ValueError):
        raise SourceError("The NetCDF-3 header is damaged or cut off.", where=path) from None
    except OSError as error:
        raise SourceError(f"The file cannot be read: {error.strerror or error}.", where=path) from None


def _check_classic(path: str, promised: int, size: int) -> None:
    if size < promised:
        raise SourceError(f"The file is truncated or its header is damaged: it should have {promised} bytes, "
                          f"there are {size}.", where=path, advice="Get the file again.")


def _what_instead(path: str) -> str:
    with open(path, "rb") as file:
        start = file.read(16)
    return next((f", it looks like {what}" for magic, what in _OTHERS.items() if start.startswith(magic)), "")


def open_dataset(path: str) -> Any:
    """The file as netCDF4 sees it, values raw: no masks, no scaling, no text made of characters.

    Raises `NotFoundError`, `AccessError` or `SourceError` naming the file. Nothing stays open after a failure.
    """
    check_file(path)
    import netCDF4

    reason = ""
    try:
        dataset = netCDF4.Dataset(path, "r")
        dataset.set_auto_maskandscale(False)
        dataset.set_always_mask(False)
        dataset.set_auto_chartostring(False)
        return dataset
    except UnicodeError:
        reason = NOT_UTF_8
    except (OSError, RuntimeError, ValueError) as error:
        reason = plain(error)
    gc.collect()  # a half-made Dataset refers to itself and keeps the file open until it is collected
    if reason == NOT_UTF_8:
        raise SourceError(reason, where=path)
    if _is_classic(path):
        raise SourceError(f"The file is damaged or truncated: {reason}.", where=path, advice="Get the file again.")
    from mdstudio.sources.netcdf.hdf5 import cannot_open

    raise cannot_open(path, reason)


def _is_classic(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) in _CLASSIC


def plain(error: BaseException) -> str:
    """The reason a library gives, without its error number and the file's name."""
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return message.replace("NetCDF: ", "").strip().rstrip(".") or type(error).__name__


class FilePool:
    """At most `MAX_OPEN_FILES` open files, the one not used for longest closed first; one thread at a time."""

    def __init__(self, open_file: Callable[[str], Any] = open_dataset) -> None:
        self._open_file = open_file
        self._open: OrderedDict[str, Any] = OrderedDict()

    def get(self, path: str) -> Any:
        """The open file; raises as `open_dataset`."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        dataset = self._open_file(path)
        self._open[path] = dataset
        while len(self._open) > MAX_OPEN_FILES:
            self._open.popitem(last=False)[1].close()
        return dataset

    def close(self) -> None:
        """Close all; may be called again."""
        while self._open:
            self._open.popitem()[1].close()
