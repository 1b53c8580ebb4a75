"""The commands that control a session, the same in the shell and at the prompt; each returns a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import click

from eikon_engine.cli.debug_options import HELP
from eikon_engine.cli.debug_words_branch import branch_words, diff_word, switch_word
from eikon_engine.cli.debug_words_places import checkpoint_words, rewind_word, timeline_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.debug.asked import Asked

_PAGE: Final = click.option("--page", type=click.IntRange(0), default=0, help="Number of the page, from 0.")
_FRAME: Final = click.option("--frame", default="", metavar="PATH", help="Frame path.  [default: the main frame]")


@click.command("pause", context_settings=HELP)
def pause_word() -> Asked:
    """Pause before the next step."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import Pause

    return plainly(Pause())


@click.command("resume", context_settings=HELP)
def resume_word() -> Asked:
    """Run until something stops the session, and wait for that."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import Resume

    return plainly(Resume())


@click.command("step", context_settings=HELP)
@click.argument("count", type=click.IntRange(1), default=1)
def step_word(count: int) -> Asked:
    """Run the next step, or COUNT steps."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import Step

    return plainly(Step(count=count))


@click.command("next-subgoal", context_settings=HELP)
def next_subgoal_word() -> Asked:
    """Run until the next subgoal begins."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import NextSubgoal

    return plainly(NextSubgoal())


@click.command("run-to", context_settings=HELP)
@click.argument("iteration", type=click.IntRange(0))
def run_to_word(iteration: int) -> Asked:
    """Run until ITERATION steps are done."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import RunTo

    return plainly(RunTo(iteration=iteration))


@click.command("inspect", context_settings=HELP)
@click.argument(
    "what",
    type=click.Choice(["all", "page", "screenshot", "next", "network", "storage", "console", "divergences"]),
    default="all",
)
@_PAGE
def inspect_word(
    what: Literal["all", "page", "screenshot", "next", "network", "storage", "console", "divergences"], page: int
) -> Asked:
    """Inspect the paused session, or WHAT of it."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import Inspect

    return plainly(Inspect(what=what, page=page))


@click.command("locate", context_settings=HELP)
@click.argument("selector")
@_PAGE
@_FRAME
def locate_word(selector: str, page: int, frame: str) -> Asked:
    """Count and list the elements that SELECTOR matches; read-only."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import Locate

    return plainly(Locate(selector=selector, page=page, frame=frame))


@click.command("eval", context_settings=HELP)
@click.argument("expression")
@_PAGE
@_FRAME
def eval_word(expression: str, page: int, frame: str) -> Asked:
    """Run the JavaScript EXPRESSION in a page. The session counts as modified from then on."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import Evaluate

    return plainly(Evaluate(expression=expression, page=page, frame=frame))


@click.command("quit", context_settings=HELP)
def quit_word() -> Asked:
    """End the session and delete its discarded steps."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import Quit

    return plainly(Quit())


@click.group("breakpoint", context_settings=HELP)
def breakpoint_words() -> None:
    """Stop the session before or after certain steps."""


@breakpoint_words.command("add", context_settings=HELP)
@click.argument("kind", metavar="TYPE")
@click.argument("value", required=False)
@click.option("--condition", metavar="REGEX", help="With `tool`: pattern that its input must match as well.")
def _add_word(kind: str, value: str | None, condition: str | None) -> Asked:
    """Add a breakpoint: tool NAME, iteration N, pattern REGEX, error, divergence, subgoal ID, request URL-PATTERN,
    or selector CSS.
    """  # noqa: D205 - click shows it as one paragraph
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.asked_breakpoint import demand_type
    from eikon_engine.debug.commands import BreakpointAdd

    return plainly(BreakpointAdd(on=demand_type(kind), value=value, condition=condition))


@breakpoint_words.command("list", context_settings=HELP)
def _list_word() -> Asked:
    """List the breakpoints and their hit counts."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BreakpointList

    return plainly(BreakpointList())


def _change_word(change: Literal["remove", "enable", "disable"], summary: str) -> click.Command:
    def callback(name: str) -> Asked:
        from eikon_engine.debug.asked import plainly
        from eikon_engine.debug.commands import BreakpointChange

        return plainly(BreakpointChange(id=name, change=change))

    argument = click.Argument(["name"], metavar="ID")
    return click.Command(change, params=[argument], callback=callback, help=summary, context_settings=dict(HELP))


breakpoint_words.add_command(_change_word("remove", "Remove a breakpoint."))
breakpoint_words.add_command(_change_word("enable", "Enable a breakpoint."))
breakpoint_words.add_command(_change_word("disable", "Disable a breakpoint without removing it."))


@breakpoint_words.command("clear", context_settings=HELP)
def _clear_word() -> Asked:
    """Remove all breakpoints."""
    from eikon_engine.debug.asked import plainly
    from eikon_engine.debug.commands import BreakpointClear

    return plainly(BreakpointClear())


WORDS: Final[Mapping[str, click.Command]] = {
    word.name or "": word
    for word in (
        pause_word,
        resume_word,
        step_word,
        next_subgoal_word,
        run_to_word,
        inspect_word,
        locate_word,
        eval_word,
        breakpoint_words,
        checkpoint_words,
        rewind_word,
        branch_words,
        switch_word,
        diff_word,
        timeline_word,
        quit_word,
    )
}
