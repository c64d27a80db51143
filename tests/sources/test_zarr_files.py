"""Every Zarr entry of the shared data: read as zarr-python reads it to the bit, or refused with its reason."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from mdstudio.engine.errors import MdError
from mdstudio.sources.registry import open_source

ALL = slice(None)
PLAIN = "no coordinates for two of its dimensions"  # an array without names of dimensions lies nowhere
ENTRIES: dict[str, str | dict[str, str]] = {  # the reason, or {item: array in zarr-python}
    "bitround_float32.zarr": "packed with 'bitround', which is not installed here",
    "hierarchy.zarr": {"a/baz": "a/baz", "a/foo": "a/foo"},
    "hrrr.wrfsfcf.subset.json.gz": "references (kerchunk)",
    "hrrr.wrfsfcf.zarr_tree_store.json.gz": "references (kerchunk)",
    "ref_byte.zarr.zip": PLAIN,
    "ref_data.zarr": "it has data only",
    "ref_oldformat.zip": f"'g1/pos' is not on a grid: {PLAIN}",
    "ref_power_901_constants_orig.zip": {n: f"ref_power_901_constants/{n}" for n in (
        "FROCEAN", "FRLAND", "FRLAKE", "FRLANDICE")},
    "sharded_array_write_read.zarr": {"group/array": "group/array"},
    "test-repo-v1": "Icechunk repository",
    "test-repo-v2": "Icechunk repository",
    "v2_array_blosc_C.zarr": PLAIN,
    "v2_array_gzip_C.zarr": PLAIN,
    "v2_array_pcodec_C.zarr": "pcodec" if find_spec("pcodec") is None else PLAIN,
    "v2_array_zstd_C.zarr": PLAIN,
    "v3_array_blosc_transpose.zarr": PLAIN,
    "v3_array_zstd.zarr": PLAIN,
    "ww3file.zarr": {"efth": "efth", "frequency1": "frequency1", "frequency2": "frequency2"},
    "zarr.zip": PLAIN,
}
# where ours is (layer, time, row, column) by another order of the array's own dimensions
TURNED = {"efth": (3, 1, 2, 0), "frequency1": (1, 0), "frequency2": (1, 0)}


def test_every_entry_is_looked_at(shared_data: Path) -> None:
    assert sorted(p.name for p in (shared_data / "zarr").iterdir()) == sorted(ENTRIES)


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if isinstance(e, dict)])
def test_values_are_those_of_zarr_python(shared_data: Path, name: str) -> None:
    path, arrays = shared_data / "zarr" / name, ENTRIES[name]
    assert isinstance(arrays, dict)
    store: Any = zarr.storage.ZipStore(path, mode="r") if name.endswith("zip") else zarr.storage.LocalStore(path)
    seen = set()
    with open_source([str(path)]) as source:
        for description in source.descriptions():
            for item in description.items:
                array = zarr.open_array(store, path=arrays[item.name], mode="r")
                expected = np.asarray(array[...] if array.nbytes < 1 << 23 else array[:500])
                expected = expected.transpose(TURNED.get(item.name, range(expected.ndim)))
                rows = slice(0, expected.shape[-2])
                found = np.stack([source.read(description, item.name, ALL, n, rows, ALL) for n in item.layer_ids()])
                assert (found.dtype, found.size) == (expected.dtype, expected.size)
                assert found.tobytes() == expected.tobytes()
                seen.add(item.name)
    assert seen == set(arrays)


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if isinstance(e, str)])
def test_what_cannot_be_imported_says_why(shared_data: Path, name: str) -> None:
    reason = ENTRIES[name]
    with pytest.raises(MdError) as refused, open_source([str(shared_data / "zarr" / name)]) as source:
        source.descriptions()
    assert str(reason) in str(refused.value)
