"""`mdstudio jobs`: the jobs of the window that have not ended well; resume one here, remove one, read its log."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mdstudio.cli.output import Output
from mdstudio.cli.progress import shown_progress, told_to_the_end
from mdstudio.engine.errors import MdError, UsageError
from mdstudio.engine.storage import redact

if TYPE_CHECKING:
    from mdstudio.jobs.queue_store import QueueStore, StoredJob


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "jobs", parents=[common], help="unfinished jobs of the window: list, resume, remove, log",
        formatter_class=argparse.RawDescriptionHelpFormatter, usage="mdstudio jobs [ACTION [JOB]] [options]",
        description="The queue of the window as it is on the disk: jobs that wait or run, those that a crash\n"
                    "interrupted, and those that failed.\n\n"
                    "  list        all of them (without an ACTION too)\n"
                    "  resume JOB  run an interrupted or failed one here; a new dataset goes on where it stopped\n"
                    "  remove JOB  forget one that does not run; what it has written goes by 'mdstudio clean'\n"
                    "  log JOB     its command and what it said")
    parser.add_argument("action", nargs="?", choices=("list", "resume", "remove", "log"), default="list",
                        metavar="ACTION")
    parser.add_argument("job", nargs="?", default="", metavar="JOB", help="as 'mdstudio jobs' names it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.jobs.queue_store import QueueStore

    if bool(args.job) == (args.action == "list"):
        raise UsageError("list takes no JOB." if args.job else f"Which job to {args.action} is missing.",
                         advice="'mdstudio jobs' lists them.")
    store = QueueStore()
    try:
        if args.action == "list":
            _list(out, store.jobs())
        elif args.action == "resume":
            _resume(args, out, store)
        elif args.action == "remove":
            _remove(out, store, args.job)
        else:
            _log(out, store, args.job)
    finally:
        store.close()
    return 0


def _list(out: Output, jobs: list[StoredJob]) -> None:
    if out.json:
        out.document({"jobs": [_facts(job) for job in jobs]})
    elif not jobs:
        out.text("No job is unfinished.")
    else:
        out.table(("Job", "State", "What", "Source", "Dataset"),
                  [(j.id, j.state, j.what, ", ".join(map(redact, j.recipe.sources)), redact(j.recipe.target))
                   for j in jobs])


def _facts(job: StoredJob) -> dict[str, Any]:
    data = job.to_json()
    del data["owner"]
    return data


def _resume(args: argparse.Namespace, out: Output, store: QueueStore) -> None:
    """Run a job in this process; cancelled, it is interrupted again."""
    from mdstudio.cli.import_ import print_summary
    from mdstudio.engine.errors import Cancelled
    from mdstudio.jobs.run import run_recipe

    job = store.take(args.job)
    store.mark(job.id, "running")
    try:
        with shown_progress(args, "Importing") as progress:
            summary = run_recipe(job.recipe, progress)
    except Cancelled:
        raise
    except MdError as error:
        store.log(job.id, f"{error.code} {error}")
        store.mark(job.id, "failed", str(error))
        raise
    with told_to_the_end():
        store.remove(job.id)
        if out.json:
            out.line({"summary": summary})
        else:
            print_summary(out, summary, job.recipe.mode)


def _remove(out: Output, store: QueueStore, job_id: str) -> None:
    job = store.take(job_id)  # refused for one that runs
    store.remove(job.id)
    if out.json:
        out.document({"removed": job.id})
    else:
        out.text(f"Removed {job.id}. What it may have written of {redact(job.recipe.target)} is no dataset; "
                 f"'mdstudio clean' shows it.")


def _log(out: Output, store: QueueStore, job_id: str) -> None:
    job = store.find(job_id)
    lines = store.log_lines(job_id)
    if out.json:
        out.document({"job": job.id, "command": job.recipe.to_command(), "log": lines})
    else:
        out.text("\n".join([f"$ {job.recipe.to_command()}", *lines]))
