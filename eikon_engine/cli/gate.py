"""`eikon gate`: evaluate gates on outcomes, bundles and runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.standard_streams import print_essential

if TYPE_CHECKING:
    from eikon_engine.gates import GateSet
    from eikon_engine.outcome.outcomes import GateResult


@command("gate")
@click.argument("gates", type=click.Path(path_type=Path), metavar="GATES.yaml")
@click.argument("outcomes", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="OUTCOME…")
@click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON list.")
def gate_command(*, gates: Path, outcomes: tuple[Path, ...], as_json: bool) -> int:
    """Evaluate the gates of a file on each OUTCOME; prints one line per gate and outcome.

    OUTCOME is an events.jsonl, an outcome.json, the trace.json of a bundle, or a folder with one of them.

    Exit status, the worst of all: 65 unreadable, 1 a gate failed, 3 a gate is unverifiable, 0 all passed.
    """
    import json

    from eikon_engine.errors import EikonError
    from eikon_engine.gates import read_gates_file

    expected = read_gates_file(gates)
    results_by_path: dict[Path, tuple[GateResult, ...]] = {}
    unread = 0
    for path in outcomes:
        try:
            results_by_path[path] = _evaluate(expected, path)
        except EikonError as error:
            print_essential(f"eikon: {' '.join(error.message.splitlines())} (code {error.code})")
            unread = max(unread, error.exit_status)
    if as_json:
        plain = [
            {"outcome": str(path), "gates": [each.model_dump(mode="json") for each in results]}
            for path, results in results_by_path.items()
        ]
        click.echo(json.dumps(plain, indent=1, ensure_ascii=False))
    else:
        _print_results(results_by_path)
    return unread or _exit_status([each for results in results_by_path.values() for each in results])


def _evaluate(gates: GateSet, path: Path) -> tuple[GateResult, ...]:
    from eikon_engine.gates.event_sources import read_run_events

    subject = read_run_events(path)
    if subject.truncation is not None:
        click.echo(f"note: {subject.truncation}", err=True)
    return gates.evaluate(subject.lines, subject.value_of)


def _print_results(results_by_path: dict[Path, tuple[GateResult, ...]]) -> None:
    from eikon_engine.outcome.terminal import safe_line

    width = max((len(each.gate) for results in results_by_path.values() for each in results), default=0)
    for path, results in results_by_path.items():
        for each in results:
            line = f"{each.word:<12} {each.gate:<{width}}  {path}: {each.message}"
            click.echo(safe_line(line))


def _exit_status(results: list[GateResult]) -> int:
    from eikon_engine.outcome.outcomes import EXIT_STATUS
    from eikon_engine.outcome.verdict import combine_verdicts

    return EXIT_STATUS[combine_verdicts(each.verdict for each in results)]
