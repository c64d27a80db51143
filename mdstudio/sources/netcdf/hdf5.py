"""What netCDF does not say of an HDF5 file: filters that are not there, and why it cannot open a file that is sound.

h5py is loaded where it is asked: for variables that netCDF4 knows no compressor of, and for files that it cannot open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mdstudio.engine.errors import SourceError

FILTER_ADVICE = ("Unpack it where the filter is installed (h5repack -f NONE), or install its plug-in and name its "
                 "folder in HDF5_PLUGIN_PATH before the program starts.")
_AGAIN = "Get the file again."
_BUILT_IN = range(1, 7)  # deflate, shuffle, fletcher32, szip, nbit, scale-offset
_COMPRESSORS = ("zlib", "szip", "zstd", "bzip2", "blosc")


def filters_missing(path: str, dataset: Any) -> dict[str, str]:
    """{path of a variable: the filter that netCDF4's library lacks} of an open NetCDF-4 data set.

    Cost: nothing for variables that are contiguous or packed with what netCDF4 knows; else h5py looks at the filters,
    and of a variable with a foreign one a single value is read. Nothing is said of a file that h5py cannot open.
    """
    doubtful = {name: nc for name, nc in _variables(dataset, "") if _is_doubtful(nc)}
    if not doubtful:
        return {}
    import h5py

    found = {}
    try:
        with h5py.File(path, "r") as file:
            for name, nc in doubtful.items():
                foreign = _foreign(file.get(name))
                if foreign and not _is_readable(nc):
                    found[name] = f"packed with {foreign}, which is not installed here"
    except OSError:
        return {}
    return found


def _variables(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    yield from ((prefix + name, nc) for name, nc in group.variables.items())
    for name, child in group.groups.items():
        yield from _variables(child, f"{prefix}{name}/")


def _is_doubtful(nc: Any) -> bool:
    """True for a variable in chunks without a compressor that netCDF4 knows."""
    if 0 in nc.shape or not isinstance(nc.chunking(), list):
        return False
    filters = nc.filters() or {}
    return not any(filters.get(name) for name in _COMPRESSORS)


def _foreign(stored: Any) -> str:
    """The filters of an HDF5 data set that are not HDF5's own, as a person knows them; "" without."""
    if not hasattr(stored, "chunks"):  # no data set
        return ""
    create = stored.id.get_create_plist()
    filters = [create.get_filter(n) for n in range(create.get_nfilters())]
    return " and ".join(f"the HDF5 filter {number} ({_name(name)})" for number, _, _, name in filters
                        if number not in _BUILT_IN)


def _name(written: bytes) -> str:
    return written.decode("latin-1").partition(";")[0].strip(" .\0") or "without a name"


def _is_readable(nc: Any) -> bool:
    try:
        nc[(0,) * len(nc.shape)]
    except (RuntimeError, OSError):
        return False
    return True


def cannot_open(path: str, reason: str) -> SourceError:
    """Why netCDF cannot open an HDF5 file: what of it is damaged and what can be read, or what of it netCDF has not.

    Cost: the names of all data sets, no values.
    """
    import h5py

    sound: list[str] = []
    odd: list[str] = []
    damage: list[str] = []
    try:
        with h5py.File(path, "r") as file:
            for name, member in _walk(file, "", damage):
                (sound if isinstance(member, h5py.Dataset) else odd).append(name)
    except (OSError, RuntimeError) as error:
        return SourceError(f"The file is damaged or truncated: {_plain(error)}.", where=path, advice=_AGAIN)
    if damage:
        rest = f"Still readable: {', '.join(sound[:8])}" if sound else "Nothing in it can be read any more"
        return SourceError(f"The file is damaged: {damage[0]}. {rest}.", where=path, advice=_AGAIN)
    why = f"it has types of its own ({', '.join(odd[:8])})" if odd else reason
    return SourceError(f"This HDF5 file is not damaged, but netCDF cannot open it: {why}.", where=path,
                       advice="Copy the data sets that are wanted into a file of their own (h5copy, or h5py).")


def _walk(group: Any, prefix: str, damage: list[str]) -> Iterator[tuple[str, Any]]:
    """Every data set and type that can be reached, by path; what cannot be is told in `damage`."""
    try:
        names = list(group)
    except (RuntimeError, OSError) as error:
        damage.append(f"the names in '{prefix or '/'}' cannot be read, {_plain(error)}")
        return
    for name in names:
        try:
            member = group.get(name)
        except (RuntimeError, OSError, KeyError) as error:
            damage.append(f"'{prefix}{name}' cannot be read, {_plain(error)}")
            continue
        if hasattr(member, "keys"):
            yield from _walk(member, f"{prefix}{name}/", damage)
        elif member is not None:  # None: a link to nowhere
            yield f"{prefix}{name}", member


def _plain(error: Exception) -> str:
    """The innermost reason that HDF5 gives."""
    return str(error).rpartition("(")[2].rstrip(")'\" ") or type(error).__name__
