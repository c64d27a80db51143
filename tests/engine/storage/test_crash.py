"""A writer killed at any point leaves the old blob or the new one, and the next write goes on from there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.storage import crash


@pytest.mark.rule("P12", "P19", "P20", "P22", "P25")
@pytest.mark.skipif(sys.platform == "win32", reason="forks the writer that it kills")
@pytest.mark.parametrize("scenario", crash.SCENARIOS)
def test_a_writer_killed_at_any_file_operation_leaves_the_old_or_the_new_blob(scenario: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, crash.__file__, scenario, str(tmp_path / "root")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4, "the writer was not killed at each of its operations"
