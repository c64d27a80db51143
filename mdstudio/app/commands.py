"""The window's commands as data: key, words, icon, keys. The palette, the list of keys and the menus come from here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the window: `key` is the name of the method that runs it, `keys` as Qt writes them, "" for none."""

    key: str
    text: str
    icon: str = ""
    keys: str = ""


COMMANDS: tuple[Command, ...] = (
    Command("show_palette", "Search or run a command", "search", "Ctrl+K"),
    Command("open_folder", "Open folder\u2026", "folder", "Ctrl+O"),
    Command("open_url", "Open Azure URL\u2026", "cloud", "Ctrl+Shift+O"),
    Command("import_file", "Import a file\u2026", "import", "Ctrl+I"),
    Command("open_sample", "Open the sample dataset", "cube", "Ctrl+Shift+D"),
    Command("reload", "Reload", "reload", "Ctrl+R"),
    Command("copy_command", "Copy as command", "terminal", "Ctrl+Shift+C"),
    Command("next_tab", "Next tab", "chev", "Ctrl+Tab"),
    Command("previous_tab", "Previous tab", "chevl", "Ctrl+Shift+Tab"),
    Command("close_tab", "Close tab", "close", "Ctrl+W"),
    Command("toggle_jobs", "Show or hide jobs", "jobs", "Ctrl+J"),
    Command("toggle_places", "Show or hide places", "sidebar", "Ctrl+B"),
    Command("toggle_side_panel", "Show or hide the side panel", "sidebar", "Ctrl+."),
    Command("toggle_scheme", "Switch between light and dark", "sun"),
    Command("follow_system", "Follow the system's light and dark", "settings"),
    Command("next_pane", "Next pane", "chev", "F6"),
    Command("previous_pane", "Previous pane", "chevl", "Shift+F6"),
    Command("show_keys", "List of keys", "keyboard", "F1"),
    Command("quit", "Quit", "close", "Ctrl+Q"),
)

VIEW_KEYS: tuple[tuple[str, str], ...] = (
    ("Ctrl 1 to 7", "views in order"),
    ("Esc", "cancel the read"),
    ("Ctrl C", "copy value or row"),
    ("Space", "play, pause"),
    ("Left, Right", "step in time; with Shift ten steps"),
    ("Home, End", "first, last step"),
    ("+ \u2212 0", "zoom in, out, fit"),
    ("1 to 5", "pan, point, rectangle, polygon, transect"),
    ("Enter, Backspace", "end a polygon or line, take its last corner away"),
    ("F, L", "full range, lock range"),
    ("X", "explain on or off"),
)
