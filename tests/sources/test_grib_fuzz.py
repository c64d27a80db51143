"""No mutated GRIB message ends the process or hangs it: each is read, damage that is counted, or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.rule("P10", "C8")
@pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")
@pytest.mark.parametrize(("count", "seed"), [(250, 5), pytest.param(12_000, 1, marks=pytest.mark.long)])
def test_mutated_messages_of_every_packing_are_read_or_told(count: int, seed: int) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.sources.grib_fuzz", str(count), str(seed)], cwd=ROOT,
                          capture_output=True, text=True, check=False, env=os.environ | {"MALLOC_ARENA_MAX": "2"})
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    print(found["outcomes"])
    assert found["failures"] == []
    assert sum(found["outcomes"].values()) == count
    assert set(found["outcomes"]) == {"read", "damage", "refused"}
