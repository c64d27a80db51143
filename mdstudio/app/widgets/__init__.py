"""The components of the mock-up sheet (07): painted by tokens, native classes underneath, each with an accessible name.

Everything a view needs is imported from here; the modules know `theme`, `fonts`, `icons`, `formats` and no data.
"""

from mdstudio.app.widgets.badge import Badge, paint_badge
from mdstudio.app.widgets.bars import Bar, paint_bar
from mdstudio.app.widgets.base import (
    Card,
    ElidedLabel,
    FactCard,
    Ground,
    HLine,
    Icon,
    KeyValueList,
    Label,
    Toolbar,
    VLine,
    is_scheme_change,
    repolish,
)
from mdstudio.app.widgets.buttons import Button, IconButton, PrimaryButton, Segmented
from mdstudio.app.widgets.checks import paint_check
from mdstudio.app.widgets.combo import Combo
from mdstudio.app.widgets.delegate import HEADER_HEIGHT, ROW_HEIGHT
from mdstudio.app.widgets.hatch import fill_status, hatch
from mdstudio.app.widgets.inputs import LineEdit, SearchField
from mdstudio.app.widgets.states import StateStack
from mdstudio.app.widgets.table import Cell, Column, Table, TableModel

__all__ = [
    "HEADER_HEIGHT", "ROW_HEIGHT", "Badge", "Bar", "Button", "Card", "Cell", "Column", "Combo",
    "ElidedLabel", "FactCard", "Ground", "HLine", "Icon", "IconButton", "KeyValueList", "Label", "LineEdit",
    "PrimaryButton", "SearchField", "Segmented", "StateStack", "Table", "TableModel",
    "Toolbar", "VLine", "fill_status", "hatch", "is_scheme_change", "paint_badge", "paint_bar", "paint_check",
    "repolish",
]
