"""The real meshes: no variable of theirs goes without a word; slices are read in the order of the file.

What each file becomes is kept with that of all others in `shared_files.csv`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from mdstudio.engine.errors import MdError
from mdstudio.sources.registry import open_source

BESIDE = {"sst.fesom.1948.nc": "fesom.mesh.diag.nc", "temp.fesom.1948.nc": "fesom.mesh.diag.nc"}  # and without it


def runs(folder: Path) -> list[tuple[str, ...]]:
    names = sorted(p.name for p in folder.iterdir() if p.suffix in (".nc", ".sww"))
    return [*((name,) for name in names), *((name, BESIDE[name]) for name in names if name in BESIDE)]


def test_every_variable_of_a_real_mesh_is_an_item_or_serves_one_or_is_told_to_be_left_out(shared_data: Path) -> None:
    folder = shared_data / "mesh"
    for names in runs(folder):
        try:
            source = open_source([str(folder / name) for name in names])
        except MdError:
            continue
        with source, netCDF4.Dataset(folder / names[0]) as original:
            kept = {i.name for d in source.descriptions() for i in d.items}
            told, more = set(), 0
            for note in source.dropped():
                first, _, rest = note.what.partition(" and ")
                told |= set(first.split(", "))
                more += int(rest.split()[0]) if rest else 0
            serving = {n for n, v in original.variables.items() if _serves(v)}
            assert len(original.variables.keys() - kept - told - serving) == more, names


def _serves(variable: Any) -> bool:
    """Topologies, corners, coordinates and their bounds, times and projections, by the files' own conventions."""
    told = {str(variable.getncattr(n)).split()[0] for n in variable.ncattrs() if n in ("cf_role", "standard_name")
            and str(variable.getncattr(n))}
    return bool(told & {
        "mesh_topology", "face_node_connectivity", "longitude", "latitude", "time", "projection_x_coordinate",
        "projection_y_coordinate"}) or variable.name in (
            "nv", "x", "y", "volumes", "time", "lev", "nz", "nz1", "full_levels", "clon_bnds", "clat_bnds",
            "Mesh2DContour_x", "Mesh2DContour_y", "projected_coordinate_system")


def test_reads_are_slices_in_the_order_of_the_file(shared_data: Path) -> None:
    path = shared_data / "mesh" / "tri_grid_example-FVCOM.nc"
    with open_source([str(path)]) as source, netCDF4.Dataset(path) as original:
        original.set_auto_maskandscale(False)
        timed = source.descriptions()[0]
        part = source.read(timed, "u", slice(2, 5), 7, slice(0, 1), slice(100, 300))
        assert part.shape == (3, 1, 200)
        assert part.flags.c_contiguous
        assert part.tobytes() == np.ascontiguousarray(original["u"][2:5, 7, 100:300]).tobytes()
        assert source.read(timed, "temp", slice(0, 1), 0, slice(0, 1), slice(0, 551)).shape == (1, 1, 551)
