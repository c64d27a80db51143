"""A recipe is the same thing as JSON, as a command and as Python, and never carries a secret."""

from __future__ import annotations

import json
import pickle
import shlex

import pytest

from mdstudio.engine.errors import UsageError
from mdstudio.engine.storage import redact
from mdstudio.jobs.recipe import Recipe

FULL = Recipe(
    sources=("a file.nc", "b.nc"),
    target="out/waves",
    writer_parameters={"Compression": "ZstdAuto", "GridTileWidth": 64},
    reader_parameters={"DoubleAsFloat": True},
    items=("swh", "mwd,old"),
    grid="rho",
    mode="replace",
    workers=2,
)
SAS = "https://acc.blob.core.windows.net/box/waves?sv=2024&sig=SECRET%3D"


def test_a_recipe_survives_json_and_pickle() -> None:
    assert Recipe.from_json(json.loads(json.dumps(FULL.to_json()))) == FULL
    assert pickle.loads(pickle.dumps(FULL)) == FULL


@pytest.mark.rule("D11")
def test_parameters_are_lists_of_name_and_value() -> None:
    assert FULL.to_json()["writerParameters"] == [
        {"name": "Compression", "value": "ZstdAuto"}, {"name": "GridTileWidth", "value": 64}]
    assert FULL.to_json()["readerParameters"] == [{"name": "DoubleAsFloat", "value": True}]


@pytest.mark.rule("G9")
def test_the_command_of_a_recipe_makes_the_same_recipe() -> None:
    from mdstudio.cli.import_ import recipe_of
    from mdstudio.cli.main import parse

    words = shlex.split(FULL.to_command())
    assert words[0] == "mdstudio"
    assert recipe_of(parse(words[1:])) == FULL


@pytest.mark.rule("G9")
def test_the_python_of_a_recipe_makes_the_same_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    import mdstudio

    taken = []
    monkeypatch.setattr(mdstudio, "import_", taken.append)
    exec(FULL.to_python(), {})
    assert Recipe.from_json(taken[0]) == FULL


def test_no_form_of_a_recipe_shows_a_secret() -> None:
    recipe = Recipe((SAS,), SAS)
    for text in (json.dumps(recipe.to_json()), recipe.to_command(), recipe.to_python(), repr(recipe)):
        assert "SECRET" not in text
        assert "sig=" not in text
        assert "https://acc.blob.core.windows.net/box/waves" in text
    assert recipe.target == SAS  # this process still can use it


@pytest.mark.parametrize(("location", "shown"), [
    ("https://user:pw@host/box?x=1#y", "https://host/box"),
    ("az://account/box/prefix?sig=1", "az://account/box/prefix"),
    ("folder/what?.nc", "folder/what?.nc"),
    ("C:\\data\\a.nc", "C:\\data\\a.nc"),
])
def test_only_addresses_lose_their_query(location: str, shown: str) -> None:
    assert redact(location) == shown


@pytest.mark.parametrize(("data", "says"), [
    ([], "JSON object"),
    ({"target": "x"}, "sources"),
    ({"sources": [], "target": "x"}, "sources"),
    ({"sources": "a.nc", "target": "x"}, "sources"),
    ({"sources": ["a.nc"]}, "target"),
    ({"sources": ["a.nc"], "target": "x", "item": ["a"]}, "'items'"),
    ({"sources": ["a.nc"], "target": "x", "workers": "two"}, "workers"),
    ({"sources": ["a.nc"], "target": "x", "workers": 0}, "from 1"),
    ({"sources": ["a.nc"], "target": "x", "job": "export"}, "export"),
    ({"sources": ["a.nc"], "target": "x", "writerParameters": {"Compression": "LZ4"}}, "writerParameters"),
    ({"sources": ["a.nc"], "target": "x", "readerParameters": [{"name": "A", "value": 1}] * 2}, "A twice"),
])
def test_json_that_is_no_recipe_is_refused_by_name(data: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Recipe.from_json(data)  # type: ignore[arg-type]
