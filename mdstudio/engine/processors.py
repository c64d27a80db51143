"""How many processors there are to spread work over."""

from __future__ import annotations

import os


def available_processors() -> int:
    """Processors that this process may use: what the system allows it (a container, `taskset`), at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on Windows and macOS
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)
