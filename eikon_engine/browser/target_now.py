"""What the target of an action denotes at this moment. One look; nothing is scrolled, waited for or done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser.bind import ambiguous, look
from eikon_engine.browser.clean import clean
from eikon_engine.browser.perform.deed import require_page
from eikon_engine.errors import ActionError
from eikon_engine.trace.identity import identity_differences
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.browser.bind import Readiness
    from eikon_engine.browser.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetNow:
    """What a target denotes now."""

    count: int
    matches: tuple[str, ...]
    """Descriptions of the first five."""
    problem: str | None
    """Why it would not bind if its action were performed at once; None if it would."""


async def target_now(session: Session, page: int, target: Target, readiness: Readiness) -> TargetNow:
    """Look at what a target denotes; `readiness` says what its action wants of it, without a pointer: that scrolls.

    Raises:
        PageMissingError: the page is not open.
    """
    shown = require_page(session, page)
    if session.ledger.is_leaving(shown):
        return TargetNow(count=0, matches=(), problem="the page is going to another document")
    try:
        seen = await look(shown, _in_clear(session, target), readiness)
    except ActionError as error:
        return TargetNow(count=0, matches=(), problem=session.redactor_for(str(target)).text(error.message))
    problem = None
    if seen.count == 0:
        problem = f"{target}: wanted one element, found none"
    elif seen.identity is None:
        problem = ambiguous(target, seen)
    elif target.identity is not None and (differences := identity_differences(target.identity, seen.identity)):
        problem = f"{target}: the element is not the recorded one: {'; '.join(differences)}"
    elif seen.obstacle:
        problem = f"{target}: {seen.matches[0]} is {seen.obstacle}"
    return TargetNow(
        count=seen.count,
        matches=tuple(clean(session, each) for each in seen.matches),
        problem=None if problem is None else clean(session, problem),
    )


def _in_clear(session: Session, target: Target) -> Target:
    """Put the values of secrets into selectors that hold one."""
    data = target.model_dump(mode="json")
    restored = session.restorer.restore_texts(data)
    return target if restored == data else Target.model_validate_json(json.dumps(restored))
