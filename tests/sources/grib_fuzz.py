"""Mutated GRIB messages of each packing, read whole in child processes: what ends one of them is a failure.

    python -m tests.sources.grib_fuzz COUNT SEED     prints {"outcomes": {...}, "failures": [...]} as JSON
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from mdstudio.engine.errors import MdError
from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import managed, message, smooth

SECONDS, MEMORY = 10, 4 << 30  # for one message
ROWS, COLUMNS = 30, 40  # ecCodes writes no PNG of few points
PACKINGS = {
    2: ("grid_simple", "grid_ieee", "grid_jpeg", "grid_png", "grid_ccsds", "grid_complex",
        "grid_complex_spatial_differencing", "grid_second_order", "grid_second_order_no_SPD",
        "grid_second_order_no_boustrophedonic", "grid_simple_log_preprocessing"),
    1: ("grid_simple", "grid_ieee", "grid_second_order", "grid_second_order_no_SPD", "grid_second_order_SPD3",
        "grid_second_order_no_boustrophedonic")}
DATA = {1: 4, 2: 7}  # number of the section with the packed values, by edition
Outcome = tuple[str, str]


def subjects() -> dict[str, bytes]:
    """A whole message of each packing, with a bitmap and without."""
    values = smooth(ROWS, COLUMNS)
    grid = {"Ni": COLUMNS, "Nj": ROWS, "latitudeOfLastGridPointInDegrees": 60.0 - 2 * (ROWS - 1),
            "longitudeOfLastGridPointInDegrees": 2.0 + 2 * (COLUMNS - 1)}
    holes = np.arange(values.size) % 7 == 3
    made = {f"{packing} {edition}{' bitmap' * with_holes}": message(
        values, grid, edition=edition, packing=packing, missing=holes if with_holes else None)
        for edition, packings in PACKINGS.items() for packing in packings for with_holes in (False, True)}
    for packing in ("grid_complex", "grid_complex_spatial_differencing"):
        made[f"{packing} managed"] = managed(values, holes.reshape(values.shape), packing)
    return made


def sections(data: bytes) -> list[tuple[int, int, int]]:
    """(number, start, stop) of the sections of a whole message."""
    found, at = [(0, 0, 16 if data[7] == 2 else 8)], 16 if data[7] == 2 else 8
    numbers = iter((1, 2, 4) if data[7] == 1 and not data[15] & 0x40 else (1, 2, 3, 4))
    while at < len(data) - 4:
        size = int.from_bytes(data[at:at + (4 if data[7] == 2 else 3)], "big")
        found.append((data[at + 4] if data[7] == 2 else next(numbers), at, at + size))
        at += size
    return found


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One to three bytes changed, headers as often as data; a PNG's own checksum of its header is right again."""
    out, parts = bytearray(data), sections(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        number, start, stop = rng.choice(parts)
        if number == DATA[data[7]] and rng.random() < 0.5:
            stop = min(stop, start + 64)
        at = rng.randrange(start, stop)
        out[at] = rng.choice((0, 1, 127, 128, 255, out[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
    if (image := bytes(out).find(b"IHDR")) > 0:
        out[image + 17:image + 21] = zlib.crc32(out[image:image + 17]).to_bytes(4, "big")
    return bytes(out)


def read_all(path: str) -> str:
    """How the reading of a file ended."""
    try:
        with open_source([path]) as source:
            for description in source.descriptions():
                for item in description.items:
                    source.read(description, item.name, slice(0, 2), 0, slice(None), slice(None))
            return "damage" if any(note.what == "messages" for note in source.dropped()) else "read"
    except MdError:
        return "refused"


def campaign(count: int, seed: int) -> tuple[Counter[str], list[dict[str, str]]]:
    """A child reads one message after the other; where it ends, the next goes on behind the message that ended it."""
    made, rng = subjects(), random.Random(seed)
    names = [rng.choice(list(made)) for _ in range(count)]
    cases = [(name, mutated(made[name], rng)) for name in names]
    outcomes: Counter[str] = Counter()
    failures: list[dict[str, str]] = []
    done = mmap.mmap(-1, 8)  # how many messages the children have read
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        results.touch()
        at = 0
        while at < count:
            child = os.fork()
            if child == 0:
                _child(cases, at, done, folder)
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            at = int.from_bytes(done[:8], "little")
            if ended:
                name, data = cases[at]
                changes = [(i, b) for i, (a, b) in enumerate(zip(made[name], data, strict=True)) if a != b]
                failures.append({"message": name, "changes": str(changes), "ended": str(ended)})
                at += 1
        outcomes.update(results.read_text().split())
    return outcomes, failures


def _child(cases: list[tuple[str, bytes]], at: int, done: mmap.mmap, folder: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # ecCodes says there what is wrong
    path = os.path.join(folder, "mutated.grib")
    status = 99  # an error that is no MdError
    try:
        with open(os.path.join(folder, "results"), "a", buffering=1) as results:
            for number in range(at, len(cases)):
                done[:8] = number.to_bytes(8, "little")
                Path(path).write_bytes(cases[number][1])
                signal.alarm(SECONDS)
                results.write(read_all(path) + "\n")
            done[:8] = len(cases).to_bytes(8, "little")
            status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    found, ends = campaign(int(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps({"outcomes": found, "failures": ends}))
