"""The transforms as functions: the C extension where it is built, else its NumPy twin. Same names, same bytes.

`MD_STUDIO_NO_NATIVE=1` in the environment of the process forces NumPy.
"""

from __future__ import annotations

import os
import struct
from importlib import import_module
from types import ModuleType

_PACKAGE = "mdstudio.engine.codecs"
# Integers whose float64 by `lattice_values` a fused multiply-add would change, and the right bits.
_SCALE, _OFFSET = 0.0005335360526703865, -0.9424741044521164
_PROOF = (
    (246, 0xBFE9F58C87259570),
    (3613, 0x3FEF86B0A5B1F117),
    (8415, 0x400C60BB0E092A1D),
    (13161, 0x4018514CA169E43F),
    (17830, 0x4021241521776466),
    (23857, 0x4027927B1C23546A),
)


def _choose() -> ModuleType:
    if os.environ.get("MD_STUDIO_NO_NATIVE") != "1":
        try:
            native = import_module(f"{_PACKAGE}._native")
        except ImportError:  # not built here: it costs speed, nothing else
            pass
        else:
            if rounds_each_operation(native):
                return native
    return import_module(f"{_PACKAGE}._numpy")


def rounds_each_operation(module: ModuleType) -> bool:
    """Whether the build computes the lattice as the format says: contraction would decode other values."""
    out = bytearray(8 * len(_PROOF))
    integers = struct.pack(f"<{len(_PROOF)}q", *(k for k, _ in _PROOF))
    module.lattice_values(integers, out, 8, 1, _SCALE, _OFFSET, 1.0)
    return bytes(out) == struct.pack(f"<{len(_PROOF)}Q", *(bits for _, bits in _PROOF))


kernels = _choose()
