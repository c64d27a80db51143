"""The sample dataset: six days of a stormy North Sea, computed, so that nothing has to be fetched.

The source is a NetCDF file like those people have (packed integers, a fill value, descending latitude, depths); the
recipe in `resources/sample.json` makes the dataset of it through the same path as any import.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.jobs.recipe import Recipe
from mdstudio.resources import resource
from mdstudio.targets.files import whole_file

STEPS, STEP_HOURS = 48, 3
DEPTHS = (0.5, 10.0, 30.0, 75.0, 150.0, 400.0)
_FILL16 = np.int16(-32767)
_FILL32 = np.float32(1e20)
_STORMS = (  # start (lon, lat), velocity [degrees / step], depth [hPa], radius [km], hour of its peak
    (-24.0, 52.0, 0.80, 0.17, 46.0, 420.0, 40.0),
    (-40.0, 57.0, 0.95, 0.06, 52.0, 520.0, 92.0),
    (-12.0, 46.5, 0.35, 0.22, 18.0, 260.0, 110.0),
)


def user_data_folder() -> Path:
    """Where the program keeps a user's data, as the platform says."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "mdstudio"


def sample_recipe(folder: Path) -> Recipe:
    """The recipe of `resources/sample.json` with its source and dataset in `folder`."""
    recipe = Recipe.from_json(json.loads(resource("sample.json").read_text(encoding="utf-8")))
    return replace(recipe, sources=tuple(str(folder / s) for s in recipe.sources), target=str(folder / recipe.target))


def write_sample_source(path: Path) -> None:
    """Compute the source file (5 MB, the same numbers every time); it is there whole or not at all."""
    with whole_file(path) as part:
        _write(part)


def _write(path: Path) -> None:
    import netCDF4

    longitude = np.arange(-16, 14, 0.125)
    latitude = np.arange(64, 46, -0.125)
    land = _land(longitude, latitude)
    with netCDF4.Dataset(path, "w") as file:
        file.setncatts({"Conventions": "CF-1.8", "title": "MD Studio sample: six stormy days in the North Sea",
                        "history": "computed; no measurement and no model stands behind these numbers"})
        for name, size in (("time", STEPS), ("depth", len(DEPTHS)), ("latitude", latitude.size),
                           ("longitude", longitude.size)):
            file.createDimension(name, size)
        _axis(file, "time", "i4", np.arange(STEPS) * STEP_HOURS, units="hours since 2024-01-20 00:00:00",
              calendar="standard", standard_name="time", axis="T")
        _axis(file, "depth", "f4", np.array(DEPTHS), units="m", positive="down", standard_name="depth", axis="Z")
        _axis(file, "latitude", "f4", latitude, units="degrees_north", standard_name="latitude", axis="Y")
        _axis(file, "longitude", "f4", longitude, units="degrees_east", standard_name="longitude", axis="X")
        plane = ("time", "latitude", "longitude")
        sst = _variable(file, "sst", "i2", plane, _FILL16, units="degC", standard_name="sea_surface_temperature",
                        long_name="Sea surface temperature", scale_factor=0.001, add_offset=20.0)
        waves = _variable(file, "swh", "f4", plane, _FILL32, units="m", long_name="Significant wave height",
                          standard_name="sea_surface_wave_significant_height")
        wind = _variable(file, "wind_speed", "f4", plane, None, units="m s-1", long_name="Wind speed at 10 m",
                         standard_name="wind_speed")
        deep = _variable(file, "temperature", "i2", ("time", "depth", "latitude", "longitude"), _FILL16, units="degC",
                         long_name="Sea water temperature", standard_name="sea_water_temperature", scale_factor=0.001,
                         add_offset=20.0)
        for step, fields in enumerate(_Sea(longitude, latitude, land)):
            sst[step] = np.where(land, _FILL16, _packed(fields[0]))
            waves[step] = np.where(land, _FILL32, np.round(fields[1], 2).astype(np.float32))
            wind[step] = fields[2].astype(np.float32)
            for layer, (temperature, below) in enumerate(fields[3]):
                deep[step, layer] = np.where(land | below, _FILL16, _packed(temperature))


