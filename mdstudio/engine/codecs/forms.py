"""The form of an auto block: its first four bytes. Which backend, map, predictor, mask and element type there are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mdstudio.engine.codecs.contract import BlockInfo
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import DTYPES

VERSION = 1
STORED, DEFLATE, ZSTD = range(3)
BACKENDS = ("stored", "deflate", "zstd")
RAW, BITS, INT, FORD, LATTICE, DICT, CONST = range(7)
NONE, D1, LOR, AVG, BYTE_DELTA, D2, LOR21, UP, UP2, LOR12, LOR22 = range(11)
PREDICTORS = frozenset({NONE, D1, LOR, AVG, D2, LOR21, UP, UP2, LOR12, LOR22})  # of mapped integers
NO_MASK, FILL, COMPACT = range(3)
FLOAT_FROM = 8  # DTYPES from here on are floats

_SIZES = (1, 1, 2, 2, 4, 4, 8, 8, 4, 8)  # of DTYPES
_PREDICTORS_OF = {RAW: {NONE}, BITS: {NONE, BYTE_DELTA}, CONST: {NONE}}
_MAP_TEXT = ("none", "shuffle", "integers", "ordered floats", "quantised", "dictionary", "constant")
_PREDICTOR_TEXT = (
    "",
    "delta 1-D",
    "delta 2-D",
    "average 2-D",
    "byte delta",
    "second delta 1-D",
    "delta 2-D, second along rows",
    "delta across rows",
    "second delta across rows",
    "delta 2-D, second across rows",
    "second delta 2-D",
)
_MASK_TEXT = ("", "holes filled", "holes left out")


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a block.

    Attributes:
        planes: byte planes stored, of integers of `width` bytes.
        dtype: index into `DTYPES`; size: its bytes; kind: 0 unsigned, 1 signed, 2 float, as the kernels count.
    """

    backend: int
    map: int
    predictor: int
    planes: int
    dtype: int
    mask: int
    width: int
    size: int = 0
    kind: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _SIZES[self.dtype])
        object.__setattr__(self, "kind", kind_of(self.dtype))

    def pack(self) -> bytes:
        """The four bytes."""
        return bytes(
            (
                VERSION << 4 | self.backend,
                self.predictor << 4 | self.map,
                self.planes << 4 | self.dtype,
                (self.width.bit_length() - 1) << 2 | self.mask,
            )
        )

    def of(self, backend: int) -> Form:
        """The same on another backend."""
        return form(backend, self.map, self.predictor, self.planes, self.dtype, self.mask, self.width)

    def info(self, rows: int, row_length: int, header_bytes: int) -> BlockInfo:
        """The facts for people (G4)."""
        words = [_MAP_TEXT[self.map], _PREDICTOR_TEXT[self.predictor], _MASK_TEXT[self.mask]]
        if self.map not in (RAW, CONST):
            words.append(f"{self.planes} plane{'' if self.planes == 1 else 's'}")
        return BlockInfo(
            backend=BACKENDS[self.backend],
            transform=" · ".join(word for word in words if word),
            key=self._key(),
            dtype=DTYPES[self.dtype],
            count=rows * row_length,
            row_length=row_length,
            header_bytes=header_bytes,
        )

    def _key(self) -> str:
        if self.map in (INT, FORD):
            return {NONE: "plain integers", D1: "delta 1-D", D2: "delta 1-D"}.get(self.predictor, "delta 2-D")
        if self.map == BITS and self.predictor == BYTE_DELTA:
            return "byte delta"
        return {RAW: "none", BITS: "shuffle", LATTICE: "quantised", DICT: "dictionary", CONST: "constant"}[self.map]


def kind_of(dtype: int) -> int:
    """0 unsigned, 1 signed, 2 float."""
    return 2 if dtype >= FLOAT_FROM else 1 - dtype % 2


@lru_cache(maxsize=4096)
def form(backend: int, map_: int, predictor: int, planes: int, dtype: int, mask: int, width: int) -> Form:
    """A form to write; the few hundred there are get made once."""
    return Form(backend, map_, predictor, planes, dtype, mask, width)


_known: dict[bytes, Form] = {}  # forms that were checked: a few hundred at most, the same in every dataset


def form_of(first: bytes) -> Form:
    """The form that a block begins with.

    Raises DamagedDataError for a form that no writer of this version makes.
    """
    known = _known.get(first)
    if known is None:
        known = _known[first] = _parse(first)
    return known


def _parse(first: bytes) -> Form:
    if len(first) < 4:
        raise DamagedDataError(f"the block of {len(first)} bytes ends within its header")
    backend, dtype = first[0] & 15, first[2] & 15
    if first[0] >> 4 != VERSION or backend >= len(BACKENDS):
        raise DamagedDataError(f"the block begins with {first[0]:#04x}, not with a version and backend of this build")
    if dtype >= len(DTYPES):
        raise DamagedDataError(f"the block names the element type {dtype}, which this build does not know")
    found = Form(backend, first[1] & 15, first[1] >> 4, first[2] >> 4, dtype, first[3] & 3, 1 << (first[3] >> 2 & 3))
    wrong = _wrong(found) or ("reserved bits" if first[3] >> 4 else "")
    if wrong:
        raise DamagedDataError(f"the block's header {first.hex(' ')} has {wrong} that no writer makes")
    return found


def _wrong(f: Form) -> str:
    """What of a form no writer makes; "" for a good one."""
    if f.map > CONST or f.mask > COMPACT:
        return "a map or a mask"
    bare = f.map in _PREDICTORS_OF
    if f.predictor not in _PREDICTORS_OF.get(f.map, PREDICTORS):
        return "a predictor"
    if (bare and (f.mask or f.width != f.size)) or f.width > f.size or (f.map == DICT and f.width > 2):
        return "a mask or a width"
    if f.planes > f.width or (f.map in (RAW, CONST) and f.planes):
        return "planes"
    if f.map == CONST and f.backend != STORED:
        return "a backend"
    is_float = f.dtype >= FLOAT_FROM
    return "an element type" if (f.map == INT and is_float) or (f.map in (FORD, LATTICE) and not is_float) else ""
