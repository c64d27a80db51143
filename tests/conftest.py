"""Fixtures of the whole test run: the shared real files and the Azure emulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.azurite import azurite

__all__ = ["azurite"]

settings.register_profile("mdstudio", deadline=None)  # timings decide no test
settings.load_profile("mdstudio")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files beside the project; tests that need it say so where it is absent."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip("the real files (../shared/data) are not beside this clone")
    return data
