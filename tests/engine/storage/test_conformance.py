"""The one conformance suite over the folder, Azure and every wrapper."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.engine.storage import BlobStorage, CachingStorage, CountingStorage, FolderStorage, Wrapper, open_storage
from tests.azurite import ACCOUNT, Azurite
from tests.engine.storage.conformance import StorageConformance
from tests.faults.ways import FaultyStorage


class TestFolder(StorageConformance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> BlobStorage:
        return FolderStorage(tmp_path / "root")


class TestWrapper(StorageConformance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> BlobStorage:
        return Wrapper(FolderStorage(tmp_path / "root"))


class TestCounting(StorageConformance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> BlobStorage:
        return CountingStorage(FolderStorage(tmp_path / "root"))


class TestCaching(StorageConformance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> BlobStorage:
        return CachingStorage(FolderStorage(tmp_path / "root"), 1000)


class TestFaultyWithoutAFault(StorageConformance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> BlobStorage:
        return FaultyStorage(FolderStorage(tmp_path / "root"))


@pytest.mark.azure
class TestAzureByConnectionString(StorageConformance):
    @pytest.fixture
    def storage(self, azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> BlobStorage:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
        return open_storage(f"az://{ACCOUNT}/{azurite.new_container()}/some/prefix")


@pytest.mark.azure
class TestAzureBySas(StorageConformance):
    @pytest.fixture
    def storage(self, azurite: Azurite) -> BlobStorage:
        container = azurite.new_container()
        return open_storage(f"{azurite.endpoint}/{container}?{azurite.container_sas(container)}")


@pytest.mark.azure
class TestCachingAzure(StorageConformance):
    """Every wrapper at once, around Azure."""

    @pytest.fixture
    def storage(self, azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> BlobStorage:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
        azure = open_storage(f"az://{ACCOUNT}/{azurite.new_container()}")
        return CachingStorage(CountingStorage(FaultyStorage(azure)), 100_000)


def test_every_storage_keeps_the_protocol(tmp_path: Path) -> None:
    folder = FolderStorage(tmp_path)
    for storage in (folder, Wrapper(folder), CountingStorage(folder), CachingStorage(folder, 1), FaultyStorage(folder)):
        assert isinstance(storage, BlobStorage)
