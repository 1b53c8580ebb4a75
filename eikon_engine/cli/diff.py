"""`eikon diff`: compare two bundles, two outcomes, or an outcome with its bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import output_file_option

if TYPE_CHECKING:
    from eikon_engine.divergence.bundle_diff import BundleDiff
    from eikon_engine.divergence.outcome_diff import OutcomeDiff
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.trace.bundle import Bundle

Format: TypeAlias = Literal["text", "html", "json"]


@command("diff")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="text: lines; html: a page; json: all of it.",
)
@output_file_option
def diff_command(*, first: Path, second: Path, kind: Format, output: Path | None) -> int:
    """Compare FIRST and SECOND: two bundles, two outcomes of one mission, or a bundle and an outcome of it.

    An outcome is an artifacts folder or its outcome.json. No browser is needed. The first difference comes first.

    Exit status: 0 nothing differs; 1 something differs; 2 usage, or the file cannot be written; 65 unreadable bundle
    or outcome.
    """
    from eikon_engine.files.writing import write_atomically

    found = _compare((str(first), _read(first)), (str(second), _read(second)))
    text = _render(kind, found)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomically(output, text.encode())
    return 0 if found.is_same else 1


def _read(path: Path) -> Bundle | ReplayOutcome:
    """Read a bundle, or an outcome: a folder that has one, or a file with its name."""
    from eikon_engine.gates.event_sources import read_outcome
    from eikon_engine.replay.artifacts import OUTCOME_FILE
    from eikon_engine.trace.bundle import open_bundle

    if path.is_dir() and (path / OUTCOME_FILE).is_file():
        return read_outcome(path / OUTCOME_FILE)
    return read_outcome(path) if path.name == OUTCOME_FILE else open_bundle(path)


def _compare(
    first: tuple[str, Bundle | ReplayOutcome], second: tuple[str, Bundle | ReplayOutcome]
) -> BundleDiff | OutcomeDiff:
    from eikon_engine.divergence.bundle_diff import compare_bundles
    from eikon_engine.divergence.outcome_diff import compare_outcomes, compare_with_recording
    from eikon_engine.outcome.outcomes import ReplayOutcome

    (one, before), (two, after) = first, second
    if isinstance(before, ReplayOutcome):
        if isinstance(after, ReplayOutcome):
            return compare_outcomes((one, before), (two, after))
        return compare_with_recording((two, after), (one, before))
    if isinstance(after, ReplayOutcome):
        return compare_with_recording((one, before), (two, after))
    return compare_bundles((one, before), (two, after))


def _render(kind: Format, found: BundleDiff | OutcomeDiff) -> str:
    from eikon_engine.report.diff_report import render_diff_page, render_diff_text

    match kind:
        case "text":
            return render_diff_text(found)
        case "html":
            return render_diff_page(found)
        case "json":
            return f"{found.model_dump_json(indent=2)}\n"
