"""Import: a description and slices in, a new dataset out (D9, C6, W2).

Work is done in units that know nothing of one another: a time group, or for SingleTimestep an aligned run of 32
timesteps (C6). Blobs come first, `dataset.json` last; whatever ends the import early takes its blobs back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from mdstudio.engine.errors import AlreadyExistsError, BlobChangedError, StorageError, UsageError
from mdstudio.engine.layout.document import render_document
from mdstudio.engine.layout.domain import domain_name, store_domain
from mdstudio.engine.layout.encoding import Workers
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.item_layout import ItemLayout, item_layout
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, item_folders, save_metadata
from mdstudio.engine.model import Description
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings, encode_workers
from mdstudio.engine.spatial.tiles import TileGrid
from mdstudio.engine.storage import MUST_NOT_EXIST, BlobStorage
from mdstudio.engine.writing.new_blobs import NewBlobs
from mdstudio.engine.writing.series import write_series
from mdstudio.engine.writing.steps import write_multi, write_single
from mdstudio.engine.writing.units import STORES, Session, SliceReader, Unit, units_of

__all__ = ["SliceReader", "WriteSummary", "create_dataset"]


@dataclass(frozen=True)
class WriteSummary:
    """What an import wrote; `stored_bytes` as listed from the storage (D8)."""

    items: int
    timesteps: int
    raw_bytes: int
    stored_bytes: int
    seconds: float


def create_dataset(
    storage: BlobStorage,
    name: str,
    description: Description,
    reader: SliceReader,
    settings: Settings,
    progress: Progress,
    environ: Mapping[str, str],
) -> WriteSummary:
    """Write a new dataset; `progress` counts slices (one layer of one item at one time).

    Memory: at most about 10 slices in the layouts per timestep, `writing.series.BUDGET` bytes in TimeSeries. The reader
    is called from this thread alone. The bytes do not depend on the number of workers (`MD_ENCODE_WORKERS`).

    Raises `AlreadyExistsError` when there is a dataset, `BlobChangedError` when another import is making one here
    (D15), the error of a guard before anything is written, `Cancelled`, and what reader and storage raise; then all
    that was written is taken back. A kill leaves blobs without `dataset.json`: no dataset; the import run again writes
    them anew.
    """
    started = time.monotonic()
    workers = encode_workers(environ)
    if not description.items or not len(description.times):
        raise UsageError("A dataset needs at least one item and one time.")
    if storage.exists(METADATA_BLOB):
        raise _exists(storage)
    metadata = _metadata(name, description, settings)
    require_writable(metadata, storage.location)
    layouts = [_layout(metadata, description, number) for number in range(len(metadata.items))]
    with storage.claimed():
        if storage.exists(METADATA_BLOB):  # another import has just ended
            raise _exists(storage)
        stored_bytes = _write_all(storage, metadata, layouts, description, reader, progress, workers)
    return WriteSummary(len(metadata.items), len(metadata.times), description.raw_bytes, stored_bytes,
                        time.monotonic() - started)


def _write_all(storage: BlobStorage, metadata: Metadata, layouts: Sequence[ItemLayout], description: Description,
               reader: SliceReader, progress: Progress, workers: int) -> int:
    """Blobs, then `dataset.json`; the bytes of all data blobs."""
    blobs = NewBlobs(storage, metadata.folders.values())
    progress.start(sum(item.layer_count for item in metadata.items) * len(metadata.times), "slices")
    try:
        blobs.domain(metadata.domain_blob, lambda: store_domain(storage, description.domain))
        with ThreadPoolExecutor(STORES, "store") as stores, Workers(workers) as pool:
            session = Session(storage, reader, pool, stores, progress, blobs)
            for unit in units_of(layouts[0]):
                for layout in layouts:
                    write_unit(session, layout, unit)
        stored_bytes = blobs.verified_bytes()
        progress.check()
        _save(storage, replace(metadata, data_size_bytes=stored_bytes))
    except BaseException:
        blobs.take_back()
        raise
    return stored_bytes


def write_unit(session: Session, layout: ItemLayout, unit: Unit) -> None:
    """Write all layers of one item in one unit of work; nothing else has a part in its bytes (C6)."""
    match layout.storage.storage_type:
        case "SingleTimestep":
            write_single(session, layout, unit)
        case "MultiTimestep":
            write_multi(session, layout, unit)
        case "TimeSeries":
            write_series(session, layout, unit)


def _metadata(name: str, description: Description, settings: Settings) -> Metadata:
    domain = description.domain
    return Metadata(
        kind="grid", name=name, shape=(domain.rows, domain.columns), items=description.items, times=description.times,
        storage=settings.storage, domain_blob=domain_name(domain),
        folders=item_folders([item.name for item in description.items]), attributes=description.attributes,
        source=description.source, dropped=description.dropped, time_attributes=description.time_attributes)


def _layout(metadata: Metadata, description: Description, number: int) -> ItemLayout:
    item = metadata.items[number]
    tiles = TileGrid(*metadata.shape, metadata.storage.grid_tile_width or 128)
    hints = description.hints.get(item.name, ())
    return item_layout(item, metadata.folders[item.name], metadata.storage, metadata.times, tiles, hints)


def _save(storage: BlobStorage, metadata: Metadata) -> None:
    """Save `dataset.json` where there is none; an answer that was lost counts when what is stored is ours."""
    try:
        save_metadata(storage, metadata, if_none_match=MUST_NOT_EXIST)
    except StorageError as error:
        if _is_stored(storage, metadata):
            return
        if isinstance(error, BlobChangedError):
            raise _exists(storage) from error
        raise


def _is_stored(storage: BlobStorage, metadata: Metadata) -> bool:
    try:
        return storage.read(METADATA_BLOB).data == render_document(metadata)
    except Exception:  # whatever it is: the save that failed is what is told
        return False


def _exists(storage: BlobStorage) -> AlreadyExistsError:
    return AlreadyExistsError("There is a dataset already.", where=storage.location,
                              advice="Choose another destination, or replace the dataset.")
