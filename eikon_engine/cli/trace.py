"""`eikon trace`: show a bundle, and change a copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.patch import Operation

Command = TypeVar("Command", bound="Callable[..., None]")

HELP = {"help_option_names": ["-h", "--help"]}
BUNDLE = click.argument("bundle", type=click.Path(path_type=Path))


class _Ways(TypedDict):
    """What becomes of a change."""

    output: Path | None
    saved: Path | None


class _Insertion(_Ways):
    """Where an action goes, and what becomes of the change."""

    before: str | None
    after: str | None


class _NewSubgoal(TypedDict):
    """What becomes of the later part of a subgoal."""

    before: str
    description: str
    subgoal_id: str | None


def _goes_somewhere(command: Command) -> Command:
    """Give a command the options that say what becomes of its change."""
    output = click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="Folder of a changed copy of the bundle."
    )
    save = click.option("--save", "saved", type=click.Path(path_type=Path), help="File to keep the change in.")
    return output(save(command))


def _said(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    if not text.strip():
        message = "wanted a reason, found nothing"
        raise click.BadParameter(message)
    return text


_REASON = click.option(
    "--reason", default="by hand", show_default=True, callback=_said, help="Why, for those who read the trace."
)


@click.group("trace", context_settings=HELP)
def trace_command() -> None:
    """Show what is in a bundle, and change a copy of it; the bundle itself is never touched.

    Without -o and --save, a change is only shown, as a difference of trace.json.
    """


@trace_command.command("show", context_settings=HELP)
@BUNDLE
@click.argument("step", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the whole trace as JSON.")
def show_command(bundle: Path, step: str | None, *, as_json: bool) -> None:
    """List the attempts and steps of BUNDLE, or print one of them (STEP, its id) as JSON."""
    from eikon_engine.edit.listing import demand_one_form, render_listing, render_step
    from eikon_engine.outcome.printable import printable
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.serializer import trace_bytes

    demand_one_form(step=step, as_json=as_json)
    trace = open_bundle(bundle).trace
    if as_json:
        click.echo(trace_bytes(trace).decode(), nl=False)
    elif step is not None:
        click.echo(render_step(trace, step), nl=False)
    else:
        click.echo(printable(render_listing(trace)), nl=False)


@trace_command.command("set", context_settings=HELP)
@BUNDLE
@click.argument("arguments", nargs=-1, metavar="[STEP] FIELD=VALUE…")
@click.option(
    "--var", "variables", multiple=True, metavar="NAME[=VALUE]", help="Declare a variable with its recorded value."
)
@click.option("--same-element", is_flag=True, help="The new selector finds the recorded element: keep what is known.")
@_REASON
@_goes_somewhere
def set_command(
    bundle: Path,
    *,
    arguments: tuple[str, ...],
    variables: tuple[str, ...],
    same_element: bool,
    reason: str,
    **ways: Unpack[_Ways],
) -> None:
    """Change fields of a step of BUNDLE, of an attempt, or of the trace where STEP is left out.

    STEP is an id that `eikon trace show` lists, FIELD a path such as action.target.selector, VALUE JSON or plain text.
    """
    from eikon_engine.edit.assignments import read_declarations, read_fields
    from eikon_engine.trace.patch import TracePatch, apply_patch

    trace = _read(bundle)
    declared = read_declarations(variables, reason)
    trace_with = apply_patch(trace, TracePatch(operations=declared))
    named = arguments[:1] if arguments and "=" not in arguments[0] else ()
    step, texts = "".join(named), arguments[len(named) :]
    operations: tuple[Operation, ...] = declared
    if texts or named or not declared:
        operations = (*declared, read_fields(trace_with, step, texts, same_element=same_element, reason=reason))
    _conclude(bundle, trace, operations, ways)


@trace_command.command("delete", context_settings=HELP)
@BUNDLE
@click.argument("steps", nargs=-1, required=True, metavar="STEP…")
@_REASON
@_goes_somewhere
def delete_command(bundle: Path, *, steps: tuple[str, ...], reason: str, **ways: Unpack[_Ways]) -> None:
    """Leave actions, skills or whole attempts of BUNDLE out."""
    from eikon_engine.edit.assignments import make_edit
    from eikon_engine.trace.edits import DeleteStep

    operations = tuple(make_edit(DeleteStep, step=step, reason=reason) for step in steps)
    _conclude(bundle, _read(bundle), operations, ways)


@trace_command.command("insert", context_settings=HELP)
@BUNDLE
@click.argument("action")
@click.option("--before", metavar="STEP", help="The step in front of which it is done.")
@click.option("--after", metavar="STEP", help="The step behind which it is done.")
@click.option("--id", "name", help="Id of the new step.  [default: that of its attempt, with a number]")
@_REASON
@_goes_somewhere
def insert_command(bundle: Path, *, action: str, name: str | None, reason: str, **rest: Unpack[_Insertion]) -> None:
    """Do one action more in BUNDLE, in front of a step or behind it.

    ACTION is one as `eikon trace show BUNDLE STEP` prints it, such as '{"type": "press", "key": "Tab"}'.
    """
    from eikon_engine.edit.assignments import demand_one_place, make_insertion, read_action

    beside = demand_one_place(rest["before"], rest["after"])
    trace = _read(bundle)
    edit = make_insertion(trace, beside, read_action(action), reason=reason, name=name)
    _conclude(bundle, trace, (edit,), {"output": rest["output"], "saved": rest["saved"]})


@trace_command.command("split", context_settings=HELP)
@BUNDLE
@click.argument("attempt")
@click.option("--before", required=True, metavar="STEP", help="First step of the new subgoal.")
@click.option("--description", required=True, help="What the new subgoal is.")
@click.option("--subgoal-id", help="Id of the new subgoal.  [default: that of the old one, with a number]")
@_REASON
@_goes_somewhere
def split_command(
    bundle: Path,
    *,
    attempt: str,
    reason: str,
    output: Path | None,
    saved: Path | None,
    **new: Unpack[_NewSubgoal],
) -> None:
    """Make two subgoals of one: the steps of ATTEMPT from --before on become a subgoal of their own."""
    from eikon_engine.edit.assignments import make_edit
    from eikon_engine.trace.edits import SplitAttempt

    edit = make_edit(SplitAttempt, attempt=attempt, reason=reason, **new)
    _conclude(bundle, _read(bundle), (edit,), {"output": output, "saved": saved})


@trace_command.command("merge", context_settings=HELP)
@BUNDLE
@click.argument("first")
@click.argument("second")
@click.option("--description", help="What the subgoal is.  [default: that of the first]")
@_REASON
@_goes_somewhere
def merge_command(
    bundle: Path, *, first: str, second: str, description: str | None, reason: str, **ways: Unpack[_Ways]
) -> None:
    """Make one attempt of two that follow each other."""
    from eikon_engine.edit.assignments import make_edit
    from eikon_engine.trace.edits import MergeAttempts

    edit = make_edit(MergeAttempts, first=first, second=second, description=description, reason=reason)
    _conclude(bundle, _read(bundle), (edit,), ways)


@trace_command.command("apply", context_settings=HELP)
@BUNDLE
@click.argument("patch", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder of a changed copy of the bundle.")
def apply_command(bundle: Path, *, patch: Path, output: Path | None) -> None:
    """Make the changes that PATCH holds, a file of --save."""
    from eikon_engine.edit.saved_patch import read_patch

    _conclude(bundle, _read(bundle), read_patch(patch).operations, {"output": output, "saved": None})


def _read(bundle: Path) -> ExecutionTrace:
    from eikon_engine.trace.bundle import open_bundle

    return open_bundle(bundle).trace


def _conclude(bundle: Path, trace: ExecutionTrace, operations: tuple[Operation, ...], ways: _Ways) -> None:
    """Show a change, and keep it or make it in a copy where that is asked for."""
    from eikon_engine.edit.assignments import undeclared
    from eikon_engine.edit.changed_copy import write_changed_copy
    from eikon_engine.edit.saved_patch import write_patch
    from eikon_engine.errors import UsageError
    from eikon_engine.outcome.printable import printable
    from eikon_engine.trace.patch import TracePatch, apply_patch, render_patch

    patch = TracePatch(operations=operations)
    changed = apply_patch(trace, patch)
    if changed == trace:
        message = f"{bundle}: wanted a change, found that the trace is so already; nothing is written"
        raise UsageError(message)
    output, saved = ways["output"], ways["saved"]
    if output is not None:
        write_changed_copy(bundle, changed, output)
    if saved is not None:
        write_patch(saved, patch)
    click.echo(printable(render_patch(trace, patch)), nl=False)
    for line in changed.warnings[len(trace.warnings) :]:
        click.echo(printable(line), err=True)
    for name in undeclared(changed, patch):
        click.echo(f"{{{{{name}}}}} is no variable of the trace and stays a text; --var {name}=… declares it", err=True)
    if saved is not None:
        click.echo(printable(f"{saved}: the change; next: eikon trace apply {bundle} {saved} -o …"), err=True)
    if output is not None:
        click.echo(
            printable(
                f"{output}: the changed copy; next: eikon certify {output}, or eikon record --trace {output} -o …"
            ),
            err=True,
        )
