"""One number a cell out of a vector: one of its components, or its length. NumPy only, any thread."""

from __future__ import annotations

import numpy as np

from mdstudio.engine.model import Array, Item

MAGNITUDE = -1


def component_words(component: int) -> str:
    """`magnitude`, `component 1` counted from 1."""
    return "magnitude" if component == MAGNITUDE else f"component {component + 1}"


def one_number(item: Item, values: Array, component: int) -> Array:
    """Values of a vector item, components on the last axis, as one number each; of others as they are. The magnitude of
    a vector with a component that has no data is no data."""
    if item.value_kind != "vector":
        return values
    if component == MAGNITUDE:
        return np.asarray(np.hypot.reduce(values, axis=-1) if item.components > 1 else np.abs(values[..., 0]))
    return np.asarray(values[..., component])
