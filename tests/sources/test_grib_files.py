"""Every real GRIB file, large ones too: each slice is bit-equal to ecCodes' own decode of a message, or it is refused.

What each file becomes is kept with that of all others in `shared_files.csv`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import GridDomain, MeshDomain
from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import eccodes
from tests.sources.native import message_counts
from tests.sources.shared_files import kept_rows

REFUSED = {Path(row["entry"]).name: row["refused"] for row in kept_rows() if row["entry"].startswith("grib/")}
REASONS = {"spherical_harmonics.grib": "spherical harmonics: coefficients, no values at places",
           "regular_gg_wrong_increment.grib": "a grid whose 18432 points are not its 64 rows of 192 columns"}


@pytest.mark.rule("W4", "K7")
@pytest.mark.parametrize("name", REFUSED)
def test_every_message_is_read_to_the_bit_as_eccodes_decodes_it_or_refused(shared_data: Path, name: str) -> None:
    """Each slice is one of ecCodes' messages of its time, and each message is one slice."""
    path = shared_data / "grib" / name
    if REFUSED[name]:
        with pytest.raises(SourceError, match=REASONS[name]):
            open_source([str(path)])
        return
    left = message_counts(path)
    count = left.total()
    with open_source([str(path)]) as source:
        for description in source.descriptions():
            assert isinstance(description.domain, GridDomain | MeshDomain)
            absent = sum(n.count for n in description.dropped if "no message" in n.reason)
            for item in description.items:
                for layer in item.layer_ids():
                    for t in range(len(description.times)):
                        got = source.read(description, item.name, slice(t, t + 1), layer, slice(None), slice(None))
                        key = description.times.text(t), hashlib.sha256(got.tobytes()).digest()
                        if key not in left and np.isnan(got).all():
                            absent -= 1
                            continue
                        left[key] -= 1
                        count -= 1
    assert (count, absent) == (0, 0)
    assert not any(left.values())


def test_no_file_of_the_folder_is_left_out(shared_data: Path) -> None:
    assert {p.name for p in (shared_data / "grib").iterdir()} == set(REFUSED)
    assert {name for name, reason in REFUSED.items() if reason} == set(REASONS)


def test_the_two_that_are_refused_are_refused_by_eccodes_too(shared_data: Path) -> None:
    for name in REASONS:
        with (shared_data / "grib" / name).open("rb") as file:
            handle = eccodes.codes_grib_new_from_file(file)
        with pytest.raises(eccodes.CodesInternalError):
            eccodes.codes_get_array(handle, "latitudes")
        eccodes.codes_release(handle)
