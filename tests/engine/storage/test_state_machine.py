"""Every storage against a model of it, over any sequence of calls.

Several writers and readers, appends, re-imports with the same ids, lost answers, failed conditions, abandoned writers
and, in a folder, what killed writes leave.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from azure.storage.blob import ContainerClient
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from mdstudio.engine.errors import BlobChangedError, NotFoundError, RangeError
from mdstudio.engine.layout.multi import commit_list
from mdstudio.engine.storage import (
    MUST_NOT_EXIST,
    BlobStorage,
    CachingStorage,
    CountingStorage,
    FolderStorage,
    write_resolved,
)
from mdstudio.engine.storage.azure import AzureStorage
from mdstudio.engine.storage.names import BlobFiles
from tests.azurite import Azurite
from tests.faults.ways import FaultyStorage, Plan, Way

NAMES = st.sampled_from(["a", "f/a", "f/g.dat", "f.x/CON", "f/g/h:"])
IDS = st.sampled_from(["1", "2", "3"])
DATA = st.sampled_from([b"one", b"two", b"three", b"x" * 100_000])
CONDITIONS = st.sampled_from(["none", "match", "old", "new"])


class AgainstModel(RuleBasedStateMachine):
    """`blobs` holds content, block list and version by name; `staged` the staged blocks by name.

    `handles` are storages of one and the same place, as several jobs have it; one of them does each call.
    """

    staged_is_there = False
    whole_drops_staged = True  # of the emulator not: a whole write leaves staged blocks there

    def __init__(self) -> None:
        super().__init__()
        self.handles = self.opened()
        self.blobs: dict[str, tuple[bytes, list[tuple[str, bytes]], str]] = {}
        self.staged: dict[str, dict[str, bytes]] = {}
        self.versions: dict[str, list[str]] = {}
        self.contents: dict[str, bytes] = {}
        self.turn = 0

    def opened(self) -> list[BlobStorage]:
        raise NotImplementedError

    @property
    def storage(self) -> BlobStorage:
        """The next job's."""
        self.turn += 1
        return self.handles[self.turn % len(self.handles)]

    def is_unsure(self, name: str) -> bool:
        """Whether there are staged blocks of a blob alone, which the emulator takes for a blob in writes and deletes
        (the service does not): no job of ours does either with such a name."""
        return self.staged_is_there and name not in self.blobs and bool(self.staged.get(name))

    def condition(self, name: str, kind: str) -> tuple[dict[str, str], bool]:
        """The arguments of a condition and whether it holds."""
        if kind == "new":
            return {"if_none_match": MUST_NOT_EXIST}, name not in self.blobs
        if kind == "old" and self.versions.get(name):
            old = self.versions[name][0]
            return {"if_match": old}, name in self.blobs and self.blobs[name][2] == old
        if kind == "match" and name in self.blobs:
            return {"if_match": self.blobs[name][2]}, True
        return {}, True

    def made(self, name: str, data: bytes, blocks: list[tuple[str, bytes]], version: str) -> None:
        assert version not in self.versions.setdefault(name, []), "a version was repeated"
        self.versions[name].append(version)
        self.blobs[name] = data, blocks, version
        self.contents[version] = data
        if blocks or self.whole_drops_staged:
            self.staged.pop(name, None)

    @rule(name=NAMES, data=st.one_of(DATA, st.just(b"")), kind=CONDITIONS)
    def write(self, name: str, data: bytes, kind: str) -> None:
        if self.is_unsure(name):
            return
        arguments, holds = self.condition(name, kind)
        if holds:
            self.made(name, data, [], self.storage.write(name, data, **arguments))
        else:
            with pytest.raises(BlobChangedError):
                self.storage.write(name, data, **arguments)

    @rule(name=NAMES, data=DATA, kind=CONDITIONS, way=st.sampled_from([Way.BEFORE, Way.LOST]))
    def write_without_an_answer(self, name: str, data: bytes, kind: str, way: Way) -> None:
        """The blob tells whether the write took effect; a condition that fails is told before an answer can be lost."""
        if self.is_unsure(name):
            return
        arguments, holds = self.condition(name, kind)
        storage = FaultyStorage(self.storage)
        storage.plan = Plan(way, 1)
        if holds:
            self.made(name, data, [], write_resolved(storage, name, data, **arguments))
        elif self.blobs.get(name, (b"",))[0] != data:
            with pytest.raises(BlobChangedError):
                write_resolved(storage, name, data, **arguments)

    @rule(name=NAMES, block_id=IDS, data=DATA, way=st.sampled_from([Way.BEFORE, Way.LOST]))
    def append_without_an_answer(self, name: str, block_id: str, data: bytes, way: Way) -> None:
        """As the layouts commit (P15): kept blocks and a new one, or the same id again."""
        storage = FaultyStorage(self.storage)
        kept = self.blobs[name][1] if name in self.blobs else []
        if name in self.blobs and not kept:
            return
        ids = list(dict.fromkeys([*(i for i, _ in kept), block_id]))
        if way == Way.LOST and ids == [i for i, _ in kept]:
            return  # the list alone does not tell a re-import of other bytes under the same id; the layouts' ids do
        storage.stage_block(name, block_id, data)
        known = {**dict(kept), **self.staged.get(name, {}), block_id: data}
        storage.plan = Plan(way, 1)
        base = self.blobs[name][2] if name in self.blobs else None
        version = commit_list(storage, name, ids, base)
        blocks = [(i, known[i]) for i in ids]
        self.made(name, b"".join(part for _, part in blocks), blocks, version)

    @rule(name=NAMES, of=st.integers(0, 5))
    def read_of_an_old_version(self, name: str, of: int) -> None:
        """It fails, or (a cache) holds what that version held."""
        old = [version for version in self.versions.get(name, ()) if version != self.blobs.get(name, ("", "", ""))[2]]
        if old and name in self.blobs:
            version = old[of % len(old)]
            try:
                found = self.storage.read(name, version=version)
            except BlobChangedError:
                return
            assert (found.data, found.version) == (self.contents[version], version)

    @rule(name=NAMES, offset=st.integers(0, 12), count=st.integers(1, 12))
    def range_of_a_blob(self, name: str, offset: int, count: int) -> None:
        if name in self.blobs:
            data, _, version = self.blobs[name]
            if offset < len(data):
                found = self.storage.read_range(name, offset, count, version=version)
                assert (found.data, found.length) == (data[offset : offset + count], len(data))
            else:
                with pytest.raises(RangeError):
                    self.storage.read_range(name, offset, count)

    @rule()
    def claim(self) -> None:
        with self.handles[0].claimed(), pytest.raises(BlobChangedError), self.handles[-1].claimed():
            raise AssertionError("two jobs hold one place")

    @rule(name=NAMES, block_id=IDS, data=DATA)
    def stage(self, name: str, block_id: str, data: bytes) -> None:
        self.storage.stage_block(name, block_id, data)
        self.staged.setdefault(name, {})[block_id] = data

    @rule(name=NAMES, ids=st.lists(IDS, max_size=4), kind=CONDITIONS)
    def commit(self, name: str, ids: list[str], kind: str) -> None:
        arguments, holds = self.condition(name, kind)
        known = {**dict(self.blobs[name][1] if name in self.blobs else []), **self.staged.get(name, {})}
        if not holds or not set(ids) <= set(known):
            with pytest.raises(BlobChangedError):
                self.storage.commit_blocks(name, ids, **arguments)
            return
        blocks = [(block_id, known[block_id]) for block_id in ids]
        version = self.storage.commit_blocks(name, ids, **arguments)
        self.made(name, b"".join(data for _, data in blocks), blocks, version)

    @rule(name=NAMES, kind=st.sampled_from(["none", "match", "old"]))
    def delete(self, name: str, kind: str) -> None:
        if self.is_unsure(name):
            return
        arguments, holds = self.condition(name, kind)
        if name not in self.blobs:
            with pytest.raises((NotFoundError, BlobChangedError)):
                self.storage.delete(name, **arguments)
        elif not holds:
            with pytest.raises(BlobChangedError):
                self.storage.delete(name, **arguments)
        else:
            self.storage.delete(name, **arguments)
            del self.blobs[name]
            self.staged.pop(name, None)

    @rule(name=NAMES, to=NAMES)
    def copy(self, name: str, to: str) -> None:
        if name in self.blobs:
            data, blocks, _ = self.blobs[name]
            self.made(to, data, blocks, self.storage.copy_from(self.storage, name, to))

    @invariant()
    def everything_reads_as_in_the_model(self) -> None:
        for name, (data, blocks, version) in self.blobs.items():
            read = self.storage.read(name)
            assert (read.data, read.version) == (data, version)
            found = self.storage.block_list(name)
            assert [(block.id, block.size) for block in found.blocks] == [(i, len(b)) for i, b in blocks]
            assert found.version == version
        listed = [(blob.name, blob.length, blob.version) for blob in self.storage.list_blobs()]
        assert listed == sorted((name, len(data), version) for name, (data, _, version) in self.blobs.items())


