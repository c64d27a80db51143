"""The process that opens a DHI file first: run as a script, it needs mikecore alone and may end with it.

Protocol: a line of JSON with a path in, a line of JSON with the reason why it cannot be opened out, "" when it can.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from typing import Any

LIMIT = 30  # seconds; the library is caught in a loop when it is not done then, and the process ends by itself
TOO_LATE = 1  # its exit code then, faulthandler's


class _Path(str):
    """A path that mikecore gives to its library in the encoding of the file system.

    mikecore writes every path in cp1252, which is right on Windows only; elsewhere no 'ø' would be found.
    """

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode(encoding, errors) if sys.platform == "win32" else os.fsencode(str(self))


def opened(path: str) -> Any:
    """An open `mikecore.DfsFile.DfsFile`, its header read. Raises what mikecore raises."""
    from mikecore.DfsFileFactory import DfsFileFactory

    return DfsFileFactory.DfsGenericOpen(_Path(path))


def touch(path: str) -> None:
    """Call the library as for a description: header, mesh or static items, and the first values; then close."""
    file = opened(path)
    if any(block.Name == "MIKE_FM" for block in file.FileInfo.CustomBlocks):
        from mikecore.DfsuFile import DfsuFile

        DfsuFile(file)
    else:
        while file.ReadStaticItemNext() is not None:
            pass
    if file.ItemInfo:
        file.ReadItemTimeStep(1, 0)
    file.Close()


def main() -> None:
    """Answer until the other side closes its end, or the library ends the process."""
    with os.fdopen(os.dup(1), "w", encoding="ascii") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the library prints is no answer
        for line in sys.stdin:
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            try:
                touch(json.loads(line))
                reason = ""
            except Exception as error:
                reason = " ".join(str(error).split()) or type(error).__name__
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps(reason), file=answers, flush=True)


if __name__ == "__main__":
    main()
