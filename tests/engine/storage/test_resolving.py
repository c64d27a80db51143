"""A conditional write whose answer was lost: the blob says whether it took effect, and it is written again if not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mdstudio.engine.errors import BlobChangedError, CommitUncertainError
from mdstudio.engine.storage import MUST_NOT_EXIST, FolderStorage, write_resolved
from tests.faults.ways import FaultyStorage, Plan, Way

pytestmark = pytest.mark.rule("P15")


class Silent(FaultyStorage):
    """Loses the answer of every write; `meanwhile` is what others do before anybody looks."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)
    effect = False

    def write(self, name: str, data: bytes, *, if_match: str | None = None, if_none_match: str | None = None) -> str:
        self.count = getattr(self, "count", 0) + 1
        if self.effect:
            super().write(name, data, if_match=if_match, if_none_match=if_none_match)
        self.meanwhile()
        raise CommitUncertainError("no answer", where=name)


@pytest.fixture
def folder(tmp_path: Path) -> FolderStorage:
    return FolderStorage(tmp_path)


@pytest.mark.parametrize("way", [Way.BEFORE, Way.LOST])
@pytest.mark.parametrize("fresh", [True, False])
def test_one_lost_answer_is_found_out(folder: FolderStorage, way: Way, fresh: bool) -> None:
    conditions = {"if_none_match": MUST_NOT_EXIST} if fresh else {"if_match": folder.write("a", b"old")}
    storage = FaultyStorage(folder)
    storage.plan = Plan(way, 1)
    version = write_resolved(storage, "a", b"new", **conditions)
    assert folder.read("a", version=version).data == b"new"
    assert storage.plan.fired


def test_a_service_that_stays_silent_is_told_after_three_tries(folder: FolderStorage) -> None:
    version = folder.write("a", b"same")
    storage = Silent(folder)
    with pytest.raises(CommitUncertainError):
        write_resolved(storage, "a", b"same", if_match=version)  # the very bytes: only the version can tell
    assert storage.count == 3
    storage.effect = True
    assert write_resolved(storage, "a", b"same", if_match=version) == folder.properties("a").version != version


@pytest.mark.parametrize("effect", [True, False])
@pytest.mark.parametrize("fresh", [True, False])
def test_a_blob_that_another_job_wrote_meanwhile_is_left_alone(
    folder: FolderStorage, fresh: bool, effect: bool
) -> None:
    conditions = {"if_none_match": MUST_NOT_EXIST} if fresh else {"if_match": folder.write("a", b"old")}
    storage = Silent(folder)
    storage.effect, storage.meanwhile = effect, lambda: folder.write("a", b"other")
    with pytest.raises(BlobChangedError):
        write_resolved(storage, "a", b"new", **conditions)
    assert folder.read("a").data == b"other"
