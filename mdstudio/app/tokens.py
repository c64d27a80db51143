"""The design tokens: every colour of the application by name, for light and for dark. No colour is named elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Hatch = Literal["none", "wide", "cross", "x", "diagonal", "dots", "back"]

_COLOURS: dict[str, tuple[str, str]] = {  # name: (light, dark)
    "window": ("#F1F3F6", "#0E1116"),
    "panel": ("#F8F9FB", "#12161C"),
    "surface": ("#FFFFFF", "#181D24"),
    "sunken": ("#F3F5F8", "#11151A"),
    "hover": ("#EEF1F5", "#212833"),
    "line": ("#E2E6EB", "#28303A"),
    "line2": ("#C5CCD6", "#404B59"),
    "nodata": ("#E9ECF0", "#212730"),
    "text": ("#14181F", "#E9ECF1"),
    "text2": ("#434C5A", "#B7C0CC"),
    "text3": ("#5F6978", "#8D98A7"),
    "accent": ("#3550C8", "#93A8FF"),
    "accentbg": ("#E9EDFC", "#232D4F"),
    "onaccent": ("#FFFFFF", "#0E1116"),
    "explain": ("#D81B80", "#FF5CB0"),
    "halo": ("#FFFFFF", "#FFFFFF"),  # overlays lie on arbitrary colours: the same light and dark line in both schemes
    "ink": ("#14181F", "#14181F"),
    "graticule": ("#000000", "#FFFFFF"),
    "s1": ("#3550C8", "#93A8FF"),
    "s2": ("#BD5317", "#F2995C"),
    "s3": ("#0F7B6C", "#4FC7B3"),
    "s4": ("#9B3A8C", "#DB8BCF"),
    # statuses: text, background (-bg), fill (-fill)
    "ok": ("#14753A", "#56C98D"),
    "ok-bg": ("#E4F4EA", "#153226"),
    "ok-fill": ("#2E9E5B", "#3BA86B"),
    "advice": ("#8A5300", "#E9B044"),
    "advice-bg": ("#FCF1DC", "#35290F"),
    "advice-fill": ("#C07F10", "#D89B2B"),
    "bad": ("#BC2323", "#FF8A80"),
    "bad-bg": ("#FCE9E7", "#3D1B1B"),
    "bad-fill": ("#D64545", "#E25C57"),
    "unreadable": ("#6544B8", "#B9A4F7"),
    "unreadable-bg": ("#F0EBFB", "#2A2342"),
    "unreadable-fill": ("#7A5AC8", "#A58BF0"),
    "unknown": ("#5F6978", "#98A3B2"),
    "unknown-bg": ("#ECEFF3", "#222932"),
    "unknown-fill": ("#8791A0", "#6B7686"),
    "info": ("#1A649F", "#74BAF6"),
    "info-bg": ("#E5F1FA", "#13293C"),
    "info-fill": ("#1A649F", "#74BAF6"),
}

LIGHT: Mapping[str, str] = {name: pair[0] for name, pair in _COLOURS.items()}
DARK: Mapping[str, str] = {name: pair[1] for name, pair in _COLOURS.items()}

SERIES = ("s1", "s2", "s3", "s4")
MARKERS = ("o", "s", "t", "d")  # pyqtgraph symbols, in the order of SERIES
TEXTS = ("text", "text2", "text3")
BACKGROUNDS = ("surface", "panel", "window", "sunken", "hover", "accentbg")


@dataclass(frozen=True, slots=True)
class Status:
    """How a state is shown: never by colour alone, so always with `icon` and `word`.

    Attributes:
        tone: colour name of its text; `tone-bg` and `tone-fill` are its background and fill.
        icon: name of its shape in resources/icons.
        word: what it is called where nothing more exact is known.
        hatch: pattern of its fill; `outline` where the fill is only a border, `dashed` where that is dashed.
    """

    tone: str
    icon: str
    word: str
    hatch: Hatch = "none"
    outline: bool = False
    dashed: bool = False


STATUSES: Mapping[str, Status] = {
    "ok": Status("ok", "status-ok", "OK"),
    "advice": Status("advice", "status-advice", "Advice", "wide"),
    "bad": Status("bad", "status-bad", "Damage", "cross"),
    "missing": Status("bad", "status-missing", "Missing", "x", outline=True),
    "unreadable": Status("unreadable", "status-unreadable", "Unreadable", "diagonal"),
    "unknown": Status("unknown", "status-unknown", "Not checked", "dots", outline=True),
    "fill": Status("unknown", "status-fill", "Fill by design", "back"),
    "orphan": Status("advice", "status-orphan", "Orphan", "none", outline=True, dashed=True),
    "info": Status("info", "status-info", "Info"),
}


def luminance(colour: str) -> float:
    """Relative luminance of `#RRGGBB` as WCAG defines it, 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def text_pairs() -> list[tuple[str, str]]:
    """Every (text, background) pair that the application may use; each must reach 4.5 : 1 in both schemes."""
    pairs = [(text, background) for text in TEXTS for background in BACKGROUNDS]
    pairs += [(s.tone, f"{s.tone}-bg") for s in STATUSES.values()]
    pairs += [(tone, ground) for tone in {s.tone for s in STATUSES.values()} for ground in ("surface", "panel")]
    pairs += [(name, "surface") for name in (*SERIES, "explain", "accent")]
    pairs += [("accent", "accentbg"), ("accent", "panel"), ("onaccent", "accent")]
    pairs += [(text, f"{tone}-bg") for text in ("text", "text2") for tone in ("advice", "bad", "info", "unknown")]
    return sorted(set(pairs))
