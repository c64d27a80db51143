"""Kills operations of the engine at their commit points: `python kill.py folder|azure PLACE FIRST EVERY OPERATION...`.

One process forks a worker for each point: the worker kills itself (SIGKILL) right before the n-th time that it opens a
file for writing, moves, removes, stamps or makes one below the folder, or in Azure (and where the operation only reads)
right before or right after its n-th request, n = FIRST, FIRST + EVERY, ... until it gets through. Then whoever reads
must find the old dataset or the new one, and the operation run again must complete. Prints how many kills there were,
an operation a line. Used by test_kills.py.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from azure.storage.blob import ContainerClient

from mdstudio.engine.reading import threads
from mdstudio.engine.storage import BlobStorage, Wrapper
from tests.engine.storage.crash import kill_at
from tests.faults.campaign import (
    AzureGround,
    Expected,
    FolderGround,
    Ground,
    Operation,
    complete,
    expected,
    is_right,
    is_whole,
    opened,
    read,
)
from tests.faults.operations import BY_NAME
from tests.faults.proxy import FaultyProxy

T = TypeVar("T")


class Killer(Wrapper):
    """Kills its process before (an odd `step`) or after (an even one) a request."""

    def __init__(self, inner: BlobStorage, step: int, counted: list[int] | None = None) -> None:
        super().__init__(inner)
        self._step, self._counted = step, counted if counted is not None else [0]

    def _around(self, inner: BlobStorage) -> Any:
        return Killer(inner, self._step, self._counted)

    def _request(self, call: str, name: str, request: Callable[[], T]) -> T:
        self._point()
        result = request()
        self._point()
        return result

    def _point(self) -> None:
        self._counted[0] += 1
        if self._counted[0] == self._step:
            os.kill(os.getpid(), signal.SIGKILL)


def check(ground: Ground, operation: Operation, wanted: Expected, step: int, root: Path | None) -> bool:
    """One kill and what must hold after it; False once the operation gets through."""
    place = ground.place()
    operation.prepare(place.storage)
    held = opened(place.storage.child(operation.source))
    child = os.fork()
    if child == 0:
        threads._readers.cache_clear()  # the pools of this process: their threads are not forked
        threads._decoders.cache_clear()
        if root is None or operation.only_reads:
            operation.run(Killer(place.renewed(), step))
        else:
            kill_at(step, root)
            operation.run(place.storage)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    died = os.WIFSIGNALED(status)
    assert died or os.waitstatus_to_exitcode(status) == 0, status
    said = f"{operation.name}: killed at {step}" if died else f"{operation.name}: got through at {step}"
    found = operation.seen(place.storage)
    assert is_whole(operation, found, wanted) if died else found == wanted.new, f"{said}: torn"
    assert held is None or is_right(operation, read(held), wanted), f"{said}: wrong for who has it open"
    place.free()
    complete(operation, place, wanted, found, said, may_leave=True)
    return died


def main() -> None:
    where, root, first, every = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    ground: Ground
    if where == "folder":
        ground = FolderGround(Path(root).resolve())
    else:  # `root` names a container; the connection string comes with the environment
        connection = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
        container = ContainerClient.from_connection_string(connection, root, retry_total=0)
        ground = AzureGround(container, container, FaultyProxy(0))
    for name in sys.argv[5:]:
        operation = BY_NAME[name]
        wanted = expected(ground, operation)
        kills, step = 0, first
        while check(ground, operation, wanted, step, Path(root).resolve() if where == "folder" else None):
            kills += 1
            step += every
        print(f"{name}: {kills}", flush=True)


if __name__ == "__main__":
    main()
