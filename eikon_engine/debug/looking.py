"""Inspect a session, query its pages, and run JavaScript in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.inspect import inspect, locate
from eikon_engine.debug.results import JavaScriptRun
from eikon_engine.errors import ActionRejectedError, UsageError
from eikon_engine.outcome.debug_events import Evaluated
from eikon_engine.outcome.stored import InlineValue

if TYPE_CHECKING:
    from eikon_engine.debug.commands import Evaluate, Inspect, Locate
    from eikon_engine.debug.inspection import Inspection, Location
    from eikon_engine.debug.journey import Journey


async def look_at(journey: Journey, command: Inspect) -> Inspection:
    """Return an inspection; screenshots and documents are written to files.

    Raises:
        PageMissingError: the page is not open.
    """
    return await inspect(journey.line, command.what, journey.folder.root, command.page)


async def find(journey: Journey, command: Locate) -> Location:
    """Return which elements a selector matches, and how many.

    Raises:
        PageMissingError: the page, or its frame, is not open.
        UsageError: the selector is invalid.
        ActionError: the page does not respond.
    """
    if not command.selector.strip():
        raise UsageError("locate: the selector is empty; write one such as '#cart li'")
    try:
        return await locate(journey.line, command.selector, command.page, command.frame)
    except ActionRejectedError as error:
        why = journey.line.session.redactor.text(error.message)
        raise UsageError(f"locate: invalid selector; {why}") from error


async def evaluate(journey: Journey, command: Evaluate) -> JavaScriptRun:
    """Run JavaScript in a page; it belongs to the session's history from then on.

    Raises:
        PageMissingError: the page or frame is not open.
    """
    evaluation = await journey.line.evaluate(command.expression, command.page, command.frame)
    journey.note_way()
    await journey.look_for_selectors()
    journey.tell(
        Evaluated(
            branch=journey.active.name,
            iteration=journey.line.iteration,
            page=command.page,
            frame=command.frame,
            expression=evaluation.expression,
            result=None if evaluation.error is not None else InlineValue(value=evaluation.result),
            error=evaluation.error,
        )
    )
    return JavaScriptRun(result=evaluation.result, error=evaluation.error)
