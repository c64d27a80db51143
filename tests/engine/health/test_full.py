"""Level full: every page read and decoded, findings exact to the page, and what cannot be checked said so."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import Cancelled, DamagedDataError, StorageError
from mdstudio.engine.health import Finding, Summary, check
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import BlobStorage, CountingStorage, FolderStorage, RangeRead, Wrapper
from tests.engine.made_datasets import item, item_storage, make, smooth

LAYOUTS = ("SingleTimestep", "MultiTimestep", "TimeSeries")
COMPRESSIONS = ("DeflateFast", "DeflateOptimal", "LZ4", "DeflateOptimalAuto", "ZstdAuto", "ZstdFastAuto")
MADE: dict[str, Path] = {}


@pytest.fixture(autouse=True, scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    MADE["root"] = tmp_path_factory.mktemp("made")
    yield
    MADE.clear()


def dataset(
    folder: Path, layout: Any = "MultiTimestep", compression: str = "ZstdAuto", version: int = 3
) -> FolderStorage:
    """An item of 6 tiles with a corner of no-data, and a layered one, at 5 times."""
    name = f"{layout}-{compression}-{version}"
    if name not in MADE:
        a, b = smooth(5, 1, 20, 35), smooth(5, 2, 20, 35, "float32")
        a[:, :, :16, :16] = -999
        MADE[name] = MADE["root"] / name
        make(MADE[name], {"a": a, "b": b}, item_storage(layout, compression, version=version),
             (item("a", a, no_data=-999), item("b", b, layered=True)))
    shutil.copytree(MADE[name], folder, dirs_exist_ok=True)
    return FolderStorage(folder)


def run(storage: BlobStorage, level: str = "full") -> tuple[list[Finding], Summary]:
    *found, summary = check(storage, level, sleep=lambda seconds: None)
    assert isinstance(summary, Summary)
    return [finding for finding in found if isinstance(finding, Finding)], summary


def data_file(folder: Path, name: str = "001-b") -> Path:
    return sorted((folder / name).rglob("*.dat"))[0]


def damage(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def flip(at: int, bit: int = 0) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]


@pytest.mark.rule("G3", "V1")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("compression", ["None", *COMPRESSIONS])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_whole_dataset_is_clean_and_what_has_no_checksum_is_counted(
    tmp_path: Path, layout: str, compression: str, version: int
) -> None:
    findings, summary = run(dataset(tmp_path, layout, compression, version))
    assert findings == []
    assert summary.status == "clean"
    assert summary.pages_total > 0
    assert summary.pages_checked == (0 if compression == "None" else summary.pages_total)
    if compression != "None" and version == 3:
        assert summary.pages_not_checkable == 0
    else:
        with_no_data = 0 if compression == "None" else sum(1 for _ in empty_pages(tmp_path, layout))
        assert summary.pages_not_checkable == summary.pages_total - with_no_data


def empty_pages(folder: Path, layout: str) -> Iterator[int]:
    dataset = Dataset.open(FolderStorage(folder))
    times = range(0, 5, 3) if layout == "TimeSeries" else range(5)
    for name, layers in (("a", (None,)), ("b", (0, 1))):
        for time in times:
            for layer in layers:
                yield from np.flatnonzero(dataset.pages(name, time, layer).length == 0)


@pytest.mark.rule("C4", "V1")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_whole_buffers_of_early_lz4_are_decoded_and_not_checkable(tmp_path: Path, layout: Any) -> None:
    findings, summary = run(dataset(tmp_path, layout, "LZ4", 1))
    assert findings == []
    assert summary.pages_checked == summary.pages_total > summary.pages_not_checkable > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_byte_is_read_once_in_few_requests(tmp_path: Path, layout: str) -> None:
    counting = CountingStorage(dataset(tmp_path, layout))
    _, summary = run(counting)
    _, index = run(FolderStorage(tmp_path), "index")
    stored = sum(path.stat().st_size for path in tmp_path.rglob("*.dat"))
    assert (counting.requests, counting.bytes_read) == (summary.requests, summary.bytes_read)
    assert summary.bytes_read <= stored + index.bytes_read
    blobs = len(list(tmp_path.rglob("*.dat")))
    assert summary.requests == index.requests + blobs - len(empty_series(tmp_path, layout))


def empty_series(folder: Path, layout: str) -> list[Path]:
    """Blobs of TimeSeries in which every block is no-data."""
    if layout != "TimeSeries":
        return []
    return [path for path in folder.rglob("*.dat") if not any(path.read_bytes())]


@pytest.mark.rule("V1")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_changed_pages_are_named_exactly(tmp_path: Path, layout: str) -> None:
    storage = dataset(tmp_path, layout)
    layer, time = 1, 3
    table = Dataset.open(storage).pages("b", time, layer)
    position = int(np.flatnonzero(table.length)[2])
    path = tmp_path / table.blob_of(position)
    damage(path, flip(int(table.offset[position]) + 3))
    (finding,), summary = run(storage)
    assert (finding.code, finding.item, finding.pages) == ("MD-H070", "b", (int(table.number[position]),))
    assert finding.timesteps == ((3, 4) if layout == "TimeSeries" else (3,))
    assert finding.blob == table.blob_of(position)
    assert finding.permanent
    assert summary.status == "damaged"
    assert summary.pages_checked == summary.pages_total


@pytest.mark.rule("V1")
def test_pages_that_are_damaged_alike_are_one_finding_and_others_another(tmp_path: Path) -> None:
    storage = dataset(tmp_path)
    opened = Dataset.open(storage)
    for time, pages in ((0, (1, 2)), (1, (4,)), (2, (1, 2))):
        table = opened.pages("b", time, 0)
        for page in pages:
            damage(tmp_path / table.blob, flip(int(table.offset[page] + table.length[page]) - 1))
    findings, _ = run(storage)
    assert {(finding.timesteps, finding.pages) for finding in findings} == {((0, 2), (1, 2)), ((1,), (4,))}
    assert {finding.code for finding in findings} == {"MD-H070"}


def with_checksum(page: bytes) -> bytes:
    return page[:-4] + zlib.crc32(page[:-4]).to_bytes(4, "little")


@pytest.mark.rule("C8")
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_page_with_a_right_checksum_that_holds_something_else_is_found(
    tmp_path: Path, layout: str, compression: str
) -> None:
    storage = dataset(tmp_path, layout, compression)
    table = Dataset.open(storage).pages("b", 0, 0)
    position = int(np.flatnonzero(table.length > 8)[0])
    start, end = int(table.offset[position]), int(table.offset[position] + table.length[position])
    change = lambda data: data[:start] + with_checksum(bytes([data[start] ^ 0xFF, *data[start + 1:end]])) + data[end:]  # noqa: E731
    damage(tmp_path / table.blob_of(position), change)
    findings, _ = run(storage)
    damaged = [finding for finding in findings if finding.code == "MD-H071"]
    if not damaged:  # a plain stream may decode to as many other elements; then the hash of its block tells
        assert layout == "MultiTimestep" or not compression.endswith("Auto")
        assert layout != "MultiTimestep" or [finding.code for finding in findings] == ["MD-H072"]
    else:
        assert damaged[0].pages == (int(table.number[position]),)


@pytest.mark.rule("P11")
@pytest.mark.parametrize(("compression", "version"), [("None", 3), ("DeflateFast", 2), ("LZ4", 1)])
def test_a_changed_byte_of_a_group_without_checksums_is_found_by_its_block_id(
    tmp_path: Path, compression: str, version: int
) -> None:
    storage = dataset(tmp_path, "MultiTimestep", compression, version)
    group = data_file(tmp_path)
    size = storage.block_list(group.relative_to(tmp_path).as_posix()).blocks[0].size
    keep_list(group, flip(size + 5))
    findings, summary = run(storage)
    assert findings[0].code in ("MD-H072", "MD-H071")
    assert findings[0].timesteps == (1,)
    assert summary.status == "damaged"


def keep_list(group: Path, change: Callable[[bytes], bytes]) -> None:
    """Change a group of the same length; its block list is still taken for its own (P20)."""
    before = group.read_bytes()
    damage(group, change)
    assert len(group.read_bytes()) == len(before)


@pytest.mark.rule("P11", "P8")
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_a_block_in_the_slot_of_another_timestep_is_found_without_reading_it(tmp_path: Path, compression: str) -> None:
    storage = dataset(tmp_path, "MultiTimestep", compression)
    name = data_file(tmp_path).relative_to(tmp_path).as_posix()
    listed = storage.block_list(name)
    first, second, *rest = [block.id for block in listed.blocks]
    if compression != "None":  # an index of the swapped order
        data = storage.read(name).data
        entries = len(data) - 8 - struct.unpack("<i", data[-8:-4])[0]
        index = np.frombuffer(data[entries:-8], "<i4").reshape(3, -1)[[1, 0, 2]]
        block = index.tobytes() + data[-8:]
        rest[-1] = f"IDX000000000-{hashlib.sha256(block).hexdigest()[:16]}"
        storage.stage_block(name, rest[-1], block)
    storage.commit_blocks(name, [second, first, *rest])
    (finding,), _ = run(storage, "index")
    assert (finding.code, finding.timesteps) == ("MD-H034", (0, 1))


@pytest.mark.rule("P11", "P8")
def test_entries_of_an_index_that_change_places_are_found_by_the_id_of_its_block(tmp_path: Path) -> None:
    storage = dataset(tmp_path)
    group = data_file(tmp_path, "000-a")
    before = group.read_bytes()
    start = len(before) - 8 - struct.unpack("<i", before[-8:-4])[0]
    first, second = struct.unpack_from("<ii", before, start)
    assert first == 0 < second  # a page of no-data and its neighbour of the same shape: each sound in the other's place
    keep_list(group, lambda data: data[:start] + struct.pack("<ii", second, first) + data[start + 8:])
    (finding,), _ = run(storage, "index")
    assert (finding.code, finding.blob) == ("MD-H072", group.relative_to(tmp_path).as_posix())


@pytest.mark.rule("P5", "C4")
def test_pages_of_blobs_whose_index_is_damaged_do_not_count_as_checked(tmp_path: Path) -> None:
    storage = dataset(tmp_path)
    damage(data_file(tmp_path), lambda data: data[:-1] + b"?")
    findings, summary = run(storage)
    assert [finding.code for finding in findings] == ["MD-H033"]
    assert summary.pages_checked == summary.pages_total - 3 * 6


class Later(Wrapper):
    """A storage in which something happens when a request comes for the nth time."""

    def __init__(self, inner: BlobStorage) -> None:
        super().__init__(inner)
        self.act: Callable[[str, str], None] = lambda call, name: None

    def _request(self, call: str, name: str, request: Callable[[], Any]) -> Any:
        self.act(call, name)
        return request()


@pytest.mark.rule("P18")
@pytest.mark.parametrize("restored_at", [1, 2, 3])
@pytest.mark.parametrize("level", ["index", "full"])
@pytest.mark.parametrize("suffix", [".dat", ".idx"])
def test_a_pair_between_its_two_writes_is_looked_at_again_before_it_is_a_finding(
    tmp_path: Path, suffix: str, level: str, restored_at: int
) -> None:
    storage = dataset(tmp_path, "SingleTimestep")
    pairs = [path.with_suffix(suffix) for path in (data_file(tmp_path), data_file(tmp_path, "000-a"))]
    before = [pair.read_bytes() for pair in pairs]
    for pair in pairs:
        damage(pair, lambda data: data[:-8] if suffix == ".dat" else data[:-4] + b"\x01\0\0\0")
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if sum(waited) >= (0.19, 1.19, 99)[restored_at - 1]:
            for pair, data in zip(pairs, before, strict=True):
                pair.write_bytes(data)

    *findings, summary = check(storage, level, sleep=sleep)
    assert isinstance(summary, Summary)
    assert sum(waited) == pytest.approx(0.2 if restored_at == 1 else 1.2)
    assert summary.status == ("damaged" if restored_at == 3 else "clean")
    assert len(findings) == (2 if restored_at == 3 else 0)


@pytest.mark.rule("P18")
def test_a_pair_whose_page_does_not_decode_is_looked_at_again_too(tmp_path: Path) -> None:
    storage = dataset(tmp_path, "SingleTimestep")
    pair = data_file(tmp_path)
    before = pair.read_bytes()
    damage(pair, flip(5))
    *findings, summary = check(storage, "full", sleep=lambda seconds: pair.write_bytes(before) and None)
    assert (findings, summary.status) == ([], "clean")  # type: ignore[union-attr]
    assert summary.pages_checked == summary.pages_total  # type: ignore[union-attr]


@pytest.mark.rule("P16", "T6")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_blob_that_is_rewritten_while_its_pages_are_read_is_read_again(tmp_path: Path, layout: str) -> None:
    storage = Later(dataset(tmp_path, layout))
    blob = data_file(tmp_path)
    name, left = blob.relative_to(tmp_path).as_posix(), [1]

    def act(call: str, requested: str) -> None:
        if call == "read_range" and requested == name and left[0]:
            left[0] -= 1
            listed = storage.inner.block_list(name).blocks
            if listed:
                storage.inner.commit_blocks(name, [block.id for block in listed])
            else:
                storage.inner.write(name, blob.read_bytes())

    storage.act = act
    findings, summary = run(storage)
    assert (findings, left) == ([], [0])
    assert summary.pages_checked == summary.pages_total
    left[0] = 99
    (finding,), _ = run(storage)
    assert (finding.code, finding.permanent) == ("MD-H061", False)


def test_a_storage_that_fails_while_pages_are_read_is_a_finding_that_may_pass(tmp_path: Path) -> None:
    class Failing(Wrapper):
        def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
            if offset == 0 and "001-b/L0001" in name:
                raise StorageError("The disk is on fire.", where=name)
            return super().read_range(name, offset, count, version=version)

    findings, summary = run(Failing(dataset(tmp_path, "SingleTimestep")))
    assert {(finding.code, finding.permanent) for finding in findings} == {("MD-H060", False)}
    assert summary.pages_checked == summary.pages_total - 5 * 6


def test_the_times_of_an_append_that_are_not_listed_yet_are_no_damage(tmp_path: Path) -> None:
    """A variable-step group may hold more columns than the metadata lists: its blocks say how many."""
    for compression in COMPRESSIONS:
        folder = tmp_path / compression
        values = smooth(7, 1, 20, 35)
        make(folder, {"a": values}, item_storage("TimeSeries", compression, fixed_step=False), irregular=True)
        document = json.loads((folder / "dataset.json").read_bytes())
        hours = 3_600_000_000
        document["Times"] |= {"Count": 5, "Runs": [[0, 0, 1], [2 * hours, hours, 4]]}
        (folder / "dataset.json").write_text(json.dumps(document))
        findings, summary = run(FolderStorage(folder))
        assert {finding.code for finding in findings} == {"MD-H050"}  # the third group
        assert summary.pages_checked == summary.pages_total


@pytest.mark.rule("D8")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_data_size_that_is_not_the_listing_is_advice(tmp_path: Path, layout: str) -> None:
    storage = dataset(tmp_path, layout)
    document = json.loads((tmp_path / "dataset.json").read_bytes())
    document["DataSizeBytes"] += 1
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    (finding,), summary = run(storage, "probe")
    assert (finding.code, finding.severity, summary.status) == ("MD-H053", "advice", "advice")
    document["DataSizeBytes"] = None
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    assert run(storage, "probe")[0] == []


def test_metadata_that_speaks_of_far_more_than_is_there_is_one_finding(tmp_path: Path) -> None:
    storage = dataset(tmp_path, "SingleTimestep")
    document = json.loads((tmp_path / "dataset.json").read_bytes())
    document["Times"] |= {"Count": 1_000_000, "Runs": [[0, 1, 1_000_000]]}
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    (finding,), _ = run(storage)
    assert finding.code == "MD-H003"
    document["Times"] |= {"Count": 5, "Runs": [[0, 1, 5]]}
    document["SpatialDomain"] |= {"Rows": 2**16, "Columns": 2**16}
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    assert [finding.code for finding in run(storage)[0]] == ["MD-H011", "MD-H003"]


def test_a_cancel_ends_the_check_of_pages(tmp_path: Path) -> None:
    class Soon(Progress):
        def report(self) -> None:
            if self.done:
                self.cancel()

    with pytest.raises(Cancelled):
        list(check(dataset(tmp_path), "full", Soon()))
    progress = Progress()
    last = list(check(FolderStorage(tmp_path), "full", progress))[-1]
    assert isinstance(last, Summary)
    assert progress.done == progress.total == last.pages_total
    assert progress.unit == "pages"


def test_a_check_of_pages_holds_a_bounded_part_of_a_blob(tmp_path: Path) -> None:
    import tracemalloc

    random = np.random.default_rng(0)
    values = random.integers(-2**31, 2**31, (1, 1, 2600, 4000), np.int32)  # 40 MB that no codec makes smaller
    make(tmp_path, {"a": values}, item_storage("SingleTimestep", "DeflateFast", width=128))
    del values
    tracemalloc.start()
    try:
        _, summary = run(FolderStorage(tmp_path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summary.status == "clean"
    assert summary.bytes_read > 40_000_000
    assert peak < 24 << 20


# ------------------------------------------------------------------------------------------- V1: every bit


def tiny(layout: Any, compression: str, folder: Path) -> tuple[FolderStorage, dict[str, Array]]:
    """A layered item of 4 x 5 cells in tiles of 4, with no-data, at 2 times, and one of floats."""
    a, b = smooth(2, 2, 4, 6), smooth(2, 1, 4, 6, "float32")
    a[:, 0, :, :4] = -5
    values = {"a": a, "b": b}
    make(folder, values, item_storage(layout, compression, width=4, group=2, block_rows=4),
         (item("a", a, no_data=-5, layered=True), item("b", b)))
    return FolderStorage(folder), values


EVERY = pytest.param(1, marks=pytest.mark.long)  # every bit; CI takes one of 61


@pytest.mark.rule("V1", "P10", "T5")
@pytest.mark.parametrize("one_of", [61, EVERY])
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_flipped_bit_of_a_stored_page_is_found_by_a_read_and_by_the_check(
    tmp_path: Path, layout: Any, compression: str, one_of: int
) -> None:
    storage, _ = tiny(layout, compression, tmp_path)
    bits = flipped = 0
    for name, layer in (("a", 0), ("a", 1), ("b", None)):
        for time in (0,) if layout == "TimeSeries" else (0, 1):
            table = Dataset.open(storage).pages(name, time, layer)
            for position in np.flatnonzero(table.length).tolist():
                path = tmp_path / table.blob_of(position)
                before, number = path.read_bytes(), int(table.number[position])
                start, stop = int(table.offset[position]), int(table.offset[position] + table.length[position])
                for at, bit in ((at, bit) for at in range(start, stop) for bit in range(8)):
                    bits += 1
                    if bits % one_of == 0:
                        path.write_bytes(flip(at, bit)(before))
                        assert_found(storage, MapRequest(name, time, layer), table.blob_of(position), number)
                        flipped += 1
                path.write_bytes(before)
    assert flipped == bits // one_of
    assert flipped > 2000 // one_of
    assert run(storage)[1].status == "clean"


def assert_found(storage: FolderStorage, request: MapRequest, blob: str, number: int) -> None:
    opened = Dataset.open(storage)
    opened.sleep = lambda seconds: None
    with pytest.raises(DamagedDataError) as caught:
        opened.map(request)
    assert caught.value.where in (f"{blob} page {number}", f"{blob} block {number}")
    (finding,), summary = run(storage)
    assert (finding.code, finding.blob, finding.pages) == ("MD-H070", blob, (number,))
    assert summary.status == "damaged"
