"""An import holds a bounded part of its source in memory, whatever the layout, the source's chunks and its size."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SIDE = 1000  # of the grid; a slice is 4 MB
SMALL, LARGE = 400_000_000, 4_000_000_000
BOUND = 1 << 30  # of a source of 4 GB: the whole process, libraries and all
GROWTH = 448 << 20  # over what the libraries take: the stated budget of TimeSeries, caches, and the pages of a codec
IMPORT = """
import json, re, sys
import netCDF4
from mdstudio.engine.progress import Progress
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe
def peak():  # of this program alone: ru_maxrss would take over that of the process which started it
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) * 1024
source, small, target, storage = sys.argv[1:]
def run(path, name):
    chosen = {"Compression": "ZstdFastAuto", "StorageType": storage}
    recipe = Recipe((path,), f"{target}/{name}", writer_parameters=chosen)
    return run_recipe(recipe, Progress(), {})
run(small, "small")
before = peak()
done = run(source, "large")
print(json.dumps({"raw": done["raw_bytes"], "before": before, "peak": peak(), "seconds": done["seconds"]}))
"""
CHUNKS: dict[str, Any] = {"map": (1, SIDE, SIDE), "column": (0, 10, 10), "contiguous": None, "mesh": None,
                          "mesh-column": (0, 1000)}
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")


def make(path: Path, kind: str, side: int, steps: int) -> Path:
    """A file of float32 values of `steps` times: a grid of side x side cells, or a mesh of as many elements."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", steps)
        time = file.createVariable("time", "i4", ("time",))
        time.units, time.standard_name = "hours since 2020-01-01", "time"
        time[:] = np.arange(steps)
        shape = _mesh(file, side) if kind.startswith("mesh") else _grid(file, side)
        chunks = CHUNKS[kind]
        if chunks:
            chunks = (chunks[0] or steps, *(min(c, n) for c, n in zip(chunks[1:], shape, strict=True)))
        dimensions = ("face",) if kind.startswith("mesh") else ("lat", "lon")
        more = {"chunksizes": chunks} if chunks else {"contiguous": True}
        values = file.createVariable("v", "f4", ("time", *dimensions), fill_value=False, **more)
        if kind.startswith("mesh"):
            values.mesh, values.location = "mesh", "face"
        values.set_auto_maskandscale(False)
        _fill(values, shape, steps, chunks)
    return path


def _fill(values: Any, shape: tuple[int, ...], steps: int, chunks: Any) -> None:
    """Whole chunks at a time: bands of all times where chunks are columns, else slices."""
    pattern = (np.arange(math.prod(shape)) % 1009 * 0.25).astype("f4").reshape(shape)
    if not chunks or chunks[0] == 1:
        for step in range(steps):
            values[step] = pattern + step
        return
    band = chunks[1] if len(shape) > 1 else 20 * chunks[1]
    for start in range(0, shape[0], band):
        part = pattern[start:start + band]
        values[:, start:start + band] = part[None] + np.arange(steps, dtype="f4").reshape(-1, *(1,) * part.ndim)


def _grid(file: Any, side: int) -> tuple[int, ...]:
    for name, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
        file.createDimension(name, side)
        axis = file.createVariable(name, "f8", (name,))
        axis.units = unit
        axis[:] = np.linspace(-60, 60, side)
    return side, side


def _mesh(file: Any, side: int) -> tuple[int, ...]:
    """Squares of side x side as UGRID."""
    nodes = side + 1
    for name, count in (("node", nodes * nodes), ("face", side * side), ("corner", 4)):
        file.createDimension(name, count)
    mesh = file.createVariable("mesh", "i4", ())
    mesh.cf_role, mesh.topology_dimension = "mesh_topology", 2
    mesh.node_coordinates, mesh.face_node_connectivity = "node_x node_y", "corners"
    row, column = np.mgrid[:nodes, :nodes]
    for name, places, unit, standard in (("node_x", column, "degrees_east", "longitude"),
                                         ("node_y", row, "degrees_north", "latitude")):
        variable = file.createVariable(name, "f8", ("node",))
        variable.units, variable.standard_name = unit, standard
        variable[:] = places.ravel() / nodes * 100 - 50
    first = (row[:-1, :-1] * nodes + column[:-1, :-1]).ravel()
    corners = file.createVariable("corners", "i4", ("face", "corner"))
    corners.cf_role, corners.start_index = "face_node_connectivity", 0
    corners[:] = np.stack([first, first + 1, first + nodes + 1, first + nodes], 1)
    return (side * side,)


def imported(folder: Path, kind: str, storage: str, size: int, side: int = SIDE) -> dict[str, int]:
    """Bytes of the import of a file of `size` bytes: `peak` of a process of its own, `before` of a tiny import."""
    source = make(folder / "source.nc", kind, side, size // (side * side * 4))
    small = make(folder / "small.nc", kind, 20, 4)
    done = subprocess.run([sys.executable, "-c", IMPORT, str(source), str(small), str(folder), storage], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    shutil.rmtree(folder)  # gigabytes, which pytest would keep
    assert done.returncode == 0, done.stderr[-2000:]
    figures: dict[str, int] = json.loads(done.stdout)
    assert figures["raw"] == size
    print(kind, storage, size, {k: v >> 20 if k != "seconds" else v for k, v in figures.items()})
    return figures


@pytest.mark.parametrize(("kind", "storage"), [
    pytest.param("column", "SingleTimestep", marks=pytest.mark.long),
    pytest.param("map", "TimeSeries", marks=pytest.mark.long), ("mesh", "TimeSeries")])  # the most is taken by the last
def test_the_memory_of_an_import_is_bounded(tmp_path: Path, kind: str, storage: str) -> None:
    figures = imported(tmp_path, kind, storage, SMALL)
    assert figures["peak"] < BOUND
    assert figures["peak"] - figures["before"] < GROWTH


@pytest.mark.long
@pytest.mark.parametrize("storage", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
@pytest.mark.parametrize("kind", list(CHUNKS))
def test_a_source_of_4_gb_is_imported_in_less_than_1_gb(tmp_path: Path, kind: str, storage: str) -> None:
    figures = imported(tmp_path, kind, storage, LARGE)
    assert figures["peak"] < BOUND
    assert figures["peak"] - figures["before"] < GROWTH
