"""Mutated blobs of golden datasets: the engine and the reader from the specification refuse the same, read the same."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Item
from mdstudio.engine.requests import MapRequest
from tests.engine.codecs.independent_reader import RefusedError
from tests.engine.golden_cases import CASES, Case, extracted
from tests.engine.independent.reader import Reader

SLOW = ("mesh-zlevel", "mesh-sigma", "grid-types")
SUBJECTS = [case for case in CASES if not case.refused and case.kind not in SLOW and "width" not in case.label]


@pytest.mark.rule("P10", "T5", "V1", "C8")
@pytest.mark.parametrize(("rounds", "seed"), [(1, 7), pytest.param(12, 1, marks=pytest.mark.long)])
def test_two_readers_refuse_the_same_blobs_and_read_the_same_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int, seed: int
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # of P18
    random, seen = Random(seed), Counter[bool]()
    for number, case in enumerate(SUBJECTS * rounds):
        folder = extracted(case, tmp_path / str(number))
        blobs = sorted(path for path in folder.rglob("*") if path.suffix in (".dat", ".idx"))
        for _ in range(6):
            blob = random.choice(blobs)
            whole = blob.read_bytes()
            blob.write_bytes(mutated(whole, random))
            item, layer = _of(case, blob, folder)
            for time in range(case.times):
                one, other = _by_engine(folder, item, layer, time), _by_reader(folder, item, layer, time)
                assert one == other, (case.name, blob.relative_to(folder), time, one is None, other is None)
                seen[one is None] += 1
            blob.write_bytes(whole)
    assert min(seen.values()) > 20


def mutated(whole: bytes, random: Random) -> bytes:
    """A byte, or a length, is another; or the blob is cut or longer."""
    out = bytearray(whole)
    match random.choice("bbbclfnn"):
        case "b":
            near = random.choice((len(out), min(len(out), 24)))
            at = random.choice((random.randrange(near), len(out) - 1 - random.randrange(min(len(out), 24))))
            out[at] = random.choice((random.randrange(256), out[at] ^ 1 << random.randrange(8), 0))
        case "c":
            return whole[:random.randrange(len(whole))]
        case "l":
            return whole + bytes(random.randrange(1, 9))
        case "f":
            return whole[1:]
        case _:
            at = 4 * random.randrange(max(1, len(out) // 4))
            if at + 4 <= len(out):
                (value,) = struct.unpack_from("<i", out, at)
                other = random.choice((0, -1, 1, min(value + 1, 2**31 - 1), max(value - 1, -2**31), 2**31 - 1))
                struct.pack_into("<i", out, at, other)
    return bytes(out)


def _of(case: Case, blob: Path, folder: Path) -> tuple[Item, int]:
    """Item and layer of a data blob."""
    parts = blob.relative_to(folder).parts
    items = case.made.description.items
    item = next(one for one in items if parts[0].endswith(f"-{one.name}"))
    return item, int(parts[1][1:])


def _by_engine(folder: Path, item: Item, layer: int, time: int) -> bytes | None:
    try:
        found = Dataset.open(str(folder)).map(MapRequest(item.name, time, None if layer < 0 else layer))
    except MdError:
        return None
    return np.ascontiguousarray(found.stored).tobytes()


def _by_reader(folder: Path, item: Item, layer: int, time: int) -> bytes | None:
    try:
        return np.ascontiguousarray(Reader(folder).slice(item.name, layer, time)).tobytes()
    except RefusedError:
        return None
