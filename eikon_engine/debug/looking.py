"""Look at where a session stands, ask its pages, and run JavaScript in them."""

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
    """Return what there is to see; pictures and documents are kept in files.

    Raises:
        PageMissingError: that page is not open.
    """
    return await inspect(journey.line, command.what, journey.folder.root, command.page)


async def find(journey: Journey, command: Locate) -> Location:
    """Return how many elements a selector matches, and which.

    Raises:
        PageMissingError: the page, or its frame, is not open.
        UsageError: the selector is none.
        ActionError: the page does not answer.
    """
    if not command.selector.strip():
        raise UsageError("locate: wanted a selector, found nothing; write one such as '#cart li'")
    try:
        return await locate(journey.line, command.selector, command.page, command.frame)
    except ActionRejectedError as error:
        why = journey.line.session.redactor.text(error.message)
        raise UsageError(f"locate: wanted a selector that the browser can read; {why}") from error


async def evaluate(journey: Journey, command: Evaluate) -> JavaScriptRun:
    """Run JavaScript in a page; what it did belongs to the way from then on.

    Raises:
        PageMissingError: the page, or the frame in it, is not open.
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
