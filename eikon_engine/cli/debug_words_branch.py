"""`eikon debug branch`, `switch` and `diff`: create, change, record, compare and save branches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from eikon_engine.cli.debug_options import HELP

if TYPE_CHECKING:
    from eikon_engine.debug.asked import Asked
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder

_NAME: Final = click.option("--name", metavar="NAME", help="On `main`: name of the branch that is created.")
_REASON: Final = "Reason, recorded in the trace."


@click.group("branch", context_settings=HELP)
def branch_words() -> None:
    """Try variants of a mission without losing the original."""


@branch_words.command("create", context_settings=HELP)
@click.argument("name")
@click.option("--from", "checkpoint", metavar="ID|LABEL", help="Checkpoint to fork from.  [default: here]")
@click.option("--live", is_flag=True, help="Let requests that are not recorded go to the network.")
def _create_word(name: str, checkpoint: str | None, *, live: bool) -> Asked:
    """Create branch NAME at a checkpoint, and switch to it."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchCreate

    return plainly(BranchCreate(name=name, checkpoint=checkpoint, live=live))


@branch_words.command("list", context_settings=HELP)
def _list_word() -> Asked:
    """List the branches."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_branches

    return Look(told_branches)


@branch_words.command("delete", context_settings=HELP)
@click.argument("name")
def _delete_word(name: str) -> Asked:
    """Delete branch NAME, which must not be active or have child branches."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchDelete

    return plainly(BranchDelete(name=name))


@branch_words.command("skip", context_settings=HELP)
@_NAME
@click.option("--reason", default="skipped manually", show_default=True, help=_REASON)
def _skip_word(name: str | None, reason: str) -> Asked:
    """Skip the next step; on `main`, this creates a branch."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchSkip

    return plainly(BranchSkip(name=name, reason=reason))


@branch_words.command("edit", context_settings=HELP)
@click.argument("fields", nargs=-1, required=True, metavar="FIELD=VALUE…")
@click.option("--step", "iteration", type=click.IntRange(1), metavar="N", help="Step to change.  [default: next]")
@_NAME
@click.option("--reason", default="edited manually", show_default=True, help=_REASON)
def _edit_word(fields: tuple[str, ...], iteration: int | None, name: str | None, reason: str) -> Asked:
    """Change fields of an upcoming step, such as action.target.selector; on `main`, this creates a branch."""
    from eikon_engine.debug.asked import Ask

    def command(folder: SessionFolder) -> Command:
        from eikon_engine.debug.commands import BranchEdit
        from eikon_engine.debug.step_fields import read_step_fields

        values = read_step_fields(folder, iteration, fields, reason)
        return BranchEdit(iteration=iteration, fields=values, name=name, reason=reason)

    return Ask(command)


@branch_words.command("insert", context_settings=HELP)
@click.argument("kind", metavar="ACTION")
@click.argument("fields", nargs=-1, metavar="[VALUE|FIELD=VALUE]…")
@click.option("--perform", is_flag=True, help="Run it at once, with those inserted just before.")
@_NAME
@click.option("--reason", default="inserted manually", show_default=True, help=_REASON)
def _insert_word(kind: str, fields: tuple[str, ...], name: str | None, reason: str, *, perform: bool) -> Asked:
    """Insert an action before the next step: `fill '#name' Ada`, `click '#pay'`, `press Enter`.

    Several insertions keep their order. On `main`, this creates a branch.
    """
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchInsert
    from eikon_engine.debug.given_action import read_action

    return plainly(BranchInsert(action=read_action(kind, fields), perform=perform, name=name, reason=reason))


@branch_words.command("record", context_settings=HELP)
@click.argument("change", type=click.Choice(["begin", "end", "discard"]))
@_NAME
def _record_word(change: Literal["begin", "end", "discard"], name: str | None) -> Asked:
    """Record the user's actions in the window as the next steps; on `main`, this creates a branch.

    `begin` lets the pages run, `end` returns to where the recording began and runs the actions as ordinary steps.
    """
    from eikon_engine.debug.asked import Ask

    def command(folder: SessionFolder) -> Command:
        from eikon_engine.debug.commands import BranchRecord
        from eikon_engine.errors import UsageError

        if folder.read().headless:
            message = "branch record: the session is headless and has no window"
            raise UsageError(f"{message}; start one with eikon debug start --no-headless")
        return BranchRecord(change=change, name=name)

    return Ask(command)


@branch_words.command("save", context_settings=HELP)
@click.argument("name")
@click.option("--trace", type=click.Path(path_type=Path), metavar="FOLDER", help="Write a bundle of its own.")
@click.option("--patch", type=click.Path(path_type=Path), metavar="FILE", help="Write a patch on the original trace.")
def _save_word(name: str, trace: Path | None, patch: Path | None) -> Asked:
    """Save branch NAME as a bundle of its own, or as a patch on the original."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchSave
    from eikon_engine.errors import UsageError

    if trace is not None and patch is None:
        return plainly(BranchSave(name=name, form="trace", output=str(trace.absolute())))
    if patch is not None and trace is None:
        return plainly(BranchSave(name=name, form="patch", output=str(patch.absolute())))
    found = "neither" if trace is None else "both"
    raise UsageError(f"branch save: expected either --trace or --patch, got {found}")


@click.command("switch", context_settings=HELP)
@click.argument("name")
def switch_word(name: str) -> Asked:
    """Switch to where branch NAME was left, or to its fork."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchSwitch

    return plainly(BranchSwitch(name=name))


@click.command("diff", context_settings=HELP)
@click.argument("one", metavar="BRANCH")
@click.argument("other", metavar="BRANCH")
def diff_word(one: str, other: str) -> Asked:
    """Compare two branches: actions, DOM, network, result."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_diff

    return Look(lambda folder: told_diff(folder, one, other))
