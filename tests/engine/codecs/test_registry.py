"""Names, ordinals, and the walk over every selectable compression (C1, C9)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mdstudio.engine.codecs import (
    DESCRIPTIONS,
    NAMES,
    TRANSFORM_KEYS,
    codec,
    compression_name,
    describe_block,
    is_auto,
    is_known,
    new_probe,
)
from mdstudio.engine.errors import UnknownCompressionError
from tests.engine.codecs.fields import field


@pytest.mark.rule("C1")
def test_the_names_and_their_ordinals_never_change() -> None:
    assert NAMES[:7] == (
        "None",
        "DeflateFast",
        "DeflateOptimal",
        "LZ4",
        "DeflateOptimalAuto",
        "ZstdAuto",
        "ZstdFastAuto",
    )
    assert [compression_name(ordinal) for ordinal in range(7)] == list(NAMES[:7])


@pytest.mark.rule("C1", "V6")
def test_what_this_build_does_not_know_is_kept_as_it_stood() -> None:
    assert [compression_name(value) for value in ("ZstdAuto", "Brotli", 99, -1, "")] == [
        "ZstdAuto",
        "Brotli",
        "99",
        "-1",
        "",
    ]
    for name in ("Brotli", "99", "", "zstdauto", "Unknown"):
        assert not is_known(name)
        assert not is_auto(name)
        with pytest.raises(UnknownCompressionError, match="is not known"):
            codec(name)
        with pytest.raises(UnknownCompressionError):
            describe_block(name, b"")


@pytest.mark.rule("C9")
@pytest.mark.parametrize("name", NAMES)
def test_every_selectable_name_is_complete(name: str) -> None:
    """The round trips and the garbage of the other files run over NAMES as well."""
    assert codec(name).name == name
    assert codec(name) is codec(name)
    assert is_known(name)
    assert DESCRIPTIONS[name].endswith(".")
    assert (new_probe(name) is not None) == is_auto(name) == name.endswith("Auto")
    elements = field("smooth", "int16", (16, 16))
    block = codec(name).encode(elements)
    assert describe_block(name, block).key in TRANSFORM_KEYS


@pytest.mark.rule("C9")
def test_there_is_no_description_without_a_name() -> None:
    assert set(DESCRIPTIONS) == set(NAMES)


@pytest.mark.rule("C5")
def test_any_auto_codec_reads_the_blocks_of_the_others() -> None:
    elements = field("holes", "float32", (40, 40))
    names = [name for name in NAMES if is_auto(name)]
    for writer in names:
        block = codec(writer).encode(elements)
        for reader in names:
            out = np.zeros_like(elements)
            codec(reader).decode(block, out)
            assert out.tobytes() == elements.tobytes()


@pytest.mark.rule("C2", "D9")
@pytest.mark.parametrize("name", NAMES)
def test_one_codec_serves_four_threads(name: str) -> None:
    """zstd contexts that threads shared gave wrong bytes and crashes."""
    fields = [field(kind, "float32", (64, 64), seed) for kind in ("smooth", "holes", "noise") for seed in range(8)]
    alone = [codec(name).encode(one) for one in fields]

    def work(turn: int) -> bool:
        for at in range(len(fields)):
            index = (at + turn) % len(fields)
            block, out = codec(name).encode(fields[index]), np.zeros_like(fields[index])
            codec(name).decode(block, out)
            if block != alone[index] or out.tobytes() != fields[index].tobytes():
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
