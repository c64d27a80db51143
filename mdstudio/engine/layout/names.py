"""Names of the data blobs below a dataset's root; the same on every platform and storage."""

from __future__ import annotations

import re

from mdstudio.engine.layout.metadata import layer_folder

DATA_SUFFIX, INDEX_SUFFIX = ".dat", ".idx"
# Every name that the functions below make. What else lies in an item's folder is somebody's own, a dataset perhaps.
DATA_NAME = re.compile(r"(?P<folder>[^/]+)/L(?P<layer>-1|\d{4,})/"
                       r"((?P<key>static|n?\d{8,}T\d{6}(\.\d+)?)|(S(?P<spatial>\d{8,})/)?G(?P<group>\d{8,}))\.(dat|idx)$")


def step_blob(folder: str, layer: int, time_key: str) -> str:
    """SingleTimestep: one timestep of one layer."""
    return f"{folder}/{layer_folder(layer)}/{time_key}{DATA_SUFFIX}"


def index_blob(data_blob: str) -> str:
    """The page index beside a compressed SingleTimestep blob."""
    return data_blob.removesuffix(DATA_SUFFIX) + INDEX_SUFFIX


def group_blob(folder: str, layer: int, group: int) -> str:
    """MultiTimestep: one time group of one layer."""
    return f"{folder}/{layer_folder(layer)}/G{group:08d}{DATA_SUFFIX}"


def series_blob(folder: str, layer: int, spatial_group: int, group: int) -> str:
    """TimeSeries: one spatial group x one time group of one layer."""
    return f"{folder}/{layer_folder(layer)}/S{spatial_group:08d}/G{group:08d}{DATA_SUFFIX}"
