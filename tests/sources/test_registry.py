"""The way in: what is loaded, what is a source, which parameters it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mdstudio.engine.errors import UsageError
from mdstudio.engine.parameters import parameters
from mdstudio.sources.contract import Source
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import one_item


def test_a_netcdf_file_is_a_source(tmp_path: Path) -> None:
    with open_source([str(one_item(tmp_path / "a.nc"))]) as source:
        assert isinstance(source, Source)


@pytest.mark.rule("D11")
@pytest.mark.parametrize(("given", "message"), [
    ({"DoubelAsFloat": True}, "nearest is DoubleAsFloat"),
    ({"TimePolicy": "keep"}, "one of keep-last, keep-first, fail"),
    ({"DoubleAsFloat": "perhaps"}, "true or false"),
])
def test_reader_parameters_are_checked_before_a_file_is_opened(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_source(["/nowhere/a.nc"], given)


@pytest.mark.rule("D11", "W4")
def test_every_declared_reader_parameter_takes_its_values(tmp_path: Path) -> None:
    path = str(one_item(tmp_path / "a.nc"))
    for name, parameter in parameters("reader").items():
        for value in parameter.choices or (True, False):
            open_source([path], {name: value}).close()


def test_readers_are_loaded_only_when_a_file_is_opened(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc")
    code = ("import sys\n"
            "from mdstudio.sources.registry import open_source\n"
            "heavy = ('netCDF4', 'pyproj', 'cftime', 'xarray', 'h5py', 'eccodes')\n"
            "assert not [m for m in heavy if m in sys.modules]\n"
            "open_source([sys.argv[1]]).close()\n"
            "assert 'netCDF4' in sys.modules\n"
            "assert not {'pyproj', 'eccodes'} & set(sys.modules), 'a regular grid needs no projection'")
    subprocess.run([sys.executable, "-c", code, str(path)], cwd=Path(__file__).parents[2], check=True)
