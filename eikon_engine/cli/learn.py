"""`eikon learn`: propose rules and masks from recordings of one mission."""

from __future__ import annotations

from pathlib import Path

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import bundle_argument
from eikon_engine.cli.standard_streams import print_essential


@command("learn")
@bundle_argument()
@click.argument("others", metavar="OTHER...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--accept", "accepted", is_flag=True, help="Write the proposed rules and masks to BUNDLE.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output.")
def learn_command(*, bundle: Path, others: tuple[Path, ...], accepted: bool, as_json: bool) -> int:
    """Compare recordings of one mission, and propose rules and masks to BUNDLE for what varies among them.

    Counters and other numbers need at least three recordings.

    Exit status: 0 nothing differs, or --accept covered all differences; 1 some have no known type; 3 rules and masks
    are proposed; others as `eikon replay`.
    """
    from eikon_engine.certify.learn_recordings import accept_learning, learn_from_recordings
    from eikon_engine.outcome.terminal import escape_control_characters
    from eikon_engine.report.learning import render_learning
    from eikon_engine.trace.bundle import open_bundle

    recorded = open_bundle(bundle)
    learning = learn_from_recordings(recorded, *map(open_bundle, others))
    report = accept_learning(recorded, learning) if accepted else learning.report
    print_essential(render_learning(report))
    if as_json:
        click.echo(report.model_dump_json(indent=1))
    elif not report.accepted:
        click.echo(escape_control_characters(report.diff), nl=False)
    return report.exit_status
