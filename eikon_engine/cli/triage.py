"""`eikon triage`: group failed replays by what caused them."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import output_file_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.outcome.triage import Triage

Format: TypeAlias = Literal["text", "md", "html", "json"]


@command("triage")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER|OUTCOME...")
@click.option(
    "--known",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Known causes in TOML: a [[cause]] with name, patterns of id, cause, subject or change, owner, ticket, until.",
)
@click.option(
    "--history/--no-history",
    "uses_history",
    default=True,
    show_default=True,
    help="Tell what earlier runs say about each cause: new, known, or back again.",
)
@click.option("--cause", "cause_id", metavar="ID", help="Show this cause only: its id, in brackets after its name.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="text: lines; md: Markdown for the page of a job; html: a page; json: all of it.",
)
@output_file_option
def triage_command(
    *,
    paths: tuple[Path, ...],
    known: Path | None,
    uses_history: bool,
    cause_id: str | None,
    kind: Format,
    output: Path | None,
) -> int:
    """Group the replays that failed by their first cause, whatever missions they stop.

    FOLDER is searched for outcome.json files. No browser is needed. A file that cannot be read is listed.

    Exit status: 0 rendered; 2 usage, no outcome, or the file cannot be written; 65 no outcome can be read.
    """
    from eikon_engine.files.writing import write_atomically

    found = _read(paths, known)
    if uses_history:
        from eikon_engine.cli.history import compare_with_history

        found = compare_with_history(found, partial(click.echo, err=True))
    if cause_id is not None:
        found = _only(found, cause_id)
    text = _render(kind, found, Path() if output is None else output.parent)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomically(output, text.encode())
    return 0


def _read(paths: Sequence[Path], known: Path | None) -> Triage:
    from eikon_engine.errors import TraceError, UsageError
    from eikon_engine.files.wall_clock import utc_now
    from eikon_engine.gates.event_sources import read_outcome
    from eikon_engine.triage.groups import TriageBuilder
    from eikon_engine.triage.known_causes import read_known_causes

    files = tuple(dict.fromkeys(find_outcomes(paths)))
    if not files:
        message = f"{paths[0]}: expected an outcome.json, or a folder that contains some, got none"
        raise UsageError(message)
    known_causes = None if known is None else read_known_causes(known, utc_now().date())
    builder, error = TriageBuilder(known_causes), None
    with click.progressbar(files, label="outcomes", file=sys.stderr, hidden=not sys.stderr.isatty()) as shown:
        for file in shown:
            try:
                builder.add(str(file), read_outcome(file), file.parent)
            except TraceError as failure:
                builder.add_unreadable(str(file), failure.message.removeprefix(f"{file}: "))
                error = failure
    found = builder.build()
    if error is not None and not found.outcomes:
        raise error
    return found


def find_outcomes(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the given files, and those in the given folders, in order."""
    from eikon_engine.replay.artifacts import OUTCOME_FILE

    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob(OUTCOME_FILE))
        else:
            yield path


def _only(found: Triage, cause_id: str) -> Triage:
    """Return a triage with one of its groups; the numbers stay those of all outcomes.

    Raises:
        UsageError: no group has this id.
    """
    from eikon_engine.errors import UsageError

    groups = tuple(each for each in found.groups if each.id == cause_id)
    if not groups:
        known = ", ".join(each.id for each in found.groups) or "none"
        message = f"--cause: expected the id of a cause, got {cause_id!r}; the causes are {known}"
        raise UsageError(message)
    return found.model_copy(update={"groups": groups, "suggestions": ()})


def _render(kind: Format, found: Triage, page_folder: Path) -> str:
    from eikon_engine.report import triage_report

    match kind:
        case "text":
            return triage_report.render_triage_text(found)
        case "md":
            return triage_report.render_triage_markdown(found)
        case "html":
            return triage_report.render_triage_page(
                found, lambda path: triage_report.find_report(Path(path), page_folder)
            )
        case "json":
            return f"{json.dumps(found.model_dump(mode='json'), indent=2)}\n"
