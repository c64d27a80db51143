"""A process that commits blocks to a blob that others commit to as well: `committer.py LOCATION NAME FIRST COUNT`.

Each block is added to the list as it stands, with If-Match; a commit that came in between means reading it again (P14).
"""

from __future__ import annotations

import sys

from mdstudio.engine.errors import BlobChangedError, NotFoundError
from mdstudio.engine.storage import MUST_NOT_EXIST, BlobStorage, open_storage


def add(storage: BlobStorage, name: str, number: int) -> None:
    """Commit one more block, whoever else does."""
    block_id = f"{number:06}"
    while True:
        try:
            base = storage.block_list(name)
            ids, condition = [block.id for block in base.blocks], {"if_match": base.version}
        except NotFoundError:
            ids, condition = [], {"if_none_match": MUST_NOT_EXIST}
        storage.stage_block(name, block_id, block_id.encode() * (1 + number % 7))
        try:
            storage.commit_blocks(name, [*ids, block_id], **condition)
            return
        except BlobChangedError:
            continue


def main() -> None:
    location, name, first, count = sys.argv[1:]
    storage = open_storage(location)
    for number in range(int(first), int(first) + int(count)):
        add(storage, name, number)


if __name__ == "__main__":
    main()
