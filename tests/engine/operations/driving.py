"""Random sequences of operations on one dataset, held against a dictionary of arrays: {time: {item: slice}}.

A `Driver` makes a dataset of a random kind and layout and does one random operation a step: appends, updates, replaces,
removals of times, relocations, cleanings, updates of a mesh, and each of them cut short by a failing storage now and
then. After each step every stored value is read back in every way that the engine has, and the dataset is checked.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import StorageError
from mdstudio.engine.health.checking import check
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import (
    Array,
    Description,
    Domain,
    GridDomain,
    Item,
    ItemStorage,
    LayerAxis,
    MeshDomain,
    values_of,
)
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.clean import clean
from mdstudio.engine.operations.mesh_update import update_mesh
from mdstudio.engine.operations.relocate import relocate
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest, SeriesRequest, decode_values
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import create_dataset
from tests.engine.made_datasets import HOUR, Arrays, Watched, mesh

COMPRESSIONS = ("None", "DeflateFast", "DeflateOptimal", "LZ4", "DeflateOptimalAuto", "ZstdAuto", "ZstdFastAuto")
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
Moment = dict[str, Array]  # by item: (layer, row, column) of a grid, (layer, 1, value) of a mesh in source order; ...


@dataclass(frozen=True)
class Plan:
    """How a dataset is to be made."""

    domain: Domain
    items: tuple[Item, ...]
    storage: ItemStorage


def no_data_of(pick: random.Random, dtype: str) -> int | float | None:
    """None, a usual value or one at the limit of the type."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return pick.choice([None, float("nan"), -9999.0, 0.0, -0.0, float("inf"), float(np.float32(1e20))])
    info = np.iinfo(kind)
    return pick.choice([None, 0, int(info.min), int(info.max), 7])


def random_plan(pick: random.Random) -> Plan:
    """A dataset of any kind in any layout that it can have."""
    kind = pick.choice(["grid", "grid", "mesh", "mesh", "zlevel", "sigma", "vector"])
    if kind in ("grid", "vector"):
        rows, columns = pick.choice([(1, 1), (1, 40), (40, 1), (20, 18), (33, 17), (16, 16)])
        domain: Domain = GridDomain("projected", np.arange(columns, dtype=float), np.arange(rows, dtype=float))
    else:
        domain = mesh(pick.choice([3, 6]), pick.choice([3, 7]), sigma=kind == "sigma", seed=pick.randrange(4))
    items = [_random_item(pick, f"v {n}", kind, isinstance(domain, MeshDomain)) for n in range(pick.choice([1, 2, 3]))]
    if kind == "zlevel" and not any(item.value_kind == "zlevel" for item in items):
        items[0] = Item("v 0", "float32", value_kind="zlevel", location="node", layers=_layers(3))
    return Plan(domain, tuple(items), _random_storage(pick, domain, items))


def _layers(count: int) -> LayerAxis:
    return LayerAxis("depth", tuple(float(n) for n in range(count)), "m")


def _random_item(pick: random.Random, name: str, kind: str, is_mesh: bool) -> Item:
    dtype = pick.choice(DTYPES)
    no_data = no_data_of(pick, dtype)
    layers = pick.choice([None, None, _layers(1), _layers(3)])
    if kind == "zlevel" and pick.random() < 0.6:
        return Item(name, dtype, no_data=no_data, value_kind="zlevel", location="node", layers=_layers(3))
    if kind == "sigma" and pick.random() < 0.6:
        return Item(name, dtype, no_data=no_data, value_kind="sigma", layers=_layers(4))
    if kind == "vector" and pick.random() < 0.6:
        return Item(name, dtype, no_data=no_data, value_kind="vector", components=pick.choice([2, 3]), layers=layers)
    location: Any = pick.choice(["cell", "node"]) if is_mesh else "cell"
    return Item(name, dtype, no_data=no_data, layers=layers, location=location)


