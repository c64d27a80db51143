"""Headers alone are read to describe a file, one message at a time is decoded, and memory stays bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.sources.grib import source as grib_source
from mdstudio.sources.grib.library import Header
from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import message, temperature, write

ROOT = Path(__file__).parents[2]
READ = """
import re, sys
from mdstudio.sources.registry import open_source
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) * 1024
open_source([sys.argv[2]]).close()  # ecCodes with its tables
before = peak()
with open_source([sys.argv[1]]) as source:
    (description,) = source.descriptions()
    described = peak() - before
    (item,) = description.items
    for step in range(len(description.times)):
        got = source.read(description, item.name, slice(step, step + 1), -1, slice(None), slice(None))
        assert abs(got[0, 0, 0] - step) < 1 and got.shape == (1, 1000, 1000)
print(description.raw_bytes, described, peak() - before)
"""


def test_describing_decodes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.grib2", [temperature(hour=h) for h in range(5)])
    decoded: list[Any] = []
    original = Header.values
    monkeypatch.setattr(Header, "values", lambda self: decoded.append(self) or original(self))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert not decoded
        for _ in range(3):  # decoded once, kept after that
            source.read(description, "2t", slice(1, 4), -1, slice(0, 2), slice(0, 2))
        assert len(decoded) == 3


def test_few_decoded_fields_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grib_source, "CACHE_BYTES", 2 * 6 * 8 * 8)
    path = write(tmp_path / "a.grib2", [temperature(hour=h, start=280 + h) for h in range(5)])
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        once = source.read(description, "2t", slice(None), -1, slice(None), slice(None))
        assert len(source._decoded) == 2
        again = [source.read(description, "2t", slice(t, t + 1), -1, slice(None), slice(None)) for t in (3, 0, 4, 3)]
    assert all(np.array_equal(a[0], once[t]) for a, t in zip(again, (3, 0, 4, 3), strict=True))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_large_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    values, steps = np.linspace(0, 0.5, 1_000_000), 50
    keys = {"Ni": 1000, "Nj": 1000, "dataDate": 20200101, "dataTime": 0}
    with (tmp_path / "large.grib2").open("wb") as file:
        for step in range(steps):
            file.write(message(values + step, {**keys, "stepRange": str(step)}, bits=8))
    small = write(tmp_path / "small.grib2", [temperature()])
    done = subprocess.run([sys.executable, "-c", READ, str(tmp_path / "large.grib2"), str(small)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    raw, described, grown = map(int, done.stdout.split())
    assert raw == steps * 8_000_000
    assert described < 8 << 20
    assert grown < 130 << 20  # of 400 MB


def test_eccodes_is_loaded_after_pyproj_and_only_for_grib(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", [message(grid="lambert")])
    code = ("import sys\n"
            "import mdstudio.sources.grib\n"
            "from mdstudio.sources.registry import open_source\n"
            "assert not {'eccodes', 'pyproj', 'netCDF4'} & set(sys.modules)\n"
            "open_source([sys.argv[1]]).close()\n"
            "names = list(sys.modules)\n"
            "assert names.index('pyproj') < names.index('eccodes') and 'netCDF4' not in names\n")
    subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, check=True)
