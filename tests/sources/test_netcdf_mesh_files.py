"""The table of all real meshes, `mesh_files.csv`: what each file becomes, or why it is refused.

A change of the source shows as a difference of the table. The new one is written where the failure says; look at it,
then put it in the place of the old one.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Description, MeshDomain
from mdstudio.sources.registry import open_source

TABLE = Path(__file__).with_name("mesh_files.csv")
COLUMNS = ("files", "part", "elements", "nodes", "corners", "geographic", "crs", "times", "first", "items", "left_out",
           "refused")
BESIDE = {"sst.fesom.1948.nc": "fesom.mesh.diag.nc", "temp.fesom.1948.nc": "fesom.mesh.diag.nc"}  # and without it


def runs(folder: Path) -> list[tuple[str, ...]]:
    names = sorted(p.name for p in folder.iterdir() if p.suffix in (".nc", ".sww"))
    return [*((name,) for name in names), *((name, BESIDE[name]) for name in names if name in BESIDE)]


def table(folder: Path) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for names in runs(folder):
        try:
            with open_source([str(folder / name) for name in names]) as source:
                writer.writerows(row(names, description, folder) for description in source.descriptions())
        except MdError as error:
            writer.writerow({"files": " + ".join(names), "refused": str(error).replace(str(folder), "").lstrip("/")})
    return text.getvalue()


def row(names: tuple[str, ...], description: Description, folder: Path) -> dict[str, object]:
    domain = description.domain
    assert isinstance(domain, MeshDomain)
    return {
        "files": " + ".join(names), "part": description.name, "elements": domain.elements, "nodes": domain.nodes,
        "corners": domain.element_nodes.shape[1], "geographic": domain.geographic,
        "crs": domain.crs.split('"')[1] if '"' in domain.crs else domain.crs,
        "times": len(description.times), "first": description.times.text(0),
        "items": "; ".join(f"{i.name} {i.dtype} {i.location}" + (
            f" x{len(i.layers)} {i.layers.meaning}" if i.layers else "") for i in description.items),
        "left_out": "; ".join(d.text.replace(str(folder) + "/", "") for d in description.dropped)}


def test_the_table_of_real_meshes_is_as_it_was(shared_data: Path, tmp_path: Path) -> None:
    found = table(shared_data / "mesh")
    (tmp_path / "mesh_files.csv").write_text(found, encoding="utf-8")
    assert found == TABLE.read_text(encoding="utf-8"), f"the table is now that of {tmp_path / 'mesh_files.csv'}"


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
