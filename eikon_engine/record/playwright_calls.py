"""Which calls of a live agent become actions; `trace.playwright_calls` says which actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eikon_engine.trace.playwright_calls import UnsupportedCallError, convert_call, convert_read, effect_of, is_read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.trace.actions import Action, Evaluate, Expect, Read
    from eikon_engine.trace.playwright_calls import CallContext


def read_for_call(name: str, params: Mapping[str, Any], context: CallContext) -> Read | Evaluate | Expect | None:
    """Return the action for a call that reads from a page; None if it does not, or if no action can express it."""
    if not is_read(name, params):
        return None
    try:
        return convert_read(name, params, context)
    except UnsupportedCallError:
        return None


def action_for_call(name: str, params: Mapping[str, Any], context: CallContext) -> Action | None:
    """Return the action for a call by class and method; None for a call without an effect on a page.

    Raises:
        UnsupportedCallError: no action can express the call, or the call is unknown.
    """
    if effect_of(name) in {"read", "setup"} or name == "Frame.expect":
        return None
    return convert_call(name, params, context).action
