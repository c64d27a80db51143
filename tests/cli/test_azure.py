"""The same commands on a container of blobs, and no secret in anything they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.engine.storage import open_storage
from tests.azurite import ACCOUNT, Azurite
from tests.cli.conftest import Run
from tests.cli.sources import write_waves

pytestmark = [pytest.mark.azure, pytest.mark.rule("G1")]


def test_import_list_inspect_query_check_and_compare_in_a_container(
    azurite: Azurite, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    source = write_waves(tmp_path / "a.nc")
    root = f"az://{ACCOUNT}/{azurite.new_container()}/some"
    dataset = f"{root}/waves"
    made = run("import", source, dataset, "--json", "--quiet", "--set", "Compression=ZstdAuto")
    assert (made.status, made.err) == (0, "")
    assert made.lines[-1]["summary"]["dataset"] == dataset
    assert [d["location"] for d in run("list", root, "--json").document["datasets"]] == [dataset]
    assert run("inspect", dataset, "--json").document["compression"] == "ZstdAuto"
    assert run("query", "map", dataset, "--bbox", "-3,51,2,54", "--explain", "--json").document["requests"] >= 1
    assert run("check", dataset).status == 0
    assert run("compare", dataset, source, "--json", "--quiet").document["equal"] is True
    assert run("import", source, dataset).status == 1
    assert run("inspect", f"{root}/none").status == 10


def test_a_sas_address_works_and_is_never_shown(azurite: Azurite, tmp_path: Path, run: Run) -> None:
    container = azurite.new_container()
    sas = azurite.container_sas(container)
    address = f"{azurite.endpoint}/{container}/waves"
    source = write_waves(tmp_path / "a.nc")
    said = []
    for words in (["import", source, f"{address}?{sas}"], ["list", f"{address}?{sas}"], ["inspect", f"{address}?{sas}"],
                  ["import", source, f"{address}?{sas}"], ["check", f"{address}?{sas}"],
                  ["query", "map", f"{address}?{sas}", "--time", "#99"], ["inspect", f"{address}/none?{sas}"]):
        outcome = run(*words)
        said.append(outcome.status)
        assert "sig=" not in outcome.out + outcome.err
    assert said == [0, 0, 0, 1, 0, 10, 10]


@pytest.mark.parametrize("mode", ["", "--append", "--replace"])
def test_a_sas_that_may_not_write_is_told_and_changes_nothing(
    mode: str, azurite: Azurite, tmp_path: Path, run: Run
) -> None:
    container = azurite.new_container()
    address = f"{azurite.endpoint}/{container}/waves"
    source = write_waves(tmp_path / "a.nc", times=(36, 42) if mode == "--append" else (0, 6))
    writing, reading = (f"{address}?{azurite.container_sas(container, p)}" for p in ("racwdl", "rl"))
    if mode:
        assert run("import", write_waves(tmp_path / "old.nc"), writing, "--quiet").status == 0
    before = {b.name: b for b in open_storage(writing).list_blobs()}
    refused = run("import", source, reading, *([mode] if mode else []))
    assert (refused.status, refused.out) == (11, "")
    assert refused.err.startswith(f"mdstudio: {address}")
    assert "permission" in refused.err
    assert "sig=" not in refused.err
    assert refused.err.count("\n") == 1
    assert {b.name: b for b in open_storage(writing).list_blobs()} == before
