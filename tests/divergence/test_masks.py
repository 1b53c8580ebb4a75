"""Masks: named parts are not compared, everything else is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detect import detect_divergences
from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.masks import (
    apply_masks,
    mask_observation,
    mask_page,
    masks_in_read,
    remove_masked_requests,
    without_masked_evidence,
)
from eikon_engine.divergence.response_diff import ABSENT
from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node, frame_digest, page_digest
from eikon_engine.outcome.outcomes import NetworkMiss
from eikon_engine.trace.actions import Evaluate, Note, ReadValue
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.masks import (
    AttributePart,
    ConsoleErrorPart,
    Mask,
    MaskedPart,
    OrderPart,
    RequestPart,
    SelectorPart,
    SubtreePart,
    TextPart,
    TitlePart,
    ValuePart,
    describe_mask,
)
from eikon_engine.trace.observation import DocumentLoad, FrameObservation, Observation, PageObservation, RedirectHop

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.divergence.masks import MaskedComparison

URL = "http://shop.test/cart?id=1"


def element(tag: str, *children: DomNode | str, **attributes: str) -> DomNode:
    """Make an element."""
    nodes = tuple(build_text_node(child) if isinstance(child, str) else child for child in children)
    return DomNode(tag=tag, attributes=tuple(sorted(attributes.items())), children=nodes)


def page_of(*body: DomNode | str) -> PageSnapshot:
    """Make a page with a body."""
    root = element("html", element("head"), element("body", *body))
    return PageSnapshot(frames=(FrameSnapshot(path="", url=URL, name="", doctype="html", root=root),))


def mask(part: MaskedPart, name: str = "m", **where: str) -> Mask:
    """Make a mask."""
    return Mask(name=name, reason="it is random", part=part, **where)


def seen(page: PageSnapshot, **changes: object) -> Observation:
    """Observe one page."""
    frames = tuple(FrameObservation(path=each.path, url=each.url, digest=frame_digest(each)) for each in page.frames)
    shown = PageObservation(page=0, url=URL, title="Cart", frames=frames)
    return Observation(pages=(shown,)).model_copy(update=changes)


def compare(before: PageSnapshot, after: PageSnapshot, *masks: Mask, **changes: object) -> MaskedComparison:
    """Compare two pages under masks; `changes` are fields of the observed one."""
    recorded = ActionTrace(id="a", sequence=1, action=Note(text="x"), result=Succeeded(), observation=seen(before))
    comparison = Comparison(
        position=StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1),
        recorded=recorded,
        result=Succeeded(),
        observed=seen(after, **changes),
        recorded_dom=lambda _page: before,
        observed_dom=lambda _page: after,
    )
    return apply_masks(comparison, masks)


CASES = [
    (element("p", "1", id="t"), element("p", "2", id="t"), TextPart(path="html > body > p#t")),
    (element("p", "1", id="t"), element("p", id="t"), TextPart(path="** > p#t")),
    (element("p", "1", element("b"), "x"), element("p", "1", element("b"), "y"), TextPart(path="** > text():nth(2)")),
    (element("p", title="1"), element("p", title="2"), AttributePart(path="html > body > p", name="title")),
    (element("p", title="1"), element("p"), AttributePart(path="html > * > p", name="title")),
    (element("p", "1"), element("p", element("b", "2")), SubtreePart(path="html > body > p:nth(1)")),
    (
        replace(element("input"), state=(("value", "1"),)),
        replace(element("input"), state=(("value", "2"),)),
        ValuePart(path="** > input"),
    ),
    (
        replace(element("x-a"), shadow=(element("i", "1"),), shadow_mode="open"),
        replace(element("x-a"), shadow=(element("i", "2"),), shadow_mode="open"),
        TextPart(path="html > body > x-a > #shadow > i"),
    ),
    (
        element("ul", "\n", element("li", "a"), "\n", element("li", "b"), element("li", "b")),
        element("ul", "\n", element("li", "b"), "\n", element("li", "a"), element("li", "b")),
        OrderPart(path="** > ul"),
    ),
    (element("p", "1", id="t"), element("p", "2", id="t"), SelectorPart(selector="body > #t")),
    (element("p", title="1"), element("p", title="2"), SelectorPart(selector="[title]", attribute="title")),
    (
        replace(element("x-a"), shadow=(element("i", "1"),), shadow_mode="open"),
        replace(element("x-a"), shadow=(element("i", "2"),), shadow_mode="open"),
        SelectorPart(selector="i:root"),
    ),
]


@pytest.mark.parametrize(("before", "after", "part"), CASES)
def test_what_a_mask_names_is_not_compared(before: DomNode, after: DomNode, part: MaskedPart) -> None:
    """Each kind of part hides its difference, and is reported by name."""
    masked = compare(page_of(before), page_of(after), mask(part))

    assert detect_divergences(masked.comparison) == ()
    assert masked.names == ("m",)


@pytest.mark.parametrize(("before", "after", "part"), CASES)
def test_a_mask_hides_nothing_else(before: DomNode, after: DomNode, part: MaskedPart) -> None:
    """Of two differences only the one that is not masked is reported."""
    masked = compare(page_of(before, element("i", "x")), page_of(after, element("i", "y")), mask(part))

    found = detect_divergences(masked.comparison)

    assert [(each.code, each.expected, each.observed) for each in found] == [("dom-changed", "x", "y")]


def items(*texts: str) -> DomNode:
    """Make a list."""
    return element("ul", *(element("li", text) for text in texts), id="list")


def _showing(page: PageSnapshot) -> Callable[[int], PageSnapshot | None]:
    return lambda _page: page


LIST = OrderPart(path="html > body > ul#list")


@given(
    st.lists(st.sampled_from("abc"), max_size=5).flatmap(
        lambda texts: st.tuples(st.just(texts), st.permutations(texts))
    )
)
def test_a_masked_order_hides_every_order(texts: tuple[list[str], list[str]]) -> None:
    """Also with equal elements among them; certificates and checkpoints digest one page on its own alike."""
    before, after = (page_of(items(*each)) for each in texts)

    assert detect_divergences(compare(before, after, mask(LIST)).comparison) == ()
    sides = [mask_observation(seen(page), _showing(page), (mask(LIST),)) for page in (before, after)]
    assert sides[0].pages == sides[1].pages


@given(st.lists(st.sampled_from("abc"), max_size=4), st.lists(st.sampled_from("abc"), max_size=4))
def test_a_masked_order_hides_no_other_element(one: list[str], other: list[str]) -> None:
    """Elements are equal only if each occurs as often on both sides."""
    masked = compare(page_of(items(*one)), page_of(items(*other)), mask(LIST))

    assert (detect_divergences(masked.comparison) == ()) == (sorted(one) == sorted(other))


def test_a_change_in_a_list_without_order_names_its_recorded_place() -> None:
    """An element that another one replaced is the only difference; the order of the others is none."""
    masked = compare(page_of(items("tea", "milk", "rice")), page_of(items("rice", "bread", "tea")), mask(LIST))

    before, after = masked.comparison.recorded_dom(0), masked.comparison.observed_dom(0)
    assert before is not None
    assert after is not None
    changes = diff_snapshots(before, after)
    assert [(each.kind, each.expected, each.observed) for each in changes if each.kind != "moved"] == [
        ("removed", "<li>milk", ABSENT),
        ("added", ABSENT, "<li>bread"),
    ]


def test_an_order_of_elements_is_that_of_one_level() -> None:
    """What is in an element keeps its order, and texts between elements their places."""
    before = page_of(element("ul", element("li", "a", element("b"), element("i")), "-", element("li", "b"), id="list"))
    inner = page_of(element("ul", element("li", "b"), "-", element("li", "a", element("i"), element("b")), id="list"))
    texts = page_of(element("ul", element("li", "b"), element("li", "a", element("b"), element("i")), "-", id="list"))

    assert detect_divergences(compare(before, inner, mask(LIST)).comparison) != ()
    assert detect_divergences(compare(before, texts, mask(LIST)).comparison) != ()


def test_what_an_agent_read_from_a_list_without_order_is_compared() -> None:
    """A masked order hides none of the texts in the list."""
    read = Evaluate(expression="items.innerText", value=ReadValue(value="tea"))

    assert masks_in_read(read, page_of(items("tea", "milk")), URL, (mask(LIST),)) == set()


MADE = r"Made in [0-9]{1,3} ms"


@pytest.mark.parametrize("part", [TextPart(path="** > p", pattern=MADE), TextPart(path="** > text()", pattern=MADE)])
def test_a_pattern_hides_the_values_that_match_it(part: MaskedPart) -> None:
    """What differs in the number alone is equal; other words, and no text at all, are differences."""
    recorded = page_of(element("p", "Made in 12 ms"))

    for live, is_equal in (
        (("Made in  40 ms",), True),
        (("Lost in 40 ms",), False),
        (("Made in 1200 ms",), False),
        ((), False),
    ):
        masked = compare(recorded, page_of(element("p", *live)), mask(part))
        assert (detect_divergences(masked.comparison) == ()) == is_equal, live


def test_a_pattern_for_an_attribute_needs_the_attribute() -> None:
    """A value that matches is equal to another one; a missing attribute is a difference."""
    part = AttributePart(path="** > p", name="title", pattern=MADE)
    recorded = page_of(element("p", title="Made in 12 ms"))

    assert (
        detect_divergences(compare(recorded, page_of(element("p", title="Made in 9 ms")), mask(part)).comparison) == ()
    )
    for live in (element("p", title="Made today"), element("p")):
        assert detect_divergences(compare(recorded, page_of(live), mask(part)).comparison) != ()


def test_a_pattern_must_be_a_regular_expression() -> None:
    """Another text is refused when the trace is read."""
    with pytest.raises(ValidationError, match="expected a regular expression"):
        TextPart(path="** > p", pattern="[0-9")


def test_a_mask_elsewhere_hides_nothing() -> None:
    """A mask for another URL, frame or node hides nothing, and no coverage is reported as lost."""
    part = TextPart(path="html > body > p")
    before, after = page_of(element("p", "1")), page_of(element("p", "2"))

    for other in (
        mask(part, url="http://shop.test/cart"),
        mask(part, frame="0"),
        mask(TextPart(path="html > body > i")),
        mask(TextPart(path="html > body > p#t")),
        mask(TextPart(path="body > p")),
    ):
        masked = compare(before, after, other)
        assert [each.code for each in detect_divergences(masked.comparison)] == ["dom-changed"]
        assert masked.names == ()


def test_a_step_without_a_number_names_the_only_one() -> None:
    """A step without an ordinal names an only child; it does not match one of two elements."""
    page = page_of(element("p", "1"), element("p", "2"))

    assert mask_page(page, URL, [mask(SubtreePart(path="html > body > p"))])[1] == ()
    both, names = mask_page(page, URL, [mask(SubtreePart(path="html > body > p:nth(*)"))])
    assert names == ("m",)
    assert both == page_of()


def test_equal_pages_lose_no_coverage() -> None:
    """If both sides are equal, masked parts included, no mask is reported."""
    page = page_of(element("p", "1"))

    assert compare(page, page, mask(TextPart(path="html > body > p"))).names == ()


def test_titles_and_console_errors_are_masked() -> None:
    """A title mask hides the title, a prefix hides the errors that begin with it; others are compared."""
    page = page_of()
    title = PageObservation(page=0, url=URL, title="Cart 7", frames=seen(page).pages[0].frames)

    named = compare(page, page, mask(TitlePart(), url="http://shop.test/*"), pages=(title,))
    errors = compare(page, page, mask(ConsoleErrorPart(prefix="trace ")), console_errors=("trace 7",))
    other = compare(page, page, mask(ConsoleErrorPart(prefix="trace ")), console_errors=("trace 7", "boom"))

    assert (detect_divergences(named.comparison), named.names) == ((), ("m",))
    assert (detect_divergences(errors.comparison), errors.names) == ((), ("m",))
    assert [each.observed for each in detect_divergences(other.comparison)] == ["boom"]


@pytest.mark.parametrize(
    ("pattern", "title", "names"),
    [(r"Cart( [0-9]+)?", "Cart 7", ("m",)), (r"Cart( [0-9]+)?", "Error", ()), (r"Cart [0-9]+", "Cart 7", ())],
)
def test_a_title_mask_with_a_pattern_hides_titles_that_match(pattern: str, title: str, names: tuple[str, ...]) -> None:
    """It does if both titles do; another title is a difference."""
    page = page_of()
    shown = PageObservation(page=0, url=URL, title=title, frames=seen(page).pages[0].frames)

    masked = compare(page, page, mask(TitlePart(pattern=pattern)), pages=(shown,))

    assert masked.names == names
    assert [each.observed for each in detect_divergences(masked.comparison)] == ([] if names else [title])


@pytest.mark.parametrize(
    ("pattern", "key", "is_masked"),
    [
        ("POST http://shop.test/save", "POST http://shop.test/save", True),
        ("POST http://shop.test/save", f"POST http://shop.test/save sha256:{'a' * 64}", True),
        ("POST */save", f"POST http://shop.test/save sha256:{'a' * 64}", True),
        (f"POST */save sha256:{'a' * 64}", f"POST http://shop.test/save sha256:{'a' * 64}", True),
        (f"POST */save sha256:{'a' * 64}", f"POST http://shop.test/save sha256:{'b' * 64}", False),
        ("POST */save", f"POST http://shop.test/save?draft=1 sha256:{'a' * 64}", False),
        ("POST */save", f"PUT http://shop.test/save sha256:{'a' * 64}", False),
        ("POST */save", f"POST http://shop.test/save-all sha256:{'a' * 64}", False),
        ("WEBSOCKET ws://shop.test/chat", f"WEBSOCKET ws://shop.test/chat sha256:{'a' * 64}", False),
        ("WEBSOCKET ws://shop.test/chat*", f"WEBSOCKET ws://shop.test/chat sha256:{'a' * 64}", True),
    ],
)
def test_a_masked_request_may_have_any_body(pattern: str, key: str, *, is_masked: bool) -> None:
    """Unless the mask has the digest of one; what is sent on a socket is another thing than its connection."""
    assert RequestPart(key=pattern).matches(key) == is_masked


def test_requests_are_masked() -> None:
    """Matching requests are not compared, whether or not they were sent or have a recorded response."""
    page = page_of()
    part = RequestPart(key="GET http://ads.test/*")
    miss = NetworkMiss(key="GET http://ads.test/2", reason="nothing was recorded")

    more = compare(page, page, mask(part), requests=("GET http://ads.test/1", "GET http://shop.test/"))
    same = compare(page, page, mask(part))
    missed = remove_masked_requests((seen(page), seen(page)), (miss,), [mask(part)], set())
    other = remove_masked_requests((seen(page), seen(page)), (miss,), [mask(RequestPart(key="POST *"))], set())

    assert [each.observed for each in detect_divergences(more.comparison)] == ["GET http://shop.test/"]
    assert (more.names, same.names) == (("m",), ())
    assert (missed[2], other[2]) == ((), (miss,))


def test_masked_observations_of_unequal_runs_are_equal() -> None:
    """Two runs that differ in masked parts only have equal observations after masking."""
    masks = (mask(TextPart(path="** > p#t")), mask(TitlePart(), "title"))
    one, other = page_of(element("p", "1", id="t")), page_of(element("p", "2", id="t"))

    assert mask_observation(seen(one), lambda _: one, masks) == mask_observation(seen(other), lambda _: other, masks)
    assert mask_observation(seen(one), lambda _: one, ()) == seen(one)


leaves = st.sampled_from(["a", "b", "p", "p#x", "i"])
bodies = st.lists(st.lists(leaves, max_size=4), max_size=4)


def body(plan: list[list[str]], changed: tuple[int, int] | None = None) -> PageSnapshot:
    """Return sections of texts and elements; optionally one leaf has another text."""
    sections = []
    for place, section in enumerate(plan):
        parts: list[DomNode | str] = []
        for number, leaf in enumerate(section):
            text = "other" if (place, number) == changed else leaf
            tag, _, identity = leaf.partition("#")
            node = element(tag, text, **({"id": f"{identity}{place}-{number}"} if identity else {}))
            parts.append(text if leaf in {"a", "b"} else node)
        sections.append(element("section", *parts))
    return page_of(*sections)


@given(bodies, st.data())
def test_the_path_of_a_difference_is_the_path_of_its_mask(plan: list[list[str]], data: st.DataObject) -> None:
    """A mask at the path of a reported text difference hides that difference, and no other."""
    places = [(i, j) for i, section in enumerate(plan) for j in range(len(section))]
    if not places:
        return
    changed = data.draw(st.sampled_from(places))
    before, after = body(plan), body(plan, changed)
    (change,) = diff_snapshots(before, after)

    part = TextPart(path=change.path)
    hidden = [mask_page(page, URL, [mask(part)])[0] for page in (before, after)]

    assert page_digest(hidden[0]) == page_digest(hidden[1])
    for other in places:
        if other != changed and not _is_neighbour(plan, changed, other, change.path):
            third = mask_page(body(plan, other), URL, [mask(part)])[0]
            assert page_digest(third) != page_digest(hidden[0])


def _is_neighbour(plan: list[list[str]], changed: tuple[int, int], other: tuple[int, int], path: str) -> bool:
    """Return whether a mask of an element's only text also covers the other text."""
    texts = {"a", "b"}
    same = changed[0] == other[0] and {plan[changed[0]][changed[1]], plan[other[0]][other[1]]} <= texts
    return same and "text()" not in path


