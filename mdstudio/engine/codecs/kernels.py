"""The transforms as functions: the C extension where it is built, else its NumPy twin. Same names, same bytes.

`MD_STUDIO_NO_NATIVE=1` in the environment of the process forces NumPy.
"""

from __future__ import annotations

import os
from types import ModuleType

from mdstudio.engine.codecs import _numpy


def _choose() -> ModuleType:
    if os.environ.get("MD_STUDIO_NO_NATIVE") == "1":
        return _numpy
    try:
        from mdstudio.engine.codecs import _native
    except ImportError:
        return _numpy
    return _native


kernels = _choose()
