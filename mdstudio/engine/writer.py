"""Import: a description and slices in, a new dataset out (D9, C6, W2).

Work is done in units that know nothing of one another: a time group, or for SingleTimestep an aligned run of 32
timesteps (C6). Blobs come first, `dataset.json` last; whatever ends the import early takes its blobs back.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from mdstudio.engine.errors import AlreadyExistsError, MdError, UsageError
from mdstudio.engine.layout.domain import domain_name, store_domain
from mdstudio.engine.layout.domain_kinds import check_mesh
from mdstudio.engine.layout.encoding import Workers
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.item_layout import ItemLayout, layouts_of
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, item_folders
from mdstudio.engine.model import Description, Dropped, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings, encode_workers
from mdstudio.engine.storage import CLAIM_WAIT, BlobStorage
from mdstudio.engine.writing.journal import Journal
from mdstudio.engine.writing.new_blobs import NewBlobs
from mdstudio.engine.writing.saving import save_new
from mdstudio.engine.writing.series import write_series
from mdstudio.engine.writing.source_order import in_stored_order
from mdstudio.engine.writing.steps import write_multi, write_single
from mdstudio.engine.writing.units import STORES, Session, SliceReader, Unit, units_of

__all__ = ["SliceReader", "WriteSummary", "create_dataset"]


@dataclass(frozen=True)
class WriteSummary:
    """What an import, append, update or replace wrote.

    Attributes:
        timesteps, raw_bytes: of what was written.
        stored_bytes: of all data blobs of the dataset, as listed from the storage (D8).
        dropped: what of the source was left out or changed.
    """

    items: int
    timesteps: int
    raw_bytes: int
    stored_bytes: int
    seconds: float
    dropped: tuple[Dropped, ...] = ()


def create_dataset(
    storage: BlobStorage,
    name: str,
    description: Description,
    reader: SliceReader,
    settings: Settings,
    progress: Progress,
    environ: Mapping[str, str],
    journal: Journal | None = None,
) -> WriteSummary:
    """Write a new dataset; `progress` counts slices (one layer of one item at one time).

    Memory: at most about 10 slices in the layouts per timestep, `writing.series.BUDGET` bytes in TimeSeries. The reader
    is called from this thread alone. The bytes do not depend on the number of workers (`MD_ENCODE_WORKERS`).

    Raises `AlreadyExistsError` when there is a dataset, `BlobChangedError` when another import is making one here
    (D15), the error of a guard before anything is written, `Cancelled`, and what reader and storage raise; then all
    that was written is taken back. A kill leaves blobs without `dataset.json`: no dataset; the import run again writes
    them anew, without those of units that the `journal` knows to be finished.
    """
    started = time.monotonic()
    workers = encode_workers(environ)
    if not description.items or not len(description.times):
        raise UsageError("A dataset needs at least one item and one time.")
    if storage.exists(METADATA_BLOB):
        raise _exists(storage)
    metadata = new_metadata(name, description, settings)
    require_writable(metadata, storage.location)
    with storage.claimed(CLAIM_WAIT, progress.check):
        if storage.exists(METADATA_BLOB):  # another import has just ended
            raise _exists(storage)
        if journal is not None:
            for blob, version in journal.start(progress).items():
                with contextlib.suppress(MdError):  # it is not as the killed write left it, or gone
                    storage.delete(blob, if_match=version)
        blobs = NewBlobs(storage, metadata.folders.values(), lambda: not storage.exists(METADATA_BLOB))
        stored_bytes = write_all(storage, metadata, description, reader, progress, workers, blobs,
                                 lambda whole: save_new(storage, whole), journal)
    return WriteSummary(len(metadata.items), len(metadata.times), description.raw_bytes, stored_bytes,
                        time.monotonic() - started, description.dropped)


def write_all(
    storage: BlobStorage, metadata: Metadata, description: Description, reader: SliceReader, progress: Progress,
    workers: int, blobs: NewBlobs, save: Callable[[Metadata], object], journal: Journal | None = None,
) -> int:
    """Write every blob of a dataset, then let `save` store its metadata; the bytes of all data blobs.

    What ends it early takes its blobs back. The journal is gone at the end, however it comes but by a kill.
    """
    layouts = layouts_of(metadata, description.hints)
    try:
        blobs.domain(metadata.domain_blob, lambda: store_domain(storage, description.domain))
        ordered = in_stored_order(reader, description.domain, description.items, progress)
        write_units(storage, layouts, list(units_of(layouts[0])), ordered, progress, workers, blobs, journal)
        stored_bytes = blobs.verified_bytes()
        progress.check()
        if journal is not None:
            journal.check()
        save(replace(metadata, data_size_bytes=stored_bytes))
    except BaseException:
        blobs.take_back()
        raise
    finally:
        if journal is not None:
            journal.forget()
    return stored_bytes


def write_units(
    storage: BlobStorage, layouts: Sequence[ItemLayout], units: Sequence[Unit], reader: SliceReader,
    progress: Progress, workers: int, blobs: NewBlobs, journal: Journal | None = None,
) -> None:
    """Write units of all items, in their order; the bytes do not depend on the number of workers (D9). What the journal
    knows to be finished, and is there as it was, is not written again."""
    slices = sum(len(layout.item.layer_ids()) for layout in layouts)
    progress.start(slices * sum(unit.count for unit in units), "slices")
    with ThreadPoolExecutor(STORES, "store") as stores, Workers(workers) as pool:
        session = Session(storage, reader, pool, stores, progress, blobs)
        for unit in units:
            for layout in layouts:
                if journal is None:
                    write_unit(session, layout, unit)
                    continue
                key = f"{layout.item.name} {unit.start}-{unit.stop}"
                finished = journal.finished(key)
                if finished is not None and blobs.adopt(finished):
                    progress.advance(unit.count * len(layout.item.layer_ids()))
                    continue
                count = blobs.written
                write_unit(session, layout, unit)
                journal.record(key, blobs.written_since(count))


def write_unit(session: Session, layout: ItemLayout, unit: Unit) -> None:
    """Write all layers of one item in one unit of work; nothing else has a part in its bytes (C6)."""
    match layout.stored_as:
        case "SingleTimestep":
            write_single(session, layout, unit)
        case "MultiTimestep":
            write_multi(session, layout, unit)
        case "TimeSeries":
            write_series(session, layout, unit)


def new_metadata(name: str, description: Description, settings: Settings, first_folder: int = 0) -> Metadata:
    """The metadata of a dataset to be made, nothing counted yet; its folders are numbered from `first_folder`."""
    domain = description.domain
    metadata = Metadata(
        kind="grid", name=name, shape=(1, domain.cells), items=description.items, times=description.times,
        storage=settings.storage, domain_blob=domain_name(domain),
        folders=item_folders([item.name for item in description.items], first_folder),
        attributes=description.attributes, source=description.source, dropped=description.dropped,
        time_attributes=description.time_attributes)
    if not isinstance(domain, MeshDomain):
        return replace(metadata, shape=(domain.rows, domain.columns))
    check_mesh(domain, "The source's mesh")
    return replace(metadata, kind="mesh", nodes=domain.nodes, sigma=domain.sigma,
                   element3d_count=domain.element3d_count)


def _exists(storage: BlobStorage) -> AlreadyExistsError:
    return AlreadyExistsError("There is a dataset already.", where=storage.location,
                              advice="Choose another destination, or replace the dataset.")
