"""Pages of the documentation that the rules ask for: there, saying what they must, true of the code, and shown."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from mdstudio.cli.parameters import parameter_help
from mdstudio.engine.codecs import DESCRIPTIONS, NAMES
from mdstudio.engine.layout.guards import guards, is_compression_supported, missing_layout_parameter
from mdstudio.engine.model import LAYOUT_CURRENT
from mdstudio.engine.parameters import parameters
from mdstudio.engine.settings import effective_defaults
from mdstudio.resources import resource

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "resources" / "docs" / "compatibility.md"


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """{heading: text} of the page, blanks and line ends made one."""
    parts = re.split(r"^## (.+)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return {head: " ".join(text.split()) for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def steps(text: str) -> list[str]:
    """The numbered steps of a section."""
    found = re.split(r"(?:^| )(\d)\. (?=[A-Z*`])", text)
    assert [int(number) for number in found[1::2]] == list(range(1, len(found) // 2 + 1))
    return found[2::2]


@pytest.mark.rule("V10")
def test_the_order_of_a_roll_out_is_a_page(sections: dict[str, str]) -> None:
    readers, at_once, enable, _ = steps(sections["The order of a roll-out"])
    assert "Readers first" in readers
    assert "every reader" in readers
    assert "at once, writers too" in at_once
    assert "drops them when it saves the metadata" in at_once
    assert "Then enable" in enable
    assert all(variable in enable for variable in (
        "MD_DEFAULT_GRID_COMPRESSION", "MD_DEFAULT_MESH_COMPRESSION", "MD_DEFAULT_TIMESERIES_COMPRESSION"))
    back = sections["The order of a roll-out"].partition("Rolling back.")[2]
    assert "must not write metadata" in back
    assert all(default.value == "None" for default in effective_defaults({}))  # as step 1 says


@pytest.mark.rule("V10")
def test_it_is_shown_where_a_compression_is_chosen() -> None:
    """The form of the window and `import --help` show the description of the parameter."""
    told = parameters("writer")["Compression"].description
    at_once = told.partition(". ")[0]  # what the form shows without being asked
    assert "every reader and writer needs a build that knows it" in at_once
    order = told.partition("Order of a roll-out: ")[2]
    assert order.index("all readers and writers") < order.index("then enable")
    assert "rolled back must not write metadata" in order
    page = re.search(r"\(resources/(\S+\.md)\)", order)
    assert page
    assert resource(page[1]).read_text("utf-8") == PAGE.read_text("utf-8")
    assert " ".join(told.split()) in " ".join(parameter_help({}).split())


@pytest.mark.rule("V14")
def test_extending_compression_to_another_kind_is_described(sections: dict[str, str]) -> None:
    paths, predicate, refusal, version, defaults = steps(sections["Extending compression to another kind of dataset"])
    assert "Read and write path" in paths
    assert is_compression_supported.__name__ in predicate
    assert missing_layout_parameter.__name__ in predicate
    assert "stay unsupported" in refusal
    assert "new version" in version
    assert "LAYOUT_CURRENT" in version
    assert "before a writer runs it" in defaults


@pytest.mark.rule("V14")
def test_the_refusal_test_that_the_page_speaks_of_is_there() -> None:
    text = (ROOT / "tests" / "engine" / "layout" / "test_guards.py").read_text("utf-8")
    assert re.search(r'rule\([^)]*"V7"[^)]*\)[\s\S]{0,900}def test_\w*refuses_its_data', text)


@pytest.mark.rule("C9", "C12")
def test_adding_a_compression_and_why_a_variant_is_an_option_is_described(sections: dict[str, str]) -> None:
    name, codec, tests, rollout = steps(sections["Adding a compression"].partition("**A write-side variant")[0])
    assert "end" in name
    assert "persisted identifier" in name
    assert "registration" in codec
    assert "walks every selectable name" in tests
    assert "Roll it out" in rollout
    variant = sections["Adding a compression"].partition("**A write-side variant ")[2]
    assert variant.startswith("is an option, not a name.**")
    assert "new compatibility boundary" in variant
    assert "parameter that older builds ignore" in variant
    assert set(DESCRIPTIONS) == set(NAMES) == set(parameters("writer")["Compression"].choices)


def test_what_the_page_names_exists() -> None:
    text = PAGE.read_text("utf-8")
    named = set(re.findall(r"`((?:mdstudio|tests|resources)/[\w./]+)(?::(\w+))?`", text))
    assert len(named) > 8
    for path, symbol in named:
        assert (ROOT / path).exists(), path
        if symbol:
            module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
            assert hasattr(module, symbol), f"{path}:{symbol}"
    codes = set(re.findall(r"MD-G\d{3}", text))
    source = Path(importlib.import_module(guards.__module__).__file__ or "").read_text("utf-8")
    assert all(f'"{code}"' in source for code in codes)
    assert str(LAYOUT_CURRENT - 1) in text.partition("`LayoutVersion`: ")[2][:2]  # the version for older readers


def test_links_of_the_documentation_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "resources").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