@pytest.mark.parametrize("path", ["", "html >", "html>body", "p[x]", "** > ", "html > p:nth()", "#shadow > ** > p"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    """A mask with an invalid path is rejected."""
    with pytest.raises(ValidationError):
        TextPart(path=path)


def test_a_mask_describes_what_it_hides() -> None:
    """The description names mask, part and position."""
    named = mask(AttributePart(path="html > body > p", name="title"), "token", url="http://shop.test/*", frame="0")

    assert describe_mask(named) == "token: attribute title of html > body > p on http://shop.test/*, frame 0"


@pytest.mark.parametrize(
    ("requests", "hops", "masked"),
    [
        ((f"GET {URL}",), (), "GET"),
        ((f"GET {URL}", f"POST {URL} sha256:1"), (), "GET"),  # a call of the page
        ((f"POST {URL} sha256:1",), (), "POST"),
        (("POST http://shop.test/add",), ((303, "http://shop.test/add"),), "GET"),
        (("POST http://shop.test/add",), ((307, "http://shop.test/add"),), "POST"),
        ((), (), "GET"),
    ],
)
def test_a_mask_hides_only_the_documents_of_its_requests(
    requests: tuple[str, ...], hops: tuple[tuple[int, str], ...], masked: str
) -> None:
    """A mask of POST requests does not hide a document that was requested with GET."""
    load = DocumentLoad(
        page=0, url=URL, status=500, hops=tuple(RedirectHop(url=url, status=status) for status, url in hops)
    )
    observation = Observation(pages=(), documents=(load,), requests=requests)

    for method in ("GET", "POST"):
        left = without_masked_evidence(observation, [mask(RequestPart(key=f"{method} {URL}"))])
        assert left.documents == (() if method == masked else (load,))
