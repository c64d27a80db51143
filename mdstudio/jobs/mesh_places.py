"""Meshes of two datasets or sources side by side, in the order of their sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdstudio.engine.model import Array, Item, MeshDomain


def place_of(item: Item, position: int) -> dict[str, Any]:
    """What of the source's mesh a value belongs to: `place` and its `number`, of z-level items the `layer` too."""
    if item.value_kind == "zlevel":
        number, layer = divmod(position, max(1, len(item.layers or ())))
        return {"place": "node", "number": number, "layer": layer}
    if item.value_kind == "sigma":
        return {"place": "3-D element", "number": position}
    return {"place": "node" if item.location == "node" else "element", "number": position}


def same_coordinates(a: MeshDomain, b: MeshDomain) -> bool:
    """Whether nodes, corners and layers are the same numbers, whatever the order that each is stored in."""
    if (a.elements, a.nodes, a.element_nodes.shape) != (b.elements, b.nodes, b.element_nodes.shape):
        return False
    return all(_same(x, y) for x, y in zip(_in_source_order(a), _in_source_order(b), strict=True))


def _in_source_order(mesh: MeshDomain) -> list[Array | None]:
    corners = np.where(mesh.element_nodes < 0, -1, mesh.node_number[mesh.element_nodes])
    of_nodes = (mesh.node_x, mesh.node_y, mesh.node_z, mesh.node_code)
    return [*(_placed(values, mesh.node_number) for values in of_nodes),
            *(_placed(values, mesh.element_number) for values in (corners, mesh.layer_counts))]


def _placed(values: Array | None, numbers: Array) -> Array | None:
    if values is None:
        return None
    out = np.empty_like(values)
    out[numbers] = values
    return out


def _same(x: Array | None, y: Array | None) -> bool:
    if x is None or y is None:
        return x is y
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f"))
