"""Tell which later steps depend on what changed on a page: those whose targets are not what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.divergence.identities import locate_all
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.identity import identity_differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.divergence.identities import Located
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.target import Identity


def dependents(
    later: Iterable[ActionTrace | SkillUsage], page: int, recorded: PageSnapshot, observed: PageSnapshot
) -> Iterator[tuple[ActionTrace | SkillUsage, str]]:
    """Yield the steps after a divergence that will go wrong because of it, with the reason.

    Only what can be known is told: steps on the page that differs, up to the one that replaces its document. An
    element that is not on the recorded page either came later, and says nothing.
    """
    before, after = _located(recorded), _located(observed)
    for step in later:
        if not isinstance(step, ActionTrace):
            if step.source is not None and step.source.url == recorded.main.url:
                yield step, "it reads the page that differs"
            continue
        target = getattr(step.action, "target", None)
        if step.action.page == page and target is not None and target.identity is not None:
            why = _why(target.identity, before, after)
            if why is not None:
                yield step, why
        if step.observation is None or any(load.page == page for load in step.observation.documents):
            return


def _located(page: PageSnapshot) -> tuple[Located, ...]:
    return tuple(each for frame in page.frames for each in locate_all(frame))


def _why(wanted: Identity, before: Sequence[Located], after: Sequence[Located]) -> str | None:
    place = next((each.path for each in before if not identity_differences(wanted, each.identity)), None)
    if place is None or any(not identity_differences(wanted, each.identity) for each in after):
        return None
    there = next((each for each in after if each.path == place), None)
    if there is None:
        return f"its target is no longer at {place}"
    return f"its target at {place} differs: {'; '.join(identity_differences(wanted, there.identity))}"
