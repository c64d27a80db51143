"""`mdstudio check DATASET`: findings, one a line, and how the dataset fares."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from mdstudio.cli.output import Output, counted, size
from mdstudio.cli.progress import shown_progress

if TYPE_CHECKING:
    from mdstudio.engine.health import Finding, Summary

STATUS = {"clean": 0, "damaged": 3, "advice": 5}
SHOWN = 5  # further blobs of a kind of finding that are named
WORDS = {"clean": "clean", "damaged": "damaged", "advice": "whole, with advice"}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "check", parents=[common], help="whether a dataset is whole",
        description="Looks for damage. Exit status: 0 clean at the level asked, 3 damage found, 5 advice only.")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("--level", default="index", metavar="LEVEL",
                        help="probe: metadata, and that every blob is there; index: every page index too; full: every "
                             "page read and decoded (%(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.health import Finding, check
    from mdstudio.engine.storage import open_storage

    storage = open_storage(args.dataset)
    findings: list[Finding] = []
    summary: Summary | None = None
    with shown_progress(args, "Checking") as progress:
        for entry in check(storage, args.level, progress):
            if not isinstance(entry, Finding):
                summary = entry
            elif out.json:
                out.line(dataclasses.asdict(entry))
            else:
                findings.append(entry)
    assert summary is not None
    if out.json:
        out.line({"summary": dataclasses.asdict(summary)})
    else:
        _print(out, storage.location, findings, summary)
    return STATUS[summary.status]


def _print(out: Output, location: str, findings: list[Finding], summary: Summary) -> None:
    out.title(f"{location}: {WORDS[summary.status]} at level {summary.level}")
    for same in _by_cause(findings):
        finding = same[0]
        where = f" {finding.blob}" if finding.blob else ""
        more = f", and {counted(len(same) - 1, 'more finding')} of the kind" if len(same) > 1 else ""
        out.text(f"\n{finding.severity} {finding.code}{where}{more}")
        out.facts([
            ("Expected", finding.expected), ("Found", finding.found), ("Pages", _numbers(finding.pages)),
            ("Lost", finding.lost), ("Also", ", ".join(part.blob for part in same[1:SHOWN + 1])
                                     + (", ..." if len(same) > SHOWN + 1 else "")),
            ("Do", finding.advice), ("Command", finding.command),
        ])
    if findings:
        out.text()
    pages = f"{summary.pages_checked:,} of {summary.pages_total:,} pages" if summary.level == "full" else \
        f"indexes of {summary.pages_total:,} pages" if summary.level == "index" else f"{summary.pages_total:,} pages"
    out.text(f"  {counted(summary.findings, 'finding')}; {pages}, {size(summary.bytes_read)} read in "
             f"{counted(summary.requests, 'request')}")
    if summary.pages_not_checkable:
        out.text(f"  {counted(summary.pages_not_checkable, 'page')} not checkable: stored without a checksum, so that "
                 "a changed byte need not show")


def _by_cause(findings: list[Finding]) -> list[list[Finding]]:
    """Findings of one code and item together, in the order of their first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.item), []).append(finding)
    return list(groups.values())


def _numbers(values: tuple[int, ...]) -> str:
    """Page numbers in words; the first of many."""
    shown = ", ".join(map(str, values[:20]))
    return f"{shown}, ... ({len(values):,} in all)" if len(values) > 20 else shown
