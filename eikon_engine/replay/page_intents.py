"""Page intents of older recordings, detected again in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.skill import detect_page_intent
from eikon_engine.errors import SkillError
from eikon_engine.skills.protocol import SkillInput
from eikon_engine.trace.dom import render_plain_html
from eikon_engine.trace.dom.data_blocks import without_unrecorded_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.divergence.comparison import StepPosition
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.dom import FrameSnapshot, PageSnapshot
    from eikon_engine.trace.execution import PageIntent

PAGE_INTENT_SKILL: Final = "detect_page_intent"


class PageIntentComparer:
    """Compare page intents where the recorded page is stored."""

    def __init__(self, intents: Iterable[PageIntent], skills: SkillRegistry) -> None:
        """Use the page intents of a trace."""
        self._intents = tuple(intents)
        self._skills = skills

    def has_intent(self, action: str) -> bool:
        """Return whether a page intent was recorded for an action."""
        return any(intent.step_id == action for intent in self._intents)

    def compare(
        self, place: StepPosition, action: str, recorded: PageSnapshot | None, observed: PageSnapshot | None
    ) -> Iterator[Divergence]:
        """Yield a divergence for each page intent of an action that changed.

        A page is compared only if the detector reproduces the recorded intent on the recorded page; otherwise the
        detectors differ, which `eikon skills rerun` reports.
        """
        named = [intent for intent in self._intents if intent.step_id == action]
        if not named or recorded is None or observed is None:
            return
        known, now = (
            self._detect_intent(recorded.main),
            self._detect_intent(without_unrecorded_blocks(recorded.main, observed.main)),
        )
        for intent in named:
            if known == intent.intent:
                yield from detect_page_intent(place, intent, now)

    def _detect_intent(self, document: FrameSnapshot) -> str:
        given = SkillInput(html=render_plain_html(document), url=document.url)
        try:
            output = self._skills.get(PAGE_INTENT_SKILL).run(given)
        except SkillError:
            return "unknown"
        found = output.get("intent") if isinstance(output, dict) else None
        return str(found)
