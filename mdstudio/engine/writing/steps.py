"""Units of the layouts per timestep: read, encode ahead on the workers, store several at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from mdstudio.engine.errors import BlobChangedError
from mdstudio.engine.layout import multi, single
from mdstudio.engine.layout.encoding import EncodedStep, PendingStep, StepEncoder
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.model import Array
from mdstudio.engine.writing.units import Session, Unit, missing

READ_BYTES = 8 << 20  # slices are read together up to this size; a larger slice alone
PENDING_STEPS = 2  # slices that are being encoded while the next is read
PENDING_STORES = 4  # encoded slices that are on their way to the storage


def write_single(session: Session, layout: ItemLayout, unit: Unit) -> None:
    """SingleTimestep: each timestep is stored as soon as it is encoded."""

    def store(layer: int, time: int, step: EncodedStep) -> Future[None]:
        return session.stores.submit(put, layer, time, step)

    def put(layer: int, time: int, step: EncodedStep) -> None:
        for blob, data in single.step_blobs(layout, layer, time, step):
            session.blobs.put(blob, data)

    _encode_steps(session, layout, unit, store)


def write_multi(session: Session, layout: ItemLayout, unit: Unit) -> None:
    """MultiTimestep: timesteps are staged as they are encoded; each layer's group is committed at the end (P12)."""
    writers = {
        layer: multi.GroupWriter(session.storage, layout, layer, unit.group, _base(session, layout, layer, unit),
                                 session.blobs.staging)
        for layer in layout.item.layer_ids()
    }

    def store(layer: int, time: int, step: EncodedStep) -> Future[None]:
        block_id = writers[layer].place(time, step)
        return session.stores.submit(writers[layer].upload, block_id, step.data)

    _encode_steps(session, layout, unit, store)
    for writer in writers.values():
        session.progress.check()
        session.blobs.add(writer.blob, writer.commit())


def _base(session: Session, layout: ItemLayout, layer: int, unit: Unit) -> multi.GroupBase:
    """What a group is built on: its stored timesteps, or nothing where it is written whole, over what a killed job may
    have left of it."""
    blob = layout.group_blob(layer, unit.group)
    version = session.blobs.version_before(blob)
    if unit.is_whole(layout):
        if version is not None:
            multi.require_block_list(session.storage, blob)
        return multi.empty_base(layout, version)
    if version is None:
        raise missing(blob)
    base = multi.stored_base(session.storage, layout, layer, unit.group)
    if base.version != version:
        raise BlobChangedError("Another job committed the group in between.", where=blob, advice="Run it again.")
    return base


def _encode_steps(
    session: Session, layout: ItemLayout, unit: Unit, store: Callable[[int, int, EncodedStep], Future[None]]
) -> None:
    encoder = StepEncoder(layout, session.workers, session.progress)
    encoding: deque[tuple[int, int, PendingStep]] = deque()
    storing: deque[Future[None]] = deque()

    def encoded(most: int) -> None:
        while len(encoding) > most:
            layer, time, step = encoding.popleft()
            storing.append(store(layer, time, step.result()))
            stored(PENDING_STORES)

    def stored(most: int) -> None:
        while len(storing) > most:
            storing.popleft().result()
            session.progress.advance()

    for layer, time, values in _slices(session, layout, unit):
        encoded(PENDING_STEPS - 1)
        encoding.append((layer, time, encoder.submit(values)))
    encoded(0)
    stored(0)


def _slices(session: Session, layout: ItemLayout, unit: Unit) -> Iterator[tuple[int, int, Array]]:
    """(layer, time, values) of a unit: times outside, layers inside; small slices are read several at a time."""
    layers = layout.item.layer_ids()
    together = max(1, READ_BYTES // (layout.slice_bytes * len(layers)))
    pieces = ((start, min(start + together, run.stop))
              for run in unit.slices() for start in range(run.start, run.stop, together))
    for start, stop in pieces:
        if together == 1:
            for layer in layers:
                yield layer, start, session.read(layout, slice(start, stop), layer)[0]
            continue
        read = [session.read(layout, slice(start, stop), layer) for layer in layers]
        for time in range(start, stop):
            for layer, values in zip(layers, read, strict=True):
                yield layer, time, values[time - start]
