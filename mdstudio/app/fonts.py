"""The bundled families and the type scale. Fonts are set by `setFont`, never by a sheet (it cannot say `tnum`)."""

from __future__ import annotations

import functools
from typing import Literal

from PySide6.QtGui import QFont, QFontDatabase

from mdstudio.resources import resource

Role = Literal[
    "hero", "title", "metric", "section", "body", "body-strong", "dense", "dense-medium", "dense-strong", "caption",
    "caption-medium", "caption-strong", "over", "mono", "mono-small",
]

_SANS, _MONO = "Inter", "JetBrains Mono"
_FILES = ("Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf", "Inter-Bold.otf", "JetBrainsMono-Medium.ttf")
_SCALE: dict[str, tuple[str, int, int]] = {  # role: (family, px, weight)
    "hero": (_SANS, 24, 600),
    "title": (_SANS, 20, 600),
    "metric": (_SANS, 17, 600),
    "section": (_SANS, 14, 600),
    "body": (_SANS, 13, 400),
    "body-strong": (_SANS, 13, 600),
    "dense": (_SANS, 12, 400),
    "dense-medium": (_SANS, 12, 500),
    "dense-strong": (_SANS, 12, 600),
    "caption": (_SANS, 11, 400),
    "caption-medium": (_SANS, 11, 500),
    "caption-strong": (_SANS, 11, 600),
    "over": (_SANS, 10, 600),
    "mono": (_MONO, 12, 500),
    "mono-small": (_MONO, 11, 500),
}


@functools.cache
def load() -> tuple[str, ...]:
    """Register the bundled files with Qt once; returns the families. `FileNotFoundError` for a broken install."""
    families: list[str] = []
    for name in _FILES:
        number = QFontDatabase.addApplicationFont(str(resource(f"fonts/{name}")))
        if number < 0:
            raise FileNotFoundError(f"fonts/{name}: the bundled font cannot be loaded; the installation is incomplete.")
        families += QFontDatabase.applicationFontFamilies(number)
    return tuple(dict.fromkeys(families))


@functools.cache
def _font(role: str) -> QFont:
    load()
    family, pixels, weight = _SCALE[role]
    font = QFont(family)
    font.setPixelSize(pixels)
    font.setWeight(QFont.Weight(weight))
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setFeature(QFont.Tag("tnum"), 1)
    if family == _MONO:
        font.setFeature(QFont.Tag("calt"), 0)  # no ligatures: "://" is three characters of a path
    if role == "over":
        font.setCapitalization(QFont.Capitalization.AllUppercase)
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.5)
    return font


def font(role: Role) -> QFont:
    """A font of the type scale, tabular figures on; a copy that the caller may change."""
    return QFont(_font(role))
