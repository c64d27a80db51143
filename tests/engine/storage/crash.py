"""Kills a writer at every file operation of a write and looks at what it left: `python crash.py SCENARIO FOLDER`.

One process forks a writer for each point: the writer kills itself (SIGKILL) right before the n-th time that it opens a
file for writing, moves, removes, stamps or makes one below the folder, n = 1, 2, ... until a write gets through. Then
whoever reads must find the old blob or the new one, whole and with its block list, without moving anything; and the
next write must succeed and leave no other file. Used by test_crash.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.storage import BlobStorage, Block, FolderStorage, sidecar

State = tuple[bytes, tuple[str, ...]] | None  # content and block ids; None: no blob

EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.utime"}


def commit(storage: BlobStorage, blocks: dict[str, bytes]) -> None:
    for block_id, data in blocks.items():
        storage.stage_block("f/g", block_id, data)
    storage.commit_blocks("f/g", list(blocks))


def first_commit(storage: FolderStorage) -> Callable[[], object]:
    storage.stage_block("f/g", "1", b"one")
    return lambda: commit(storage, {"2": b"two", "3": b"three"})


def append(storage: FolderStorage) -> Callable[[], object]:
    commit(storage, {"1": b"one", "2": b"two"})

    def run() -> None:
        storage.stage_block("f/g", "3", b"three")
        storage.commit_blocks("f/g", ["1", "2", "3"])

    return run


def reorder(storage: FolderStorage) -> Callable[[], object]:
    """The new list is as long as the old one: sizes alone cannot tell them apart."""
    commit(storage, {"1": b"one", "2": b"two"})
    return lambda: storage.commit_blocks("f/g", ["2", "1"])


def after_a_pending_list(storage: FolderStorage) -> Callable[[], object]:
    run = append(storage)
    blob = os.path.join(storage.location, "f", "g.blocks")
    os.rename(blob, blob + ".commit")
    return run


def copied_by_hand(storage: FolderStorage) -> Callable[[], object]:
    """The list does not have the mark of the blob's file."""
    commit(storage, {"1": b"one", "2": b"two"})
    blob = os.path.join(storage.location, "f", "g")
    shutil.copyfile(blob, blob + "~")
    os.replace(blob + "~", blob)
    return lambda: storage.commit_blocks("f/g", ["2", "1"])


def after_a_failed_commit(storage: FolderStorage) -> Callable[[], object]:
    """The list of the failed commit would count too, were the blob next to it not still in `.commit`."""
    run = copied_by_hand(storage)
    blob = os.path.join(storage.location, "f", "g")
    Path(blob + ".commit").write_bytes(b"onetwo")
    Path(blob + ".blocks.commit").write_bytes(sidecar.encode("another-mark", [Block("3", 4), Block("4", 2)]))
    return run


def whole(storage: FolderStorage) -> Callable[[], object]:
    storage.write("f/g", b"onetwo")
    return lambda: storage.write("f/g", b"twoone")


def first_whole(storage: FolderStorage) -> Callable[[], object]:
    return lambda: storage.write("f/g", b"twoone")


def whole_over_blocks(storage: FolderStorage) -> Callable[[], object]:
    """Of the same length: were the old list still there, it would count."""
    commit(storage, {"1": b"one", "2": b"two"})
    return lambda: storage.write("f/g", b"twoone")


def delete(storage: FolderStorage) -> Callable[[], object]:
    commit(storage, {"1": b"one", "2": b"two"})
    return lambda: storage.delete("f/g")


SCENARIOS = {
    f.__name__: f
    for f in (first_commit, append, reorder, after_a_pending_list, after_a_failed_commit, copied_by_hand, whole)
} | {f.__name__: f for f in (first_whole, whole_over_blocks, delete)}


def state(storage: BlobStorage) -> State:
    """What a reader finds."""
    try:
        read, blocks = storage.read("f/g"), storage.block_list("f/g")
    except NotFoundError:
        return None
    assert read.version == blocks.version
    return read.data, tuple(block.id for block in blocks.blocks)


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def kill_at(step: int, root: Path) -> None:
    """From now on the process kills itself before its `step`-th change of a file below `root`."""
    left = [step]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event not in EVENTS or not str(arguments[0]).startswith(str(root)):
            return
        if event == "open" and not int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def killed(prepare: Callable[[FolderStorage], Callable[[], object]], root: Path, step: int) -> bool:
    """Fork a writer that dies at this step; whether it did, or got through."""
    run = prepare(FolderStorage(root))
    child = os.fork()
    if child == 0:
        kill_at(step, root)
        run()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def check(prepare: Callable[[FolderStorage], Callable[[], object]], root: Path, step: int) -> bool:
    """One kill and what must hold after it; False once the writer gets through."""
    shutil.rmtree(root, ignore_errors=True)
    run = prepare(FolderStorage(root))
    old = state(FolderStorage(root))
    run()
    new = state(FolderStorage(root))
    assert old != new
    shutil.rmtree(root, ignore_errors=True)
    died = killed(prepare, root, step)

    storage = FolderStorage(root)
    left = files(root)
    found = state(storage)
    assert found in (old, new) if died else found == new, (found, old, new, sorted(left))
    assert [blob.name for blob in storage.list_blobs()] == (["f/g"] if found else [])
    assert files(root) == left, "a reader changed something"

    # A job that runs again ends in the new state, and any next write leaves nothing but the blob and its list.
    storage.stage_block("f/g", "9", b"nine")
    storage.commit_blocks("f/g", [*(found[1] if found else ()), "9"])
    assert state(storage) == ((found[0] if found and found[1] else b"") + b"nine", (*(found[1] if found else ()), "9"))
    assert sorted(files(root)) == [os.path.join("f", "g"), os.path.join("f", "g.blocks")], sorted(files(root))
    return died


def main() -> None:
    prepare, root = SCENARIOS[sys.argv[1]], Path(sys.argv[2]).resolve()
    step = 1
    while check(prepare, root, step):
        step += 1
    print(step - 1)


if __name__ == "__main__":
    main()
