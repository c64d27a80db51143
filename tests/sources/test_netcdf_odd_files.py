"""Awkward real files: described right or refused rightly, each in a process of its own, nothing on stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources.shared_files import kept_rows

DESCRIBE = """
import json, sys, warnings
warnings.simplefilter("error")
from mdstudio.engine.errors import MdError
from mdstudio.sources.registry import open_source
import threading
out = {}
def work(path):
    try:
        with open_source([path]) as source:
            found = source.descriptions()
            out[path] = [[d.domain.kind, d.domain.rows, d.domain.columns, len(d.times),
                          [f"{i.name}:{i.dtype}:{i.layer_count}" for i in d.items]] for d in found]
            for d in found:
                for item in d.items:
                    source.read(d, item.name, slice(0, 1), item.layer_ids()[-1], slice(None), slice(None))
    except MdError as error:
        out[path] = f"{type(error).__name__}: {error}"
for path in sys.argv[1:]:
    thread = threading.Thread(target=work, args=(path,))  # HDF5 keeps its error printing for each thread
    thread.start()
    thread.join()
print(json.dumps(out))
"""

def describe(*paths: Path) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", DESCRIBE, *map(str, paths)], capture_output=True, text=True,
                          cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("folder", ["odd", "hdf5_filters"])
def test_files_are_described_or_refused_without_a_word_on_stderr(shared_data: Path, folder: str) -> None:
    """What they become is kept in `shared_files.csv`, with that of all other files."""
    refused = {row["entry"]: row["refused"] for row in kept_rows() if row["entry"].startswith(f"{folder}/")}
    found = describe(*(shared_data / entry for entry in refused if not entry.endswith(".mesh")))
    for path, outcome in found.items():
        reason = refused[f"{folder}/{Path(path).name}"]
        assert outcome == f"SourceError: {path}{reason[len(Path(path).name):]}" if reason else isinstance(outcome, list)


@pytest.mark.parametrize("name", ["grid/hgt.nc", "grid/ERA5_DutchCoast.nc", "odd/tmmx_20190121.nc"])
def test_the_same_file_cut_short_is_refused(shared_data: Path, tmp_path: Path, name: str) -> None:
    data = (shared_data / name).read_bytes()
    paths = []
    for n, share in enumerate((0.001, 0.1, 0.5, 0.9, 0.9999)):
        path = tmp_path / f"{n}.nc"
        path.write_bytes(data[:int(len(data) * share)])
        paths.append(path)
    for path, message in describe(*paths).items():
        assert isinstance(message, str), path
        assert message.startswith(f"SourceError: {path}")
