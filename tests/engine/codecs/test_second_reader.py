"""Mutated golden blocks: the engine and the reader from the specification refuse the same, and read the same."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from random import Random

import numpy as np
import pytest
import zstandard

from mdstudio.engine.codecs import codec, is_auto
from mdstudio.engine.errors import MdError
from mdstudio.engine.model import DTYPES
from tests.engine.codecs.independent_reader import CONST, RefusedError, parse, payload_of, read
from tests.engine.codecs.test_golden import GOLDEN, load

BLOCKS = [load(path) for path in GOLDEN if is_auto(path.name.split(".")[0])]


@pytest.mark.rule("C8", "C9")
@pytest.mark.parametrize(("count", "seed"), [(3000, 7), pytest.param(100_000, 1, marks=pytest.mark.long)])
def test_two_readers_refuse_the_same_blocks_and_read_the_same_bits(count: int, seed: int) -> None:
    random, seen = Random(seed), Counter[bool]()
    for _ in range(count):
        name, elements, block = random.choice(BLOCKS)
        mutated = random.choice((_of_header, _of_payload, _of_bytes))(block, random)
        shape = (elements.size // elements.shape[-1], elements.shape[-1])
        one, other = _by_engine(name, mutated, shape, elements.dtype.name), _by_reader(mutated, shape, elements)
        assert one == other, (name, mutated[:60].hex())
        seen[one is None] += 1
    assert min(seen.values()) > count // 10


def _by_engine(name: str, block: bytes, shape: tuple[int, int], dtype: str) -> bytes | None:
    out = np.zeros(shape, dtype)
    try:
        codec(name).decode(block, out)
    except MdError:
        return None
    return out.tobytes()


def _by_reader(block: bytes, shape: tuple[int, int], elements: np.ndarray) -> bytes | None:
    try:
        dtype, rows, row_length, data = read(block)
    except RefusedError:
        return None
    return data if (DTYPES[dtype], rows, row_length) == (elements.dtype.name, *shape) else None


def _of_header(block: bytes, random: Random) -> bytes:
    """Some bytes of the header are others."""
    out = bytearray(block)
    length = len(block) - len(parse(block)[1])
    for _ in range(random.choice((1, 1, 2))):
        at = random.randrange(4 if random.random() < 0.5 else length)
        out[at] = random.choice((random.randrange(256), out[at] ^ 1 << random.randrange(8), 0, 255))
    return bytes(out)


def _of_payload(block: bytes, random: Random) -> bytes:
    """Some bytes of the payload are others, under a body that is whole."""
    h, body = parse(block)
    if h.map == CONST:
        return block
    payload = bytearray(payload_of(h.backend, body, h.payload_bytes))
    for _ in range(random.choice((1, 2, 5))):
        near = random.choice((len(payload), min(len(payload), 60)))
        at = random.choice((random.randrange(near), len(payload) - 1 - random.randrange(min(len(payload), 20))))
        payload[at] = random.choice((random.randrange(256), payload[at] ^ 1 << random.randrange(8), 0, 255))
    head = bytearray(block[:len(block) - len(body)])
    if h.backend == 1:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        new = packer.compress(payload) + packer.flush()
        at = 4 + sum(1 + (number >= 128) for number in (h.rows, h.row_length))
        head[at:at + 2] = struct.pack("<H", len(new) & 0xFFFF)
    else:
        new = zstandard.ZstdCompressor(3).compress(bytes(payload)) if h.backend == 2 else bytes(payload)
    return bytes(head) + new


def _of_bytes(block: bytes, random: Random) -> bytes:
    """Cut, lengthened, or with a bit of any byte turned."""
    out = bytearray(block)
    match random.choice("cltti"):
        case "c":
            return block[:random.randrange(len(block))]
        case "l":
            return block + bytes(random.randrange(1, 9))
        case "t":
            out[random.randrange(len(out))] ^= 1 << random.randrange(8)
        case _:
            out.insert(random.randrange(len(out)), random.randrange(256))
    return bytes(out)
