"""Fixtures and rules of the whole test run: where the shared real files are, and which rule a test carries."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files beside the project; tests that need it say so where it is absent."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip("the real files (../shared/data) are not beside this clone")
    return data
