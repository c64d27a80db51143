"""Copying a blob between storages of any kind, with its block list (P26)."""

from __future__ import annotations

from mdstudio.engine.storage.protocol import BlobStorage


def copy_blob(source: BlobStorage, name: str, target: BlobStorage, target_name: str) -> str:
    """Copy through memory, a block at a time, all of it from one version; returns the new version.

    A blob without blocks is held in memory whole. Raises `BlobChangedError` if the source changes in between.
    """
    blocks = source.block_list(name)
    if not blocks.blocks:
        return target.write(target_name, source.read(name, version=blocks.version).data)
    offset = 0
    for block in blocks.blocks:
        part = source.read_range(name, offset, block.size, version=blocks.version)
        target.stage_block(target_name, block.id, part.data)
        offset += block.size
    return target.commit_blocks(target_name, [block.id for block in blocks.blocks])
