"""The parameters of an import have one text, wherever they are shown: `import --help`, the page, the form (D11).

Of the form: `tests/app/shell/test_import_dialog.py`.
"""

from __future__ import annotations

import json
import re

import pytest

from mdstudio.cli.parameters import parameter_help
from mdstudio.engine.parameters import Listed, Parameter, parameters
from mdstudio.engine.settings import DEFAULT_VARIABLES, encode_workers
from mdstudio.resources import resource
from tests.parameter_page import PAGE, page

WHICH: tuple[Listed, ...] = ("writer", "reader", "environment")
ALL = [parameter for which in WHICH for parameter in parameters(which).values()]


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.rule("D11")
def test_the_page_is_what_the_list_makes() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.parameter_page"


@pytest.mark.rule("D11")
@pytest.mark.parametrize("parameter", ALL, ids=lambda p: p.name)
def test_help_and_page_tell_all_of_a_parameter(parameter: Parameter) -> None:
    told = plain(parameter_help({}))
    assert f" {parameter.name} {plain(parameter.takes)} {plain(parameter.description)} " in told
    section = PAGE.read_text("utf-8").partition(f"### {parameter.name}\n")[2].partition("\n#")[0]
    assert parameter.description in section
    rows = dict(re.findall(r"^\| (\w+) \| (.+) \|$", section, re.MULTILINE))
    assert (rows["Type"], rows["Values"], rows["Default"]) == (
        parameter.type, parameter.expected, parameter.default_text)
    assert rows.get("Unit", "") == parameter.unit
    assert tuple(re.findall(r"`(\w+)`", rows.get("Environment", ""))) == parameter.environment


@pytest.mark.rule("D11")
@pytest.mark.parametrize("parameter", ALL, ids=lambda p: p.name)
def test_the_sentence_of_a_parameter_has_each_of_its_facts(parameter: Parameter) -> None:
    facts = [parameter.expected, parameter.unit, f"default: {parameter.default_text}", *parameter.environment,
             str(parameter.recommended or "")]
    assert all(fact in parameter.takes for fact in facts)
    assert parameter.default_text


@pytest.mark.rule("D1", "D9", "D11")
def test_every_variable_of_the_environment_is_listed_and_no_other() -> None:
    assert set(parameters("writer")["Compression"].environment) == set(DEFAULT_VARIABLES.values())
    (workers,) = parameters("environment")
    assert encode_workers({workers: "1"}) == 1
    assert not any(p.environment for p in ALL if p.name != "Compression")


@pytest.mark.rule("D11")
def test_the_list_has_no_field_that_nobody_shows() -> None:
    known = {"name", "for", "type", "choices", "minimum", "maximum", "unit", "default", "otherwise", "recommended",
             "environment", "description"}
    for entry in json.loads(resource("parameters.json").read_text("utf-8")):
        assert set(entry) <= known
        assert ("default" in entry) != ("otherwise" in entry)
