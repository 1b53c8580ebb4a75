"""`eikon report`: make the reports of a replay again, in any format, from its outcome and artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import output_file_option

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome

Format: TypeAlias = Literal["text", "html", "md", "junit", "github", "gitlab"]


@command("report")
@click.argument("outcome", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="text: the summary; html: a page; md: Markdown for the page of a job; junit: XML; github: annotations; "
    "gitlab: code quality.",
)
@output_file_option
def report_command(*, outcome: Path, kind: Format, output: Path | None) -> int:
    """Render the outcome of a replay: OUTCOME is its artifacts folder or its outcome.json.

    No browser is needed. Exit status: 0 rendered; 2 usage, or the file cannot be written; 65 unreadable outcome.
    """
    from eikon_engine.files.writing import write_atomically
    from eikon_engine.gates.event_sources import read_outcome
    from eikon_engine.replay.artifacts import OUTCOME_FILE

    file = outcome / OUTCOME_FILE if outcome.is_dir() else outcome
    is_beside = output is None or output.absolute().parent == file.absolute().parent
    text = _render(kind, read_outcome(file), file.parent, is_beside=is_beside)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomically(output, text.encode())
    return 0


def _render(kind: Format, outcome: ReplayOutcome, folder: Path, *, is_beside: bool) -> str:
    from eikon_engine.report import ci_formats
    from eikon_engine.report.html_report import render_report
    from eikon_engine.report.replay_summary import render_summary

    match kind:
        case "text":
            return render_summary(outcome, folder)
        case "html":
            return render_report(outcome, folder, is_beside=is_beside)
        case "md":
            return ci_formats.render_markdown(outcome)
        case "junit":
            return ci_formats.render_junit(outcome)
        case "github":
            return ci_formats.render_github(outcome)
        case "gitlab":
            return ci_formats.render_gitlab(outcome)
