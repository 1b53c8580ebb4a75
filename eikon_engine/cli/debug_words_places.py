"""`eikon debug checkpoint`, `rewind` and `timeline`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from eikon_engine.cli.debug_options import HELP

if TYPE_CHECKING:
    from eikon_engine.debug.asked import Asked
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder


@click.group("checkpoint", context_settings=HELP)
def checkpoint_words() -> None:
    """Name positions to rewind to."""


@checkpoint_words.command("create", context_settings=HELP)
@click.argument("label", default="")
def _create_word(label: str) -> Asked:
    """Create a checkpoint here, with or without a LABEL."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import CheckpointCreate

    return plainly(CheckpointCreate(label=label))


@checkpoint_words.command("list", context_settings=HELP)
def _list_word() -> Asked:
    """List the checkpoints of all branches."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_checkpoints

    return Look(told_checkpoints)


@checkpoint_words.command("show", context_settings=HELP)
@click.argument("checkpoint", metavar="ID|LABEL")
def _show_word(checkpoint: str) -> Asked:
    """Verify and show a checkpoint."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_checkpoint

    return Look(lambda folder: told_checkpoint(folder, checkpoint))


@checkpoint_words.command("delete", context_settings=HELP)
@click.argument("checkpoint", metavar="ID|LABEL")
def _delete_word(checkpoint: str) -> Asked:
    """Delete a checkpoint without branches. For an ended session, give --session."""
    from eikon_engine.debug.asked import Ask
    from eikon_engine.debug.commands import CheckpointDelete
    from eikon_engine.debug.ended_session import delete_in_files

    command = CheckpointDelete(checkpoint=checkpoint)
    return Ask(lambda _folder: command, ended=lambda folder: delete_in_files(folder, checkpoint))


@click.command("rewind", context_settings=HELP)
@click.argument("checkpoint", required=False, metavar="[ID|LABEL]")
@click.option("--iteration", type=click.IntRange(0), metavar="N", help="Rewind to where N steps are done.")
@click.option("--force", is_flag=True, help="Discard steps without asking.")
def rewind_word(checkpoint: str | None, iteration: int | None, *, force: bool) -> Asked:
    """Restore a checkpoint, or an iteration; what came after it is discarded.

    Discarded steps and checkpoints are kept in the session folder until it quits.
    """
    from eikon_engine.debug.asked import Ask
    from eikon_engine.debug.commands import Rewind

    rewind = Rewind(checkpoint=checkpoint, iteration=iteration, force=force)

    def question(folder: SessionFolder) -> str | None:
        from eikon_engine.debug.place_in_timeline import lost_by, place_of

        timeline = folder.read_timeline()
        place = place_of(timeline, checkpoint, iteration)
        lost = lost_by(timeline, place)
        return f"This discards {lost} of {timeline.active_branch}. Rewind?" if lost.is_anything and not force else None

    def agreed(_command: Command) -> Command:
        return rewind.model_copy(update={"force": True})

    return Ask(lambda _folder: rewind, question, agreed)


@click.command("timeline", context_settings=HELP)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="Text, JSON, or an SVG image.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write it to.")
def timeline_word(form: Literal["text", "json", "svg"], output: Path | None) -> Asked:
    """Show the history of the session: branches, forks, checkpoints, verdicts, and the current position."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_timeline

    return Look(lambda folder: told_timeline(folder, form, output))
