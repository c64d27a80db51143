"""The import parameters: the list that is shown, and what is refused (D11)."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.errors import UsageError
from mdstudio.engine.parameters import parameters, parse_parameters


def parse(which: Literal["writer", "reader"] = "writer", **values: Any) -> dict[str, Any]:
    return parse_parameters([{"name": name, "value": value} for name, value in values.items()], which)


@pytest.mark.rule("D11")
def test_every_parameter_is_listed_with_what_it_takes_and_a_description() -> None:
    assert set(parameters("writer")) == {
        "Compression", "StorageType", "TimeGroupSize", "GridTileWidth", "LayoutVersion"}
    assert set(parameters("reader")) == {"DoubleAsFloat", "TimePolicy", "Strict"}
    lists: tuple[Literal["writer", "reader"], ...] = ("writer", "reader")
    for which in lists:
        for parameter in parameters(which).values():
            assert parameter.expected
            assert parameter.description.endswith(".")


@pytest.mark.rule("D13", "D11")
def test_the_compression_offers_every_known_name_and_recommends_one() -> None:
    compression = parameters("writer")["Compression"]
    assert compression.choices == NAMES
    assert compression.recommended == "ZstdAuto"
    assert "recommended ZstdAuto" in compression.takes


@pytest.mark.rule("D11")
def test_the_list_of_the_seed_is_taken() -> None:
    assert parse_parameters([{"name": "Compression", "value": "ZstdAuto"}], "writer") == {"Compression": "ZstdAuto"}
    assert parse_parameters([{"name": "DoubleAsFloat", "value": True}], "reader") == {"DoubleAsFloat": True}
    assert parse_parameters([], "writer") == {}


@pytest.mark.rule("D11")
@pytest.mark.parametrize(("which", "name", "nearest"), [
    ("writer", "Compresion", "Compression"), ("writer", "compression", "Compression"),
    ("writer", "TileWidth", "GridTileWidth"), ("reader", "DoublesAsFloats", "DoubleAsFloat"),
    ("reader", "Policy", "TimePolicy")])
def test_an_unknown_parameter_is_refused_with_the_nearest_known_name(
    which: Literal["writer", "reader"], name: str, nearest: str
) -> None:
    with pytest.raises(UsageError, match=f"the nearest is {nearest}"):
        parse(which, **{name: 1})


@pytest.mark.rule("D11")
def test_a_parameter_of_the_other_list_is_said_to_be_one() -> None:
    with pytest.raises(UsageError, match="Compression is a writer parameter"):
        parse("reader", Compression="LZ4")


def test_values_come_from_json_or_from_the_text_of_a_command_line() -> None:
    assert parse(GridTileWidth="64", TimeGroupSize="-3") == {"GridTileWidth": 64, "TimeGroupSize": -3}
    assert parse("reader", DoubleAsFloat="True", TimePolicy="fail") == {"DoubleAsFloat": True, "TimePolicy": "fail"}
    assert parse("reader", DoubleAsFloat="no") == {"DoubleAsFloat": False}


@pytest.mark.parametrize(("which", "name", "value", "words"), [
    ("writer", "Compression", "ZstdAut", "Did you mean ZstdAuto"),
    ("writer", "Compression", 5, "one of None, DeflateFast"),
    ("writer", "Compression", "Unknown", "one of None"),
    ("writer", "GridTileWidth", 15, "from 16 to 4096"), ("writer", "GridTileWidth", "wide", "whole number"),
    ("writer", "GridTileWidth", 64.0, "whole number"), ("writer", "GridTileWidth", True, "whole number"),
    ("writer", "GridTileWidth", "٦٤٦٤٦٤", "from 16 to 4096"), ("writer", "GridTileWidth", None, "whole number"),
    ("writer", "TimeGroupSize", "9" * 30, "whole number"), ("writer", "LayoutVersion", 1, "from 2 to 3"),
    ("reader", "DoubleAsFloat", 1, "true or false"), ("reader", "DoubleAsFloat", "maybe", "true or false"),
    ("reader", "TimePolicy", ["fail"], "keep-last, keep-first, fail")])
def test_a_value_that_does_not_fit_is_refused_with_what_would(
    which: Literal["writer", "reader"], name: str, value: object, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse(which, **{name: value})
    assert name in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("values", [
    {"Compression": "LZ4"}, "Compression", [["Compression", "LZ4"]], [{"name": "Compression"}],
    [{"name": 3, "value": 4}], [{"name": "Compression", "value": "LZ4", "extra": 1}]])
def test_what_is_no_list_of_names_and_values_is_refused(values: Any) -> None:
    with pytest.raises(UsageError, match="must be"):
        parse_parameters(values, "writer")


def test_a_parameter_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse_parameters([{"name": "Compression", "value": "LZ4"}] * 2, "writer")
