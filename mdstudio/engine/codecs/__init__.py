"""The compressions (rules C1-C9): names, codecs, the auto transforms and their block header.

Import from here only: `codec(name)` to encode and decode, `new_probe(name)` for the state of an auto codec,
`describe_block` for the facts of a header. The C extension `_native` and its NumPy twin are private.
"""

from mdstudio.engine.codecs.backends import crc32
from mdstudio.engine.codecs.contract import TRANSFORM_KEYS, BlockInfo, Codec
from mdstudio.engine.codecs.names import DESCRIPTIONS, NAMES, UNKNOWN, compression_name, is_auto, is_known
from mdstudio.engine.codecs.probe import PROBE_STRIDE, ProbeState
from mdstudio.engine.codecs.registry import codec, describe_block, new_probe

__all__ = [
    "DESCRIPTIONS",
    "NAMES",
    "PROBE_STRIDE",
    "TRANSFORM_KEYS",
    "UNKNOWN",
    "BlockInfo",
    "Codec",
    "ProbeState",
    "codec",
    "compression_name",
    "crc32",
    "describe_block",
    "is_auto",
    "is_known",
    "new_probe",
]
