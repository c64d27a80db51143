"""The reference page of the import parameters, `resources/parameters.md`; written by: python -m tests.parameter_page"""

from __future__ import annotations

from pathlib import Path

from mdstudio.engine.codecs import DESCRIPTIONS
from mdstudio.engine.parameters import Listed, Parameter, parameters

PAGE = Path(__file__).resolve().parents[1] / "resources" / "parameters.md"
_HEAD = """<!-- Made of resources/parameters.json by: python -m tests.parameter_page -->
# Import parameters

The same texts are in `mdstudio import --help` and in the form of the window. `--params FILE.json` takes the parameters
as lists; the options of the command line come on top:

```json
{
  "writerParameters": [{"name": "Compression", "value": "ZstdAuto"}],
  "readerParameters": [{"name": "DoubleAsFloat", "value": true}]
}
```

An unknown name, a name given twice or a value that does not fit is refused before anything is read.
"""
_PARTS: dict[Listed, str] = {
    "writer": "Writer parameters: `writerParameters`, `--set NAME=VALUE`",
    "reader": "Reader parameters: `readerParameters`, `--reader NAME=VALUE`",
    "environment": "Set by the environment alone",
}


def page() -> str:
    parts = [_HEAD]
    for which, heading in _PARTS.items():
        parts += [f"## {heading}\n", *(_entry(p) for p in parameters(which).values())]
    compressions = [f"- `{name}`: {text}" for name, text in DESCRIPTIONS.items()]
    return "\n".join([*parts, "## Compressions\n", *compressions, ""])


def _entry(parameter: Parameter) -> str:
    rows = [("Type", parameter.type), ("Values", parameter.expected), ("Unit", parameter.unit),
            ("Default", parameter.default_text), ("Recommended", parameter.recommended or ""),
            ("Environment", ", ".join(f"`{name}`" for name in parameter.environment))]
    lines = "\n".join(f"| {name} | {text} |" for name, text in rows if text)
    return f"### {parameter.name}\n\n{parameter.description}\n\n| | |\n|---|---|\n{lines}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
