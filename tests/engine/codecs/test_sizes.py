"""Sizes on real data: ratios between codecs on the same tiles, no timings (C5, C7)."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from mdstudio.engine.codecs import codec, new_probe
from mdstudio.engine.model import Hint
from tests.engine.codecs.fields import Array

SMOOTH = (
    ("SMALL_total_column_co2.nc", "tcco2"),
    ("era5_1995-07-14T12.nc", "t2m"),
    ("era5_1995-07-14T12.nc", "sp"),
    ("CMEMS_DutchCoast_2017-10-28.nc", "VHM0"),
    ("CMEMS_DutchCoast_2017-10-28.nc", "VMDR"),
)
QUANTISED = (
    ("hgt.nc", "HGT"),
    ("sst30e_netcdf.nc", "sst"),
    ("cmems_global-analysis-forecast-phy-001-024.nc", "uo"),
)
OTHERS = (
    ("small_rotPole_precipitation.nc", "pr"),
    ("pr_day_HadGEM2-CC_360day_2095.nc", "pr"),
    ("nemo_1m_20150101-20150201_grid-T.nc", "tos"),
    ("small_theta_colpex.nc", "air_potential_temperature"),
    ("test_lcc.nc", "tas"),
)


def tiles_of(data: Path, file: str, name: str) -> tuple[list[Array], float | None]:
    """Tiles of at most 128 x 128 cells of the first slices, and the fill value."""
    with netCDF4.Dataset(data / "grid" / file) as source:
        source.set_auto_maskandscale(False)
        variable = source[name]
        stored = variable[...].astype(variable.dtype.newbyteorder("<"))
        fill = getattr(variable, "_FillValue", None)
    slices = stored.reshape(-1, *stored.shape[-2:])[:31]
    tiles = [
        np.ascontiguousarray(one[row : row + 128, column : column + 128])
        for one in slices
        for row in range(0, one.shape[0], 128)
        for column in range(0, one.shape[1], 128)
    ]
    return tiles, None if fill is None else fill.item()


def stored_bytes(name: str, tiles: list[Array], no_data: float | None, hints: tuple[Hint, ...] = ()) -> int:
    """What the codec takes for the tiles in order, each checked to the bit."""
    probe, total = new_probe(name), 0
    for tile in tiles:
        block, out = codec(name).encode(tile, probe, hints, no_data), np.zeros_like(tile)
        codec(name).decode(block, out)
        assert out.tobytes() == tile.tobytes()
        total += len(block)
    return total


def mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


@pytest.mark.rule("C5")
def test_co2_takes_at_most_082_of_shuffle_and_zlib_4(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiles, fill = tiles_of(shared_data, "SMALL_total_column_co2.nc", "tcco2")
    peer = sum(len(zlib.compress(tile.view(np.uint8).reshape(-1, 2).T.tobytes(), 4)) for tile in tiles)
    ratio = stored_bytes("ZstdAuto", tiles, fill) / peer
    with capsys.disabled():
        print(f"\nSMALL_total_column_co2.nc: ZstdAuto / (shuffle + zlib 4) = {ratio:.3f}")
    assert ratio <= 0.82


@pytest.mark.rule("C7")
def test_the_auto_transforms_keep_their_headline_sizes(shared_data: Path) -> None:
    share: dict[str, list[float]] = {"smooth": [], "quantised": []}
    for label, group in (("smooth", SMOOTH), ("quantised", QUANTISED), ("others", OTHERS)):
        for file, name in group:
            tiles, fill = tiles_of(shared_data, file, name)
            raw = sum(tile.nbytes for tile in tiles)
            plain = stored_bytes("DeflateOptimal", tiles, fill) / raw
            auto = stored_bytes("DeflateOptimalAuto", tiles, fill) / raw
            if label == "others":
                assert auto <= plain + 0.002, f"{name} of {file}"
            else:
                share[label].append(auto / plain)
    assert all(0.52 <= ratio <= 0.80 for ratio in share["smooth"]), share
    assert mean(share["smooth"]) <= 0.70, share
    assert mean(share["quantised"]) <= 0.60, share


@pytest.mark.rule("C7")
def test_zstd_is_within_04_points_of_deflate_on_grid_tiles(shared_data: Path) -> None:
    differences = []
    for file, name in (*SMOOTH, *QUANTISED, *OTHERS):
        tiles, fill = tiles_of(shared_data, file, name)
        raw = sum(tile.nbytes for tile in tiles)
        differences.append(
            (stored_bytes("ZstdAuto", tiles, fill) - stored_bytes("DeflateOptimalAuto", tiles, fill)) / raw
        )
    assert sum(differences) / len(differences) <= 0.004, differences


@pytest.mark.rule("C5")
def test_unpacked_floats_take_what_their_integers_take(shared_data: Path) -> None:
    """With the scale of the source and without, whatever the float type."""
    tiles, _ = tiles_of(shared_data, "SMALL_total_column_co2.nc", "tcco2")
    packed = stored_bytes("ZstdAuto", tiles[:60], None)
    hint = Hint(1, 0.0013179950193703076, 389.63283727841815)
    for dtype in ("float32", "float64"):
        floats = [(tile * hint.scale + hint.offset).astype(dtype) for tile in tiles[:60]]
        assert stored_bytes("ZstdAuto", floats, None, (hint,)) <= packed + 40 * 60
        assert stored_bytes("ZstdAuto", floats, None) <= packed + 40 * 60
