"""`eikon skills`: list, show, run and rerun skills."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.cli.command import group
from eikon_engine.cli.debug_dir_options import DebugDirChoice, debug_dir_options, debug_dir_session
from eikon_engine.cli.shared_options import bundle_argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.skills.rerun.rerun import RerunOptions
    from eikon_engine.skills.rerun.results import BundleRerun, RerunReport


@group("skills")
def skills_command() -> None:
    """List skills, run them on a stored page, and rerun recorded uses."""


@skills_command.command("list", short_help="List all skills with version, origin and description.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_command(*, as_json: bool) -> None:
    """List all skills with version, origin and description; skills that cannot be used are reported on stderr."""
    from eikon_engine.report.skills import list_skills, render_skill_list

    rows, broken = list_skills()
    click.echo(render_skill_list(rows, broken, as_json=as_json), nl=False)
    _print_broken(broken if not as_json else ())


@skills_command.command("show", short_help="Show the description, parameters and output of a skill.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print description, schemas and example as JSON.")
def show_command(*, name: str, as_json: bool) -> None:
    """Show the description of the skill NAME, the JSON Schemas of its parameters and output, and an example."""
    from eikon_engine.report.skills import render_skill

    click.echo(render_skill(name, as_json=as_json), nl=False)


@skills_command.command("run", short_help="Run a skill on an HTML file or a bundle.")
@click.argument("name")
@click.argument("page", type=click.Path(path_type=Path))
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter, JSON or text; repeatable.")
@click.option("--url", help="URL of the page.  [default: as recorded; empty for an HTML file]")
@click.option("--step", help="Id of the action or skill use whose page to use, if the bundle has several pages.")
@debug_dir_options
def run_skill_command(
    *, name: str, page: Path, params: tuple[str, ...], url: str | None, step: str | None, debug: DebugDirChoice
) -> None:
    """Run the skill NAME on PAGE, an HTML file or a bundle, and print its output as JSON."""
    import json

    from eikon_engine.cli.skill_input import parse_parameters, read_page
    from eikon_engine.skills import SkillInput, default_skills

    skill = default_skills().get(name)
    html, address = read_page(page, step)
    with debug_dir_session(debug) as responses:
        given = SkillInput(
            html=html,
            url=address if url is None else url,
            parameters=parse_parameters(params, skill.parameters),
            completion_client=None if responses is None else responses.client,
        )
        output = skill.run(given)
    click.echo(json.dumps(output, ensure_ascii=False, indent=1))


@skills_command.command("rerun")
@bundle_argument("paths", nargs=-1, required=True, metavar="BUNDLE|FOLDER…")
@click.option("--skill", "only", multiple=True, metavar="NAME", help="Rerun only this skill; repeatable.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Number of processes.  [default: one per core]")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--accept", "accepted", is_flag=True, help="Write the new outputs into the bundles.")
@debug_dir_options
def rerun_command(
    *,
    paths: tuple[Path, ...],
    only: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
    accepted: bool,
    debug: DebugDirChoice,
) -> int:
    """Rerun recorded skills on their stored pages and show what changed.

    Exit status: 0 nothing changed or changes were accepted, 1 an output changed, 3 a skill could not be rerun, 65 a
    bundle cannot be read. The remaining bundles are processed in any case.
    """
    from eikon_engine.outcome.terminal import escape_control_characters
    from eikon_engine.report.rerun import render_rerun_summary
    from eikon_engine.skills import default_skills
    from eikon_engine.skills.rerun.rerun import RerunOptions
    from eikon_engine.skills.rerun.results import RerunReport
    from eikon_engine.trace.find_bundles import find_bundles

    for name in only:
        default_skills().get(name)
    bundles = find_bundles(paths)
    if accepted:
        _require_no_scenario_runs(bundles)
    begin = time.perf_counter()
    with debug_dir_session(debug) as responses:
        ask = None if responses is None else responses.client
        options = RerunOptions(skill_names=frozenset(only), jobs=jobs, completion_client=ask)
        done = tuple(_rerun_and_print(bundles, options, accepted=accepted, quiet=as_json))
    report = RerunReport(bundles=done)
    if as_json:
        click.echo(report.model_dump_json(indent=1))
    click.echo(escape_control_characters(render_rerun_summary(report, time.perf_counter() - begin)), err=True)
    _print_next_steps(report, accepted=accepted)
    return report.exit_status


def _require_no_scenario_runs(bundles: Sequence[Path]) -> None:
    """Check that no bundle is the mission of a scenario run, whose stored outputs would become stale.

    Raises:
        UsageError: a bundle is the mission of a run.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.outcome.run_record import MISSION_FOLDER, OUTPUTS_FILE, RUN_FILE

    for bundle in bundles:
        folder = (bundle if bundle.is_dir() else bundle.parent).resolve()
        if folder.name == MISSION_FOLDER and (folder.parent / RUN_FILE).exists():
            message = (
                f"--accept: {bundle} is the mission of a scenario run, whose {OUTPUTS_FILE} would no longer match. "
                "Omit it, and record the scenario again with `eikon run`."
            )
            raise UsageError(message)


def _rerun_and_print(
    bundles: Sequence[Path], options: RerunOptions, *, accepted: bool, quiet: bool
) -> Iterator[BundleRerun]:
    """Rerun bundles, accept changes if requested, and print each result as soon as it is available."""
    from eikon_engine.outcome.terminal import escape_control_characters
    from eikon_engine.report.rerun import render_rerun
    from eikon_engine.skills.rerun.rerun import accept_outputs, rerun_bundles

    for number, rerun in enumerate(rerun_bundles(bundles, options), start=1):
        done = accept_outputs(rerun) if accepted else rerun
        text = render_rerun(done)
        if text:
            _progress("")
        if text and not quiet:
            click.echo(escape_control_characters(text), nl=False)
        _progress(f"{number} of {len(bundles)} bundles")
        yield done
    _progress("")


def _progress(text: str) -> None:
    """Update a progress line on a terminal; print nothing elsewhere."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text}", nl=False, err=True)


def _print_next_steps(report: RerunReport, *, accepted: bool) -> None:
    from eikon_engine.files.text import pluralize

    if not sum(len(bundle.uses) for bundle in report.bundles):
        click.echo("no skill use found; nothing was compared", err=True)
    if report.count("changed") and not accepted:
        click.echo("next: pass --accept to write the new outputs into the bundles", err=True)
    outdated = [bundle.path for bundle in report.bundles if bundle.certificate_outdated]
    if outdated:
        number = pluralize(len(outdated), "certificate")
        click.echo(f"{number} invalidated, first {outdated[0]}; next: eikon certify {outdated[0]}", err=True)


def _print_broken(broken: Sequence[str]) -> None:
    from eikon_engine.outcome.terminal import safe_line

    for line in broken:
        click.echo(safe_line(f"broken: {line}"), err=True)
