"""`eikon debug branch`, `switch` and `diff`: create, change, record, compare and save branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import click

from eikon_engine.cli.debug_options import HELP_SETTINGS
from eikon_engine.cli.shared_options import output_option

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.client import UserRequest
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.session_folder import SessionFolder

_NAME: Final = click.option("--name", metavar="NAME", help="On `main`: name of the branch that is created.")
_REASON: Final = "Reason, recorded in the trace."


class BranchGroup(click.Group):
    """Commands of branches; `branch CP NAME` and `branch --from CP --name NAME` are short for `create`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with the word added."""
        match args:
            case [checkpoint, name, *others] if checkpoint.startswith("cp_") and not name.startswith("-"):
                args = ["create", name, "--from", checkpoint, *others]
            case [first, *_] if first.partition("=")[0] in {"--from", "--name"}:
                args = ["create", *args]
        return super().parse_args(ctx, args)


@click.group("branch", cls=BranchGroup, context_settings=HELP_SETTINGS)
def branch_group() -> None:
    """Try variants of a mission without losing the original."""


@branch_group.command("create", context_settings=HELP_SETTINGS)
@click.argument("name", required=False, metavar="NAME")
@click.option("--name", "named", hidden=True)
@click.option("--from", "checkpoint", metavar="ID|LABEL", help="Checkpoint to fork from.  [default: here]")
@click.option("--live", is_flag=True, help="Let requests that are not recorded go to the network.")
def _branch_create_command(name: str | None, named: str | None, checkpoint: str | None, *, live: bool) -> UserRequest:
    """Create branch NAME at a checkpoint, and switch to it."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BranchCreate
    from eikon_engine.errors import UsageError

    chosen = name if named is None else named
    if chosen is None or (name is not None and named is not None):
        found = "none" if chosen is None else f"{name!r} and --name {named!r}"
        raise UsageError(f"branch create: expected one name, got {found}")
    return send(BranchCreate(name=chosen, checkpoint=checkpoint, live=live))


@branch_group.command("list", context_settings=HELP_SETTINGS)
def _branch_list_command() -> UserRequest:
    """List the branches."""
    from eikon_engine.debug.client import FileQuery
    from eikon_engine.debug.offline_commands import list_branches

    return FileQuery(list_branches)


@branch_group.command("delete", context_settings=HELP_SETTINGS)
@click.argument("name")
def _branch_delete_command(name: str) -> UserRequest:
    """Delete branch NAME, which must not be active or have child branches."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BranchDelete

    return send(BranchDelete(name=name))


@branch_group.command("skip", context_settings=HELP_SETTINGS)
@_NAME
@click.option("--reason", default="skipped manually", show_default=True, help=_REASON)
def _branch_skip_command(name: str | None, reason: str) -> UserRequest:
    """Skip the next step; on `main`, this creates a branch."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BranchSkip

    return send(BranchSkip(name=name, reason=reason))


@branch_group.command("edit", context_settings=HELP_SETTINGS, short_help="Change fields of an upcoming step.")
@click.argument("fields", nargs=-1, required=True, metavar="FIELD=VALUE…")
@click.option("--step", "iteration", type=click.IntRange(1), metavar="N", help="Step to change.  [default: next]")
@_NAME
@click.option("--reason", default="edited manually", show_default=True, help=_REASON)
def _branch_edit_command(fields: tuple[str, ...], iteration: int | None, name: str | None, reason: str) -> UserRequest:
    """Change fields of an upcoming step, such as action.target.selector; on `main`, this creates a branch."""
    from eikon_engine.debug.client import SessionRequest

    def command(folder: SessionFolder) -> Command:
        from eikon_engine.debug.action_input import parse_step_fields
        from eikon_engine.debug.commands import BranchEdit

        values = parse_step_fields(folder, iteration, fields, reason)
        return BranchEdit(iteration=iteration, fields=values, name=name, reason=reason)

    return SessionRequest(command)


@branch_group.command("insert", context_settings=HELP_SETTINGS, short_help="Insert an action before the next step.")
@click.argument("kind", metavar="ACTION")
@click.argument("fields", nargs=-1, metavar="[VALUE|FIELD=VALUE]…")
@click.option("--perform", is_flag=True, help="Run it at once, with those inserted just before.")
@_NAME
@click.option("--reason", default="inserted manually", show_default=True, help=_REASON)
def _branch_insert_command(
    kind: str, fields: tuple[str, ...], name: str | None, reason: str, *, perform: bool
) -> UserRequest:
    """Insert an action before the next step: `fill '#name' Ada`, `click '#pay'`, `press Enter`.

    Several insertions keep their order. On `main`, this creates a branch.
    """
    from eikon_engine.debug.action_input import parse_action
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BranchInsert

    return send(BranchInsert(action=parse_action(kind, fields), perform=perform, name=name, reason=reason))


@branch_group.command(
    "record", context_settings=HELP_SETTINGS, short_help="Record the user's actions in the window as the next steps."
)
@click.argument("change", type=click.Choice(["begin", "end", "discard"]))
@_NAME
def _branch_record_command(change: Literal["begin", "end", "discard"], name: str | None) -> UserRequest:
    """Record the user's actions in the window as the next steps; on `main`, this creates a branch.

    `begin` lets the pages run, `end` returns to where the recording began and runs the actions as ordinary steps.
    """
    from eikon_engine.debug.client import SessionRequest

    def command(folder: SessionFolder) -> Command:
        from eikon_engine.debug.commands import BranchRecord
        from eikon_engine.errors import UsageError

        if folder.read_session().headless:
            message = "branch record: the session is headless and has no window"
            raise UsageError(f"{message}; start one with eikon debug start --headed")
        return BranchRecord(change=change, name=name)

    return SessionRequest(command)


@branch_group.command(
    "save", context_settings=HELP_SETTINGS, short_help="Save a branch as a bundle, or as a patch on the original."
)
@click.argument("name")
@output_option("Write a bundle of its own to this folder.", holds="bundle")
@output_option("Write a patch on the original trace to this file.", "--patch", holds="patch")
def _branch_save_command(name: str, output: Path | None, patch: Path | None) -> UserRequest:
    """Save branch NAME as a bundle of its own, or as a patch on the original."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BranchSave
    from eikon_engine.errors import UsageError

    if output is not None and patch is None:
        return send(BranchSave(name=name, form="trace", output=str(output.absolute())))
    if patch is not None and output is None:
        return send(BranchSave(name=name, form="patch", output=str(patch.absolute())))
    found = "neither" if output is None else "both"
    raise UsageError(f"branch save: expected either --output or --patch, got {found}")


@click.command("switch", context_settings=HELP_SETTINGS)
@click.argument("name")
def switch_command(name: str) -> UserRequest:
    """Switch to where branch NAME was left, or to its fork."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BranchSwitch

    return send(BranchSwitch(name=name))


@click.command("diff", context_settings=HELP_SETTINGS)
@click.argument("one", metavar="BRANCH")
@click.argument("other", metavar="BRANCH")
def diff_command(one: str, other: str) -> UserRequest:
    """Compare two branches: actions, DOM, network, result."""
    from eikon_engine.debug.client import FileQuery
    from eikon_engine.debug.offline_commands import diff_branches

    return FileQuery(lambda folder: diff_branches(folder, one, other))


branch_group.add_command(switch_command)
