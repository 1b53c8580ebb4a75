"""`eikon trace`: show a bundle, or edit a copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

import click

from eikon_engine.cli.command import group
from eikon_engine.cli.shared_options import bundle_argument, output_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.patch import Operation

Command = TypeVar("Command", bound="Callable[..., None]")


class _Destinations(TypedDict):
    """Where a change is written."""

    output: Path | None
    saved: Path | None


class _InsertOptions(_Destinations):
    """Where an action is inserted, and where the change is written."""

    before: str | None
    after: str | None


class _NewSubgoal(TypedDict):
    """The new subgoal of a split."""

    before: str
    description: str
    subgoal_id: str | None


def _output_options(command: Command) -> Command:
    """Add the options for where a change is written."""
    output = output_option("Write a changed copy of the bundle to this folder.", holds="bundle")
    save = output_option("Write the patch to this file.", "--save", "saved")
    return output(save(command))


def _require_reason(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    if not text.strip():
        message = "expected a reason, got an empty text"
        raise click.BadParameter(message)
    return text


_REASON = click.option(
    "--reason", default="manual edit", show_default=True, callback=_require_reason, help="Reason, stored in the trace."
)


@group("trace")
def trace_command() -> None:
    """Show what is in a bundle, or edit a copy of it; the bundle itself is never modified.

    Without -o and --save, a change is only printed, as a diff of trace.json.
    """


@trace_command.command("show", short_help="List attempts and steps, or print one of them as JSON.")
@bundle_argument()
@click.argument("step", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the whole trace as JSON.")
def show_command(bundle: Path, step: str | None, *, as_json: bool) -> None:
    """List the attempts and steps of BUNDLE, or print one of them (STEP, its id) as JSON."""
    from eikon_engine.cli.trace_listing import render_listing, render_step, require_one_format
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.trace_file import serialize_trace

    require_one_format(step=step, as_json=as_json)
    trace = open_bundle(bundle).trace
    if as_json:
        click.echo(serialize_trace(trace).decode(), nl=False)
    elif step is not None:
        click.echo(render_step(trace, step), nl=False)
    else:
        click.echo(render_listing(trace), nl=False)


@trace_command.command("set", short_help="Change fields of a step, of an attempt, or of the trace.")
@bundle_argument()
@click.argument("arguments", nargs=-1, metavar="[STEP] FIELD=VALUE…")
@click.option(
    "--var", "variables", multiple=True, metavar="NAME[=VALUE]", help="Declare a variable with its recorded value."
)
@click.option("--same-element", is_flag=True, help="The new selector finds the same element; keep its recorded data.")
@_REASON
@_output_options
def set_command(
    bundle: Path,
    *,
    arguments: tuple[str, ...],
    variables: tuple[str, ...],
    same_element: bool,
    reason: str,
    **chosen: Unpack[_Destinations],
) -> None:
    """Change fields of a step of BUNDLE, of an attempt, or of the trace if STEP is omitted.

    STEP is an id listed by `eikon trace show`, FIELD a path such as action.target.selector, VALUE JSON or plain text.
    """
    from eikon_engine.trace.edit_arguments import parse_declarations, parse_field_edits
    from eikon_engine.trace.patch import TracePatch, apply_patch

    trace = _read_trace(bundle)
    declared = parse_declarations(variables, reason)
    trace_with = apply_patch(trace, TracePatch(operations=declared))
    named = arguments[:1] if arguments and "=" not in arguments[0] else ()
    step, texts = "".join(named), arguments[len(named) :]
    operations: tuple[Operation, ...] = declared
    if texts or named or not declared:
        operations = (*declared, parse_field_edits(trace_with, step, texts, same_element=same_element, reason=reason))
    _finish_edit(bundle, trace, operations, chosen)


@trace_command.command("delete")
@bundle_argument()
@click.argument("steps", nargs=-1, required=True, metavar="STEP…")
@_REASON
@_output_options
def delete_command(bundle: Path, *, steps: tuple[str, ...], reason: str, **chosen: Unpack[_Destinations]) -> None:
    """Delete actions, skills or whole attempts of BUNDLE."""
    from eikon_engine.trace.edit_arguments import build_edit
    from eikon_engine.trace.edits import DeleteStep

    operations = tuple(build_edit(DeleteStep, step=step, reason=reason) for step in steps)
    _finish_edit(bundle, _read_trace(bundle), operations, chosen)


@trace_command.command("insert")
@bundle_argument()
@click.argument("action")
@click.option("--before", metavar="STEP", help="Insert before this step.")
@click.option("--after", metavar="STEP", help="Insert after this step.")
@click.option("--id", "name", help="Id of the new step.  [default: derived from its attempt]")
@_REASON
@_output_options
def insert_command(bundle: Path, *, action: str, name: str | None, reason: str, **rest: Unpack[_InsertOptions]) -> None:
    """Insert an action into BUNDLE, before or after a step.

    ACTION is JSON as printed by `eikon trace show BUNDLE STEP`, such as '{"type": "press", "key": "Tab"}'.
    """
    from eikon_engine.trace.edit_arguments import build_insertion, parse_action, require_one_side

    beside = require_one_side(rest["before"], rest["after"])
    trace = _read_trace(bundle)
    edit = build_insertion(trace, beside, parse_action(action), reason=reason, name=name)
    _finish_edit(bundle, trace, (edit,), {"output": rest["output"], "saved": rest["saved"]})


@trace_command.command("split", short_help="Split a subgoal in two.")
@bundle_argument()
@click.argument("attempt")
@click.option("--before", required=True, metavar="STEP", help="First step of the new subgoal.")
@click.option("--description", required=True, help="Description of the new subgoal.")
@click.option("--subgoal-id", help="Id of the new subgoal.  [default: derived from the old one]")
@_REASON
@_output_options
def split_command(
    bundle: Path,
    *,
    attempt: str,
    reason: str,
    output: Path | None,
    saved: Path | None,
    **new: Unpack[_NewSubgoal],
) -> None:
    """Split a subgoal in two: the steps of ATTEMPT from --before on become a subgoal of their own."""
    from eikon_engine.trace.edit_arguments import build_edit
    from eikon_engine.trace.edits import SplitAttempt

    edit = build_edit(SplitAttempt, attempt=attempt, reason=reason, **new)
    _finish_edit(bundle, _read_trace(bundle), (edit,), {"output": output, "saved": saved})


@trace_command.command("merge")
@bundle_argument()
@click.argument("first")
@click.argument("second")
@click.option("--description", help="Description of the merged subgoal.  [default: that of the first]")
@_REASON
@_output_options
def merge_command(
    bundle: Path, *, first: str, second: str, description: str | None, reason: str, **chosen: Unpack[_Destinations]
) -> None:
    """Merge two adjacent attempts."""
    from eikon_engine.trace.edit_arguments import build_edit
    from eikon_engine.trace.edits import MergeAttempts

    edit = build_edit(MergeAttempts, first=first, second=second, description=description, reason=reason)
    _finish_edit(bundle, _read_trace(bundle), (edit,), chosen)


@trace_command.command("apply")
@bundle_argument()
@click.argument("patch", type=click.Path(path_type=Path))
@output_option("Write a changed copy of the bundle to this folder.", holds="bundle")
def apply_command(bundle: Path, *, patch: Path, output: Path | None) -> None:
    """Apply PATCH, a file written by --save."""
    from eikon_engine.trace.patch import read_patch

    _finish_edit(bundle, _read_trace(bundle), read_patch(patch).operations, {"output": output, "saved": None})


def _read_trace(bundle: Path) -> ExecutionTrace:
    from eikon_engine.trace.bundle import open_bundle

    return open_bundle(bundle).trace


def _finish_edit(
    bundle: Path, trace: ExecutionTrace, operations: tuple[Operation, ...], destinations: _Destinations
) -> None:
    """Print a change; save it or apply it to a copy if requested."""
    from eikon_engine.errors import UsageError
    from eikon_engine.outcome.terminal import escape_control_characters, safe_line
    from eikon_engine.trace.bundle import copy_bundle
    from eikon_engine.trace.edit_arguments import undeclared_variables
    from eikon_engine.trace.patch import TracePatch, apply_patch, render_patch, write_patch

    patch = TracePatch(operations=operations)
    changed = apply_patch(trace, patch)
    if changed == trace:
        message = f"{bundle}: expected a change, got the recorded values; nothing was written"
        raise UsageError(message)
    output, saved = destinations["output"], destinations["saved"]
    if output is not None:
        copy_bundle(bundle, changed, output)
    if saved is not None:
        write_patch(saved, patch)
    click.echo(escape_control_characters(render_patch(trace, patch)), nl=False)
    for line in changed.warnings[len(trace.warnings) :]:
        click.echo(safe_line(line), err=True)
    for name in undeclared_variables(changed, patch):
        click.echo(f"{{{{{name}}}}} is not a variable and stays plain text; declare it with --var {name}=…", err=True)
    if saved is not None:
        click.echo(
            safe_line(f"wrote the patch {saved}; next: eikon trace apply {bundle} {saved} -o …"),
            err=True,
        )
    if output is not None:
        click.echo(
            safe_line(
                f"wrote the changed copy {output}; next: eikon certify {output}, or eikon record --trace {output} -o …"
            ),
            err=True,
        )
