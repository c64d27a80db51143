"""The shared files read without this project's sources: by h5py, netCDF4, ecCodes, mikecore and zarr alone.

`slices` gives what a dataset made of a grid of an entry must hold, to the bit. The order of dimensions is taken as
(time, layer, row, column) or (time, layer, place), as most files have it; those that have not are named here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.model import Array, Description, Item

TRANSPOSED = {  # entry and item: where its dimensions of time, layer, row and column are
    ("grid/pr_day_HadGEM2-CC_360day_2095.nc", "time_vectors"): (0, 1, 3, 2),
    ("grid/small_theta_colpex.nc", "surface_altitude"): (1, 0),
    ("zarr/ww3file.zarr", "efth"): (1, 3, 2, 0),
    ("zarr/ww3file.zarr", "frequency1"): (1, 0),
    ("zarr/ww3file.zarr", "frequency2"): (1, 0),
}
STEPS = {"odd/test_monotonic_coordinate.nc": [1, 2]}  # its first two times are the same: the later one is kept
FOLDED = {"zarr/ref_power_901_constants_orig.zip": "ref_power_901_constants/"}  # the tree is one folder down
SENTINEL = 9e20  # stands for missing values of GRIB while ecCodes decodes


def slices(data: Path, entry: str, description: Description, item: Item) -> Iterator[Array]:
    """(times, values) of each layer of an item, little-endian, of a file that is no GRIB; cost: the whole variable."""
    path = data / entry.partition(" + ")[0]
    times, layers = len(description.times), len(item.layers) if item.layers and not item.layers_together else 1
    values = _whole(path, entry, item)
    if (entry, item.name) in TRANSPOSED:
        values = values.transpose(TRANSPOSED[entry, item.name])
    if entry in STEPS:
        values = values[STEPS[entry]]
    values = values.reshape(times, layers, -1).astype(values.dtype.newbyteorder("<"), copy=False)
    for layer in range(layers):
        yield values[:, layer]


def _whole(path: Path, entry: str, item: Item) -> Array:
    """All stored values of a variable, in its own order of dimensions."""
    if entry.startswith("zarr/"):
        import zarr

        store: Any = zarr.storage.ZipStore(path, mode="r") if path.suffix == ".zip" else zarr.storage.LocalStore(path)
        return np.asarray(zarr.open_array(store, path=FOLDED.get(entry, "") + item.name, mode="r")[...])
    if path.suffix == ".mesh":
        import mikeio

        return np.asarray(mikeio.Mesh(str(path)).node_coordinates[:, 2])
    if path.suffix.startswith(".dfs"):
        return _dfs(path, item)
    with path.open("rb") as file:
        classic = file.read(3) == b"CDF"
    if classic:
        import netCDF4

        with netCDF4.Dataset(path) as dataset:
            dataset.set_auto_maskandscale(False)
            return np.asarray(dataset[item.name][...])
    import h5py

    with h5py.File(path) as hdf5:
        return np.asarray(hdf5[item.name][...])


def _dfs(path: Path, item: Item) -> Array:
    """(times, values) of a dynamic item, delete values as stored."""
    from mikecore.DfsFileFactory import DfsFileFactory

    file = DfsFileFactory.DfsGenericOpen(str(path))
    try:
        number = [i.Name for i in file.ItemInfo].index(item.name) + 1
        steps = file.FileInfo.TimeAxis.NumberOfTimeSteps
        return np.stack([np.array(file.ReadItemTimeStep(number, step).Data) for step in range(steps)])
    finally:
        file.Close()


def messages(path: Path) -> Iterator[dict[str, Any]]:
    """Every GRIB message as ecCodes alone reads the file: its valid time, its values in their order on the map row by
    row (missing: NaN)."""
    from tests.sources.grib_builders import eccodes

    with path.open("rb") as file:
        while (handle := eccodes.codes_grib_new_from_file(file)) is not None:
            eccodes.codes_set(handle, "missingValue", SENTINEL)
            values = eccodes.codes_get_values(handle)
            date, time = (eccodes.codes_get(handle, f"validity{part}") for part in ("Date", "Time"))
            if eccodes.codes_get(handle, "alternativeRowScanning"):
                rows, columns = eccodes.codes_get(handle, "Nj"), eccodes.codes_get(handle, "Ni")
                values = values.reshape(rows, columns).copy()
                values[1::2] = values[1::2, ::-1].copy()
            text = f"{date:08d}"
            yield {"time": f"{text[:4]}-{text[4:6]}-{text[6:]}T{time // 100:02d}:{time % 100:02d}:00",
                   "values": np.where(values == SENTINEL, np.nan, values).ravel()}
            eccodes.codes_release(handle)


def message_counts(path: Path) -> Counter[tuple[str, bytes]]:
    """How often each field (valid time, bits) occurs in a GRIB file."""
    import hashlib

    return Counter((m["time"], hashlib.sha256(m["values"].astype("<f8").tobytes()).digest()) for m in messages(path))
