"""What the application remembers between two runs: an ini file in the configuration folder. Never a secret."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSettings, QStandardPaths

from mdstudio.app.theme import Mode

MAX_RECENT = 12
MAX_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Recent:
    """Something that was opened: `kind` is "grid", "mesh" or "source"; `opened` is ISO 8601 UTC."""

    location: str
    title: str
    kind: str
    note: str = ""
    size_bytes: int | None = None
    opened: str = ""


class Preferences:
    """Typed access to the settings file. Main thread only."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is the ini file; None is the user's own."""
        if path is None:
            folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericConfigLocation)
            path = Path(folder) / "mdstudio" / "mdstudio.ini"
        self._settings = QSettings(str(path), QSettings.Format.IniFormat)

    @property
    def scheme(self) -> Mode:
        value = self._settings.value("look/scheme", "system")
        return value if value in ("system", "light", "dark") else "system"

    @scheme.setter
    def scheme(self, mode: Mode) -> None:
        self._settings.setValue("look/scheme", mode)

    @property
    def workers(self) -> int:
        """Jobs that run at once: one per core, at most 4, unless chosen otherwise (G7)."""
        default = min(MAX_WORKERS, os.cpu_count() or 1)
        try:
            return max(1, min(MAX_WORKERS, int(str(self._settings.value("jobs/workers", default)))))
        except ValueError:
            return default

    @workers.setter
    def workers(self, count: int) -> None:
        self._settings.setValue("jobs/workers", count)

    @property
    def places(self) -> list[str]:
        """Folders and containers of the tree, in the order they were added, without secrets."""
        return [str(place) for place in self._json("places", []) if isinstance(place, str)]

    @places.setter
    def places(self, locations: list[str]) -> None:
        self._settings.setValue("places", json.dumps(locations))

    @property
    def recents(self) -> list[Recent]:
        """What was opened, newest first."""
        result = []
        for entry in self._json("recents", []):
            try:
                result.append(Recent(**entry))
            except TypeError:  # written by another version: leave it out
                continue
        return result

    def remember(self, recent: Recent) -> None:
        """Put it first, once."""
        kept = [known for known in self.recents if known.location != recent.location]
        self._write_recents([recent, *kept][:MAX_RECENT])

    def forget_recents(self) -> None:
        self._write_recents([])

    def state(self, name: str) -> QByteArray:
        """Geometry of a window or splitter as Qt packs it; empty where nothing is remembered."""
        value = self._settings.value(f"window/{name}", QByteArray())
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_state(self, name: str, value: QByteArray) -> None:
        self._settings.setValue(f"window/{name}", value)

    def flag(self, name: str, default: bool) -> bool:
        """A switch such as "jobs-open/overview"."""
        return str(self._settings.value(f"flags/{name}", default)).lower() == "true"

    def set_flag(self, name: str, value: bool) -> None:
        self._settings.setValue(f"flags/{name}", value)

    def text(self, name: str) -> str:
        """A remembered text such as the last folder; "" where nothing is remembered."""
        return str(self._settings.value(f"texts/{name}", ""))

    def set_text(self, name: str, value: str) -> None:
        self._settings.setValue(f"texts/{name}", value)

    @property
    def widths(self) -> dict[str, int]:
        """Widths of columns that were dragged, by "table/column"."""
        return {str(key): width for key, width in self._json("widths", {}).items() if isinstance(width, int)}

    @widths.setter
    def widths(self, widths: dict[str, int]) -> None:
        self._settings.setValue("widths", json.dumps(widths))

    def save(self) -> None:
        """Write the file now."""
        self._settings.sync()

    def _write_recents(self, recents: list[Recent]) -> None:
        self._settings.setValue("recents", json.dumps([asdict(recent) for recent in recents]))

    def _json(self, key: str, default: Any) -> Any:
        try:
            value = json.loads(str(self._settings.value(key, "")))
        except ValueError:
            return default
        return value if isinstance(value, type(default)) else default
