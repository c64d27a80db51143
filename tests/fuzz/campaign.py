"""Drives the reader and the check over mutated datasets, in a process of its own with a limit on its memory.

`python -m tests.fuzz.campaign LAYOUT COUNT SEED` prints one JSON document: figures, and what went wrong. Every mutated
blob gives an `MdError` that names something, or the same data; nothing else is raised, nothing hangs, no memory is
taken that a header merely claims, and the check calls damaged what the reader refuses.
"""

from __future__ import annotations

import collections
import itertools
import json
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import MdError
from mdstudio.engine.health import Finding, Summary, check
from mdstudio.engine.requests import MapRequest, SeriesRequest
from tests.fuzz.memory import MemoryStorage
from tests.fuzz.mutations import Mutation, mutations
from tests.fuzz.subjects import FORMS, Subject, slice_bytes, subject

SECONDS = 30  # that one mutated dataset may take
HEADROOM = 640 << 20  # bytes of memory beyond what reading the sound dataset takes (2^24 times: 128 MB, twice)
# Fields that say what stored bytes mean: other ones give other values, and no checksum of the document tells.
MEANING = ("NoData", "DataType", "Folder", "Name", "Compression", "LayoutVersion", "StorageType", "Layers", "Kind",
           "Times", "GridTileWidth", "TimeGroupSize", "ItemStorage", "Items", "SpatialDomain", "FixedStep")
_POINTS = ((0.0, 0.0), (5.0, 3.0), (10.0, 7.0))


class Hang(BaseException):
    """A mutated dataset took too long."""


def campaign(layout: str, count: int, seed: int) -> dict[str, Any]:
    """Figures and failures of `count` mutated datasets of a layout, spread over its forms."""
    figures: collections.Counter[str] = collections.Counter()
    failures: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        subjects = [subject(Path(folder, "-".join(map(str, form))), form[0], layout, *form[1:]) for form in FORMS]
    for part in subjects:
        as_it_is = Mutation("dataset.json", part.blobs["dataset.json"], "index", "as it is")
        assert drive(part, as_it_is) == ["same", "clean"]
    limit_memory()
    for number, part in enumerate(subjects):
        share = count // len(subjects) + (number < count % len(subjects))
        for mutation in itertools.islice(mutations(part, seed), share):
            started = time.perf_counter()
            try:
                with within(SECONDS):
                    outcome = drive(part, mutation)
            except BaseException as error:  # whatever comes is what was looked for
                if isinstance(error, KeyboardInterrupt):
                    raise
                text = traceback.format_exception(error)
                failures.append(f"{part.name} {mutation.blob}: {mutation.note}: {''.join(text[-4:])[-900:]}")
                outcome = ["failed"]
            slowest = max(slowest, time.perf_counter() - started)
            figures.update((f"{mutation.kind}: {'/'.join(outcome)}", "mutated"))
            if len(failures) > 40:
                return {"figures": dict(figures), "slowest": round(slowest, 2), "failures": failures}
    return {"figures": dict(sorted(figures.items())), "slowest": round(slowest, 2), "failures": failures}


def limit_memory() -> None:
    """From here on the process may take `HEADROOM` more; a larger allocation is a MemoryError."""
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + HEADROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `Hang` in what takes longer (where the platform has an alarm)."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise Hang(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def drive(part: Subject, mutation: Mutation) -> list[str]:
    """[what the reader said, what the check said]; `AssertionError` where they break the promise."""
    blobs = {**part.blobs}
    data = mutation.bytes
    if data is None:
        del blobs[mutation.blob]
    else:
        blobs[mutation.blob] = data
    storage: Any = MemoryStorage(blobs, part.lists)
    errors, same = _read(storage, part)
    for error in errors:
        assert str(error).strip(), "an error without words"
        assert error.where, f"an error that names nothing: {error!r}"
    checked, findings = _check(storage)
    if errors:
        assert checked != "clean", f"the reader says {errors[0]}; the check says nothing"
    if mutation.kind == "index" and not errors:
        assert same, "other data without an error"
        assert checked != "damaged", f"the check says {findings[0].code}: {findings[0].found}; the reader says nothing"
    if mutation.kind == "document" and not errors and not same:
        assert any(f"{word}" in mutation.note for word in (*MEANING, "random")), "other data without an error"
    if mutation.kind == "bytes" and part.version >= 3 and part.compression != "None" and not errors:
        assert same, "other data without an error"
    return ["refused" if errors else "same" if same else "other", checked]


def _read(storage: Any, part: Subject) -> tuple[list[MdError], bool]:
    """The errors of everything that a reader does, and whether all that came is as it was stored."""
    errors: list[MdError] = []
    same = True
    try:
        dataset = Dataset.open(storage)
    except MdError as error:
        return [error], True
    dataset.sleep = lambda seconds: None
    for name in ("inspect", "sizes"):
        try:
            getattr(dataset, name)()
        except MdError as error:
            errors.append(error)
    for item in dataset.metadata.items[:3]:
        layers = range(len(item.layers))[:4] if item.layers else (None,)
        for layer in layers:
            for time_ in range(len(dataset.metadata.times))[:4]:
                try:
                    found = dataset.map(MapRequest(item.name, time_, layer)).stored
                    same &= slice_bytes(found) == part.values.get((item.name, time_, layer))
                    dataset.map(MapRequest(item.name, time_, layer, (1.0, 1.0, 6.0, 2.0)))
                    table = dataset.pages(item.name, time_, layer)
                    for page in (0, len(table) - 1):
                        dataset.page_details(item.name, time_, layer, page)
                except MdError as error:
                    errors.append(error)
            try:
                dataset.series(SeriesRequest(item.name, _POINTS, layer))
            except MdError as error:
                errors.append(error)
    return errors, same


def _check(storage: Any) -> tuple[str, list[Finding]]:
    """How the check at level full ends, or "refused" with an `MdError`."""
    try:
        *findings, summary = check(storage, "full", sleep=lambda seconds: None)
    except MdError:
        return "refused", []
    assert isinstance(summary, Summary)
    found = [finding for finding in findings if isinstance(finding, Finding)]
    assert len(found) == len(findings) == summary.findings
    json.dumps([finding.found for finding in found])
    return summary.status, [finding for finding in found if finding.severity == "damage"] or found


if __name__ == "__main__":
    warnings.simplefilter("error")
    print(json.dumps(campaign(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])), indent=1))
