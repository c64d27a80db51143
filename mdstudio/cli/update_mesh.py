"""`mdstudio update-mesh DATASET MESH`: another mesh for a dataset, its data as it is."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output, duration
from mdstudio.cli.progress import shown_progress, told_to_the_end
from mdstudio.engine.errors import UnsupportedError

if TYPE_CHECKING:
    from mdstudio.engine.model import MeshDomain


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "update-mesh", parents=[common], help="another mesh for a dataset, its data as it is",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Gives a dataset the coordinates and connectivity of another mesh of as many elements and nodes;\n"
                    "element n and node n of the new mesh are those of the dataset's source. Stores the domain and\n"
                    "SchemaVersion only: how the data is stored, and the data, stay as they are.\n\n"
                    "Refused before anything is written: grids; another number of elements or nodes, other sigma\n"
                    "layers, other nodes of the elements where the dataset has z-level items; a dataset that this\n"
                    "build must not write.\n\n"
                    "A kill leaves the old mesh or the new one, and a blob that 'mdstudio clean' removes.")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("mesh", metavar="MESH", help="a dataset whose mesh is taken, or a file that holds one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.operations.mesh_update import update_mesh

    dataset = open_dataset(args.dataset)
    mesh = mesh_at(args.mesh)
    with shown_progress(args, "Updating") as progress:
        done = update_mesh(dataset.storage, mesh, progress)
    with told_to_the_end():
        if out.json:
            out.document({"dataset": dataset.location, "elements": mesh.elements, "nodes": mesh.nodes,
                          "domain_blob": done.domain_blob, "replaced": done.replaced,
                          "schema_version": done.schema_version, "seconds": round(done.seconds, 3)})
        else:
            out.title(f"Updated the mesh of {dataset.location}" if done.replaced else "It has this mesh already")
            out.facts([("Mesh", f"{mesh.elements:,} elements, {mesh.nodes:,} nodes"), ("Took", duration(done.seconds))])
    return 0


def mesh_at(location: str) -> MeshDomain:
    """The mesh of a dataset, or of a source file; `UnsupportedError` where it has none."""
    from mdstudio.engine.dataset import Dataset
    from mdstudio.engine.model import MeshDomain
    from mdstudio.engine.storage import redact
    from mdstudio.sources.registry import open_source

    if os.path.isfile(location):
        with open_source([location]) as source:
            domains = [description.domain for description in source.descriptions()]
    else:
        domains = [Dataset.open(location).domain]
    for domain in domains:
        if isinstance(domain, MeshDomain):
            return domain
    raise UnsupportedError("It holds a grid, and no mesh.", where=redact(location),
                           advice="Name a dataset or file with the new mesh.")
