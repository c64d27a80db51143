"""Pictures on the screen against what matplotlib paints of the same file, read by xarray, in the same frame and size.

Compared is the colour of every pixel of the map; a pixel may show what the oracle shows within one pixel (`oracle`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from mdstudio.app import colormaps
from mdstudio.app.plots import mesh_items
from mdstudio.app.plots.colouring import colourise
from mdstudio.app.plots.mesh_raster import Pixels
from mdstudio.app.plots.overlays import Graticule
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.app.theme import Theme
from mdstudio.app.views.map_view import MapView
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe
from tests.app.plots.oracle import fill_cells, fill_polygons, share_that_differs
from tests.app.views.opened import Opened

SHARED = Path(__file__).parents[4] / "shared" / "data"
WHOLE = 0, 0, 0, 0
RIM = 8  # pixels inside the frame that ticks may cover
LARGEST = 0.002  # share of pixels that may differ: thin tips of triangles, cells of a pixel or two

Oracle = Callable[[Pixels], Array]
"""Values under the pixels, NaN for none."""


@dataclass(frozen=True)
class Case:
    """A file, its item and grid, its cells and values as xarray reads them, where to look (x0, y0, x1, y1)."""

    file: str
    item: str
    cells: Callable[[Any, str], tuple[Array, Oracle]]
    look: tuple[float, float, float, float]
    grid: str = ""


def of_axes(x: str, y: str) -> Callable[[Any, str], tuple[Array, Oracle]]:
    """A variable over axes or 2-D centres of these names."""

    def cells(file: Any, item: str) -> tuple[Array, Oracle]:
        values = first_slice(file[item], 2)
        return values, lambda pixels: fill_cells(file[x].values.astype(float), file[y].values.astype(float), values,
                                                 pixels)

    return cells


def of_bounds(x: str, y: str) -> Callable[[Any, str], tuple[Array, Oracle]]:
    """A variable of a curvilinear grid whose cells have the corners (rows, columns, 4) of these names."""

    def cells(file: Any, item: str) -> tuple[Array, Oracle]:
        values = first_slice(file[item], 2)
        rings = np.stack([file[x].values.reshape(-1, 4), file[y].values.reshape(-1, 4)], axis=-1).astype(float)
        whole = np.ptp(rings[..., 0], axis=1) < 180  # not those that the edge of the map cuts
        return values, lambda pixels: fill_polygons(rings[whole], values.reshape(-1)[whole], pixels)

    return cells


def of_triangles(x: str, y: str, table: str, start: int) -> Callable[[Any, str], tuple[Array, Oracle]]:
    """A variable at nodes, an element the mean of its corners."""

    def cells(file: Any, item: str) -> tuple[Array, Oracle]:
        corners = file[table].values.astype(int)
        corners = (corners if corners.shape[1] == 3 else corners.T) - start
        values = first_slice(file[item], 1)
        known = np.isfinite(values[corners])
        with np.errstate(invalid="ignore"):
            means = np.where(known, values[corners], 0).sum(axis=1) / known.sum(axis=1)
        at = np.stack([file[x].values[corners], file[y].values[corners]], axis=-1)
        return values, lambda pixels: fill_polygons(at, means, pixels)

    return cells


def first_slice(variable: Any, dims: int) -> Array:
    """The first of all leading dimensions, unpacked as xarray does."""
    while variable.ndim > dims:
        variable = variable[0]
    return np.asarray(variable.values, np.float64)


REAL = {
    "a globe from 0 to 360, south first": Case(
        "grid/hgt.nc", "HGT", of_axes("lon", "lat"), (0, -88, 357, 88)),
    "a globe from 0 to 360, north first": Case(
        "grid/SMALL_total_column_co2.nc", "tcco2", of_axes("longitude", "latitude"), (100, -60, 260, 60)),
    "a rotated pole": Case(
        "grid/small_rotPole_precipitation.nc", "pr", of_axes("rlon", "rlat"), (-15, -15, 5, 5)),
    "Lambert conformal": Case("grid/test_lcc.nc", "tas", of_axes("x", "y"), (224000, 347000, 282000, 405000)),
    "geostationary": Case(
        "grid/20171025_2056.Cloud_Top_Height.nc", "HT", of_axes("x", "y"), (-0.05, 0.08, -0.01, 0.11)),
    "ORCA": Case("grid/nemo_1m_20150101-20150201_grid-T.nc", "tos", of_bounds("bounds_lon", "bounds_lat"),
                 (-60, -30, 20, 30)),
    "ROMS on a polar stereographic plane": Case(
        "grid/Nordic_subset.nc", "zeta", of_axes("lon_rho", "lat_rho"), WHOLE, "eta_rho-xi_rho"),
    "ocean with land": Case("grid/cmems_global-analysis-forecast-phy-001-024.nc", "uo",
                            of_axes("longitude", "latitude"), (-50, -29, -36, -18)),
    "hot cells in the south": Case("odd/tmmx_20190121.nc", "air_temperature", of_axes("lon", "lat"),
                                   (-112, 26, -100, 34)),
    "ADCIRC": Case("mesh/ADCIRC_BG_20190910_1t.nc", "ssh", of_triangles("longitude", "latitude", "element", 1),
                   (-43.25, -23.05, -43.0, -22.8), "time"),
    "UGRID of San Diego": Case("mesh/ADH_SanDiego.nc", "depth",
                               of_triangles("node_x", "node_y", "face_node_connectivity", 0),
                               (478000, 3608000, 486000, 3616000), "time"),
    "FVCOM": Case("mesh/tri_grid_example-FVCOM.nc", "zeta", of_triangles("lon", "lat", "nv", 1), WHOLE),
}


class Watch(ScreenItem):
    """Keeps the lattice of pixels that is painted and where it is in the view."""

    def __init__(self) -> None:
        super().__init__(z=90)
        self.screen: Screen | None = None

    def draw(self, painter: QPainter, screen: Screen) -> None:
        self.screen = screen


def seen(view: MapView, opened: Opened) -> tuple[Pixels, Array]:
    """The lattice of the map's pixels and their (rows, columns) colours, NaN where the ground shows; no overlays."""
    view.tools.explain.setChecked(False)
    view.plot.hud.hide()
    for item in view.plot.box.allChildItems():
        if isinstance(item, Graticule):
            item.hide()
    watch = Watch()
    view.plot.box.addItem(watch, ignoreBounds=True)
    view.plot.view.grab()
    opened.rest()
    image = view.plot.view.grab().toImage()
    screen = watch.screen
    assert screen is not None
    box: QRectF = screen.device_pixels()[0]
    pixels, offset = screen.pixels(), view.plot.view.viewport().pos()
    raw = np.frombuffer(image.convertToFormat(image.Format.Format_ARGB32).constBits(), np.uint32)
    raw = raw.reshape(image.height(), image.bytesPerLine() // 4)
    left, top = round(box.left()) + offset.x(), round(box.top()) + offset.y()
    colours = raw[top:top + pixels.rows, left:left + pixels.columns] & 0xFFFFFF
    colours = colours[RIM:-RIM, RIM:-RIM]
    pixels = replace(pixels, x0=pixels.x0 + RIM * pixels.dx, y0=pixels.y0 + RIM * pixels.dy, rows=colours.shape[0],
                     columns=colours.shape[1])
    return pixels, np.where(np.isin(colours, grounds()), np.nan, colours.astype(np.float64))


def grounds() -> list[int]:
    """The colours of what has no value."""
    return [Theme.current().color(name).rgb() & 0xFFFFFF for name in ("sunken", "line2")]


def wanted_colours(values: Array, shown: tuple[float, float]) -> Array:
    colours, _ = colourise(values, shown, colormaps.argb("viridis"))
    return np.where(np.isnan(values), np.nan, (colours & 0xFFFFFF).astype(np.float64))


def check_file(case: Case, path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> tuple[float, int]:
    """`check` of a file that xarray reads."""
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(path, decode_times=False) as file:
        return check(*case.cells(file, case.item), opened, monkeypatch, case.look)


def check(held: Array, oracle: Oracle, opened: Opened, monkeypatch: pytest.MonkeyPatch,
          look: tuple[float, float, float, float] = WHOLE) -> tuple[float, int]:
    """Compare the picture of an imported file with the oracle; the share of pixels that differ, and their number."""
    monkeypatch.setattr(mesh_items, "LINES_ALPHA", 0.0)
    view = opened.show(MapView, 900, 700)
    x0, y0, x1, y1 = look
    if x1 > x0:
        view.plot.box.setRange(xRange=(x0, x1), yRange=(y0, y1), padding=0)
        opened.rest()
    assert view.picture.shown == pytest.approx((np.nanmin(held), np.nanmax(held)), rel=1e-6)
    pixels, drawn = seen(view, opened)
    wanted = wanted_colours(oracle(pixels), view.picture.shown)
    share = share_that_differs(drawn, wanted)
    assert np.unique(wanted[np.isfinite(wanted)]).size > 20
    assert share <= LARGEST
    for turned in (drawn[::-1], drawn[:, ::-1]):  # neither upside down nor left to right
        assert share_that_differs(turned, wanted) > 10 * LARGEST
    for side in (0, 1):
        assert share_that_differs(np.roll(drawn, 3, side), wanted) > LARGEST
    return share, drawn.size


def opened_of(path: Path, case: Case, folder: Path, reader: Any, qtbot: Any) -> Opened:
    run_recipe(Recipe((str(path),), str(folder / "d"), items=(case.item,), grid=case.grid), Progress())
    return Opened(str(folder / "d"), reader, qtbot)


@pytest.mark.rule("G5", "T9")
@pytest.mark.parametrize("name", REAL)
def test_a_real_file_is_painted_as_matplotlib_paints_it(tmp_path, reader, qtbot, name, monkeypatch):
    case = REAL[name]
    path = SHARED / case.file
    if not path.is_file():
        pytest.skip("the real files are not here")
    share, count = check_file(case, path, opened_of(path, case, tmp_path, reader, qtbot), monkeypatch)
    print(f"{name}: {100 * share:.2f} % of {count} pixels differ")


DFSU = {  # file: item, layer from the bottom
    "FakeLake.dfsu": ("Bathymetry", None), "OresundHD.dfsu": ("Current speed", None),
    "NorthSea_HD_and_windspeed.dfsu": ("Wind speed", None), "OdenseHD3D.dfsu": ("Temperature", 0),
    "oresund_sigma_z.dfsu": ("Salinity", 0)}


@pytest.mark.rule("G5", "T9")
@pytest.mark.parametrize("name", DFSU)
def test_a_dfsu_is_painted_as_matplotlib_paints_what_mikeio_reads(tmp_path, reader, qtbot, name, monkeypatch):
    mikeio = pytest.importorskip("mikeio", reason="mikeio has no macOS library")
    path = SHARED / "dfs" / name
    if not path.is_file():
        pytest.skip("the real files are not here")
    item, layer = DFSU[name]
    array = mikeio.read(path, items=item, time=-1)[0]
    geometry, values = array.geometry, np.asarray(array.to_numpy(), np.float64)
    if layer is not None:
        values, geometry = values[geometry.bottom_elements], geometry.geometry2d
    widest = max(map(len, geometry.element_table))
    corners = np.array([[*nodes, *[nodes[-1]] * (widest - len(nodes))] for nodes in geometry.element_table])
    at = geometry.node_coordinates[corners][..., :2]
    case = Case(name, item, of_axes("", ""), WHOLE)
    opened = opened_of(path, case, tmp_path, reader, qtbot)
    opened.session.select(time=len(opened.session.dataset.metadata.times) - 1)
    share, count = check(values, lambda pixels: fill_polygons(at, values, pixels), opened, monkeypatch)
    print(f"{name}: {100 * share:.2f} % of {count} pixels differ")


def made_grid(kind: str) -> Any:
    """A small file: no data in a corner, a hot cell in another, north last or first."""
    import xarray

    rows, columns = 30, 40
    values = np.add.outer(np.arange(rows) * 3.0, np.arange(columns) * 1.0)
    values[:4, :6], values[-1, -1] = np.nan, 400.0
    x, y, attributes = np.arange(columns) * 9.0, np.linspace(-87.0, 87.0, rows), {}
    if kind == "rotated":
        x, y = x / 20 - 5, y / 20
        attributes = {"grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": 39.25,
                      "grid_north_pole_longitude": -162.0}
    elif kind == "Lambert conformal":
        x, y = x * 1e3, y * 1e3
        attributes = {"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [46.0, 49.0],
                      "latitude_of_projection_origin": 47.5, "longitude_of_central_meridian": 13.3}
    elif kind == "polar stereographic":
        x, y = x * 1e4 - 2e6, y[::-1] * 1e4 - 3e6
        attributes = {"grid_mapping_name": "polar_stereographic", "latitude_of_projection_origin": 90.0,
                      "straight_vertical_longitude_from_pole": -45.0, "standard_parallel": 70.0}
    elif kind == "0 to 360, north first":
        y = y[::-1]
    of_y, of_x, unit = (("latitude", "longitude", "degrees_") if not attributes else
                        ("grid_latitude", "grid_longitude", "degrees") if kind == "rotated" else
                        ("projection_y_coordinate", "projection_x_coordinate", "m"))
    made = xarray.Dataset({"v": (("y", "x"), values.astype("f4"), {"units": "K"})}, coords={
        "y": ("y", y, {"standard_name": of_y, "units": unit.replace("_", "_north")}),
        "x": ("x", x, {"standard_name": of_x, "units": unit.replace("_", "_east")})})
    if attributes:
        made["crs"] = ((), np.int32(0), attributes)
        made["v"].attrs["grid_mapping"] = "crs"
    return made


def made_curvilinear() -> Any:
    import xarray

    i, j = np.meshgrid(np.arange(40.0), np.arange(30.0))
    values = (i + 3 * j).astype("f4")
    values[:4, :6], values[-1, -1] = np.nan, 400.0
    return xarray.Dataset(
        {"v": (("y", "x"), values, {"coordinates": "lon lat"})},
        coords={"lon": (("y", "x"), 5 + i * 0.8 + j * 0.3, {"units": "degrees_east", "standard_name": "longitude"}),
                "lat": (("y", "x"), 40 + j * 0.5 - i * 0.2 + 0.004 * i**2,
                        {"units": "degrees_north", "standard_name": "latitude"})})


def made_mesh() -> Any:
    """UGRID, triangles over a bent lattice, values at nodes."""
    import xarray

    i, j = np.meshgrid(np.arange(21.0), np.arange(16.0))
    x, y = (i + 0.3 * np.sin(j)).ravel(), (j + 0.3 * np.cos(i)).ravel()
    a = (np.arange(15)[:, None] * 21 + np.arange(20)).ravel()
    corners = np.concatenate([np.stack([a, a + 1, a + 22], 1), np.stack([a, a + 22, a + 21], 1)])
    values = (i + 2 * j).ravel()
    values[:30] = np.nan
    place = {"mesh": "mesh", "location": "node"}
    return xarray.Dataset({
        "mesh": ((), np.int32(0), {"cf_role": "mesh_topology", "topology_dimension": 2, "node_coordinates": "nx ny",
                                   "face_node_connectivity": "faces"}),
        "nx": ("node", x, {"units": "m", "standard_name": "projection_x_coordinate"}),
        "ny": ("node", y, {"units": "m", "standard_name": "projection_y_coordinate"}),
        "faces": (("face", "three"), corners.astype("i4"), {"cf_role": "face_node_connectivity", "start_index": 0}),
        "v": ("node", values, place)})


MADE = {
    **{name: (lambda name=name: made_grid(name), of_axes("x", "y")) for name in (
        "0 to 360, south first", "0 to 360, north first", "rotated", "Lambert conformal", "polar stereographic")},
    "curvilinear": (made_curvilinear, of_axes("lon", "lat")),
    "UGRID": (made_mesh, of_triangles("nx", "ny", "faces", 0)),
}


@pytest.mark.rule("G5", "T9")
@pytest.mark.parametrize("name", MADE)
def test_a_made_file_is_painted_as_matplotlib_paints_it(tmp_path, reader, qtbot, name, monkeypatch):
    pytest.importorskip("xarray")
    make, cells = MADE[name]
    path = tmp_path / "made.nc"
    make().to_netcdf(path)
    case = Case(str(path), "v", cells, WHOLE)
    check_file(case, path, opened_of(path, case, tmp_path, reader, qtbot), monkeypatch)
