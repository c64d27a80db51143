"""Bad input: each mutated blob gives a clear error or the same data; no crash, no hang, no memory that a header claims.

`packaging/test --long tests/fuzz` runs the whole: 12 000 mutated datasets a layout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.mutations import count_systematic
from tests.fuzz.subjects import FORMS, LAYOUTS, subject

ROOT = Path(__file__).resolve().parents[2]


def run(layout: str, count: int, seed: int) -> dict[str, Any]:
    """The campaign in a process of its own: a crash of it is a failure of the test, not its end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.campaign", layout, str(count), str(seed)], cwd=ROOT, capture_output=True,
        text=True, check=False, env=os.environ | {"MALLOC_ARENA_MAX": "2", "PYTHONFAULTHANDLER": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.rule("P10", "T5", "C8", "V1", "G3")
@pytest.mark.parametrize(("count", "seed"), [(420, 7), pytest.param(12_000, 1, marks=pytest.mark.long)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_mutated_blobs_give_a_clear_error_or_the_same_data(layout: str, count: int, seed: int) -> None:
    result = run(layout, count, seed)
    print(json.dumps(result["figures"], indent=1), result["slowest"])
    assert result["failures"] == []
    assert result["figures"]["mutated"] == count
    assert sum(number for name, number in result["figures"].items() if "refused" in name) > count // 3


def test_the_systematic_mutations_meet_every_byte_of_every_index(tmp_path: Path) -> None:
    for layout in LAYOUTS:
        part = subject(tmp_path / layout, "grid", layout, "ZstdAuto", 3)
        assert count_systematic(part) > 8000
    assert {kind for kind, _, _ in FORMS} == {"grid", "mesh"}
