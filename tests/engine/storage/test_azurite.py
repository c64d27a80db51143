"""The emulator's fixture says why it cannot be had, and does not let its tests pass unseen in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import azurite


@pytest.fixture
def no_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing installed, and no registry to install from."""
    monkeypatch.setenv("MD_STUDIO_AZURITE", str(tmp_path / "cache" / "azurite"))
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:1/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))


@pytest.mark.usefixtures("no_registry")
def test_its_tests_are_skipped_where_it_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="Azurite cannot be had here: npm"), azurite.running_or_skipped():
        pass
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.usefixtures("no_registry")
def test_its_tests_fail_in_ci_where_it_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="Azurite is needed in CI"), azurite.running_or_skipped():
        pass
