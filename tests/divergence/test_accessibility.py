"""Hidden elements are reported by name if the documents are equal."""

from __future__ import annotations

from dataclasses import replace

from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detectors.accessibility import detect_accessibility
from eikon_engine.dom import FrameExtras, PageSnapshot, frame_digest, visibility_digest
from eikon_engine.trace.actions import Note
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation
from tests.divergence.test_dom_diff import element, page_of

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
        position=StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1),
        recorded=action,
        result=Succeeded(),
        observed=seen(observed),
        recorded_dom=lambda _page: recorded,
        observed_dom=lambda _page: observed,
    )
    return [(each.expected, each.observed, each.detail) for each in detect_accessibility(comparison)]


def test_elements_inside_a_hidden_element_are_not_listed() -> None:
    """Of nested elements that are hidden or shown again, only the outermost one is listed."""
    [(expected, observed, detail)] = compared(hiding(HEAD, NOW), hiding(HEAD, HINT))
    assert (expected, observed) == ("p 'Hint now' at html > body > form > p visible", "hidden")
    assert detail == "now hidden: p 'Hint now' at html > body > form > p"
    [(_, _, detail)] = compared(hiding(HEAD, HINT), hiding(HEAD, NOW))
    assert detail == "now visible: p 'Hint now' at html > body > form > p"


def test_what_is_shown_in_a_hidden_element_is_found() -> None:
    """An element that a style sheet shows inside a hidden one is a difference."""
    [(_, _, detail)] = compared(hiding(HINT), hiding(HINT, NOW))

    assert detail == "now visible: b 'now' at html > body > form > p > b"


def test_documents_that_differ_are_compared_in_what_they_share() -> None:
    """If an element was added, the elements that both documents share are still compared."""
    ad = page_of(
        element("form", element("aside", "Ad"), element("button", "Buy"), element("p", "Hint", element("b", "now")))
    )

    def observed(*flips: int) -> PageSnapshot:
        return PageSnapshot(frames=(replace(ad.main, extras=FrameExtras(flips=flips)),))

    [(_, _, detail)] = compared(hiding(HEAD), observed(HEAD, 6))
    assert detail == "now hidden: button 'Buy' at html > body > form > button"
    assert compared(hiding(HEAD), observed(HEAD, 4)) == []


def test_what_is_hidden_and_shown_now_is_found() -> None:
    """Elements whose visibility changed in either direction are listed; unchanged ones are not."""
    assert compared(hiding(HEAD), hiding(HEAD)) == []
    assert compared(hiding(HEAD), hiding(HEAD, BUY)) == [
        (
            "button 'Buy' at html > body > form > button visible",
            "hidden",
            "now hidden: button 'Buy' at html > body > form > button",
        )
    ]
    [(expected, observed, _)] = compared(hiding(HEAD, HINT), hiding(HEAD))
    assert (expected, observed) == ("p 'Hint now' at html > body > form > p hidden", "visible")


def test_what_was_not_noted_is_not_compared() -> None:
    """Older recordings have no visibility, and a different document is reported by its own difference."""
    other = page_of(element("form", element("button", "Sold")))

    assert compared(SHOP, hiding(BUY)) == []
    assert compared(hiding(HEAD), other) == []
