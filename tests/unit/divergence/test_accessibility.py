"""What is hidden is told by name, where the documents are equal otherwise."""

from __future__ import annotations

from dataclasses import replace

from eikon_engine.divergence.accessibility import detect_accessibility, hidden_elements
from eikon_engine.divergence.comparison import Comparison, Place
from eikon_engine.trace.actions import Note
from eikon_engine.trace.dom import FrameExtras, PageSnapshot, frame_digest, visibility_digest
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation
from tests.unit.divergence.test_dom_diff import element, page_of

SHOP = page_of(element("form", element("button", "Buy"), element("p", "Hint", element("b", "now"))))
HEAD, BODY, BUY, HINT, NOW = 1, 2, 4, 6, 8
"""Numbers of nodes in document order, texts included."""


def hiding(*flips: int) -> PageSnapshot:
    """Hide elements of the page."""
    frame = replace(SHOP.main, extras=FrameExtras(flips=flips))
    return PageSnapshot(frames=(frame,))


def seen(page: PageSnapshot) -> Observation:
    """Observe a page."""
    frame = page.main
    shown = FrameObservation(path="", url="", digest=frame_digest(frame), visibility=visibility_digest(frame))
    return Observation(pages=(PageObservation(page=0, url="", title="", frames=(shown,)),))


def compared(recorded: PageSnapshot, observed: PageSnapshot) -> list[tuple[str, str, str]]:
    """Compare two pages."""
    action = ActionTrace(id="a", sequence=1, action=Note(text="x"), result=Succeeded(), observation=seen(recorded))
    comparison = Comparison(
        place=Place(subgoal="s__attempt_1", subgoal_id="s", sequence=1),
        recorded=action,
        result=Succeeded(),
        observed=seen(observed),
        recorded_dom=lambda _page: recorded,
        observed_dom=lambda _page: observed,
    )
    return [(each.expected, each.observed, each.detail) for each in detect_accessibility(comparison)]


def test_hidden_elements_are_named_without_what_is_in_them() -> None:
    """An element shown inside a hidden one is none of them."""
    assert list(hidden_elements(hiding(HEAD, BUY, HINT).main)) == [
        (HEAD, "head at html > head"),
        (BUY, "button 'Buy' at html > body > form > button"),
        (HINT, "p 'Hint now' at html > body > form > p"),
    ]
    assert [number for number, _ in hidden_elements(hiding(HINT, NOW).main)] == [HINT]


def test_what_is_hidden_and_shown_now_is_found() -> None:
    """And what is as it was is not."""
    assert compared(hiding(HEAD), hiding(HEAD)) == []
    assert compared(hiding(HEAD), hiding(HEAD, BUY)) == [
        (
            "button 'Buy' at html > body > form > button shown",
            "it is hidden",
            "hidden now: button 'Buy' at html > body > form > button",
        )
    ]
    [(expected, observed, _)] = compared(hiding(HEAD, HINT), hiding(HEAD))
    assert (expected, observed) == ("p 'Hint now' at html > body > form > p hidden", "it is shown")


def test_what_was_not_noted_is_not_compared() -> None:
    """Older recordings do not know what was hidden, and another document is told by its own difference."""
    other = page_of(element("form", element("button", "Sold")))

    assert compared(SHOP, hiding(BUY)) == []
    assert compared(hiding(HEAD), other) == []
