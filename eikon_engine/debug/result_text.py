"""Render the results of commands as text, and choose the events to show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.commands import (
    BranchSave,
    BreakpointAdd,
    BreakpointChange,
    BreakpointClear,
    BreakpointList,
    CheckpointCreate,
    CheckpointDelete,
    Evaluate,
    Inspect,
    Locate,
    Quit,
)
from eikon_engine.debug.results import (
    BreakpointListing,
    CheckpointChange,
    EvaluationResult,
    Inspection,
    LocateResult,
    Position,
    SavedBranch,
)
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import pluralize
from eikon_engine.network.keys import readable_key
from eikon_engine.outcome.debug_events import (
    BranchChanged,
    BranchCreated,
    BranchDeleted,
    BranchSwitched,
    BreakpointHit,
    Checkpoint,
    CommandFailed,
    Evaluated,
    Paused,
    Resumed,
    Rewound,
)
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound, Note, RunEnd, SkillRun, SubgoalStart
from eikon_engine.outcome.terminal import safe_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from eikon_engine.debug.breakpoints import ListedBreakpoint
    from eikon_engine.debug.commands import Command
    from eikon_engine.debug.results import (
        InspectedItem,
        InspectedMessage,
        InspectedPage,
        InspectedScreenshot,
        InspectedStep,
        InspectedTarget,
    )
    from eikon_engine.outcome.events import Event
    from eikon_engine.outcome.outcomes import NetworkOutcome


def render_inspection(inspection: Inspection) -> str:
    """Return an inspection as lines of text."""
    return safe_lines(_inspection_lines(inspection))


def render_locate_result(result: LocateResult) -> str:
    """Return the number of matches and a line for each listed one."""
    return safe_lines(_locate_lines(result))


def _inspection_lines(seen: Inspection) -> Iterator[str]:
    touched = "; JavaScript was run manually before this point" if seen.touched else ""
    yield f"{seen.iteration} of {pluralize(seen.step_count, 'step')} done{touched}"
    if seen.next is not None:
        yield from _step_lines(seen.next)
    for page in seen.pages or ():
        yield from _page_lines(page)
    if seen.picture is not None:
        yield _screenshot_line(seen.picture)
    if seen.network is not None:
        yield from _network_lines(seen.network)
    if seen.storage is not None:
        yield from _storage_lines(seen.storage)
    if seen.console is not None:
        yield from _console_lines(seen.console)
    if seen.divergences is not None:
        yield f"divergences so far: {len(seen.divergences) or 'none'}"
        for found in seen.divergences:
            yield f"  {found.subgoal} {found.sequence:03d} {found.code}: {found.message}"


def _step_lines(step: InspectedStep) -> Iterator[str]:
    yield f"next: {step.iteration} {step.label} [{step.id}, {step.subgoal}]"
    for target in step.targets:
        yield from _target_lines(target)
    if step.expected.kind != "ok":
        yield f"  expected result: {step.expected.kind}"
    for key in step.requests:
        yield f"  recorded request: {readable_key(key)}"


def _target_lines(target: InspectedTarget) -> Iterator[str]:
    matches = f": {', '.join(target.matches)}" if target.matches else ""
    yield f"  {target.role} {target.selector} matches {pluralize(target.count, 'element')} now{matches}"
    if target.problem is not None:
        yield f"    would not bind now: {target.problem}"
    for each in target.candidates or ():
        yield f"    did you mean {each}?"


def _page_lines(page: InspectedPage) -> Iterator[str]:
    seen = page.observation
    yield f"page {seen.page}: {seen.title or '(no title)'}, {seen.url}"
    yield f"  DOM of {pluralize(len(seen.frames), 'frame')}: {page.html}"


def _screenshot_line(picture: InspectedScreenshot) -> str:
    return f"screenshot of page {picture.page}: {picture.path or f'none, {picture.problem}'}"


def _network_lines(network: NetworkOutcome) -> Iterator[str]:
    failed = "" if network.failed is None else f", {len(network.failed)} failed"
    yield (
        f"network: {network.served} requests served from the recording, {len(network.misses)} not in the recording, "
        f"{len(network.unused)} recorded but not requested yet{failed}"
    )
    for miss in network.misses:
        yield f"  not in the recording: {miss.key}"
    for failure in network.failed or ():
        yield f"  failed: {failure}"


def _storage_lines(items: Sequence[InspectedItem]) -> Iterator[str]:
    yield f"storage: {pluralize(len(items), 'item')}"
    for item in items:
        page = "" if item.page is None else f" of page {item.page}"
        yield f"  {item.kind}{page} {item.place}: {item.name} = {item.value}"


def _console_lines(messages: Sequence[InspectedMessage]) -> Iterator[str]:
    yield f"console: {pluralize(len(messages), 'message')}"
    for message in messages:
        place = f" ({message.place})" if message.place else ""
        yield f"  page {message.page} {message.kind}: {message.text}{place}"


def _locate_lines(found: LocateResult) -> Iterator[str]:
    frame = f", frame {found.frame}" if found.frame else ""
    shown = "" if found.count == len(found.matches) else f"; the first {len(found.matches)}:"
    yield f"{found.selector} matches {pluralize(found.count, 'element')} of page {found.page}{frame}{shown}"
    for match in found.matches:
        left, top, width, height = match.box
        place = f"{width:g} x {height:g} at {left:g}, {top:g}" if match.is_visible else "hidden"
        yield f"  {match.description} ({place})"


_SHOWN_WHILE_WAITING: Final = (
    ActionPerformed,
    BranchChanged,
    BranchCreated,
    BranchSwitched,
    BreakpointHit,
    Checkpoint,
    DivergenceFound,
    Note,
    Rewound,
    SkillRun,
    SubgoalStart,
)
_SHOWN_WHEN_FOLLOWING: Final = (BranchDeleted, CommandFailed, Evaluated, Paused, Resumed, RunEnd)


def is_shown_while_waiting(event: Event) -> bool:
    """Return whether to print an event while waiting for a response, which reports the rest."""
    return isinstance(event, _SHOWN_WHILE_WAITING)


def is_shown_when_following(event: Event) -> bool:
    """Return whether to print an event when following a session: pauses and failed commands as well."""
    return isinstance(event, (*_SHOWN_WHILE_WAITING, *_SHOWN_WHEN_FOLLOWING))


def render_result(command: Command, result: JsonValue) -> str:  # noqa: PLR0911 - one case a kind
    """Return the result of a command as lines of text."""
    text = canonical_json(result)
    match command:
        case BreakpointAdd() | BreakpointList() | BreakpointChange() | BreakpointClear():
            return _render_breakpoints(BreakpointListing.model_validate_json(text).breakpoints)
        case CheckpointCreate() | CheckpointDelete():
            return f"{CheckpointChange.model_validate_json(text)}\n"
        case Evaluate():
            return _render_evaluation(EvaluationResult.model_validate_json(text))
        case Inspect():
            return render_inspection(Inspection.model_validate_json(text))
        case Locate():
            return render_locate_result(LocateResult.model_validate_json(text))
        case BranchSave():
            return "".join(f"{line}\n" for line in SavedBranch.model_validate_json(text).lines)
        case Quit():
            return "session ended\n"
        case _:
            return f"{Position.model_validate_json(text)}\n"


def _render_breakpoints(breakpoints: tuple[ListedBreakpoint, ...]) -> str:
    return "".join(f"{each}\n" for each in breakpoints) or "no breakpoints\n"


def _render_evaluation(evaluated: EvaluationResult) -> str:
    if evaluated.error is not None:
        return f"failed: {evaluated.error}\nthe state may have changed; checkpoints and branches note it\n"
    return f"{json.dumps(evaluated.result, ensure_ascii=False)}\nthe state may have changed; checkpoints note it\n"
