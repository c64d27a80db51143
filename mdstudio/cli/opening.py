"""Open the dataset that a person names, with a word of help where it is something else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mdstudio.engine.errors import NotADatasetError, NotFoundError
from mdstudio.jobs.recipe import command_text

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset
    from mdstudio.engine.storage import BlobStorage


def open_dataset(location: str) -> Dataset:
    """The dataset at a location; a file that was never imported is answered with the command that does."""
    from mdstudio.engine.dataset import Dataset
    from mdstudio.sources.registry import is_source

    try:
        return Dataset.open(location)
    except NotFoundError:
        if not is_source(location):
            raise
    command = command_text(["mdstudio", "import", location, "DATASET"])
    raise NotADatasetError("This is a source of data, no MD dataset.", where=location,
                           advice=f"Make one of it: {command}.")


def open_place(location: str) -> BlobStorage:
    """A folder or container to look for datasets in; `NotFoundError` for a folder that is not there."""
    from mdstudio.engine.storage import FolderStorage, open_storage

    storage = open_storage(location)
    if isinstance(storage, FolderStorage) and not os.path.isdir(storage.location):
        raise NotFoundError("There is no such folder.", where=storage.location)
    return storage
