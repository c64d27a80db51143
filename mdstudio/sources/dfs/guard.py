"""Damaged files end or hang DHI's library, and the process with it: another process opens every file first."""

from __future__ import annotations

import atexit
import contextlib
import json
import subprocess
import sys

from mdstudio.engine.errors import SourceError
from mdstudio.sources.dfs import probe

COMMAND = (sys.executable, "-P", probe.__file__)
_ADVICE = "The file is damaged or no DHI file; open it in MIKE Zero to see what it has."
_running: subprocess.Popen[str] | None = None


def require_openable(path: str) -> None:
    """Raises `SourceError` for a file that DHI's library refuses, ends at, or does not get done with.

    Call under the lock of `library`. Cost: the header and the mesh, some milliseconds; the first time in a process
    a third of a second to start the other one, which stays for further files until one is refused: the library's
    memory is not to be trusted afterwards.
    """
    process = _probe()
    answer = _asked(process, path)
    if answer == "":
        return
    if answer is None:
        code = process.wait()
    stop()
    if answer is not None:
        raise SourceError(f"The header cannot be read: {answer}.", where=path, advice=_ADVICE)
    how = f"is not done with it after {probe.LIMIT} s" if code == probe.TOO_LATE else "crashes on it"
    raise SourceError(f"The file cannot be opened: DHI's library {how}.", where=path, advice=_ADVICE)


def stop() -> None:
    """End the other process, where there is one."""
    global _running
    if _running is not None:
        _running.kill()
        with contextlib.suppress(OSError):
            _running.communicate()
        _running = None


def _probe() -> subprocess.Popen[str]:
    global _running
    if _running is None or _running.poll() is not None:
        stop()
        hidden = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows: no console flashes up
        _running = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True, encoding="ascii", creationflags=hidden)
        atexit.unregister(stop)
        atexit.register(stop)
    return _running


def _asked(process: subprocess.Popen[str], path: str) -> str | None:
    """The reason why a file cannot be opened, "" when it can; None when the process ended in place of an answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        print(json.dumps(path), file=process.stdin, flush=True)
        line = process.stdout.readline()
    except OSError:
        return None
    return str(json.loads(line)) if line else None
