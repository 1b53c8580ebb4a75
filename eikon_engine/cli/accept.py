"""`eikon accept`: make what a reviewed live replay showed the baseline of further ones."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import bundle_argument
from eikon_engine.cli.standard_streams import print_essential


@command("accept")
@bundle_argument()
@click.argument("outcome", type=click.Path(path_type=Path))
@click.option("--reason", metavar="TEXT", help="Why the change is right; without it, nothing is written.")
@click.option("--by", metavar="NAME", help="Who decides.  [default: the user of this machine]")
@click.option(
    "--only",
    "steps",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="Accept step N only; repeatable.  [default: every step that diverged]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output.")
def accept_command(
    *, bundle: Path, outcome: Path, reason: str | None, by: str | None, steps: tuple[int, ...], as_json: bool
) -> int:
    """Show the differences of the live replay in OUTCOME, and write them to BUNDLE as the baseline of live replays.

    Those of the recording stay for sealed replays. Site errors, expired sessions and unknown causes are refused.

    Exit status: 0 accepted; 1 refused; 3 nothing written without --reason; others as `eikon replay`.
    """
    from eikon_engine.certify.accept_outcome import Decision, accept_outcome
    from eikon_engine.files.wall_clock import utc_now
    from eikon_engine.report.acceptance import render_acceptance
    from eikon_engine.trace.bundle import open_bundle

    _require_order(bundle, outcome)
    decision = Decision(by=by or (_user() if reason else ""), reason=reason or "", steps=frozenset(steps))
    report = accept_outcome(open_bundle(bundle), outcome, decision, utc_now(), dry_run=not decision.reason)
    print_essential(render_acceptance(report))
    if as_json:
        click.echo(report.model_dump_json(indent=1))
    return report.exit_status


def _require_order(bundle: Path, outcome: Path) -> None:
    """Check that the bundle comes first.

    Raises:
        UsageError: it comes second.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.replay.artifacts import OUTCOME_FILE
    from eikon_engine.trace.find_bundles import is_bundle

    is_run = bundle.name == OUTCOME_FILE or (bundle / OUTCOME_FILE).is_file()
    if is_run and is_bundle(outcome) and not (outcome / OUTCOME_FILE).exists():
        message = f"expected BUNDLE OUTCOME, got them in the other order; use `eikon accept {outcome} {bundle}`"
        raise UsageError(message)


def _user() -> str:
    from eikon_engine.errors import UsageError

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:
        message = "the user of this machine has no name; add --by NAME"
        raise UsageError(message) from error
