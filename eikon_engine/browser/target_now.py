"""Check what the target of an action matches now, without scrolling, waiting or acting."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser.bind import ambiguity_message, inspect_target
from eikon_engine.browser.clean import redact_page_text
from eikon_engine.browser.perform.deed import require_page
from eikon_engine.errors import ActionError
from eikon_engine.trace.identity import identity_differences
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.browser.bind import Readiness
    from eikon_engine.browser.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatus:
    """What a target matches now."""

    count: int
    matches: tuple[str, ...]
    """Descriptions of the first five."""
    problem: str | None
    """Why it would not bind if its action were performed now; None if it would."""


async def inspect_target_now(session: Session, page: int, target: Target, readiness: Readiness) -> TargetStatus:
    """Check what a target matches; `readiness` is what its action requires, without a pointer, which would scroll.

    Raises:
        PageMissingError: the page is not open.
    """
    shown = require_page(session, page)
    if session.tracker.is_navigating(shown):
        return TargetStatus(count=0, matches=(), problem="the page is navigating")
    try:
        seen = await inspect_target(shown, _with_secrets(session, target), readiness)
    except ActionError as error:
        return TargetStatus(
            count=0, matches=(), problem=session.redactor_for_query(str(target)).redact_text(error.message)
        )
    problem = None
    if seen.count == 0:
        problem = f"{target}: expected one element, found none"
    elif seen.identity is None:
        problem = ambiguity_message(target, seen)
    elif target.identity is not None and (differences := identity_differences(target.identity, seen.identity)):
        problem = f"{target}: the element is not the recorded one: {'; '.join(differences)}"
    elif seen.obstacle:
        problem = f"{target}: {seen.matches[0]} is {seen.obstacle}"
    return TargetStatus(
        count=seen.count,
        matches=tuple(redact_page_text(session, each) for each in seen.matches),
        problem=None if problem is None else redact_page_text(session, problem),
    )


def _with_secrets(session: Session, target: Target) -> Target:
    """Insert the values of secrets into selectors that contain their stand-ins."""
    data = target.model_dump(mode="json")
    restored = session.secret_restorer.restore_json(data)
    return target if restored == data else Target.model_validate_json(json.dumps(restored))
