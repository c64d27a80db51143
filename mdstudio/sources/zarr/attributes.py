"""The attributes of a node as those of a NetCDF variable: numbers of the right type, fill values under CF's name."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from mdstudio.sources.zarr.nodes import Node

_OF_THE_STORE = ("_ARRAY_DIMENSIONS", "_nczarr_array", "_nczarr_attr", "_nczarr_group", "_nczarr_superblock",
                 "_NCZARR_ARRAY", "_NCZARR_ATTR", "_NCZARR_GROUP", "_NCZARR_SUPERBLOCK", "_NCProperties",
                 "_Netcdf4Dimid", "_Netcdf4Coordinates")
_SPECIAL = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
_DIRECTED = ("degree_north", "degree_east", "degree_n", "degree_e", "degreen", "degreee")
_TYPED = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")


def plain_attributes(node: Node, dtype: np.dtype[Any] | None = None) -> dict[str, Any]:
    """The attributes without those that belong to the store.

    JSON has no types: what is compared with stored values gets theirs, other numbers are float64 or int64. The fill
    value of a version 2 array is its `_FillValue`, as xarray has it, but not of a coordinate, whose 0 is a place; one
    of version 3 is only what unwritten chunks hold, there the attribute counts (which xarray writes in base 64).
    """
    found = {name: _plain(value, dtype if name in _TYPED else None) for name, value in node.attributes.items()
             if name not in _OF_THE_STORE and not isinstance(value, dict)}
    fill = node.document.get("fill_value")
    coordinate = node.attributes.get("_ARRAY_DIMENSIONS") == [node.name] or _is_place(node.attributes)
    if node.version == 2 and fill is not None and not coordinate and dtype is not None and dtype.kind in "iuf":
        found.setdefault("_FillValue", _plain(fill, dtype))
    return {name: value for name, value in found.items() if value is not None}


def _is_place(attributes: Mapping[str, Any]) -> bool:
    """Whether an array of any rank holds coordinates: longitudes and latitudes of a curvilinear grid, say."""
    return str(attributes.get("units", "")).lower().startswith("degree") and (
        attributes.get("standard_name") in ("longitude", "latitude", "grid_longitude", "grid_latitude")
        or str(attributes.get("units")).lower().replace("s_", "_") in _DIRECTED)


def _plain(value: Any, dtype: np.dtype[Any] | None) -> Any:
    if isinstance(value, bool):
        return int(value)
    if dtype is not None and dtype.kind in "iuf":
        typed = _typed(value, dtype)
        return value if typed is None else typed
    if isinstance(value, list):
        if value and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value):
            return np.array(value)
        return [str(v) for v in value]
    return value


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number, or a list of them, in a type; None for what is no number of it."""
    if isinstance(value, list):
        parts = [_typed(v, dtype) for v in value]
        return None if any(p is None for p in parts) else np.array(parts, dtype)
    if isinstance(value, str):
        value = _SPECIAL.get(value, _from_base64(value))
    if not isinstance(value, (int, float)):
        return None
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if value != int(value) or not limits.min <= int(value) <= limits.max:
            return np.float64(value)  # equal to no stored value, as CF has it
        return dtype.type(int(value))
    with np.errstate(over="ignore"):
        return dtype.type(value)


def _from_base64(text: str) -> float | None:
    """xarray's fill value of a float: eight bytes, little-endian."""
    try:
        return float(struct.unpack("<d", base64.standard_b64decode(text))[0])
    except (binascii.Error, ValueError, struct.error):
        return None


def is_text(document: Mapping[str, Any]) -> bool:
    """Whether an array holds text."""
    kind = document.get("dtype", document.get("data_type"))
    return isinstance(kind, str) and (kind in ("string", "|O", "object") or kind.lstrip("|<>=").startswith(("S", "U")))
