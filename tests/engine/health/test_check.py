"""The structural check: silent on whole datasets of every layout, and every structural damage by its code."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdstudio.engine.errors import (
    Cancelled,
    LayoutGuardError,
    NotADatasetError,
    NotFoundError,
    StorageError,
    UnknownCompressionError,
    UnsupportedVersionError,
    UsageError,
)
from mdstudio.engine.health import Finding, Summary, check
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import CountingStorage, FolderStorage, RangeRead, Wrapper
from tests.engine.made_datasets import files, item, item_storage, make, smooth

LAYOUTS = ("SingleTimestep", "MultiTimestep", "TimeSeries")
VALUES = {"a": smooth(7, 1, 40, 50), "b": smooth(7, 2, 40, 50, "float32")}


MADE: dict[str, Path] = {}


@pytest.fixture(autouse=True, scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A place for datasets that tests copy: writing one takes longer than checking it."""
    MADE["root"] = tmp_path_factory.mktemp("made")
    yield
    MADE.clear()


def dataset(
    folder: Path, layout: str = "MultiTimestep", compression: str = "ZstdAuto", version: int = 3
) -> FolderStorage:
    """Two items, one of two layers, 7 times, 12 tiles; item a has no-data, and a corner of it."""
    name = f"{layout}-{compression}-{version}"
    if name not in MADE:
        MADE[name] = MADE["root"] / name
        write_dataset(MADE[name], layout, compression, version)
    shutil.copytree(MADE[name], folder, dirs_exist_ok=True)
    return FolderStorage(folder)


def write_dataset(folder: Path, layout: Any, compression: str, version: int) -> None:
    values = {name: part.copy() for name, part in VALUES.items()}
    values["a"][:, :, :16, :16] = -999
    items = (item("a", values["a"], no_data=-999), item("b", values["b"], layered=True))
    kept = item_storage(layout, compression, version=version)
    make(folder, values, kept, items, source=({"file": "/data/a b.nc"},))


def run(storage: Any, level: str = "index") -> tuple[list[Finding], Summary]:
    *found, summary = check(storage, level, sleep=lambda seconds: None)
    assert isinstance(summary, Summary)
    assert summary.findings == len(found)
    findings = [finding for finding in found if isinstance(finding, Finding)]
    assert len(findings) == len(found)
    for finding in findings:
        assert finding.expected
        assert finding.found
        assert finding.advice
    return findings, summary


def codes(storage: Any, level: str = "index") -> list[str]:
    return [finding.code for finding in run(storage, level)[0]]


def data_file(folder: Path, item_name: str = "000-a") -> Path:
    return sorted((folder / item_name).rglob("*.dat"))[0]


