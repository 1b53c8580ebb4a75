"""Inspect a session, query its pages, and run JavaScript in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.inspect import inspect_context, locate_in_context
from eikon_engine.debug.results import EvaluationResult
from eikon_engine.errors import ActionRejectedError, UsageError
from eikon_engine.outcome.debug_events import Evaluated
from eikon_engine.outcome.stored import InlineValue

if TYPE_CHECKING:
    from eikon_engine.debug.commands import Evaluate, Inspect, Locate
    from eikon_engine.debug.inspection import Inspection, LocateResult
    from eikon_engine.debug.journey import DebugSession


async def inspect_session(session: DebugSession, command: Inspect) -> Inspection:
    """Return an inspection; screenshots and documents are written to files.

    Raises:
        PageMissingError: the page is not open.
    """
    return await inspect_context(session.context, command.what, session.folder.root, command.page)


async def locate_in_session(session: DebugSession, command: Locate) -> LocateResult:
    """Return which elements a selector matches, and how many.

    Raises:
        PageMissingError: the page, or its frame, is not open.
        UsageError: the selector is invalid.
        ActionError: the page does not respond.
    """
    if not command.selector.strip():
        raise UsageError("locate: the selector is empty; write one such as '#cart li'")
    try:
        return await locate_in_context(session.context, command.selector, command.page, command.frame)
    except ActionRejectedError as error:
        why = session.context.session.redactor.redact_text(error.message)
        raise UsageError(f"locate: invalid selector; {why}") from error


async def evaluate_in_session(session: DebugSession, command: Evaluate) -> EvaluationResult:
    """Run JavaScript in a page; it belongs to the session's history from then on.

    Raises:
        PageMissingError: the page or frame is not open.
    """
    evaluation = await session.context.evaluate(command.expression, command.page, command.frame)
    session.update_branch()
    await session.update_selector_matches()
    session.record(
        Evaluated(
            branch=session.active_branch.name,
            iteration=session.context.iteration,
            page=command.page,
            frame=command.frame,
            expression=evaluation.expression,
            result=None if evaluation.error is not None else InlineValue(value=evaluation.result),
            error=evaluation.error,
        )
    )
    return EvaluationResult(result=evaluation.result, error=evaluation.error)
