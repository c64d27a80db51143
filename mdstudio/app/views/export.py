"""Numbers to files by the same writers as the command line's `--out`. Worker threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QImage

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import StorageError, UsageError
from mdstudio.engine.requests import AreaResult, LineResult, MapResult, SeriesResult


def write_map(path: str, result: MapResult, dataset: Dataset) -> str:
    """A map as .npz, .csv or .nc by the ending; returns the path."""
    from mdstudio.targets import results

    return _written(path, (".npz", ".csv", ".nc"), lambda end: results.write_map(path, end, result, dataset))


def write_picture(path: str, image: QImage) -> str:
    """A picture as .png; returns the path."""
    if not image.save(path):  # by the ending; a format as bytes is refused by PySide
        raise StorageError("The file cannot be written.", where=path, advice="Choose another folder.")
    return path


def write_series(path: str, result: SeriesResult, dataset: Dataset) -> str:
    """Series as .csv or .npz by the ending; returns the path."""
    from mdstudio.targets import results

    return _written(path, (".csv", ".npz"), lambda end: results.write_series(path, end, result, dataset))


def write_area(path: str, result: AreaResult) -> str:
    """The statistics of an area as .csv or .npz by the ending; returns the path."""
    from mdstudio.targets import results

    return _written(path, (".csv", ".npz"), lambda end: results.write_area(path, end, result))


def write_line(path: str, result: LineResult, dataset: Dataset) -> str:
    """A transect as .csv or .npz by the ending; returns the path."""
    from mdstudio.targets import results

    return _written(path, (".csv", ".npz"), lambda end: results.write_line(path, end, result, dataset))


def _written(path: str, known: tuple[str, ...], write: Callable[[str], None]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise UsageError(f"'{ending}' is no format for this; the file's name ends in {', '.join(known)}.", where=path)
    try:
        write(ending)
    except OSError as error:
        raise StorageError(f"The file cannot be written: {error.strerror or error}.", where=path) from error
    return path