@pytest.mark.rule("G3", "P10")
@pytest.mark.parametrize("level", ["probe", "index"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("compression", ["None", "ZstdAuto", "LZ4", "DeflateFast"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_whole_dataset_is_clean(tmp_path: Path, layout: str, compression: str, version: int, level: str) -> None:
    findings, summary = run(dataset(tmp_path, layout, compression, version=version), level)
    assert findings == []
    assert (summary.status, summary.level, summary.pages_checked) == ("clean", level, 0)
    tiles = 12
    steps = 3 * 7  # layers of both items x times
    blocks_a_layer = 3 * sum(-(-cells // 5) for cells in _tile_cells())  # groups x blocks of 5 rows
    assert summary.pages_total == (3 * blocks_a_layer if layout == "TimeSeries" else tiles * steps)


def _tile_cells() -> list[int]:
    return [min(16, 40 - r) * min(16, 50 - c) for r in range(0, 40, 16) for c in range(0, 50, 16)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_irregular_times_and_early_lz4_are_clean_too(tmp_path: Path, layout: Any) -> None:
    values = {"a": smooth(7, 1, 40, 50)}
    make(tmp_path / "x", values, item_storage(layout, fixed_step=False), irregular=True)
    assert codes(FolderStorage(tmp_path / "x")) == []
    make(tmp_path / "y", values, item_storage("SingleTimestep", "LZ4", version=1))
    assert codes(FolderStorage(tmp_path / "y")) == []


@pytest.mark.rule("P9")
def test_a_check_of_the_indexes_reads_no_page(tmp_path: Path) -> None:
    dataset(tmp_path)
    counting = CountingStorage(FolderStorage(tmp_path))
    _, summary = run(counting)
    groups = 3 * 3
    assert counting.requests == summary.requests == 3 + 2 * groups  # metadata, domain, listing; a tail, a block list
    total = sum(path.stat().st_size for path in tmp_path.rglob("*.dat"))
    small = sum(min(4096, path.stat().st_size) for path in tmp_path.rglob("*.dat"))
    fixed = (tmp_path / "dataset.json").stat().st_size + next(tmp_path.glob("domain-*")).stat().st_size
    assert summary.bytes_read == small + fixed < total + fixed
    assert run(FolderStorage(tmp_path), "probe")[1].requests == 3


@pytest.mark.parametrize("level", ["probe", "index"])
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_missing_blob_is_named_with_what_is_lost(tmp_path: Path, layout: str, compression: str, level: str) -> None:
    dataset(tmp_path, layout, compression)
    gone = data_file(tmp_path, "001-b")
    gone.unlink()
    findings, summary = run(FolderStorage(tmp_path), level)
    missing = next(finding for finding in findings if finding.code == "MD-H020")
    assert missing.blob == gone.relative_to(tmp_path).as_posix()
    assert (missing.item, missing.severity, missing.permanent) == ("b", "damage", True)
    assert missing.timesteps == ((0,) if layout == "SingleTimestep" else (0, 1, 2))
    assert missing.lost.startswith("b, layer 0")
    assert missing.lost.endswith("of 7 times")
    assert missing.command == f"mdstudio import '/data/a b.nc' {tmp_path}-again"
    assert summary.status == "damaged"


def damage(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change a blob's bytes with its block list gone stale, as a disk would."""
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.rule("P10", "T5")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("change", "code"), [
    (lambda data: data[:-1], {"SingleTimestep": "MD-H032", "MultiTimestep": "MD-H033", "TimeSeries": "MD-H042"}),
    (lambda data: data + b"\0", {"SingleTimestep": "MD-H032", "MultiTimestep": "MD-H033", "TimeSeries": "MD-H042"}),
    (lambda data: b"", {"SingleTimestep": "MD-H032", "MultiTimestep": "MD-H033", "TimeSeries": "MD-H040"}),
    (lambda data: data[:400] + data[401:],
     {"SingleTimestep": "MD-H032", "MultiTimestep": "MD-H032", "TimeSeries": "MD-H042"}),
])
def test_a_blob_of_another_length_is_found(
    tmp_path: Path, layout: str, change: Callable[[bytes], bytes], code: dict[str, str]
) -> None:
    dataset(tmp_path, layout)
    damage(data_file(tmp_path, "001-b"), change)
    assert codes(FolderStorage(tmp_path)) == [code[layout]]


@pytest.mark.rule("K9")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("change", [lambda data: data[:-2], lambda data: data + b"\0\0"])
def test_uncompressed_data_of_another_length_is_found_at_the_first_level(
    tmp_path: Path, layout: str, change: Callable[[bytes], bytes]
) -> None:
    dataset(tmp_path, layout, "None")
    damage(data_file(tmp_path), change)
    assert codes(FolderStorage(tmp_path), "probe") == ["MD-H022"]


def index_change(at: int, value: int) -> Callable[[bytes], bytes]:
    """Put another length at an entry of an index."""
    return lambda data: data[:4 * at] + struct.pack("<i", value) + data[4 * at + 4:]


@pytest.mark.rule("P7", "P10", "P5")
@pytest.mark.parametrize(("change", "code", "pages"), [
    (index_change(3, -1), "MD-H031", (3,)),
    (index_change(3, 10**6), "MD-H031", (3,)),
    (index_change(3, 17), "MD-H032", ()),
    (lambda data: data[:-4], "MD-H030", ()),
    (lambda data: data + b"\0\0\0\0", "MD-H030", ()),
    (lambda data: b"\0" * len(data), "MD-H036", ()),
])
def test_a_damaged_index_of_a_timestep_is_found_by_its_kind(
    tmp_path: Path, change: Callable[[bytes], bytes], code: str, pages: tuple[int, ...]
) -> None:
    dataset(tmp_path, "SingleTimestep")
    index = data_file(tmp_path).with_suffix(".idx")
    damage(index, change)
    (finding,), _ = run(FolderStorage(tmp_path))
    assert (finding.code, finding.pages, finding.timesteps, finding.item) == (code, pages, (0,), "a")
    assert finding.blob == (index.with_suffix(".dat") if code == "MD-H032" else index).relative_to(tmp_path).as_posix()


@pytest.mark.rule("P5")
def test_a_page_of_no_bytes_is_damage_where_the_item_has_no_no_data(tmp_path: Path) -> None:
    dataset(tmp_path, "SingleTimestep")
    damage(data_file(tmp_path, "001-b").with_suffix(".idx"), index_change(2, 0))
    (finding,), _ = run(FolderStorage(tmp_path))
    assert (finding.code, finding.pages) == ("MD-H031", (2,))


@pytest.mark.rule("P5")
@pytest.mark.parametrize("no_data", [40_000, 0.5, None])
def test_a_no_data_value_that_the_type_cannot_hold_allows_no_empty_page(tmp_path: Path, no_data: float | None) -> None:
    values = {"a": smooth(1, 1, 40, 50)}
    make(tmp_path, values, item_storage("SingleTimestep"), (item("a", values["a"], no_data=no_data),))
    assert codes(FolderStorage(tmp_path)) == []
    damage(data_file(tmp_path).with_suffix(".idx"), index_change(2, 0))
    assert codes(FolderStorage(tmp_path)) == ["MD-H031"]


@pytest.mark.rule("P7")
def test_a_missing_index_is_found(tmp_path: Path) -> None:
    dataset(tmp_path, "SingleTimestep")
    data_file(tmp_path).with_suffix(".idx").unlink()
    assert codes(FolderStorage(tmp_path), "probe") == ["MD-H021"]


def group_parts(data: bytes) -> tuple[bytes, bytes]:
    length = struct.unpack("<i", data[-8:-4])[0]
    return data[:-8 - length], data[-8 - length:-8]


def with_index(make_index: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """The group with another index, its trailer made to fit."""
    def change(data: bytes) -> bytes:
        pages, index = group_parts(data)
        index = make_index(index)
        return pages + index + struct.pack("<i", len(index)) + b"MDPI"

    return change


@pytest.mark.rule("P8", "P10")
@pytest.mark.parametrize(("change", "code", "timesteps", "pages"), [
    (with_index(index_change(12 + 5, -7)), "MD-H031", (1,), (5,)),
    (with_index(index_change(24 + 5, 2**31 - 1)), "MD-H031", (2,), (5,)),
    (with_index(index_change(5, 3)), "MD-H032", (0,), ()),
    (with_index(index_change(29, 3)), "MD-H032", (2,), ()),
    (with_index(lambda index: index[:60] + index[56:60] + index[64:]), "MD-H032", (1,), ()),
    (with_index(lambda index: index[:-4]), "MD-H030", (0, 1, 2), ()),
    (with_index(lambda index: b""), "MD-H030", (0, 1, 2), ()),
    (with_index(lambda index: index * 2), "MD-H030", (0, 1, 2), ()),
    (lambda data: data[:-4] + b"MDPX", "MD-H033", (0, 1, 2), ()),
    (lambda data: data[:-8] + struct.pack("<i", -4) + b"MDPI", "MD-H030", (0, 1, 2), ()),
    (lambda data: data[:-8] + struct.pack("<i", 2**31 - 1) + b"MDPI", "MD-H030", (0, 1, 2), ()),
    (lambda data: data[-5:], "MD-H033", (0, 1, 2), ()),
    (with_index(lambda index: index[:48] + bytes(48) + index[96:]), "MD-H036", (1,), ()),
])
def test_a_damaged_tail_of_a_group_is_found_by_its_kind(
    tmp_path: Path, change: Callable[[bytes], bytes], code: str, timesteps: tuple[int, ...], pages: tuple[int, ...]
) -> None:
    dataset(tmp_path)
    damage(data_file(tmp_path), change)
    (finding,), _ = run(FolderStorage(tmp_path))
    assert (finding.code, finding.timesteps, finding.pages) == (code, timesteps, pages)


@pytest.mark.rule("P8")
def test_a_group_of_too_few_timesteps_names_those_that_are_lost(tmp_path: Path) -> None:
    dataset(tmp_path)

    def shorten(data: bytes) -> bytes:
        pages, index = group_parts(data)
        kept = np.frombuffer(index[:-48], "<i4").sum()
        return with_index(lambda _: index[:-48])(pages[:kept] + data[len(pages):])

    damage(data_file(tmp_path), shorten)
    (finding,), _ = run(FolderStorage(tmp_path))
    assert (finding.code, finding.timesteps) == ("MD-H035", (2,))


@pytest.mark.rule("P8", "P10")
def test_lengths_that_add_up_in_all_and_not_for_their_timesteps_are_found(tmp_path: Path) -> None:
    dataset(tmp_path)

    def swap(index: bytes) -> bytes:
        lengths = np.frombuffer(index, "<i4").copy()
        lengths[3] += 1
        lengths[30] -= 1
        return lengths.tobytes()

    damage(data_file(tmp_path), with_index(swap))
    (finding,), _ = run(FolderStorage(tmp_path))
    assert (finding.code, finding.timesteps) == ("MD-H032", (0, 2))


@pytest.mark.rule("P17")
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_a_group_without_its_block_list_is_advice(tmp_path: Path, compression: str) -> None:
    dataset(tmp_path, "MultiTimestep", compression)
    group = data_file(tmp_path)
    group.with_name(group.name + ".blocks").unlink()
    findings, summary = run(FolderStorage(tmp_path))
    assert [(finding.code, finding.timesteps) for finding in findings] == [("MD-H038", (0, 1, 2))]
    assert summary.status == "advice"
    assert codes(FolderStorage(tmp_path), "probe") == []


@pytest.mark.rule("P17")
def test_a_group_of_the_builds_with_a_separate_index_is_found_as_such(tmp_path: Path) -> None:
    dataset(tmp_path)
    group = data_file(tmp_path)
    group.with_suffix(".idx").write_bytes(group_parts(group.read_bytes())[1])
    damage(group, lambda data: group_parts(data)[0])
    assert codes(FolderStorage(tmp_path)) == ["MD-H037"]


@pytest.mark.rule("P9")
def test_an_index_longer_than_4_kb_is_read_and_checked(tmp_path: Path) -> None:
    make(tmp_path, {"a": smooth(3, 1, 600, 600)}, item_storage("MultiTimestep", width=16))
    data = data_file(tmp_path)
    assert len(group_parts(data.read_bytes())[1]) == 3 * 38 * 38 * 4 > 4096
    assert codes(FolderStorage(tmp_path)) == []
    damage(data, with_index(index_change(0, 1)))
    assert codes(FolderStorage(tmp_path)) == ["MD-H032"]


@pytest.mark.rule("T5")
@pytest.mark.parametrize(("change", "code", "pages"), [
    (index_change(1, -1), "MD-H041", (1,)), (index_change(1, 10**6), "MD-H041", (1,)),
    (index_change(1, 9), "MD-H042", ()), (lambda data: data[:9], "MD-H040", ())])
def test_a_damaged_header_of_a_series_blob_is_found_by_its_kind(
    tmp_path: Path, change: Callable[[bytes], bytes], code: str, pages: tuple[int, ...]
) -> None:
    dataset(tmp_path, "TimeSeries")
    damaged = data_file(tmp_path, "001-b")
    damage(damaged, change)
    (finding,), _ = run(FolderStorage(tmp_path))
    assert (finding.code, finding.pages, finding.timesteps) == (code, pages, (0, 1, 2))
    assert "cells of tile 0" in finding.lost


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {layout: tmp_path_factory.mktemp(layout) for layout in LAYOUTS}
    for layout, folder in folders.items():
        dataset(folder, layout)
    return folders


@pytest.mark.rule("P10", "T5")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.data())
def test_any_changed_bit_of_an_index_is_damage(whole: dict[str, Path], data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(LAYOUTS))
    folder = whole[layout]
    blob = data_file(folder, data.draw(st.sampled_from(["000-a", "001-b"])))
    path = blob.with_suffix(".idx") if layout == "SingleTimestep" else blob
    before = path.read_bytes()
    group = len(group_parts(before)[1]) + 8 if layout == "MultiTimestep" else 0
    index = {"SingleTimestep": len(before), "MultiTimestep": group, "TimeSeries": 4 * 52}[layout]
    start = len(before) - index if layout == "MultiTimestep" else 0
    at = start + data.draw(st.integers(0, index - 1))
    try:
        path.write_bytes(before[:at] + bytes([before[at] ^ 1 << data.draw(st.integers(0, 7))]) + before[at + 1:])
        findings, summary = run(FolderStorage(folder))
    finally:
        path.write_bytes(before)
    assert summary.status == "damaged"
    assert {finding.item for finding in findings} == {"a" if "000-a" in str(path) else "b"}


@pytest.mark.rule("W2")
def test_timesteps_that_an_append_stored_and_did_not_list_are_advice(tmp_path: Path) -> None:
    for compression in ("ZstdAuto", "None"):
        folder = tmp_path / compression
        dataset(folder, "MultiTimestep", compression)
        document = json.loads((folder / "dataset.json").read_bytes())
        document["Times"] |= {"Count": 5, "Runs": [[0, 3_600_000_000, 5]]}
        document["DataSizeBytes"] -= 100  # counted before the append: no finding of its own
        (folder / "dataset.json").write_text(json.dumps(document))
        findings, summary = run(FolderStorage(folder))
        assert sorted({finding.code for finding in findings}) == ["MD-H050", "MD-H051"]
        assert summary.status == "advice"
        assert all(finding.found == "1 more" for finding in findings if finding.code == "MD-H051")


def test_blobs_that_nothing_refers_to_are_advice(tmp_path: Path) -> None:
    storage = dataset(tmp_path)
    storage.write("000-a/L-1/G00000099.dat", b"old")
    storage.write("domain-ffffffffffffffff.bin", b"older")
    findings, summary = run(storage)
    assert [(f.code, f.severity, f.blob, f.item) for f in findings] == [
        ("MD-H050", "advice", "000-a/L-1/G00000099.dat", "a"), ("MD-H050", "advice", "domain-ffffffffffffffff.bin", "")]
    assert summary.status == "advice"


@pytest.mark.parametrize(("blob", "advice"), [
    ("000-a/L-1/G00000099.dat", "Remove it"), ("007-other/L-1/G00000000.dat", "Remove it"),
    ("domain-ffffffffffffffff.bin", "Remove it"), ("thesis.nc", "somebody's own"), ("notes/domain-x.bin", "somebody's"),
])
def test_nobody_is_advised_to_remove_a_file_that_no_import_writes(tmp_path: Path, blob: str, advice: str) -> None:
    storage = dataset(tmp_path)
    storage.write(blob, b"something")
    ((finding,), _) = run(storage)
    assert (finding.code, finding.blob) == ("MD-H050", blob)
    assert advice in finding.advice


def test_a_dataset_below_is_another_dataset(tmp_path: Path) -> None:
    dataset(tmp_path)
    dataset(tmp_path / "below")
    assert codes(FolderStorage(tmp_path)) == []


@pytest.mark.rule("P22", "P25", "P20")
def test_old_left_overs_of_writes_are_advice_and_young_ones_and_finished_commits_are_not(tmp_path: Path) -> None:
    dataset(tmp_path)
    folder = data_file(tmp_path).parent
    (folder / "x.dat.staged").mkdir()
    for name in ("x.dat.write", "y.dat.commit", "y.dat.blocks.commit", "young.write", "G00000000.dat.blocks.commit"):
        (folder / name).write_bytes(b"123")
    for name in ("x.dat.staged", "x.dat.write", "y.dat.commit", "y.dat.blocks.commit", "G00000000.dat.blocks.commit"):
        os.utime(folder / name, (1, 1))
    findings, summary = run(CountingStorage(FolderStorage(tmp_path)), "probe")
    assert {finding.code for finding in findings} == {"MD-H052"}
    assert [finding.blob.rpartition("/")[2] for finding in findings] == [
        "x.dat.write", "y.dat.blocks.commit", "y.dat.commit", "x.dat.staged"]
    assert summary.status == "advice"


def test_a_missing_or_damaged_domain_is_found(tmp_path: Path) -> None:
    dataset(tmp_path)
    domain = next(tmp_path.glob("domain-*.bin"))
    before = domain.read_bytes()
    for damaged in (before[:-1], before[:30] + b"?" + before[31:], b"", b"MDDOMAIN" + before[8:-9]):
        domain.write_bytes(damaged)
        assert codes(FolderStorage(tmp_path), "probe") == ["MD-H011"]
    domain.unlink()
    assert codes(FolderStorage(tmp_path), "probe") == ["MD-H010"]


def test_a_domain_of_another_grid_is_found(tmp_path: Path) -> None:
    dataset(tmp_path)
    make(tmp_path / "other", {"a": smooth(1, 1, 5, 6)}, item_storage("SingleTimestep"))
    domain = next(tmp_path.glob("domain-*.bin"))
    domain.write_bytes(next((tmp_path / "other").glob("domain-*.bin")).read_bytes())
    (finding,), _ = run(FolderStorage(tmp_path), "probe")
    assert finding.code == "MD-H011"
    assert finding.expected == "coordinates of 40 rows and 50 columns"


def test_damaged_metadata_is_one_finding(tmp_path: Path) -> None:
    dataset(tmp_path)
    (tmp_path / "dataset.json").write_text('{"Items": [], "Kind": "Grid"')
    findings, summary = run(FolderStorage(tmp_path))
    assert [finding.code for finding in findings] == ["MD-H001"]
    assert summary.status == "damaged"


def rewrite(folder: Path, **storage: Any) -> FolderStorage:
    document = json.loads((folder / "dataset.json").read_bytes())
    document["ItemStorage"] |= storage
    document["ItemStorage"] = {key: value for key, value in document["ItemStorage"].items() if value is not None}
    (folder / "dataset.json").write_text(json.dumps(document))
    return FolderStorage(folder)


@pytest.mark.rule("V3", "K6")
def test_metadata_that_lost_its_layout_parameter_is_damage_and_its_version_advice(tmp_path: Path) -> None:
    dataset(tmp_path / "series", "TimeSeries")
    findings, summary = run(rewrite(tmp_path / "series", TimeSeriesBlockRows=None, LayoutVersion=None))
    assert [(f.code, f.severity) for f in findings] == [("MD-H002", "damage"), ("MD-H002", "advice")]
    assert summary.status == "damaged"
    dataset(tmp_path / "multi", version=1)
    findings, summary = run(rewrite(tmp_path / "multi", LayoutVersion=None))
    assert [(f.code, f.severity) for f in findings] == [("MD-H002", "advice")]


@pytest.mark.rule("V5", "V6", "V7")
@pytest.mark.parametrize(("storage", "error"), [
    ({"LayoutVersion": 9}, UnsupportedVersionError), ({"Compression": "BrotliAuto"}, UnknownCompressionError),
    ({"StorageType": "Woven"}, LayoutGuardError)])
def test_a_dataset_of_another_build_is_refused_rather_than_called_damaged(
    tmp_path: Path, storage: dict[str, Any], error: type[Exception]
) -> None:
    dataset(tmp_path)
    with pytest.raises(error, match="cannot be checked"):
        list(check(rewrite(tmp_path, **storage), "index"))


def test_where_there_is_no_dataset_there_is_nothing_to_check(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        list(check(FolderStorage(tmp_path / "none")))
    (tmp_path / "x").write_text("x")
    with pytest.raises(NotADatasetError):
        list(check(FolderStorage(tmp_path)))


@pytest.mark.parametrize(("level", "words"), [
    ("meaning", "meaning is not built yet; available are probe, index and full"),
    ("deep", "no level 'deep'; available are probe")])
def test_a_level_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path, level: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check(FolderStorage(tmp_path), level)


class Moody(Wrapper):
    """Fails or changes the answer of ranged reads of one blob."""

    def __init__(self, inner: FolderStorage, act: Callable[[str], None]) -> None:
        super().__init__(inner)
        self.act = act

    def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
        self.act(name)
        return super().read_range(name, offset, count, version=version)


@pytest.mark.rule("P16")
def test_a_group_that_a_commit_changes_meanwhile_is_looked_at_again(tmp_path: Path) -> None:
    storage = dataset(tmp_path)
    name = data_file(tmp_path).relative_to(tmp_path).as_posix()
    blocks = [block.id for block in storage.block_list(name).blocks]
    times = {"left": 1}

    def act(blob: str) -> None:
        if blob == name and times["left"]:
            times["left"] -= 1
            storage.commit_blocks(name, blocks)

    assert codes(Moody(storage, act)) == []
    times["left"] = 5
    (finding,), summary = run(Moody(storage, act))
    assert (finding.code, finding.permanent) == ("MD-H061", False)
    assert summary.status == "damaged"


def test_a_storage_that_fails_is_a_finding_that_may_pass(tmp_path: Path) -> None:
    storage = dataset(tmp_path)

    def act(name: str) -> None:
        if "001-b/L0001" in name:
            raise StorageError("The disk is on fire.", where=name)

    findings, _ = run(Moody(storage, act))
    assert {(finding.code, finding.permanent) for finding in findings} == {("MD-H060", False)}
    assert len(findings) == 3
    assert "on fire" in findings[0].found


def test_a_cancel_ends_the_check(tmp_path: Path) -> None:
    class Soon(Progress):
        def report(self) -> None:
            if self.done == 2:
                self.cancel()

    storage = dataset(tmp_path, "SingleTimestep")
    with pytest.raises(Cancelled):
        list(check(storage, "index", Soon()))


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    storage = dataset(tmp_path)
    before = files(tmp_path)
    run(storage)
    assert files(tmp_path) == before
