"""The page index: its bytes, how it is read, and what is refused before it sizes a download."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.errors import BlobChangedError, DamagedDataError, LayoutGuardError
from mdstudio.engine.layout.page_index import (
    MAGIC,
    TAIL_BYTES,
    index_block,
    index_bytes,
    parse_index,
    parse_index_block,
    read_group_index,
)
from mdstudio.engine.model import Array
from mdstudio.engine.storage import CountingStorage, FolderStorage


def lengths(*rows: tuple[int, ...]) -> Array:
    return np.array(rows, np.int32)


def limits(*values: int) -> Array:
    return np.array(values, np.int64)


def store(folder: Path, blob: bytes) -> CountingStorage:
    storage = FolderStorage(folder)
    storage.write("g.dat", blob)
    return CountingStorage(storage)


def read(storage: CountingStorage, limit: Array, slots: int = 10, may_be_empty: bool = True) -> Array:
    return read_group_index(storage, "g.dat", limit, max_slots=slots, may_be_empty=may_be_empty).lengths


@pytest.mark.rule("P7", "P8")
def test_an_index_is_one_little_endian_int32_a_page_and_its_block_ends_with_length_and_magic() -> None:
    entries = lengths((3, 0, 70000), (1, 2, 5))
    assert index_bytes(entries) == struct.pack("<6i", 3, 0, 70000, 1, 2, 5)
    assert index_block(entries) == struct.pack("<6i", 3, 0, 70000, 1, 2, 5) + struct.pack("<i", 24) + b"MDPI"


@pytest.mark.rule("P8")
def test_page_p_of_slot_s_is_entry_s_times_pages_plus_p(tmp_path: Path) -> None:
    entries = lengths((3, 4), (5, 6), (7, 1))
    storage = store(tmp_path, bytes(26) + index_block(entries))
    index = read_group_index(storage, "g.dat", limits(9, 9), max_slots=3, may_be_empty=False)
    assert index.lengths.tolist() == entries.tolist()
    assert [index.offsets(slot).tolist() for slot in range(3)] == [[0, 3], [7, 12], [18, 25]]


@pytest.mark.rule("P9")
@pytest.mark.parametrize(("entries", "requests"), [(1022, 2), (1023, 3), (4000, 3)])
def test_the_index_comes_with_the_properties_and_one_read_of_the_tail_or_two(
    tmp_path: Path, entries: int, requests: int
) -> None:
    """1022 entries and the trailer are the last 4 096 bytes exactly."""
    table = np.ones((entries, 1), np.int32)
    storage = store(tmp_path, bytes(entries) + index_block(table))
    assert read(storage, limits(1), slots=entries).tolist() == table.tolist()
    assert storage.requests == requests
    tail = len(index_block(table)) - min(len(index_block(table)), TAIL_BYTES)
    assert storage.bytes_read == min(TAIL_BYTES, entries * 5 + 8) + tail


@pytest.mark.rule("P9", "P14")
def test_both_reads_of_a_long_index_are_pinned_to_one_version(tmp_path: Path) -> None:
    table = np.ones((3000, 1), np.int32)
    inner = FolderStorage(tmp_path)
    blob = bytes(3000) + index_block(table)
    inner.write("g.dat", blob)

    class Rewritten(CountingStorage):
        def _request(self, call, name, request):  # type: ignore[no-untyped-def]
            result = super()._request(call, name, request)
            if self.requests == 2:
                inner.write("g.dat", blob)
            return result

    with pytest.raises(BlobChangedError):
        read(Rewritten(inner), limits(1), slots=3000)


@pytest.mark.rule("P10")
@pytest.mark.parametrize(("table", "data", "message"), [
    (lengths((3, -1)), 2, "claims -1 bytes"),
    (lengths((3, 10)), 13, "claims 10 bytes"),
    (lengths((3, 4)), 8, "add up to 7 bytes; 8 bytes lie before"),
    (lengths((3, 4)), 6, "add up to 7 bytes; 6 bytes lie before"),
    (lengths((0, 0)), 0, "no stored page at all"),
])
def test_lengths_that_cannot_be_right_are_refused(tmp_path: Path, table: Array, data: int, message: str) -> None:
    storage = store(tmp_path, bytes(data) + index_block(table))
    with pytest.raises(DamagedDataError, match=message) as caught:
        read(storage, limits(9, 9))
    assert caught.value.where == "g.dat"


@pytest.mark.rule("P5", "P10")
def test_an_item_without_no_data_has_no_empty_page(tmp_path: Path) -> None:
    storage = store(tmp_path, bytes(3) + index_block(lengths((3, 0))))
    assert read(storage, limits(9, 9)).tolist() == [[3, 0]]
    with pytest.raises(DamagedDataError, match="claims 0 bytes"):
        read(storage, limits(9, 9), may_be_empty=False)


@pytest.mark.rule("P10")
@pytest.mark.parametrize("claim", [0, -8, 4, 12, 88, 2**31 - 8, 2**31 - 1])
def test_a_byte_length_that_cannot_be_right_is_refused_before_it_sizes_a_read(tmp_path: Path, claim: int) -> None:
    """Two pages a step, at most ten steps: multiples of 8 from 8 to 80, and no more than the blob holds."""
    storage = store(tmp_path, bytes(5000) + struct.pack("<i", claim) + MAGIC)
    with pytest.raises(DamagedDataError, match="page index claims"):
        read(storage, limits(9, 9))
    assert storage.bytes_read <= TAIL_BYTES


@pytest.mark.rule("P10")
def test_an_index_longer_than_its_blob_is_refused(tmp_path: Path) -> None:
    storage = store(tmp_path, bytes(10) + struct.pack("<i", 80) + MAGIC)
    with pytest.raises(DamagedDataError, match="claims 80 bytes of a blob of 18"):
        read(storage, limits(9, 9))


@pytest.mark.rule("P10")
@pytest.mark.parametrize("blob", [b"", b"MDPI", bytes(20)])
def test_a_blob_without_an_index_is_refused(tmp_path: Path, blob: bytes) -> None:
    with pytest.raises(DamagedDataError):
        read(store(tmp_path, blob), limits(9))


@pytest.mark.rule("P17")
def test_a_group_whose_index_lies_in_a_blob_of_its_own_is_refused_with_advice(tmp_path: Path) -> None:
    storage = store(tmp_path, bytes(20))
    storage.write("g.idx", bytes(8))
    with pytest.raises(LayoutGuardError, match="import the dataset again"):
        read(storage, limits(9))


@pytest.mark.rule("P10")
def test_an_idx_of_another_length_is_refused() -> None:
    assert parse_index(struct.pack("<2i", 3, 4), limits(9, 9), may_be_empty=False, where="a.idx").tolist() == [3, 4]
    for data in (b"", bytes(4), bytes(9), bytes(12)):
        with pytest.raises(DamagedDataError, match="2 pages need 8"):
            parse_index(data, limits(9, 9), may_be_empty=True, where="a.idx")


@pytest.mark.rule("P10")
def test_an_index_block_of_the_wrong_length_is_refused() -> None:
    block = index_block(lengths((3, 4)))
    with pytest.raises(DamagedDataError, match="not as long as it says"):
        parse_index_block(bytes(8) + block, 7, limits(9, 9), max_slots=9, may_be_empty=True, where="g")
