"""DHI files through mikecore: dfs0, dfs1, dfs2, dfs3, dfsu and mesh.

`open_dfs` is the way in, `is_dfs` tells whether a file is one. mikecore is loaded when a file is opened, and only
there; it has no library for macOS.
"""

from __future__ import annotations

from collections.abc import Sequence

from mdstudio.sources.contract import Source
from mdstudio.sources.dfs.library import is_dfs

__all__ = ["is_dfs", "open_dfs"]


def open_dfs(paths: Sequence[str], *, double_as_float: bool = False) -> Source:
    """Open one DHI file; its header is read, no data. Raises `SourceError`, `UnsupportedError`, `NotFoundError`,
    `AccessError` naming the file and the reason."""
    from mdstudio.sources.dfs.source import DfsSource

    return DfsSource(paths, double_as_float=double_as_float)