class FolderAgainstModel(AgainstModel):
    """A folder, plain and through wrappers; what killed writes leave in it, and other programs do to it.

    `lists` holds the block list beside each blob, in force or not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lists: dict[str, list[tuple[str, bytes]]] = {}

    def made(self, name: str, data: bytes, blocks: list[tuple[str, bytes]], version: str) -> None:
        super().made(name, data, blocks, version)
        self.lists[name] = blocks

    def opened(self) -> list[BlobStorage]:
        self.root = tempfile.mkdtemp()
        folder = FolderStorage(self.root)
        return [folder, CountingStorage(FolderStorage(self.root)), CachingStorage(folder, 50_000)]

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def files(self, name: str) -> BlobFiles:
        return FolderStorage(self.root)._files(name)

    @rule()
    def restart(self) -> None:
        """Abandoned writers: nothing that a process holds matters."""
        folder = FolderStorage(self.root)
        self.handles = [folder, CountingStorage(FolderStorage(self.root)), CachingStorage(folder, 50_000)]

    @rule(name=NAMES, suffix=st.sampled_from([".write", ".commit", ".lock", ".blocks.commit"]), data=DATA)
    def a_killed_write_leaves_something(self, name: str, suffix: str, data: bytes) -> None:
        if name in self.blobs:
            files = self.files(name)
            if suffix.endswith(".commit") and Path(files.pending).exists() and not Path(files.sidecar).exists():
                Path(files.pending).rename(files.sidecar)  # a commit puts the pending list in place before it writes
            Path(files.blob + suffix).write_bytes(data)

    @rule(name=NAMES, data=st.sampled_from([b"one", b"two", b"onetwo", b"twoone", b"x" * 100_000]))
    def another_program_puts_a_file_in_its_place(self, name: str, data: bytes) -> None:
        """The list beside it counts for a file of the length that it speaks of, and for no other (P20)."""
        if name not in self.blobs:
            return
        path = Path(self.files(name).blob)
        path.with_name("other~").write_bytes(data)
        path.with_name("other~").replace(path)
        listed, start = self.lists[name], 0
        blocks = []
        for block_id, block in listed if sum(len(block) for _, block in listed) == len(data) else []:
            blocks.append((block_id, data[start : start + len(block)]))
            start += len(block)
        version = FolderStorage(self.root).properties(name).version
        self.blobs[name] = data, blocks, version
        self.versions[name].append(version)
        self.contents[version] = data

    @rule(name=NAMES)
    def a_commit_is_killed_before_its_list_is_in_place(self, name: str) -> None:
        if name in self.blobs and self.blobs[name][1]:
            files = self.files(name)
            Path(files.commit).unlink(missing_ok=True)
            if Path(files.sidecar).exists():
                Path(files.sidecar).rename(files.pending)


class AzureAgainstModel(AgainstModel):
    """The emulator: two jobs, one of them through a cache."""

    whole_drops_staged = False
    staged_is_there = True
    azurite: Azurite
    container: ContainerClient | None = None
    count = 0

    def opened(self) -> list[BlobStorage]:
        if AzureAgainstModel.container is None:
            name = self.azurite.new_container()
            AzureAgainstModel.container = ContainerClient.from_connection_string(
                self.azurite.connection_string, name, retry_total=0
            )
        AzureAgainstModel.count += 1
        prefix = f"place{self.count}"
        return [AzureStorage(self.container, prefix, prefix),
                CachingStorage(AzureStorage(self.container, prefix, prefix), 50_000)]


class TestFolderAgainstModel(FolderAgainstModel.TestCase):  # type: ignore[misc]
    pytestmark = pytest.mark.rule("P19", "P20", "P22", "P25", "P14")
    settings = settings(
        max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


@pytest.mark.long
class TestFolderAgainstModelForLong(FolderAgainstModel.TestCase):  # type: ignore[misc]
    settings = settings(
        max_examples=2000, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


def against_azure(azurite: Azurite, examples: int) -> None:
    AzureAgainstModel.azurite, AzureAgainstModel.container = azurite, None
    try:
        run_state_machine_as_test(
            AzureAgainstModel,
            settings=settings(
                max_examples=examples, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
    finally:
        if AzureAgainstModel.container is not None:
            AzureAgainstModel.container.close()


@pytest.mark.azure
@pytest.mark.rule("P14", "P15", "P16", "D15")
@pytest.mark.parametrize("examples", [6, pytest.param(300, marks=pytest.mark.long)])
def test_azure_against_the_model(azurite: Azurite, examples: int) -> None:
    against_azure(azurite, examples)