class _Sea:
    """Each step's fields: sea surface temperature, wave height, wind speed, [(temperature, below ground) a depth]."""

    def __init__(self, longitude: Array, latitude: Array, land: Array) -> None:
        self.x, self.y = np.meshgrid(longitude, latitude)
        self.random = np.random.default_rng(2024)
        self.land = land
        self.open = np.clip(_smooth(1.0 - land, 6), 0.0, 1.0)  # 0 on land, 1 far from it: waves need a fetch
        self.ground = 45 + 160 * self.open + 2200 / (1 + np.exp((self.x + 10.5) / 0.7)) \
            + 1400 / (1 + np.exp((61.8 + (self.x + 6) * 0.12 - self.y) / 0.25)) + 12 * self._eddies(14)
        self.eddies = [self._eddies(9), self._eddies(9)]
        self.gusts = [self._eddies(5), self._eddies(5)]

    def __iter__(self) -> Any:
        warm = 9.3 - 0.30 * (self.y - 54) - 0.17 * np.maximum(self.x + 2, 0) * self.open - 1.2 * (1 - self.open)
        waves = np.full(self.x.shape, 1.2)
        for step in range(STEPS):
            wind = self._wind(step)
            waves += 0.22 * ((0.4 + 0.014 * wind**2) * self.open**0.7 - waves)
            turn = 2 * np.pi * step / STEPS
            eddies = np.cos(turn) * self.eddies[0] + np.sin(turn) * self.eddies[1]
            surface = warm + 0.55 * eddies + 0.12 * np.sin(2 * np.pi * (step * STEP_HOURS - 9) / 24) - 0.01 * wind
            yield surface, np.maximum(waves, 0.05), wind, [self._deep(surface, eddies, depth) for depth in DEPTHS]

    def _wind(self, step: int) -> Array:
        u, v = np.full(self.x.shape, 5.0), np.full(self.x.shape, 1.5)
        for x0, y0, dx, dy, depth, radius, peak in _STORMS:
            east = (self.x - x0 - dx * step) * 111.2 * np.cos(np.radians(self.y))
            north = (self.y - y0 - dy * step) * 111.2
            strength = depth * np.exp(-(((step * STEP_HOURS - peak) / 55.0) ** 2))
            pull = strength / radius * 1.3 * np.exp(-(east**2 + north**2) / (2 * radius**2)) * 260 / radius
            u, v = u - pull * north, v + pull * east
        turn = 2 * np.pi * step / 16
        gusts = np.cos(turn) * self.gusts[0] + np.sin(turn) * self.gusts[1]
        speed: Array = np.hypot(u, v) * (0.62 + 0.38 * self.open) * (1 + 0.06 * gusts)
        return speed

    def _deep(self, surface: Array, eddies: Array, depth: float) -> tuple[Array, Array]:
        mixed = np.exp(-max(0.0, depth - 40.0) / 220.0)
        return surface * mixed + 4.5 * (1 - mixed) + 0.3 * eddies * (1 - mixed), self.ground < depth

    def _eddies(self, size: float) -> Array:
        """Smooth noise of standard deviation 1."""
        noise = _smooth(self.random.standard_normal(self.x.shape), size)
        return (noise - noise.mean()) / noise.std()


def _smooth(field: Array, size: float) -> Array:
    """A Gaussian of `size` cells over a field that is mirrored at its edges."""
    rows, columns = field.shape
    mirrored = np.block([[field, field[:, ::-1]], [field[::-1], field[::-1, ::-1]]])
    decay = [np.exp(-2 * (np.pi * size * np.fft.fftfreq(2 * n)) ** 2) for n in (rows, columns)]
    result: Array = np.fft.ifft2(np.fft.fft2(mirrored) * np.outer(*decay)).real[:rows, :columns]
    return result


def _land(longitude: Array, latitude: Array) -> Array:
    """(latitude, longitude) bool: the cell's centre lies in one of the coast's polygons."""
    x, y = np.meshgrid(longitude, latitude)
    inside = np.zeros(x.shape, bool)
    for corners in json.loads(resource("sample-coast.json").read_text(encoding="utf-8"))["land"].values():
        odd = np.zeros(x.shape, bool)
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            if y0 != y1:
                odd ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
        inside |= odd
    return inside


def _packed(celsius: Array) -> Array:
    return np.round((celsius - 20.0) / 0.001).astype(np.int16)


def _axis(file: Any, name: str, dtype: str, values: Array, **attributes: str) -> None:
    variable = file.createVariable(name, dtype, (name,))
    variable.setncatts(attributes)
    variable[:] = values


def _variable(file: Any, name: str, dtype: str, dims: tuple[str, ...], fill: Any, **attributes: Any) -> Any:
    variable = file.createVariable(name, dtype, dims, zlib=True, complevel=1, shuffle=True,
                                   fill_value=False if fill is None else fill)
    variable.set_auto_maskandscale(False)
    variable.setncatts(attributes)
    return variable
