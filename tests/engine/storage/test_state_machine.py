"""The local folder against a model of it, over any sequence of calls and of left-overs of killed writes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mdstudio.engine.errors import BlobChangedError, NotFoundError
from mdstudio.engine.storage import MUST_NOT_EXIST, FolderStorage

NAMES = st.sampled_from(["a", "f/a", "f/g.dat", "f.x/CON", "f/g/h:"])
IDS = st.sampled_from(["1", "2", "3"])
DATA = st.sampled_from([b"one", b"two", b"three", b"x" * 100_000])
CONDITIONS = st.sampled_from(["none", "match", "old", "new"])


class FolderAgainstModel(RuleBasedStateMachine):
    """`blobs` holds content, block list and version by name; `staged` the staged blocks by name."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.storage = FolderStorage(self.root)
        self.blobs: dict[str, tuple[bytes, list[tuple[str, bytes]], str]] = {}
        self.staged: dict[str, dict[str, bytes]] = {}
        self.versions: dict[str, list[str]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

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
        self.staged.pop(name, None)

    @rule(name=NAMES, data=st.one_of(DATA, st.just(b"")), kind=CONDITIONS)
    def write(self, name: str, data: bytes, kind: str) -> None:
        arguments, holds = self.condition(name, kind)
        if holds:
            self.made(name, data, [], self.storage.write(name, data, **arguments))
        else:
            with pytest.raises(BlobChangedError):
                self.storage.write(name, data, **arguments)

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

    @rule()
    def restart(self) -> None:
        self.storage = FolderStorage(self.root)

    @rule(name=NAMES, suffix=st.sampled_from([".write", ".commit", ".lock", ".blocks.commit"]), data=DATA)
    def a_killed_write_leaves_something(self, name: str, suffix: str, data: bytes) -> None:
        if name in self.blobs:
            files = self.storage._files(name)
            if suffix.endswith(".commit") and Path(files.pending).exists() and not Path(files.sidecar).exists():
                Path(files.pending).rename(files.sidecar)  # a commit puts the pending list in place before it writes
            Path(files.blob + suffix).write_bytes(data)

    @rule(name=NAMES)
    def a_commit_is_killed_before_its_list_is_in_place(self, name: str) -> None:
        if name in self.blobs and self.blobs[name][1]:
            files = self.storage._files(name)
            Path(files.commit).unlink(missing_ok=True)
            if Path(files.sidecar).exists():
                Path(files.sidecar).rename(files.pending)

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


class TestFolderAgainstModel(FolderAgainstModel.TestCase):  # type: ignore[misc]
    pytestmark = pytest.mark.rule("P19", "P20", "P22", "P25", "P14")
    settings = settings(
        max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


@pytest.mark.long
class TestFolderAgainstModelForLong(FolderAgainstModel.TestCase):  # type: ignore[misc]
    settings = settings(max_examples=2000, stateful_step_count=50, deadline=None)
