"""The distribution holds the whole package, and the imports go one way."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "mdstudio").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# What a layer may import of the project besides itself; the engine nothing, nothing below `app` Qt (design 1).
ALLOWED = {
    "engine": set(),
    "filters": {"engine"},
    "sources": {"engine", "filters"},
    "targets": {"engine", "filters"},
    "virtual": {"engine", "filters", "sources", "targets"},
    "jobs": {"engine", "filters", "sources", "targets"},
    "cli": {"engine", "filters", "sources", "targets", "jobs", "virtual", "app"},
    "app": {"engine", "filters", "sources", "targets", "jobs", "virtual"},
}


def test_every_folder_with_code_is_listed_as_a_package() -> None:
    folders = {".".join(p.parent.relative_to(ROOT).parts) for p in MODULES if p.name == "__init__.py"}
    assert folders | {"mdstudio_resources"} == set(PROJECT["tool"]["setuptools"]["packages"])


def test_top_level_holds_only_what_the_design_draws() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    allowed = {"pyproject.toml", "README.md", "mdstudio", "tests", "resources", "packaging"}
    assert {name for name in top if not name.startswith(".")} <= allowed


def imports(module: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(module: Path) -> None:
    parts = module.relative_to(ROOT / "mdstudio").parts
    layer = parts[0] if len(parts) > 1 else ""
    for name in imports(module):
        top = name.split(".")
        if top[0] in ("PySide6", "pyqtgraph"):
            assert layer == "app", f"{module} imports {name}"
        if top[0] == "mdstudio" and layer and len(top) > 1 and top[1] in ALLOWED:
            assert top[1] == layer or top[1] in ALLOWED[layer], f"{module} imports {name}"


def test_every_folder_says_what_lives_there() -> None:
    for module in MODULES:
        if module.name == "__init__.py":
            assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))), f"{module} has no docstring"


def test_every_header_of_the_extension_is_listed_and_so_in_the_source_distribution() -> None:
    (extension,) = PROJECT["tool"]["setuptools"]["ext-modules"]
    sources = {path.relative_to(ROOT).as_posix() for path in ROOT.joinpath("mdstudio").rglob("*.[ch]")}
    assert {*extension["sources"], *extension["depends"]} == sources


@pytest.mark.long
def test_an_installed_wheel_finds_its_resources(tmp_path: Path) -> None:
    def run(*words: str | Path, **options: object) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout  # type: ignore[call-overload,no-any-return]

    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "-q", wheel)
    home = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "APPDATA": str(tmp_path)}
    facts = json.loads(run(python, "-m", "mdstudio", "demo", "--no-gui", "--json", cwd=tmp_path, env=home))
    assert facts["kind"] == "grid"
    picture = tmp_path / "window.png"
    run(python, "-m", "mdstudio.app.main", "--grab", picture, "--wait", "1", cwd=tmp_path,
        env={**home, "QT_QPA_PLATFORM": "offscreen"})
    assert picture.stat().st_size > 10_000
