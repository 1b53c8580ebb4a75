"""The commands that control a session, the same in the shell and at the prompt; each returns a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import click

from eikon_engine.cli.debug_branch_commands import branch_group, diff_command, switch_command
from eikon_engine.cli.debug_checkpoint_commands import checkpoint_group, rewind_command, timeline_command
from eikon_engine.cli.debug_options import HELP_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.debug.client import UserRequest

_PAGE: Final = click.option("--page", type=click.IntRange(0), default=0, help="Number of the page, from 0.")
_FRAME: Final = click.option("--frame", default="", metavar="PATH", help="Frame path.  [default: the main frame]")


@click.command("pause", context_settings=HELP_SETTINGS)
def pause_command() -> UserRequest:
    """Pause before the next step."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import Pause

    return send(Pause())


@click.command("resume", context_settings=HELP_SETTINGS)
def resume_command() -> UserRequest:
    """Run until something stops the session, and wait for that."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import Resume

    return send(Resume())


@click.command("step", context_settings=HELP_SETTINGS)
@click.argument("count", type=click.IntRange(1), default=1)
def step_command(count: int) -> UserRequest:
    """Run the next step, or COUNT steps."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import Step

    return send(Step(count=count))


@click.command("next-subgoal", context_settings=HELP_SETTINGS)
def next_subgoal_command() -> UserRequest:
    """Run until the next subgoal begins."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import NextSubgoal

    return send(NextSubgoal())


@click.command("run-to", context_settings=HELP_SETTINGS)
@click.argument("iteration", type=click.IntRange(0))
def run_to_command(iteration: int) -> UserRequest:
    """Run until ITERATION steps are done."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import RunTo

    return send(RunTo(iteration=iteration))


@click.command("inspect", context_settings=HELP_SETTINGS)
@click.argument(
    "what",
    type=click.Choice(["all", "page", "screenshot", "next", "network", "storage", "console", "divergences"]),
    default="all",
)
@_PAGE
def inspect_command(
    what: Literal["all", "page", "screenshot", "next", "network", "storage", "console", "divergences"], page: int
) -> UserRequest:
    """Inspect the paused session, or WHAT of it."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import Inspect

    return send(Inspect(what=what, page=page))


@click.command("locate", context_settings=HELP_SETTINGS)
@click.argument("selector")
@_PAGE
@_FRAME
def locate_command(selector: str, page: int, frame: str) -> UserRequest:
    """Count and list the elements that SELECTOR matches; read-only."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import Locate

    return send(Locate(selector=selector, page=page, frame=frame))


@click.command("eval", context_settings=HELP_SETTINGS)
@click.argument("expression")
@_PAGE
@_FRAME
def eval_command(expression: str, page: int, frame: str) -> UserRequest:
    """Run the JavaScript EXPRESSION in a page. The session counts as modified from then on."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import Evaluate

    return send(Evaluate(expression=expression, page=page, frame=frame))


@click.command("quit", context_settings=HELP_SETTINGS)
def quit_command() -> UserRequest:
    """End the session and delete its discarded steps."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import Quit

    return send(Quit())


@click.group("breakpoint", context_settings=HELP_SETTINGS)
def breakpoint_group() -> None:
    """Stop the session before or after certain steps."""


@breakpoint_group.command(
    "add", context_settings=HELP_SETTINGS, short_help="Add a breakpoint: tool, iteration, pattern, error, request …"
)
@click.argument("kind", metavar="TYPE")
@click.argument("value", required=False)
@click.option("--condition", metavar="REGEX", help="With `tool`: pattern that its input must match as well.")
def _breakpoint_add_command(kind: str, value: str | None, condition: str | None) -> UserRequest:
    """Add a breakpoint: tool NAME, iteration N, pattern REGEX, error, divergence, subgoal ID, request URL-PATTERN,
    or selector CSS.
    """  # noqa: D205 - click shows it as one paragraph
    from eikon_engine.debug.breakpoints import require_breakpoint_type
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BreakpointAdd

    return send(BreakpointAdd(on=require_breakpoint_type(kind), value=value, condition=condition))


@breakpoint_group.command("list", context_settings=HELP_SETTINGS)
def _breakpoint_list_command() -> UserRequest:
    """List the breakpoints and their hit counts."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BreakpointList

    return send(BreakpointList())


def _breakpoint_change_command(change: Literal["remove", "enable", "disable"], summary: str) -> click.Command:
    def callback(name: str) -> UserRequest:
        from eikon_engine.debug.client import send
        from eikon_engine.debug.commands import BreakpointChange

        return send(BreakpointChange(id=name, change=change))

    argument = click.Argument(["name"], metavar="ID")
    return click.Command(
        change, params=[argument], callback=callback, help=summary, context_settings=dict(HELP_SETTINGS)
    )


breakpoint_group.add_command(_breakpoint_change_command("remove", "Remove a breakpoint."))
breakpoint_group.add_command(_breakpoint_change_command("enable", "Enable a breakpoint."))
breakpoint_group.add_command(_breakpoint_change_command("disable", "Disable a breakpoint without removing it."))


@breakpoint_group.command("clear", context_settings=HELP_SETTINGS)
def _breakpoint_clear_command() -> UserRequest:
    """Remove all breakpoints."""
    from eikon_engine.debug.client import send
    from eikon_engine.debug.commands import BreakpointClear

    return send(BreakpointClear())


SESSION_COMMANDS: Final[Mapping[str, click.Command]] = {
    word.name or "": word
    for word in (
        pause_command,
        resume_command,
        step_command,
        next_subgoal_command,
        run_to_command,
        inspect_command,
        locate_command,
        eval_command,
        breakpoint_group,
        checkpoint_group,
        rewind_command,
        branch_group,
        switch_command,
        diff_command,
        timeline_command,
        quit_command,
    )
}
