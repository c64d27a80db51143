"""A session over a real dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mdstudio.app.reading import Reader
from tests.app.views.made import make_dataset
from tests.app.views.opened import Opened


@pytest.fixture
def location(tmp_path: Path) -> str:
    return make_dataset(tmp_path)


@pytest.fixture
def opened(location: str, reader: Reader, qtbot: Any) -> Opened:
    return Opened(location, reader, qtbot)
