"""A change of a page affects the later steps that use the changed element, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.divergence.dependents import find_dependents
from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import DocumentLoad, Observation
from eikon_engine.trace.target import Target
from tests.divergence.test_dom_diff import element, page_of

if TYPE_CHECKING:
    from eikon_engine.dom import PageSnapshot

BUY, HELP = element("button", "Buy", id="buy"), element("a", "Help", id="help", href="/help")
DEEP = 3_000
PAGE = page_of(element("form", BUY), HELP)


def click(
    sequence: int, element_id: str, *, leaves: bool = False, page: int = 0, shown: PageSnapshot = PAGE
) -> ActionTrace:
    """Record a click on an element of the page."""
    identity = next(each.identity for each in locate_elements(shown.main) if each.path.endswith(f"#{element_id}"))
    loads = (DocumentLoad(page=0, url="http://a/", status=200),) if leaves else ()
    return ActionTrace(
        id=f"s_action_{sequence}",
        sequence=sequence,
        action=Click(page=page, target=Target(selector=f"#{element_id}", identity=identity)),
        result=Succeeded(),
        observation=Observation(pages=(), documents=loads),
    )


def reached(observed: PageSnapshot, *later: ActionTrace) -> list[tuple[int, str]]:
    """Return sequence and reason of the steps that depend on the observation."""
    return [(step.sequence, why) for step, why in find_dependents(later, 0, PAGE, observed)]


def test_missing_and_changed_targets_are_named() -> None:
    """An unchanged target is not named."""
    gone = page_of(element("form"), HELP)
    other = page_of(element("form", element("button", "Sold out", id="buy")), HELP)

    assert reached(gone, click(2, "buy"), click(3, "help")) == [
        (2, "its target is no longer at html > body > form > button#buy")
    ]
    [(sequence, why)] = reached(other, click(2, "help"), click(3, "buy"))
    assert sequence == 3
    assert why.startswith("its target at html > body > form > button#buy has changed: name: 'Buy' -> 'Sold out'")


def test_a_target_with_another_generated_id_has_not_changed() -> None:
    """Such an id identifies nothing, and differs in each run."""
    before, after = (page_of(element("button", "Buy", id=name)) for name in (":r1:", ":r5:"))
    identity = next(each.identity for each in locate_elements(before.main) if each.node.tag == "button")
    step = ActionTrace(
        id="s_action_2",
        sequence=2,
        action=Click(page=0, target=Target(selector="button", identity=identity)),
        result=Succeeded(),
        observation=Observation(pages=()),
    )

    assert list(find_dependents((step,), 0, before, after)) == []


def test_steps_on_another_page_or_document_are_not_dependent() -> None:
    """Steps after the page was replaced, or on another page, do not depend on it."""
    gone = page_of(element("form"))
    leave = ActionTrace(
        id="s_action_3",
        sequence=3,
        action=Navigate(url="http://a/"),
        result=Succeeded(),
        observation=Observation(pages=(), documents=(DocumentLoad(page=0, url="http://a/", status=200),)),
    )

    assert reached(gone, click(2, "buy", page=1), leave, click(4, "buy")) == []
    assert [sequence for sequence, _ in reached(gone, click(2, "buy", leaves=True), click(3, "help"))] == [2]


def test_a_document_may_be_as_deep_as_it_likes() -> None:
    """An element nested in thousands of others is found."""
    button = element("button", "Buy", id="buy")
    deep, other = button, element("button", "Sold out", id="buy")
    for _ in range(DEEP):
        deep, other = element("div", deep), element("div", other)
    recorded = page_of(deep)

    found = list(find_dependents([click(2, "buy", shown=recorded)], 0, recorded, page_of(other)))

    assert [step.sequence for step, _ in found] == [2]
    assert found[0][1].endswith("div > button#buy has changed: name: 'Buy' -> 'Sold out'; text: 'Buy' -> 'Sold out'")
