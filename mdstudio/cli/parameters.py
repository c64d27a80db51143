"""The import parameters in `import --help`: what each does, what is recommended, what is in force here (D11, D13)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

WIDTH = 100


def parameter_help(environ: Mapping[str, str]) -> str:
    """The end of `import --help`."""
    from mdstudio.engine.codecs import DESCRIPTIONS
    from mdstudio.engine.parameters import Listed, parameters
    from mdstudio.engine.settings import RECOMMENDED_COMPRESSION, effective_defaults

    headings: dict[Listed, str] = {"writer": "writer parameters (--set NAME=VALUE):",
                                   "reader": "reader parameters (--reader NAME=VALUE):", "environment": "environment:"}
    lines: list[str] = []
    for which, heading in headings.items():
        lines.append(heading)
        for name, parameter in parameters(which).items():
            lines += [f"  {name}", *_wrapped(parameter.takes, 6), *_wrapped(parameter.description, 6)]
        lines.append("")
    lines.append("compressions:")
    for name, text in DESCRIPTIONS.items():
        lines += textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<20}", subsequent_indent=" " * 22)
    lines += ["", "compression in force here where none is given:"]
    for default in effective_defaults(environ):
        origin = "code default" if default.origin == "default" else default.origin
        lines.append(f"  {_KINDS.get(default.kind, default.kind):<22}{default.value:<12}({origin})")
    advice = (f"{RECOMMENDED_COMPRESSION} is recommended for all of them, ZstdFastAuto for data that must be "
              "written fast or is appended to often: --set Compression=ZstdAuto. Every reader of the data must know a "
              "compression before it is used.")
    lines += ["", *_wrapped(advice, 0)]
    return "\n".join(lines) + "\n"


_KINDS = {"grid": "grids per timestep", "mesh": "meshes per timestep", "TimeSeries": "TimeSeries storage"}


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)
