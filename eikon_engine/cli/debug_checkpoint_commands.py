"""`eikon debug checkpoint`, `rewind` and `timeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from eikon_engine.cli.debug_options import HELP_SETTINGS
from eikon_engine.cli.shared_options import output_option

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.client import UserRequest
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder


@click.group("checkpoint", context_settings=HELP_SETTINGS)
def checkpoint_group() -> None:
    """Name positions to rewind to."""


@checkpoint_group.command("create", context_settings=HELP_SETTINGS)
@click.argument("label", default="")
def _checkpoint_create_command(label: str) -> UserRequest:
    """Create a checkpoint here, with or without a LABEL."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import CheckpointCreate

    return send(CheckpointCreate(label=label))


@checkpoint_group.command("list", context_settings=HELP_SETTINGS)
def _checkpoint_list_command() -> UserRequest:
    """List the checkpoints of all branches."""
    from eikon_engine.debug.client import FileQuery
    from eikon_engine.debug.offline_commands import list_checkpoints

    return FileQuery(list_checkpoints)


@checkpoint_group.command("show", context_settings=HELP_SETTINGS)
@click.argument("checkpoint", metavar="ID|LABEL")
def _checkpoint_show_command(checkpoint: str) -> UserRequest:
    """Verify and show a checkpoint."""
    from eikon_engine.debug.client import FileQuery
    from eikon_engine.debug.offline_commands import show_checkpoint

    return FileQuery(lambda folder: show_checkpoint(folder, checkpoint))


@checkpoint_group.command("delete", context_settings=HELP_SETTINGS)
@click.argument("checkpoint", metavar="ID|LABEL")
def _checkpoint_delete_command(checkpoint: str) -> UserRequest:
    """Delete a checkpoint without branches. For an ended session, give --session."""
    from eikon_engine.debug.client import SessionRequest
    from eikon_engine.debug.commands import CheckpointDelete
    from eikon_engine.debug.offline_commands import delete_checkpoint_offline

    command = CheckpointDelete(checkpoint=checkpoint)
    return SessionRequest(
        lambda _folder: command, run_offline=lambda folder: delete_checkpoint_offline(folder, checkpoint)
    )


@click.command("rewind", context_settings=HELP_SETTINGS)
@click.argument("checkpoint", required=False, metavar="[ID|LABEL]")
@click.option("--iteration", type=click.IntRange(0), metavar="N", help="Rewind to where N steps are done.")
@click.option("--force", is_flag=True, help="Discard steps without asking.")
def rewind_command(checkpoint: str | None, iteration: int | None, *, force: bool) -> UserRequest:
    """Restore a checkpoint, or an iteration; what came after it is discarded.

    Discarded steps and checkpoints are kept in the session folder until it quits.
    """
    from eikon_engine.debug.client import SessionRequest
    from eikon_engine.debug.commands import Rewind

    rewind = Rewind(checkpoint=checkpoint, iteration=iteration, force=force)

    def question(folder: SessionFolder) -> str | None:
        from eikon_engine.debug.timeline_queries import resolve_target, rewind_loss

        timeline = folder.read_timeline()
        place = resolve_target(timeline, checkpoint, iteration)
        lost = rewind_loss(timeline, place)
        return (
            f"This discards {lost} of {timeline.active_branch}. Rewind?"
            if lost.needs_confirmation and not force
            else None
        )

    def agreed(_command: Command) -> Command:
        return rewind.model_copy(update={"force": True})

    return SessionRequest(lambda _folder: rewind, question, agreed)


@click.command("timeline", context_settings=HELP_SETTINGS)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="Text, JSON, or an SVG image.",
)
@output_option("File to write it to.")
def timeline_command(form: Literal["text", "json", "svg"], output: Path | None) -> UserRequest:
    """Show the history of the session: branches, forks, checkpoints, verdicts, and the current position."""
    from eikon_engine.debug.client import FileQuery
    from eikon_engine.debug.offline_commands import show_timeline

    return FileQuery(lambda folder: show_timeline(folder, form, output))
