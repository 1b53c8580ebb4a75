"""The words about other ways: making a branch, changing it, comparing and saving it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from eikon_engine.cli.debug_options import HELP

if TYPE_CHECKING:
    from eikon_engine.debug.asked import Asked
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder

_NAME: Final = click.option("--name", metavar="NAME", help="On `main`: name of the branch that is made.")
_REASON: Final = "Why, for those who read the trace."


@click.group("branch", context_settings=HELP)
def branch_words() -> None:
    """Try another way, without losing the one before."""


@branch_words.command("create", context_settings=HELP)
@click.argument("name")
@click.option("--from", "checkpoint", metavar="ID|LABEL", help="Checkpoint at which it begins; where the session is.")
@click.option("--live", is_flag=True, help="Let requests that the recording does not know go to the network.")
def _create_word(name: str, checkpoint: str | None, *, live: bool) -> Asked:
    """Begin branch NAME at a checkpoint, and switch to it."""
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
    """Delete branch NAME, which must not be the active one, and have no branches of its own."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchDelete

    return plainly(BranchDelete(name=name))


@branch_words.command("skip", context_settings=HELP)
@_NAME
@click.option("--reason", default="skipped by hand", show_default=True, help=_REASON)
def _skip_word(name: str | None, reason: str) -> Asked:
    """Leave the next step out; on `main`, this makes a branch."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchSkip

    return plainly(BranchSkip(name=name, reason=reason))


@branch_words.command("edit", context_settings=HELP)
@click.argument("fields", nargs=-1, required=True, metavar="FIELD=VALUE…")
@click.option("--step", "iteration", type=click.IntRange(1), metavar="N", help="Step that is changed; the next one.")
@_NAME
@click.option("--reason", default="edited by hand", show_default=True, help=_REASON)
def _edit_word(fields: tuple[str, ...], iteration: int | None, name: str | None, reason: str) -> Asked:
    """Give fields of a step to come other values, such as action.target.selector; on `main`, this makes a branch."""
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
@click.option("--perform", is_flag=True, help="Perform it at once, and those put in before it.")
@_NAME
@click.option("--reason", default="given by hand", show_default=True, help=_REASON)
def _insert_word(kind: str, fields: tuple[str, ...], name: str | None, reason: str, *, perform: bool) -> Asked:
    """Put an action in front of the next step: `fill '#name' Ada`, `click '#pay'`, `press Enter`.

    Several in a row come in the order in which they are given. On `main`, this makes a branch.
    """
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchInsert
    from eikon_engine.debug.given_action import read_action

    return plainly(BranchInsert(action=read_action(kind, fields), perform=perform, name=name, reason=reason))


@branch_words.command("record", context_settings=HELP)
@click.argument("change", type=click.Choice(["begin", "end", "discard"]))
@_NAME
def _record_word(change: Literal["begin", "end", "discard"], name: str | None) -> Asked:
    """Take what is done in the window by hand for the next steps; on `main`, this makes a branch.

    `begin` lets the pages run, `end` goes back to where that was and does what was done as ordinary steps.
    """
    from eikon_engine.debug.asked import Ask

    def command(folder: SessionFolder) -> Command:
        from eikon_engine.debug.commands import BranchRecord
        from eikon_engine.errors import UsageError

        if folder.read().headless:
            message = "branch record: wanted a session with a window, found one without"
            raise UsageError(f"{message}; begin one with eikon debug start --no-headless")
        return BranchRecord(change=change, name=name)

    return Ask(command)


@branch_words.command("save", context_settings=HELP)
@click.argument("name")
@click.option("--trace", type=click.Path(path_type=Path), metavar="FOLDER", help="Write a bundle of its own.")
@click.option("--patch", type=click.Path(path_type=Path), metavar="FILE", help="Write a patch on the original trace.")
def _save_word(name: str, trace: Path | None, patch: Path | None) -> Asked:
    """Write branch NAME as a bundle of its own, or as a patch on the original."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchSave
    from eikon_engine.errors import UsageError

    if trace is not None and patch is None:
        return plainly(BranchSave(name=name, form="trace", output=str(trace.absolute())))
    if patch is not None and trace is None:
        return plainly(BranchSave(name=name, form="patch", output=str(patch.absolute())))
    found = "neither" if trace is None else "both"
    raise UsageError(f"branch save: wanted --trace or --patch, which say what is written, found {found}; give one")


@click.command("switch", context_settings=HELP)
@click.argument("name")
def switch_word(name: str) -> Asked:
    """Go to the last checkpoint of branch NAME, or to where it begins."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BranchSwitch

    return plainly(BranchSwitch(name=name))


@click.command("diff", context_settings=HELP)
@click.argument("one", metavar="BRANCH")
@click.argument("other", metavar="BRANCH")
def diff_word(one: str, other: str) -> Asked:
    """Compare two branches: actions, DOM, network, outcome."""
    from eikon_engine.debug.asked import Look
    from eikon_engine.debug.shown_places import told_diff

    return Look(lambda folder: told_diff(folder, one, other))
