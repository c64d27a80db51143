"""Readers in other processes while datasets grow, are updated and replaced find only values that were written there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.model import Array
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import BlobStorage, open_storage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import create_dataset
from tests.azurite import ACCOUNT, Azurite
from tests.engine.made_datasets import HOUR, Arrays
from tests.faults import reader
from tests.faults.operations import ENVIRON, SUBJECTS, Subject

RULES = pytest.mark.rule("P14", "P16", "P18", "T6", "T9", "W2")


class Writer:
    """Writes to the dataset of a subject, each time another generation of values."""

    def __init__(self, subject: Subject, storage: BlobStorage) -> None:
        self.storage, self.generation = storage, 0
        items = tuple(replace(item, dtype="int32", no_data=None) for item in subject.described.items)
        self.described = replace(subject.described, items=items)
        self.first: Mapping[str, Array] = {name: values[0].astype(np.int32) for name, values in subject.old.items()}
        self.settings = Settings(subject.kept, (), {})
        create_dataset(storage, "made", *self.source([0, 1]), self.settings, Progress(), ENVIRON)

    def source(self, hours: Sequence[int]) -> tuple[Any, Arrays]:
        described = replace(self.described, times=TimeAxis(np.asarray(hours, np.int64) * HOUR))
        return described, Arrays({name: np.stack([reader.value_of(values, hour, self.generation) for hour in hours])
                                  for name, values in self.first.items()})

    def round(self) -> None:
        """Append within a group and beyond, update some and all, replace; remove where that can be."""
        for change, hours in ((append_times, [2]), (append_times, [3, 4]), (update_times, [1, 3]),
                              (update_times, [0, 1, 2, 3, 4]), (remove_times, [2, 4]), (replace_dataset, [0, 1])):
            self.generation += 1
            if change is replace_dataset:
                replace_dataset(self.storage, "made", *self.source(hours), self.settings, Progress(), ENVIRON)
            elif change is not remove_times:
                change(self.storage, *self.source(hours), {}, Progress(), ENVIRON)
            elif self.settings.storage.storage_type == "SingleTimestep":
                remove_times(self.storage, [hour * HOUR for hour in hours])


@contextmanager
def reading(locations: Sequence[str], processes: int) -> Iterator[list[dict[str, Any]]]:
    """Readers of these datasets for as long as the block lasts; then what they tell."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    started = [subprocess.Popen([sys.executable, reader.__file__, *locations], env=environment, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(processes)]
    told: list[dict[str, Any]] = []
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield told
        outputs = [process.communicate("", timeout=120)[0] for process in started]
        assert [process.returncode for process in started] == [0] * processes
        told += map(json.loads, outputs)
    finally:
        for process in started:
            process.kill()
            process.communicate()


def read_while_written(root: str, subjects: Sequence[Subject], rounds: int) -> None:
    writers = [Writer(subject, open_storage(f"{root}/{subject.name}")) for subject in subjects]
    with reading([f"{root}/{subject.name}" for subject in subjects], 2) as told:
        for _ in range(rounds):
            for writer in writers:
                writer.round()
    print(told)
    for of in told:
        assert set(of["raised"]) <= {"BlobChangedError"}, of
        assert of["generations"] > 1, of


@RULES
@pytest.mark.parametrize("rounds", [1, pytest.param(40, marks=pytest.mark.long)])
def test_readers_find_only_what_was_written_in_a_folder(tmp_path: Path, rounds: int) -> None:
    read_while_written(str(tmp_path), SUBJECTS, rounds)


@RULES
@pytest.mark.azure
@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_readers_find_only_what_was_written_in_azure(
    azurite: Azurite, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    read_while_written(f"az://{ACCOUNT}/{azurite.new_container()}", SUBJECTS[:: 1 if rounds > 1 else 5], rounds)
