"""`mdstudio check DATASET`: findings, one a line, and how the dataset fares."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from mdstudio.cli.output import Output, counted, size
from mdstudio.cli.progress import shown_progress

LEVELS = ("probe", "index")
STATUS = {"clean": 0, "damaged": 3, "advice": 5}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "check", parents=[common], help="whether a dataset is whole",
        description="Looks for damage. Exit status: 0 clean at the level asked, 3 damage found, 5 advice only.")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("--level", choices=LEVELS, default="index",
                        help="probe: metadata, and that every blob is there; index: every page index too (%(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.health import Finding, check
    from mdstudio.engine.storage import open_storage

    storage = open_storage(args.dataset)
    findings: list[Finding] = []
    summary: dict[str, Any] = {}
    with shown_progress(args, "Checking") as progress:
        for entry in check(storage, args.level, progress):
            if isinstance(entry, Finding):
                findings.append(entry)
                if out.json:
                    out.line(finding_json(entry))
            else:
                summary = summary_json(entry)
    if out.json:
        out.line({"summary": summary})
    else:
        _print(out, storage.location, findings, summary)
    return STATUS[summary["status"]]


def finding_json(finding: Any) -> dict[str, Any]:
    """The keys of design 5a."""
    return dataclasses.asdict(finding)


def summary_json(summary: Any) -> dict[str, Any]:
    return dataclasses.asdict(summary) if dataclasses.is_dataclass(summary) else dict(summary)  # type: ignore[arg-type]


def _print(out: Output, location: str, findings: list[Any], summary: dict[str, Any]) -> None:
    words = {"clean": "clean", "advice": "fine, with advice", "damaged": "damaged"}
    out.title(f"{location}: {words[summary['status']]} at level {summary['level']}")
    if findings:
        out.table(("Severity", "Code", "Blob", "What", "Do"),
                  [(f.severity, f.code, f.blob, f"expected {f.expected}, found {f.found}", f.advice) for f in findings])
    out.text(f"  {counted(summary['findings'], 'finding')}; {summary['pages_checked']:,} of {summary['pages_total']:,} "
             f"pages checked, {size(summary['bytes_read'])} read in {counted(summary['requests'], 'request')}")
