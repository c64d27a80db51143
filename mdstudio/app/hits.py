"""What the palette offers, from the parts of the window: views, commands, open tabs, places, recent documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mdstudio.app.commands import COMMANDS
from mdstudio.app.dataset_page import DatasetPage
from mdstudio.app.documents import Documents
from mdstudio.app.palette import Hit
from mdstudio.app.places_model import PlacesModel
from mdstudio.app.preferences import Recent


def view_hits(page: DatasetPage | None) -> Iterator[Hit]:
    """The views of the dataset at the front."""
    for number, (key, title, icon) in enumerate(page.views() if page else (), 1):
        assert page is not None
        yield Hit(f"Show {title}", icon, partial(page.show_view, key), f"Ctrl {number}")


def command_hits(window: object) -> Iterator[Hit]:
    """What the window can do: each command is a method of it."""
    for command in COMMANDS:
        if command.key != "show_palette":
            keys = command.keys.replace("+", " ")
            yield Hit(command.text, command.icon or "chev", getattr(window, command.key), keys)


def tab_hits(documents: Documents) -> Iterator[Hit]:
    """The open tabs."""
    for title, page in zip(documents.titles(), documents.pages, strict=True):
        yield Hit(f"Go to {title}", "overview", partial(documents.bring, page))


def document_hits(
    recents: Sequence[Recent], places: PlacesModel, open_location: Callable[[str], object]
) -> Iterator[Hit]:
    """Recent documents, then the datasets and files that the tree of places has listed; each once."""
    offered = set()
    for recent in recents:
        offered.add(recent.location)
        yield Hit(f"Open {recent.title}", "file" if recent.kind == "source" else recent.kind,
                  partial(open_location, recent.location), recent.location)
    for node in places.documents():
        if node.location not in offered:
            offered.add(node.location)
            yield Hit(f"Open {node.text}", node.icon, partial(open_location, node.location), node.tip)
