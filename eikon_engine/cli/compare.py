"""`eikon compare`: find what one deployment of a site does differently from another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import (
    browser_option,
    bundle_argument,
    front_end_options,
    headless_option,
    ignore_option,
    on_divergence_option,
    policy_option,
    secret_options,
    variable_values_option,
)
from eikon_engine.cli.standard_streams import print_essential

if TYPE_CHECKING:
    from eikon_engine.divergence.effects import PolicyName
    from eikon_engine.record.compare_deployments import CompareNetwork
    from eikon_engine.replay.options import OnDivergence
    from eikon_engine.trace.masks import Mask

_STATE_FILE: Final = click.Path(path_type=Path)


@command("compare")
@bundle_argument()
@click.option(
    "--base",
    multiple=True,
    required=True,
    metavar="URL",
    help="Deployment to compare with, such as https://shop.example; OLD=NEW to name the recorded URL; repeatable.",
)
@click.option("--head", multiple=True, required=True, metavar="URL", help="Deployment to compare, as for --base.")
@click.option(
    "--network",
    type=click.Choice(["live", "recorded-api"]),
    default="live",
    show_default=True,
    help="What is compared: the deployments, or their front ends with the recorded back end.",
)
@front_end_options
@click.option(
    "--runs",
    type=click.IntRange(2, 1000),
    default=3,
    show_default=True,
    help="Number of replays on base that measure what varies without a change.",
)
@click.option("--base-reset-cmd", metavar="COMMAND", help="Command that resets base, run before each mission on it.")
@click.option("--head-reset-cmd", metavar="COMMAND", help="Command that resets head, run before the mission on it.")
@click.option("--base-storage-state", type=_STATE_FILE, metavar="FILE", help="Storage state to start with on base.")
@click.option("--head-storage-state", type=_STATE_FILE, metavar="FILE", help="Storage state to start with on head.")
@click.option(
    "--artifacts-dir",
    type=click.Path(path_type=Path),
    help="Artifacts folder of the replay on head.  [default: compare_artifacts/<mission_id>]",
)
@policy_option
@ignore_option
@on_divergence_option("Stop at the first difference, or collect all.")
@variable_values_option
@secret_options
@browser_option
@headless_option
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON on standard output.")
def compare_command(  # noqa: PLR0913 - one parameter per option
    *,
    bundle: Path,
    base: tuple[str, ...],
    head: tuple[str, ...],
    base_reset_cmd: str | None,
    head_reset_cmd: str | None,
    base_storage_state: Path | None,
    head_storage_state: Path | None,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    as_json: bool,
    **options: Unpack[_SameNamedOptions],
) -> int:
    """Perform the mission of BUNDLE on two deployments, and report what head does differently from base.

    Exit status: 0 same; 1 different; 3 unverifiable; others as `eikon replay`.
    """
    from eikon_engine.cli.replay_display import ReplayDisplay
    from eikon_engine.record.compare_deployments import (
        CompareOptions,
        Deployment,
        compare_deployments,
        parse_deployment,
    )
    from eikon_engine.report import standard_reports
    from eikon_engine.report.comparison import render_comparison
    from eikon_engine.secrets.sources import collect_secrets
    from eikon_engine.trace.bundle import open_bundle

    recorded = open_bundle(bundle)
    with ReplayDisplay() as display:
        chosen = CompareOptions(
            base=Deployment(
                urls=parse_deployment(recorded.trace, base, "--base"),
                reset_command=base_reset_cmd,
                storage_state=base_storage_state,
            ),
            head=Deployment(
                urls=parse_deployment(recorded.trace, head, "--head"),
                reset_command=head_reset_cmd,
                storage_state=head_storage_state,
            ),
            secrets=collect_secrets(secrets, secret_file),
            reports=standard_reports(),
            readers=(display.read,),
            progress=_progress,
            **options,
        )
        comparison = asyncio.run(compare_deployments(recorded, chosen))
    print_essential(render_comparison(comparison))
    if as_json:
        click.echo(comparison.model_dump_json(indent=1))
    return comparison.exit_status


class _SameNamedOptions(TypedDict):
    """Command options that have the same name in `CompareOptions`."""

    network: CompareNetwork
    front_end: tuple[str, ...]
    back_end: tuple[str, ...]
    runs: int
    artifacts_dir: Path | None
    policy: PolicyName
    masks: tuple[Mask, ...]
    on_divergence: OnDivergence
    variables: dict[str, str]
    browser_path: Path | None
    headless: bool


def _progress(line: str) -> None:
    from eikon_engine.outcome.terminal import safe_line

    click.echo(safe_line(f"[COMPARE] {line}"), err=True)