def _random_storage(pick: random.Random, domain: Domain, items: list[Item]) -> ItemStorage:
    kinds = {item.value_kind for item in items}
    is_mesh = isinstance(domain, MeshDomain)
    raw_only = "vector" in kinds or (isinstance(domain, MeshDomain) and domain.sigma)
    types: list[Any] = ["SingleTimestep", "MultiTimestep"] + ["TimeSeries"] * ("zlevel" not in kinds)
    storage_type = pick.choice(types)
    series = storage_type == "TimeSeries"
    compression = "None" if raw_only else pick.choice(COMPRESSIONS)
    legacy = storage_type == "SingleTimestep" and not is_mesh and compression != "None"
    width = pick.choice([1, 5, 16, 128])
    page = pick.choice([1, 7, 50, 16384])
    zlevel = None
    if "zlevel" in kinds:
        assert isinstance(domain, MeshDomain)
        zlevel = int(MeshOrder(domain).index.offsets[-1]) * 3
    return ItemStorage(
        storage_type, compression, None if storage_type == "SingleTimestep" else pick.choice([1, 2, 3, 8, 200]),
        None if is_mesh else width,
        compressed_mesh_page_size=page if is_mesh and not series else None,
        time_series_block_rows=pick.choice([1, 4, 300]) if series else None,
        spatial_group_size=(page if is_mesh else width * width) if series else None,
        zlevel_paged_node_count=zlevel, fixed_step=series and pick.random() < 0.5,
        layout_version=pick.choice([1, 2, 3, 3, 3] + [None] * legacy))


def random_slice(pick: random.Random, domain: Domain, item: Item) -> Array:
    """One time of an item: no-data, constant, smooth, lattice floats or any bits, partly no-data."""
    shape: tuple[int, ...] = (item.layer_count, 1, values_of(domain, item))
    if isinstance(domain, GridDomain):
        shape = (item.layer_count, domain.rows, domain.columns)
    if item.value_kind == "vector":
        shape = (*shape, item.components)
    dtype = np.dtype(item.dtype)
    rng = np.random.default_rng(pick.randrange(1 << 30))
    count = int(np.prod(shape))
    way = pick.choice(["none", "constant", "smooth", "smooth", "lattice", "bits"])
    if way == "none" and item.no_data is not None:
        return np.full(shape, item.no_data, dtype)
    if way == "bits":
        values = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()
    elif way == "constant":
        values = np.full(shape, pick.randrange(100), dtype)
    else:
        walk = rng.integers(-3, 4, shape).cumsum(axis=2)
        values = (walk * 0.1 + 273.15 if dtype.kind == "f" and way == "lattice" else walk).astype(dtype)
    if item.no_data is not None and pick.random() < 0.5:
        values.reshape(-1)[: pick.randrange(count + 1)] = item.no_data
    return values


class Failing(Watched):
    """A storage whose nth request from now on fails, before or after its effect; 0: none."""

    def arm(self, number: int, after: bool) -> None:
        start = len(self.calls)

        def fail(call: str, name: str, at: int) -> None:
            if at - start == number:
                raise StorageError("The cable was pulled.", where=name)

        def nothing(call: str, name: str, at: int) -> None:
            return None

        self.before, self.after = (nothing, fail) if after else (fail, nothing)

    def disarm(self) -> None:
        self.arm(-1, False)


