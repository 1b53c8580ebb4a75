"""The words about moments of a session: checkpoints, going back, the timeline."""

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
    """Give moments a name, to go back to."""


@checkpoint_words.command("create", context_settings=HELP)
@click.argument("label", default="")
def _create_word(label: str) -> Asked:
    """Make a checkpoint here, with a LABEL or without."""
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
    """Show one checkpoint, verified."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_checkpoint

    return Look(lambda folder: told_checkpoint(folder, checkpoint))


@checkpoint_words.command("delete", context_settings=HELP)
@click.argument("checkpoint", metavar="ID|LABEL")
def _delete_word(checkpoint: str) -> Asked:
    """Delete a checkpoint; one that a branch begins at stays."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import CheckpointDelete

    return plainly(CheckpointDelete(checkpoint=checkpoint))


@click.command("rewind", context_settings=HELP)
@click.argument("checkpoint", required=False, metavar="[ID|LABEL]")
@click.option("--iteration", type=click.IntRange(0), metavar="N", help="Go to where N steps are done.")
@click.option("--force", is_flag=True, help="Do not ask before steps are discarded.")
def rewind_word(checkpoint: str | None, iteration: int | None, *, force: bool) -> Asked:
    """Restore the state of a checkpoint, or of an iteration; what came after it is discarded.

    The discarded steps and checkpoints are kept in the folder of the session until it is quit.
    """
    from eikon_engine.debug.asked import Ask
    from eikon_engine.debug.commands import Rewind

    rewind = Rewind(checkpoint=checkpoint, iteration=iteration, force=force)

    def question(folder: SessionFolder) -> str | None:
        from eikon_engine.debug.place_in_timeline import lost_by, place_of

        timeline = folder.read_timeline()
        place = place_of(timeline, checkpoint, iteration)
        lost = lost_by(timeline, place)
        return f"this discards {lost} of {timeline.active_branch}; go back?" if lost.is_anything and not force else None

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
    help="As text, as JSON, or as a picture.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write it to.")
def timeline_word(form: Literal["text", "json", "svg"], output: Path | None) -> Asked:
    """Show what the session has been through: branches, forks, checkpoints, verdicts, and where it stands."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_timeline

    return Look(lambda folder: told_timeline(folder, form, output))
