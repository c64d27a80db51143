"""Export to NetCDF-4: a whole dataset, or items and times of it, as CF (grids) or UGRID (meshes); stored numbers to the
bit, with their packing.

The file is written beside its name and moved into place (`files.whole_file`). Memory does not depend on the sizes:
`BLOCK_BYTES` of values at a time, and for meshes at least one slice. Filters: shuffle and deflate 4.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdstudio.engine.errors import AlreadyExistsError, MdError, NotFoundError
from mdstudio.engine.layout.guards import require_readable
from mdstudio.engine.model import GridDomain, Item
from mdstudio.engine.progress import Progress
from mdstudio.engine.times import TimeAxis
from mdstudio.targets.files import whole_file
from mdstudio.targets.netcdf_cf import Names, set_attributes, time_coordinate
from mdstudio.targets.netcdf_frame import Frame, Layers
from mdstudio.targets.netcdf_grid import write_grid_items
from mdstudio.targets.netcdf_mesh import write_mesh_items

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset


@dataclass(frozen=True)
class Exported:
    """What was written; `bytes` of the file."""

    items: tuple[str, ...]
    timesteps: int
    bytes: int
    seconds: float


def export_netcdf(dataset: Dataset, path: str, items: Sequence[str] = (), start: int = 0, stop: int | None = None,
                  progress: Progress | None = None) -> Exported:
    """Write items (all for none named) at the times [start, stop) to a new NetCDF-4 file; `progress` counts bytes.

    A failed or cancelled export leaves no file, a killed one a hidden `.part` file beside the name. Raises the error of
    a guard that forbids reading, `AlreadyExistsError` where a file has the name, `NotFoundError` for an item, what
    reading raises and what `whole_file` says of a disk.
    """
    import netCDF4

    started = time.monotonic()
    progress = progress or Progress()
    require_readable(dataset.metadata, dataset.location)
    metadata = dataset.metadata
    chosen = tuple({item.name: item for item in map(dataset.item, items)}.values()) if items else metadata.items
    stop = len(metadata.times) if stop is None else stop
    if not 0 <= start < stop <= len(metadata.times):
        raise NotFoundError(f"There are no times #{start} to #{stop}; the dataset has {len(metadata.times)}.")
    if Path(path).exists():
        raise AlreadyExistsError("There is a file of this name already.", where=path,
                                 advice="Remove it, or choose another name.")
    try:
        with whole_file(Path(path)) as part:
            with netCDF4.Dataset(part, "x", format="NETCDF4") as file:
                _write(file, dataset, chosen, start, stop, progress)
            size = part.stat().st_size
    except (OSError, RuntimeError) as error:  # of the library; those of the disk have their own
        raise MdError(f"The file could not be written: {error}.", where=path) from error
    return Exported(tuple(item.name for item in chosen), stop - start, size, time.monotonic() - started)


def _write(file: Any, dataset: Dataset, items: Sequence[Item], start: int, stop: int, progress: Progress) -> None:
    metadata, domain, names = dataset.metadata, dataset.domain, Names()
    grid = isinstance(domain, GridDomain)
    set_attributes(file, {"title": metadata.name} | dict(metadata.attributes))
    conventions = str(metadata.attributes.get("Conventions", ""))
    if "CF-" not in conventions or not grid:
        file.setncattr("Conventions", "CF-1.8" if grid else "CF-1.8 UGRID-1.0")
    frame = Frame(file, dataset, names, start, stop, _write_times(file, names, metadata.times[start:stop],
                                                                  metadata.time_attributes), progress)
    progress.start(sum(metadata.raw_bytes(item) for item in items) * (stop - start), "bytes")
    layers = Layers(file, names)
    if isinstance(domain, GridDomain):
        write_grid_items(frame, domain, layers, items)
    else:
        write_mesh_items(frame, domain, layers, items)


def _write_times(file: Any, names: Names, times: TimeAxis, attributes: Any) -> str:
    if times.static:
        return ""
    name = names.take("time")
    values, described = time_coordinate(times, attributes)
    file.createDimension(name, len(times))
    variable = file.createVariable(name, "i8", (name,), fill_value=False)
    set_attributes(variable, described)
    variable[:] = values
    return name
