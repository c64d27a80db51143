"""The transforms as functions: the C extension where it is built, else its NumPy twin. Same names, same bytes.

`MD_STUDIO_NO_NATIVE=1` in the environment of the process forces NumPy.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType


def _choose() -> ModuleType:
    package = "mdstudio.engine.codecs"
    if os.environ.get("MD_STUDIO_NO_NATIVE") != "1":
        try:
            return import_module(f"{package}._native")
        except ImportError:  # not built here: it costs speed, nothing else
            pass
    return import_module(f"{package}._numpy")


kernels = _choose()
