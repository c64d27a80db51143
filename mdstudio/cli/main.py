"""`mdstudio`: find the command, run it, turn every error into one or two lines and an exit status (design 5)."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from mdstudio.engine.errors import AccessError, MdError, NotFoundError, UsageError
from mdstudio.engine.storage import redact

COMMANDS = {  # name -> module, in the order of --help
    "demo": "demo", "list": "list_", "inspect": "inspect", "import": "import_", "query": "query", "check": "check",
    "compare": "compare", "remove": "remove", "update-mesh": "update_mesh",
    "relocate": "relocate", "clean": "clean", "export": "export", "jobs": "jobs",
}
# A value such as -10,50,5,60 that argparse would take for an option.
_NUMBERS = re.compile(r"^-([\d.]|inf|nan)[-+\d.a-z,]*$", re.IGNORECASE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status. Never raises but on `MD_STUDIO_DEBUG=1`."""
    words = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed it: `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  to the end
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # what the terminal cannot show is no reason to fail
    args = argparse.Namespace(progress="auto")
    try:
        if not words or (words[0] not in COMMANDS and not words[0].startswith("-")):
            return _window(words)
        args = parse(words)
        from mdstudio.cli.output import Output

        status: int = args.run(args, Output(args.json))
        sys.stdout.flush()
        return status
    except SystemExit as end:  # --help, --version
        return int(end.code or 0)
    except BrokenPipeError:  # the reader of our output had enough; the interpreter's last flush must not complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("Cancelled.", file=sys.stderr)
        return 130
    except Exception as error:
        return _report(error, args.progress)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; raises `UsageError`, or `SystemExit` after --help and --version."""
    return _parser().parse_args(_join_numbers(words))


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are ours: one line, and where help is."""

    def error(self, message: str) -> NoReturn:
        advice = f"See '{self.prog} --help'."
        if message.endswith("expected one argument"):
            advice = "Most shells take a word that starts with # for a comment: quote it, '#0'. " + advice
        if message.startswith("unrecognized arguments"):
            advice = f"Options come after the words of the command: mdstudio query map DATASET --json. {advice}"
        raise UsageError(f"{message[:1].upper()}{message[1:].rstrip('.')}.", advice=advice)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Room for the longest command beside what it does: argparse reckons without the indent of commands."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length = max(self._action_max_length, 4 + max(map(len, COMMANDS)))


def _parser() -> Parser:
    parser = Parser(
        prog="mdstudio", formatter_class=_Help, allow_abbrev=False,
        description="Stores, shows and checks multidimensional environmental data: grids over time, as tiles that\n"
                    "a map or a time series reads at once. Without a command the window opens, at LOCATION if given.",
        epilog="A location is a path, az://account/container/prefix or https://...blob...?sas; the connection string\n"
               "in AZURE_STORAGE_CONNECTION_STRING serves az://.\n\n"
               "Exit status: 0 fine, 1 failed, 2 usage, 3 damage or difference found, 5 advice only, 10 not found,\n"
               "11 no permission, 12 not an MD dataset, or one that this build cannot read, 130 cancelled.",
        usage="mdstudio [LOCATION]\n       mdstudio COMMAND ... ",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and stop")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser, prog="mdstudio")
    for module in COMMANDS.values():
        importlib.import_module(f"mdstudio.cli.{module}").add_parser(commands, common_options())
    return parser


def common_options() -> argparse.ArgumentParser:
    """The options that every command takes."""
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="data on stdout as JSON: one document, or JSON lines")
    group.add_argument("--progress", choices=("auto", "json", "none"), default="auto",
                       help="on stderr: a bar where it is a terminal (auto), JSON lines, or none")
    group.add_argument("--quiet", action="store_true", help="no progress, no notes: errors only")
    return common


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import mdstudio

        print(f"mdstudio {mdstudio.__version__}")
        parser.exit()


def _join_numbers(words: Sequence[str]) -> list[str]:
    """`--bbox -10,50,5,60` as `--bbox=-10,50,5,60`: argparse would take the value for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].startswith("--") and "=" not in joined[-1] and _NUMBERS.match(word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _window(words: list[str]) -> int:
    if len(words) > 1 or (words and "://" not in words[0] and not os.path.exists(words[0])):
        near = get_close_matches(words[0], COMMANDS, 1)
        advice = f"Did you mean 'mdstudio {near[0]}'?" if near else "See 'mdstudio --help'."
        if len(words) > 1 and os.path.exists(words[0]):
            raise UsageError("One location at a time.", advice="Without a command the window opens, at one LOCATION.")
        if len(words) > 1:
            raise UsageError(f"There is no command '{words[0]}'.", advice=advice)
        raise NotFoundError(f"There is no command and no file or folder '{words[0]}'.", advice=advice)
    from mdstudio.cli.window import open_window

    return open_window(words[0] if words else None)


def _report(error: Exception, progress: str) -> int:
    """Say what went wrong on stderr; the exit status."""
    debug = os.environ.get("MD_STUDIO_DEBUG") == "1"
    known = error if isinstance(error, MdError) else _known(error)
    if known is None or debug:
        import traceback

        traceback.print_exception(error)
    if known is None:
        print(f"mdstudio: internal error: {error!r}. Please report it with the lines above.", file=sys.stderr)
        return 1
    if progress == "json":
        print(json.dumps({"error": {"code": known.code, "message": known.message, "where": known.where,
                                    "advice": known.advice}}), file=sys.stderr)
    else:
        print(f"mdstudio: {known}", file=sys.stderr)
    return known.exit_status


def _known(error: Exception) -> MdError | None:
    """What the operating system refused, as an error of ours; None for a bug."""
    if isinstance(error, MemoryError):
        return MdError("There was not enough memory.")
    if isinstance(error, UnicodeEncodeError) and any("\ud800" <= c <= "\udfff" for c in error.object):
        return UsageError("The name is no text: its bytes are no UTF-8.", where=error.object,
                          advice="Give it another name.")
    if not isinstance(error, OSError) or error.errno is None:
        return None
    where = redact(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else ""
    kind = {FileNotFoundError: NotFoundError, PermissionError: AccessError}.get(type(error), MdError)
    return kind(f"{error.strerror}.", where=where)
