"""Meshes with parts missing, renamed, retyped or cut: described, read, or refused with a reason, nothing else."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import HOURS, LAT, LON, new_file
from tests.sources.netcdf_meshes import TOPOLOGY, X, Y, corners

ODD: list[Any] = ["", "x", "1", 1, 0, -1, np.float32("nan"), 1e300, np.array([1, 2, 3]), "node_x node_y", "face_nodes"]
NAMES = ("start_index", "bounds", "coordinates", "units", "mesh", "location", "cf_role", "face_dimension",
         "face_node_connectivity", "node_coordinates", "scale_factor", "_Unsigned", "topology_dimension",
         "missing_value")
OTHER_NAMES = ("nv", "x", "lon", "element", "volumes", "time", "vlon", "siglay")
ON_MESH = {"mesh": "mesh", "location": "face", "coordinates": "face_x face_y", "grid_mapping": "crs"}


def sound(random_: random.Random) -> dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]]:
    """A mesh with everything there is, either with a topology or with bounds alone."""
    bounds = np.where(corners(0, -1) < 0, np.nan, X[corners(0, -1)])
    heights = np.where(corners(0, -1) < 0, np.nan, Y[corners(0, -1)])
    table = {"_FillValue": np.int32(-1), "start_index": np.int32(0), "cf_role": "face_node_connectivity"}
    parts: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = {
        "mesh": ((), np.int32(0), TOPOLOGY | {"face_dimension": "face", "face_coordinates": "face_x face_y",
                                              "edge_node_connectivity": "edge_nodes"}),
        "node_x": (("node",), X, LON), "node_y": (("node",), Y, LAT),
        "face_nodes": (("face", "corner"), corners(0, -1), table),
        "edge_nodes": (("edge", "two"), np.zeros((9, 2), "i4"), {"cf_role": "edge_node_connectivity"}),
    } if random_.random() < 0.6 else {}
    return parts | {
        "face_x": (("face",), X[:3], LON | {"bounds": "face_x_bnds"}),
        "face_y": (("face",), Y[:3], LAT | {"bounds": "face_y_bnds"}),
        "face_x_bnds": (("face", "corner"), bounds, {}), "face_y_bnds": (("face", "corner"), heights, {}),
        "crs": ((), np.int32(0), {"epsg_code": "EPSG:4326"}),
        "time": (("time",), np.arange(3, dtype="i4"), HOURS), "siglay": (("siglay", "face"), np.ones((2, 3)), {}),
        "v": (("time", "siglay", "face"), np.zeros((3, 2, 3), "f4"), ON_MESH),
        "n": (("time", "node"), np.zeros((3, 7), "i2"), ON_MESH | {"location": "node"}),
        "q": (("time", "edge"), np.zeros((3, 9)), ON_MESH | {"location": "edge"}),
    }


def write_odd(path: Path, random_: random.Random) -> None:
    """The sound file with a few things wrong."""
    with new_file(path) as dataset:
        sizes = {"node": 7, "face": 3, "corner": 4, "edge": 9, "two": 2, "time": 3, "siglay": 2}
        cut = random_.choice([*sizes, "", "", "", ""])
        for dim, size in sizes.items():
            dataset.createDimension(dim, random_.choice([0, 1, 2]) or 1 if dim == cut else size)
        for name, (dims, values, told) in sound(random_).items():
            if random_.random() < 0.05:
                continue
            attributes = {k: random_.choice(ODD) if random_.random() < 0.04 else v for k, v in told.items()
                          if random_.random() > 0.04}
            if random_.random() < 0.06:
                attributes[random_.choice(NAMES)] = random_.choice(ODD)
            shape = random_.sample(dims, len(dims)) if random_.random() < 0.05 else list(dims)
            kind = random_.choice(["i1", "u2", "f4", "f8", "i8", "S1", str]) if random_.random() < 0.05 else \
                np.asarray(values).dtype
            name = random_.choice(OTHER_NAMES) if random_.random() < 0.03 else name
            fill = attributes.pop("_FillValue", None)
            with contextlib.suppress(RuntimeError, ValueError, TypeError, OverflowError):  # netCDF takes not everything
                variable = dataset.createVariable(name, kind, shape)
                variable.set_auto_maskandscale(False)
                for key, value in (attributes | ({} if fill is None else {"missing_value": fill})).items():
                    variable.setncattr(key, value)
                if shape == list(dims) and kind not in ("S1", str):
                    with np.errstate(invalid="ignore", over="ignore"):
                        part = np.asarray(values)[tuple(slice(len(dataset.dimensions[d])) for d in dims)]
                        variable[...] = part.astype(kind)


def describe_and_read(path: Path) -> bool:
    """Whether something of it can be imported; every item is read then."""
    try:
        with open_source([str(path)]) as source:
            for description in source.descriptions():
                for item in description.items:
                    for layer in item.layer_ids():
                        values = source.read(description, item.name, slice(0, 2), layer, slice(0, None), slice(0, None))
                        assert values.dtype == np.dtype(item.dtype)
    except SourceError as error:
        if str(path) not in str(error):
            raise
        return False
    return True


def damaged(tmp_path: Path, seeds: range) -> tuple[int, int]:
    outcomes = []
    for seed in seeds:
        path = tmp_path / f"{seed}.nc"
        write_odd(path, random.Random(seed))
        outcomes.append(describe_and_read(path))
        path.unlink()
    return outcomes.count(True), outcomes.count(False)


def test_an_odd_mesh_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    imported, refused = damaged(tmp_path, range(150))
    assert min(imported, refused) > 10


@pytest.mark.long
def test_many_odd_meshes_are_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    imported, refused = damaged(tmp_path, range(1000, 3000))
    assert min(imported, refused) > 200
