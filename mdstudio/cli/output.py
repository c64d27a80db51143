"""What goes to stdout: one JSON document, JSON lines, or tables for a person."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO


class Output:
    """stdout of one command; `json` says which of the two forms."""

    def __init__(self, as_json: bool) -> None:
        self.json = as_json

    def document(self, data: Mapping[str, Any]) -> None:
        """The command's one JSON document."""
        print(json_text(data, sys.stdout, indent=2))

    def line(self, data: Mapping[str, Any]) -> None:
        """One JSON line of several."""
        print(json_text(data, sys.stdout), flush=True)

    def text(self, text: str = "") -> None:
        """Text as it stands."""
        print(text)

    def title(self, text: str) -> None:
        """A heading; bold on a terminal."""
        from rich.text import Text

        self._print(Text(text, style="bold"))

    def facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Names and values, one a line; empty values are left out."""
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in facts:
            if value:
                grid.add_row(Text(f"  {name}", style="dim"), Text(value))
        self._print(grid)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table; a column whose name starts with ">" is right-aligned."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
        for column in columns:
            table.add_column(Text(column.removeprefix(">")), justify="right" if column.startswith(">") else "left",
                             overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self._print(table)

    def _print(self, renderable: Any) -> None:
        """Without the blanks that fill up a line; a pipe has no width: nothing is folded there, a row stays a line."""
        from rich.console import Console

        console = Console(highlight=False, width=None if sys.stdout.isatty() else 1000)
        with console.capture() as captured:
            console.print(renderable)
        print("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


def json_text(data: Mapping[str, Any], stream: TextIO, indent: int | None = None) -> str:
    """JSON that a stream can take: what its encoding has not, file names that are no text among it, is escaped."""
    text = json.dumps(plain(data), indent=indent, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(plain(data), indent=indent, allow_nan=False)
    return text


def plain(value: Any) -> Any:
    """JSON-able: NumPy scalars and arrays as Python's, NaN and infinities as null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def size(count: float | None) -> str:
    """Bytes with a unit: `3.05 MB`; powers of 1000, as the window and most file managers count."""
    if count is None:
        return ""
    if count < 1000:
        return f"{int(count)} B"
    units = ["KB", "MB", "GB", "TB"]
    count /= 1000
    while count >= 999.5 and len(units) > 1:
        count /= 1000
        units.pop(0)
    return f"{count:.3g} {units[0]}" if count < 999.5 else f"{count:,.0f} {units[0]}"


def duration(seconds: float | None) -> str:
    """`0.8 s`, `3:05`, `2:00:00`."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def number(value: float | int | None) -> str:
    """A value in short: six significant digits, "" for none."""
    if value is None:
        return ""
    return f"{value}" if isinstance(value, int) else f"{value:.6g}"


def counted(count: int, noun: str) -> str:
    """`1 item`, `3 items`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
