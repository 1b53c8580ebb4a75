"""Inspect a paused session, query its pages, and run JavaScript in them."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.browser.actions.effect import require_page
from eikon_engine.browser.actions.targets import readiness_for
from eikon_engine.browser.browser_storage import read_stored_values
from eikon_engine.browser.inspection import find_matches, inspect_target_now, read_console
from eikon_engine.debug.results import (
    EvaluationResult,
    InspectedItem,
    InspectedMatch,
    InspectedMessage,
    InspectedPage,
    InspectedScreenshot,
    InspectedStep,
    InspectedTarget,
    Inspection,
    LocateResult,
)
from eikon_engine.divergence.candidates import find_candidates
from eikon_engine.dom import render_html
from eikon_engine.errors import ActionRejectedError, BrowserDiedError, PageMissingError, UsageError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.debug_events import Evaluated
from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome
from eikon_engine.outcome.stored_values import InlineValue
from eikon_engine.trace.actions import (
    Assert,
    AssertUrl,
    Drag,
    FunctionCondition,
    SelectorCondition,
    WaitFor,
)
from eikon_engine.trace.bundle import store_snapshot
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.labels import step_label

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.browser.observation import CapturedObservation
    from eikon_engine.browser.session import Session
    from eikon_engine.debug.commands import Evaluate, Inspect, Locate
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.debug.session import DebugSession
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.target import Target

InspectedPart: TypeAlias = Literal["all", "page", "screenshot", "next", "network", "storage", "console", "divergences"]
DOM_FOLDER: Final = "dom"
INSPECTIONS_FOLDER: Final = "inspections"


async def inspect_context(context: ReplayContext, what: InspectedPart, folder: Path, page: int = 0) -> Inspection:
    """Collect what is asked for; snapshots are written to `dom` below `folder`, files to view to `inspections`.

    `page` selects the screenshot, and the DOM if only that is asked for. The default page 0 may be closed unless only a
    page or screenshot is asked for.

    Raises:
        PageMissingError: the page is not open.
        BrowserDiedError: the browser went away.
        OutputError: a file cannot be written.
    """
    return await _Inspector(context, what, folder, page).inspection()


async def locate_in_context(context: ReplayContext, selector: str, page: int = 0, frame: str = "") -> LocateResult:
    """Return what a selector matches now, found with the engine that binds targets.

    Raises:
        PageMissingError: the page, or its frame, is not open.
        ActionError: the selector is invalid, or the page does not respond.
        BrowserDiedError: the browser went away.
    """
    seen = await find_matches(context.session, selector, page, frame)
    return LocateResult(
        selector=context.session.redactor.redact_text(selector),
        page=seen.page,
        frame=seen.frame,
        count=seen.count,
        visible=sum(each.is_visible for each in seen.shown),
        matches=tuple(InspectedMatch(**asdict(each)) for each in seen.shown),
    )


class _Inspector:
    """A single inspection."""

    def __init__(self, context: ReplayContext, what: InspectedPart, folder: Path, page: int) -> None:
        self._context = context
        self._what = what
        self._folder = folder
        self._page = page

    async def inspection(self) -> Inspection:
        context, session = self._context, self._context.session
        if self._page or self._what in {"page", "screenshot"}:
            require_page(session, self._page)
        asks = self._includes
        captured = await context.browser.observe() if asks("page") or asks("next") else context.observed.last_observed
        inspection = Inspection(
            iteration=context.iteration,
            step_count=context.step_count,
            touched=context.is_modified,
            pages=self._pages(captured) if asks("page") else None,
            picture=await self._screenshot() if asks("screenshot") else None,
            next=await self._next(context.next_step, captured)
            if asks("next") and context.next_step is not None
            else None,
            network=context.worker.network_outcome() if asks("network") else None,
            storage=await _storage(session) if asks("storage") else None,
            console=await _console(session) if asks("console") else None,
            divergences=_divergences(context) if asks("divergences") else None,
        )
        if session.tracker.is_dead:
            message = "the browser crashed or was closed during the inspection"
            raise BrowserDiedError(message)
        return inspection

    def _includes(self, part: InspectedPart) -> bool:
        return self._what in {"all", part}

    def _pages(self, captured: CapturedObservation) -> tuple[InspectedPage, ...]:
        pages = (each for each in captured.observation.pages if self._what == "all" or each.page == self._page)
        store = BlobStore(self._folder / DOM_FOLDER)
        shown = []
        for each in pages:
            snapshot = captured.snapshots[each.page]
            html = render_html(snapshot.main, frames=snapshot.frames, base_url=snapshot.main.url)
            shown.append(
                InspectedPage(
                    observation=each.model_copy(update={"snapshot": store_snapshot(store, snapshot)}),
                    html=self._write_file(each.page, html.encode(errors="replace"), "html"),
                )
            )
        return tuple(shown)

    async def _screenshot(self) -> InspectedScreenshot:
        picture = await self._context.worker.screenshot(self._page)
        if picture is not None:
            return InspectedScreenshot(page=self._page, path=self._write_file(self._page, picture, "png"))
        is_open = self._context.session.page(self._page) is not None
        problem = "the page does not render, or is navigating" if is_open else "the page is not open"
        return InspectedScreenshot(page=self._page, path=None, problem=problem)

    async def _next(self, planned: PlannedStep, captured: CapturedObservation) -> InspectedStep:
        step = planned.step
        if isinstance(step, SkillUsage):
            return InspectedStep(
                iteration=planned.position,
                id=step.id,
                kind="skill",
                tool=step.skill,
                label=step_label(step),
                input=dict(step.parameters),
                subgoal=planned.subgoal.id,
                page=None,
                expected=step.result,
            )
        return InspectedStep(
            iteration=planned.position,
            id=step.id,
            kind="action",
            tool=step.action.type,
            label=step_label(step),
            input=step.action.model_dump(mode="json"),
            subgoal=planned.subgoal.id,
            page=step.action.page,
            targets=await self._targets(step.action, captured),
            requests=() if step.observation is None else step.observation.requests,
            expected=step.result,
        )

    async def _targets(self, action: Action, captured: CapturedObservation) -> tuple[InspectedTarget, ...]:
        snapshot = captured.snapshots.get(action.page)
        return tuple([await self._target(action, *each, snapshot) for each in _targets_of(action)])

    async def _target(
        self,
        action: Action,
        role: Literal["target", "to", "condition"],
        target: Target,
        snapshot: PageSnapshot | None,
    ) -> InspectedTarget:
        try:
            now = await inspect_target_now(self._context.session, action.page, target, readiness_for(action))
            count, matches, problem = now.count, now.matches, now.problem
        except PageMissingError as error:
            count, matches, problem = 0, (), error.message
        problem = None if role == "condition" else problem
        alike = None
        if problem is not None and target.identity is not None and snapshot is not None:
            alike = find_candidates(target.identity, snapshot)
        return InspectedTarget(
            role=role,
            selector=str(target),
            identity=target.identity,
            count=count,
            matches=matches,
            problem=problem,
            candidates=alike,
        )

    def _write_file(self, page: int, content: bytes, ending: str) -> str:
        """Write a file named after its content, so that later inspections do not overwrite it."""
        digest = hashlib.sha256(content).hexdigest()[:12]
        relative = f"{INSPECTIONS_FOLDER}/{self._context.iteration:03d}-page-{page}-{digest}.{ending}"
        path = self._folder / relative
        if not path.exists():
            write_atomically(path, content)
        return relative


async def _storage(session: Session) -> tuple[InspectedItem, ...]:
    return tuple(InspectedItem(**asdict(each)) for each in await read_stored_values(session))


async def _console(session: Session) -> tuple[InspectedMessage, ...]:
    return tuple(InspectedMessage(**asdict(each)) for each in await read_console(session))


def _divergences(context: ReplayContext) -> tuple[Divergence, ...]:
    outcomes = (each.outcome for each in context.outcomes)
    return tuple(
        found for each in outcomes if isinstance(each, ActionOutcome | SkillOutcome) for found in each.divergences
    )


def _targets_of(action: Action) -> Iterator[tuple[Literal["target", "to", "condition"], Target]]:
    """Yield the targets of an action with their roles."""
    if isinstance(action, WaitFor):
        condition = action.condition
        if isinstance(condition, SelectorCondition | FunctionCondition) and condition.target is not None:
            yield "condition", condition.target
        return
    if isinstance(action, Assert):
        if not isinstance(action.expectation, AssertUrl):
            yield "condition", action.expectation.target
        return
    target = getattr(action, "target", None)
    if target is not None:
        yield "target", target
    if isinstance(action, Drag):
        yield "to", action.to


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
    """Run JavaScript in a page; unless it only reads, it belongs to the session's history from then on.

    Raises:
        PageMissingError: the page or frame is not open.
    """
    context = session.context
    read = await context.read(command.expression, command.page, command.frame)
    if read is None:
        evaluation = await context.evaluate(command.expression, command.page, command.frame)
        result, error = evaluation.result, evaluation.error
        session.update_branch()
        await session.update_selector_matches()
    else:
        result, error = read.result, read.error
    session.record(
        Evaluated(
            branch=session.active_branch.name,
            iteration=context.iteration,
            page=command.page,
            frame=command.frame,
            expression=context.session.redactor.redact_text(command.expression),
            result=None if error is not None else InlineValue(value=result),
            error=error,
            reads_only=read is not None,
        )
    )
    return EvaluationResult(result=result, error=error)
