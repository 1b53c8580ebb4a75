"""Format the events of a debug session as text, one line each."""

from __future__ import annotations

from typing import assert_never

from eikon_engine.outcome.debug_events import (
    BranchChanged,
    BranchCreated,
    BranchDeleted,
    BranchSwitched,
    BreakpointHit,
    Checkpoint,
    CommandDone,
    CommandFailed,
    CommandRejected,
    DebugEvent,
    Evaluated,
    Paused,
    Resumed,
    Rewound,
)
from eikon_engine.trace.wording import pluralize


def format_debug_event(event: DebugEvent) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Format the content of an event of a debug session."""
    match event:
        case Checkpoint():
            return f"{event.iteration or event.sequence:03d} {event.label or event.reason or ''} [{event.id}]"
        case BreakpointHit(breakpoint=hit, context=context):
            condition = "" if hit.condition is None else f" {hit.condition}"
            why = f": {context.error}" if context.error else ""
            return f"{context.iteration:03d} {hit.type}{condition} [{hit.id}], {pluralize(event.hit_count, 'hit')}{why}"
        case Paused():
            detail = f" ({event.detail})" if event.detail else ""
            return f"{event.iteration:03d} {event.branch}: {event.reason}{detail}; next: {event.next or 'nothing'}"
        case Resumed():
            return f"{event.iteration:03d} {event.branch}: {event.how}"
        case Rewound():
            done = f"{pluralize(event.reexecuted, 'step')} re-run, {pluralize(event.verified, 'digest')} verified"
            restored = f"{event.way}, {done}, {event.duration_ms:.0f} ms"
            return f"{event.iteration:03d} {event.branch}: to [{event.checkpoint_id}], {restored}"
        case Evaluated():
            ended = f"failed: {event.error}" if event.error is not None else "the page state may have changed"
            return f"{event.iteration:03d} {event.expression}: {ended}"
        case BranchCreated():
            return f"{event.iteration:03d} {event.name} from {event.parent_branch} at [{event.fork_point}]"
        case BranchSwitched():
            return f"{event.iteration:03d} {event.branch}"
        case BranchChanged():
            return f"{event.iteration:03d} {event.branch}: {event.change}"
        case BranchDeleted():
            return event.branch
        case CommandDone():
            return f"{event.command} [{event.command_id}]"
        case CommandFailed():
            return f"{event.command} [{event.command_id}]: {event.code}: {event.message}"
        case CommandRejected():
            return f"line {event.line}: {event.message}"
        case _:
            assert_never(event)
