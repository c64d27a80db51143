"""DHI files that tests make with mikecore's own builder: every kind of axis, type, projection and calendar."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

START = datetime.datetime(2020, 1, 2, 3, 4, 5)
TYPES = {"float32": 1, "float64": 2, "int32": 4}


def write_dfs(path: Path, axis: Any, items: Mapping[str, tuple[str, Sequence[Any]]], *, projection: str = "LONG/LAT",
              origin: tuple[float, float] = (10.0, 50.0), orientation: float = 0.0, time: Any = None,
              times: Sequence[float] | None = None) -> Path:
    """A dfs file of `{name: (type, values of each step)}`. `time`: a temporal axis, equidistant by the hour when None;
    `times`: the time of each step for axes that are not equidistant."""
    from mikecore.DfsFactory import DfsBuilder, DfsFactory
    from mikecore.DfsFile import DataValueType, DfsSimpleType
    from mikecore.eum import eumItem, eumQuantity, eumUnit

    factory = DfsFactory()
    builder = DfsBuilder.Create("made by a test", "tests", 1)
    builder.SetDataType(0)
    builder.SetGeographicalProjection(factory.CreateProjectionGeoOrigin(projection, *origin, orientation))
    builder.SetTemporalAxis(time or factory.CreateTemporalEqCalendarAxis(eumUnit.eumUsec, START, 0, 3600))
    builder.SetSpatialAxis(axis)
    builder.DeleteValueFloat, builder.DeleteValueDouble = np.float32(-1e-35), -1e-255
    for name, (dtype, _) in items.items():
        builder.AddCreateDynamicItem(name, eumQuantity.Create(eumItem.eumIWaterLevel, eumUnit.eumUmeter),
                                     DfsSimpleType(TYPES[dtype]), DataValueType.Instantaneous)
    builder.CreateFile(str(path))
    file = builder.GetFile()
    steps = len(next(iter(items.values()))[1])
    for step in range(steps):
        for dtype, values in items.values():
            file.WriteItemTimeStepNext(0.0 if times is None else times[step],
                                       np.ascontiguousarray(values[step], dtype).ravel())
    file.Close()
    return path


def grid(columns: int, rows: int, step: float = 0.5, first: float = 0.0) -> Any:
    """The axis of a dfs2."""
    from mikecore.DfsFactory import DfsFactory
    from mikecore.eum import eumUnit

    return DfsFactory().CreateAxisEqD2(eumUnit.eumUmeter, columns, first, step, rows, first, step)


def point() -> Any:
    """The axis of a dfs0."""
    from mikecore.DfsFactory import DfsFactory

    return DfsFactory().CreateAxisEqD0()