class Driver:
    """One dataset below a folder, its model, and what has been done to it (`log`)."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.pick = random.Random(seed)
        self.folder = folder
        self.log: list[str] = []
        self.generation = 0
        self.storage = Failing(FolderStorage(folder / "d0"))
        self.plan = random_plan(self.pick)
        self.model: dict[int, Moment] = {}
        self.unsure: dict[int, Moment] = {}  # times that a cut update may or may not have written
        self._make()

    # ------------------------------------------------------------------------------------------------- operations

    def step(self) -> None:
        """One random operation, then every value."""
        ways: list[Callable[[], None]] = [self._append] * 5 + [self._update] * 4 + [
            self._relocate, self._clean, self._replace, self._remove, self._remove]
        if isinstance(self.plan.domain, MeshDomain):
            ways.append(self._move_mesh)
        self.pick.choice(ways)()
        self.verify()

    def _make(self) -> None:
        times = self._times_after(0)
        moments = {t: self._moment() for t in times}
        self._log(f"create {self.plan.storage} {self.plan.items} {times}")
        self._cut_or_whole(
            lambda: create_dataset(self.storage, "d", self._described(times), self._reader(moments),
                                   Settings(self.plan.storage, (), {}), Progress(), self._environ()),
            lambda: None)
        self.model = moments
        self.verify()

    def _append(self) -> None:
        times = self._times_after(max(self.model) + 1)
        moments = {t: self._moment() for t in times}
        self._log(f"append {times}")
        self._cut_or_whole(
            lambda: append_times(self.storage, self._described(times), self._reader(moments), {}, Progress(),
                                 self._environ()),
            self.verify)
        self.model |= moments

    def _update(self) -> None:
        listed = sorted(self.model)
        count = self.pick.choice([1, 1, len(listed), self.pick.randint(1, len(listed))])
        times = sorted(self.pick.sample(listed, count))
        moments = {t: self._moment() for t in times}
        self._log(f"update {times}")
        self._cut_or_whole(
            lambda: update_times(self.storage, self._described(times), self._reader(moments), {}, Progress(),
                                 self._environ()),
            lambda: None)
        self.model |= moments

    def _replace(self) -> None:
        plan = random_plan(self.pick) if self.pick.random() < 0.6 else replace(
            self.plan, storage=_random_storage(self.pick, self.plan.domain, list(self.plan.items)))
        old, self.plan = self.plan, plan
        times = self._times_after(0)
        moments = {t: self._moment() for t in times}
        self._log(f"replace {plan.storage} {plan.items} {times}")

        def as_before() -> None:
            self.plan = old
            self.verify()
            self.plan = plan

        self._cut_or_whole(
            lambda: replace_dataset(self.storage, "d", self._described(times), self._reader(moments),
                                    Settings(plan.storage, (), {}), Progress(), self._environ()), as_before)
        self.model = moments

    def _remove(self) -> None:
        listed = sorted(self.model)
        if self.plan.storage.storage_type != "SingleTimestep" or len(listed) < 2:
            return
        cut = self.pick.randint(1, len(listed) - 1)
        times = self.pick.choice([listed[:cut], listed[cut:], self.pick.sample(listed, cut)])
        self._log(f"remove {times}")
        remove_times(self.storage, [t * HOUR for t in times])
        for t in times:
            del self.model[t]

    def _relocate(self) -> None:
        self.generation += 1
        target = Failing(FolderStorage(self.folder / f"d{self.generation}"))
        self._log("relocate")
        relocate(self.storage, target)
        shutil.rmtree(self.storage.location)
        self.storage = target

    def _clean(self) -> None:
        self._log("clean")
        clean(self.storage, apply=True)

    def _move_mesh(self) -> None:
        """A mesh as before, elsewhere, given in the order of the source."""
        domain = self.plan.domain
        assert isinstance(domain, MeshDomain)
        moved = replace(domain, node_x=domain.node_x + 1.0)
        self._log("move the mesh")
        update_mesh(self.storage, moved)
        self.plan = replace(self.plan, domain=moved)

    def _cut_or_whole(self, operation: Callable[[], object], when_cut: Callable[[], None]) -> None:
        """Run it; now and then cut short first, or several times, after which it completes."""
        while self.pick.random() < 0.25:
            number, after = self.pick.randint(1, 40), self.pick.random() < 0.5
            self.storage.arm(number, after)
            try:
                operation()
            except StorageError as error:
                self._log(f"  cut at {number} {'after' if after else 'before'}: {error.where}")
            else:
                self._log(f"  not cut at {number}")
                return
            finally:
                self.storage.disarm()
            when_cut()
        operation()

    # ------------------------------------------------------------------------------------------------- what is given

    def _times_after(self, first: int) -> list[int]:
        steps = [self.pick.choice([1, 1, 1, 5]) for _ in range(self.pick.choice([1, 1, 2, 3, 7]))]
        return [first + sum(steps[:n]) for n in range(len(steps))]

    def _moment(self) -> Moment:
        return {item.name: random_slice(self.pick, self.plan.domain, item) for item in self.plan.items}

    def _described(self, times: list[int]) -> Description:
        items = list(self.plan.items)
        self.pick.shuffle(items)  # the dataset's order stays, whatever the source's is
        if not self.model or self.log[-1].startswith(("create", "replace")):
            items = list(self.plan.items)
        return Description(self.plan.domain, TimeAxis(np.array(times, np.int64) * HOUR), tuple(items))

    def _reader(self, moments: Mapping[int, Moment]) -> Arrays:
        return Arrays({item.name: np.stack([moments[t][item.name] for t in sorted(moments)])
                       for item in self.plan.items})

    def _environ(self) -> dict[str, str]:
        return {"MD_ENCODE_WORKERS": str(self.pick.choice([1, 2]))}

    def _log(self, text: str) -> None:
        self.log.append(text)

    # ------------------------------------------------------------------------------------------------- what is there

    def verify(self) -> None:
        """Everything that the model holds is there, and nothing else."""
        dataset = Dataset.open(self.storage)
        listed = (dataset.metadata.times.microseconds // HOUR).tolist()
        assert listed == sorted(self.model), (listed, sorted(self.model))
        for item in self.plan.items:
            self._verify_item(dataset, item, listed)
        damage = [finding for finding in check(self.storage, "full", sleep=lambda _: None)
                  if isinstance(finding, Finding) and finding.severity == "damage"]
        assert not damage, damage

    def _verify_item(self, dataset: Dataset, item: Item, listed: list[int]) -> None:
        domain = self.plan.domain
        whole = np.stack([self.model[t][item.name] for t in listed])  # (time, layer, row, column)
        for t in range(len(listed)):
            for layer in range(len(item.layers)) if item.layers else (None,):
                found = dataset.map(MapRequest(item.name, t, layer))
                if isinstance(domain, MeshDomain):
                    wanted, mask = mesh_slice(domain, item, whole[t], layer or 0, found.rows)
                    assert np.array_equal(found.mask, mask)
                    assert found.stored[mask].tobytes() == wanted[mask].tobytes(), (item, t, layer)
                else:
                    assert found.stored.tobytes() == whole[t, layer or 0].tobytes(), (item, t, layer)
                wanted_values = decode_values(item, found.stored)
                wanted_values[~found.mask] = np.nan
                assert found.values.tobytes() == wanted_values.tobytes()
        start, stop = sorted((self.pick.randint(0, len(listed)), self.pick.randint(0, len(listed))))
        layer = self.pick.randrange(len(item.layers)) if item.layers else None
        if isinstance(domain, GridDomain):
            cells = [(self.pick.randrange(domain.rows), self.pick.randrange(domain.columns)) for _ in range(5)]
            series = dataset.series(SeriesRequest(item.name, tuple((float(c), float(r)) for r, c in cells), layer,
                                                  start, stop))
            wanted = np.stack([whole[start:stop, layer or 0, r, c] for r, c in cells], axis=1)
            assert series.cells.tolist() == [list(cell) for cell in cells]
            assert np.ascontiguousarray(series.stored).tobytes() == np.ascontiguousarray(wanted).tobytes()
            top, left = self.pick.randrange(domain.rows), self.pick.randrange(domain.columns)
            if stop > start:
                block = dataset.block(item.name, slice(start, stop), -1 if layer is None else layer,
                                      slice(top, domain.rows), slice(left, domain.columns))
                wanted = whole[start:stop, layer or 0, top:, left:]
                assert np.ascontiguousarray(block).tobytes() == np.ascontiguousarray(wanted).tobytes()
            return
        corners = domain.element_nodes[self.pick.randrange(domain.elements)]
        at = corners[corners >= 0]
        point = float(domain.node_x[at].mean()), float(domain.node_y[at].mean())
        series = dataset.series(SeriesRequest(item.name, (point,), layer, start, stop))
        number = series.cells[:, 0]
        for n, t in enumerate(range(start, stop)):
            wanted, mask = mesh_slice(domain, item, whole[t], layer or 0, number)
            if mask[0]:
                assert series.stored[n].tobytes() == wanted.tobytes(), (item, t, layer)


def mesh_slice(domain: MeshDomain, item: Item, values: Array, layer: int, numbers: Array) -> tuple[Array, Array]:
    """Values of stored elements or nodes out of a time (layer, 1, value) in source order, and which of them are
    there."""
    everywhere = np.ones(numbers.size, bool)
    if item.value_kind == "sigma":
        assert domain.layer_counts is not None
        counts = np.empty(domain.elements, np.int64)
        counts[domain.element_number] = domain.layer_counts
        bottoms = np.cumsum(counts) - counts
        source = domain.element_number[numbers]
        there = counts[source] > layer
        return values[0, 0, np.where(there, bottoms[source] + layer, 0)], there
    if item.value_kind == "zlevel":
        assert item.layers is not None
        by_node = values[0, 0].reshape(domain.nodes, len(item.layers))
        return by_node[domain.node_number[numbers], layer], everywhere
    if item.location == "node":
        return values[layer, 0, domain.node_number[numbers]], everywhere
    return values[layer, 0, domain.element_number[numbers]], everywhere
