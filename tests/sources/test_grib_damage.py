"""Damage is reported and counted, never skipped in silence, and refused with Strict; so are false index lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import NotFoundError, SourceError
from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import decoded, message, smooth, temperature, write
from tests.sources.grib_fuzz import sections, subjects

GOOD = [temperature(hour=h, start=280 + h) for h in (0, 6, 12)]


def outcome(path: Path) -> tuple[list[str], list[tuple[str, str, int]]]:
    """The times that could be read, and the notes; each time that is there is read and right."""
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        texts = description.times.texts()
        for step in range(len(texts)):
            got = source.read(description, "2t", slice(step, step + 1), -1, slice(None), slice(None))
            assert np.isnan(got).all() or any(got.ravel().tobytes() == decoded(m).tobytes() for m in GOOD)
        return [t[11:13] for t in texts], [(n.what, n.reason, n.count) for n in source.dropped()]


def refused_when_strict(path: Path, match: str) -> None:
    with pytest.raises(SourceError, match=match) as raised:
        open_source([str(path)], {"Strict": True})
    assert raised.value.where == str(path)


def test_a_whole_file_has_no_notes_also_with_padding_and_strictly(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", [m + bytes(17) for m in GOOD])
    assert outcome(path) == (["00", "06", "12"], [])
    open_source([str(path)], {"Strict": True}).close()


def test_a_file_cut_off_in_a_message(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", [*GOOD[:2], GOOD[2][:-30]])
    times, notes = outcome(path)
    assert times == ["00", "06"]
    offset = len(GOOD[0]) + len(GOOD[1])
    assert notes == [("messages", f"cut off by the end of the file (first: at byte {offset} of a.grib2)", 1)]
    refused_when_strict(path, f"messages cut off by the end of the file .at byte {offset}.")


def test_no_cut_anywhere_is_silent(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.grib2", GOOD[0] + GOOD[1]
    for cut in range(len(GOOD[0]) + 4, len(whole), 5):
        path.write_bytes(whole[:cut])
        with open_source([str(path)]) as source:
            assert len(source.descriptions()[0].times) == 1
            assert sum(n.count for n in source.dropped()) == 1, cut


@pytest.mark.parametrize("cut", [5, 12, 17, 60])
def test_a_file_cut_off_right_behind_the_start_of_a_message(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path / "a.grib2", [GOOD[0], GOOD[1][:cut]])
    times, notes = outcome(path)
    assert times == ["00"]
    assert sum(count for what, _, count in notes if what == "messages") == 1


def test_a_wrong_end_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", [GOOD[0], GOOD[1][:-4] + b"7770", GOOD[2]])
    times, notes = outcome(path)
    assert times == ["00", "12"]
    assert ("messages", "without the mark 7777 at their end", 1) in [(w, r.split(" (first")[0], n) for w, r, n in notes]
    refused_when_strict(path, "without the mark 7777")


def test_a_wrong_length_costs_only_its_own_message(tmp_path: Path) -> None:
    wrong = GOOD[1][:8] + (len(GOOD[1]) + 7).to_bytes(8, "big") + GOOD[1][16:]
    times, notes = outcome(write(tmp_path / "a.grib2", [GOOD[0], wrong, GOOD[2]]))
    assert times == ["00", "12"]
    assert any(what == "messages" for what, _, _ in notes)


def test_bytes_between_messages_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", [b"\1\r\r\n001\r\r\nHRBK30 KWBC 010000\r\r\n", GOOD[0], b"GRIBble", GOOD[1]])
    times, notes = outcome(path)
    assert times == ["00", "06"]
    ((what, reason, count),) = notes
    assert (what, count) == ("bytes", 31 + 7)
    assert reason == "that belong to no message (first: at byte 0 of a.grib2)"
    refused_when_strict(path, "bytes that belong to no message")


def test_sections_that_do_not_fill_the_message(tmp_path: Path) -> None:
    at = GOOD[1].index(b"\0\0\0\x22\4")  # section 4: 34 bytes
    wrong = GOOD[1][:at] + b"\0\0\0\x29\4" + GOOD[1][at + 5:]
    times, notes = outcome(write(tmp_path / "a.grib2", [GOOD[0], wrong, GOOD[2]]))
    assert times == ["00", "12"]
    assert notes[0][1].startswith("whose sections do not add up")


def test_a_date_that_is_none(tmp_path: Path) -> None:
    wrong = bytearray(GOOD[1])
    wrong[16 + 14] = 13  # the month
    path = write(tmp_path / "a.grib2", [GOOD[0], bytes(wrong)])
    times, notes = outcome(path)
    assert times == ["00"]
    assert "not understood: its date 20201301" in notes[0][1]
    refused_when_strict(path, "its date 20201301")


def test_data_that_cannot_be_decoded_gives_no_data_and_is_counted(tmp_path: Path) -> None:
    good = message(smooth(), packing="grid_jpeg")
    wrong = bytearray(message(smooth(start=200), {"dataDate": 20250101}, packing="grid_jpeg"))
    at = wrong.index(b"\xff\x4f\xff\x51")  # the start of the code stream
    wrong[at:at + 4] = bytes(4)
    path = write(tmp_path / "a.grib2", [good, bytes(wrong)])
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        name = description.items[0].name
        got = source.read(description, name, slice(None), -1, slice(None), slice(None))
        again = source.read(description, name, slice(1, 2), -1, slice(None), slice(None))
        notes = [n for n in source.dropped() if "cannot be decoded" in n.reason]
    assert np.isnan(got[1]).all()
    assert not np.isnan(got[0]).any()
    assert np.isnan(again).all()
    assert [n.count for n in notes] == [1]
    with open_source([str(path)], {"Strict": True}) as source, pytest.raises(SourceError, match="cannot be decoded"):
        source.read(description, name, slice(None), -1, slice(None), slice(None))


def test_a_file_that_changes_under_the_reader_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", GOOD)
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        path.write_bytes(bytes(10) + b"".join(GOOD))
        with pytest.raises(SourceError, match="has changed"):
            source.read(description, "2t", slice(0, 1), -1, slice(None), slice(None))


@pytest.mark.parametrize(("content", "error", "match"), [
    (None, NotFoundError, "no such file"), (GOOD[0][:40], SourceError, "cut off"),
    (b"GRIB\0\0\0\3" + bytes(99), SourceError, "not a NetCDF file, it looks like a GRIB file"),
])
def test_what_is_no_grib_file_is_refused(tmp_path: Path, content: bytes | None, error: Any, match: str) -> None:
    path = tmp_path / "a.grib2"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=match):
        open_source([str(path)])


def wgrib2_lines(wrong: int = -1, **change: Any) -> str:
    lines, at = [], 0
    for n, data in enumerate(GOOD):
        offset, hour = at, f"{n * 6:02d}"
        if n == wrong:
            offset, hour = change.get("offset", offset), change.get("hour", hour)
        lines.append(f"{n + 1}:{offset}:d=20200101{hour}:TMP:2 m above ground:anl:\n")
        at += len(data)
    return "".join(lines)


@pytest.mark.rule("R9")
def test_index_lines_that_agree_are_no_matter(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib2", GOOD)
    for name in ("a.grib2.idx", "a.idx"):
        (tmp_path / name).write_text(wgrib2_lines())
        assert outcome(path)[1] == []
        open_source([str(path)], {"Strict": True}).close()
        (tmp_path / name).unlink()
    at = 0
    lines = []
    for n, data in enumerate(GOOD):
        lines.append(json.dumps({"date": "20200101", "time": f"{n * 6:02d}00", "param": "2t", "step": "0",
                                 "_offset": at, "_length": len(data)}))
        at += len(data)
    (tmp_path / "a.index").write_text("\n".join(lines))
    assert outcome(path)[1] == []
    (tmp_path / "a.index").write_text("\n".join(lines).replace('"2t"', '"msl"', 1))
    assert "says the parameter msl" in outcome(path)[1][0][1]


@pytest.mark.rule("R9")
@pytest.mark.parametrize(("lines", "match", "count"), [
    (wgrib2_lines(1, offset=77), "line 2 names a message at byte 77, where there is none", 2),
    (wgrib2_lines(2, hour="18"), "line 3 says the date 2020010118", 1),
    (wgrib2_lines().partition("\n")[2], "lacks the message at byte 0", 1),
    ("\x80\x04 no lines", "is no inventory", 1),
])
def test_index_lines_that_disagree_are_a_warning_and_an_error_in_strict_mode(
        tmp_path: Path, lines: str, match: str, count: int) -> None:
    path = write(tmp_path / "a.grib2", GOOD)
    (tmp_path / "a.grib2.idx").write_text(lines, encoding="latin-1")
    times, ((what, reason, counted),) = outcome(path)
    assert times == ["00", "06", "12"]  # what the file holds is what counts
    assert (what, counted) == ("index lines", count)
    assert match in reason
    refused_when_strict(path, "index lines that disagree")


@pytest.mark.parametrize(("octet", "value"), [(20, 200), (32, 88), (37, 127), (47, 64), (49, 18)])
def test_numbers_of_complex_packing_that_end_the_process_of_eccodes_never_reach_it(
        tmp_path: Path, octet: int, value: int) -> None:
    good = temperature(packing="grid_complex_spatial_differencing")
    at = 16
    while good[at + 4] != 5:
        at += int.from_bytes(good[at:at + 4], "big")
    assert good[at + 9:at + 11] == b"\0\3"
    bad = bytearray(good)
    bad[at + octet - 1] = value
    path = write(tmp_path / "a.grib2", [bytes(bad), temperature(hour=1)])
    with open_source([str(path)]) as source:
        (note,) = [d for d in source.dropped() if d.what == "messages"]
    assert "sections" in note.reason
    assert note.count == 1


@pytest.fixture(scope="module")
def packed() -> dict[str, bytes]:
    return subjects()


@pytest.mark.parametrize(("name", "section", "octet", "value", "match"), [
    ("grid_complex_spatial_differencing 2 bitmap", 5, 36, 20, "packed values"),  # added to each group's width
    ("grid_complex_spatial_differencing 2", 5, 38, 100, "packed values"),  # added to each group's length
    ("grid_second_order 1", 4, 23, 11, "packed values"),  # bits of a length
    ("grid_ccsds 2", 5, 6, 25, "values for 1200 points"),  # 419 million values
    ("grid_jpeg 2", 7, 18, 16, "packed values"),  # rows of the image
    ("grid_jpeg 2", 7, 46, 3, "packed values"),  # components
    ("grid_png 2", 7, 22, 2, "packed values"),  # columns of the image
    ("grid_png 2", 7, 30, 8, "packed values"),  # its depth
    ("grid_png 2", 7, -12, 39, "packed values"),  # the length of its last chunk
])
def test_numbers_that_would_end_the_process_at_decoding_are_damage(
        packed: dict[str, bytes], tmp_path: Path, name: str, section: int, octet: int, value: int, match: str) -> None:
    bad = bytearray(packed[name])
    ((start, stop),) = [(a, b) for number, a, b in sections(packed[name]) if number == section]
    at = (start if octet > 0 else stop) + octet - (octet > 0)
    assert bad[at] != value
    bad[at] = value
    with open_source([str(write(tmp_path / "a.grib", [bytes(bad)]))]) as source:
        (description,) = source.descriptions()
        got = source.read(description, description.items[0].name, slice(None), -1, slice(None), slice(None))
        notes = [note for note in source.dropped() if note.what == "messages"]
    assert np.isnan(got).all()
    assert [note.count for note in notes] == [1]
    assert match in notes[0].reason


def test_whole_messages_of_every_packing_pass_the_checks(packed: dict[str, bytes], tmp_path: Path) -> None:
    for name, data in packed.items():
        if name.startswith("grid_second_order_no_SPD 2"):  # ecCodes writes two values less than there are points
            continue
        with open_source([str(write(tmp_path / "a.grib", [data]))]) as source:
            (description,) = source.descriptions()
            got = source.read(description, description.items[0].name, slice(None), -1, slice(None), slice(None))
            assert [note for note in source.dropped() if note.what == "messages"] == [], name
        assert got.ravel().tobytes() == decoded(data).tobytes(), name
