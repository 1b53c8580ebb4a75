from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.divergence.dom_diff import (
    DomChange,
    diff_snapshots,
    find_reorderings,
    render_diff,
    render_diff_tree,
)
from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node, page_digest


def element(tag: str, *children: DomNode | str, **attributes: str) -> DomNode:
    """Make an element."""
    nodes = tuple(build_text_node(child) if isinstance(child, str) else child for child in children)
    return DomNode(tag=tag, attributes=tuple(sorted(attributes.items())), children=nodes)


def page_of(*body: DomNode, inner: tuple[FrameSnapshot, ...] = ()) -> PageSnapshot:
    """Make a page with a body."""
    root = element("html", element("head"), element("body", *body))
    return PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=root), *inner))


def rows(*labels: str) -> DomNode:
    """Make a list."""
    return element("ul", *(element("li", label) for label in labels), id="list")


def one_change(expected: PageSnapshot, observed: PageSnapshot) -> DomChange:
    """Return the only difference."""
    changes = diff_snapshots(expected, observed)
    assert len(changes) == 1, render_diff(changes)
    return changes[0]


leaves = st.sampled_from(
    [build_text_node("a"), build_text_node("b"), build_text_node(" "), element("p"), element("p", id="x")]
)
nodes = st.recursive(
    leaves,
    lambda below: st.builds(
        lambda tag, children: element(tag, *children), st.sampled_from(("div", "li")), st.lists(below, max_size=5)
    ),
    max_leaves=12,
)
bodies = st.lists(nodes, max_size=6)


@given(bodies, bodies)
def test_there_is_a_difference_exactly_when_digests_differ(one: list[DomNode], other: list[DomNode]) -> None:
    """The explanation never contradicts the verdict."""
    before, after = page_of(*one), page_of(*other)

    assert (diff_snapshots(before, after) == ()) == (page_digest(before) == page_digest(after))


def test_one_label_is_one_change() -> None:
    """A changed label is reported once, at its element."""
    change = one_change(page_of(rows("a", "b", "c")), page_of(rows("a", "b", "C")))

    assert change == DomChange(
        kind="text", frame="", path="html > body > ul#list > li:nth(3)", expected="c", observed="C"
    )


def test_attributes_and_states_are_named() -> None:
    """Each name that differs is one change."""
    before = DomNode(tag="input", attributes=(("class", "a"),), state=(("checked", False),))
    after = replace(before, attributes=(("class", "b"), ("title", "t")), state=(("checked", True),))

    changes = diff_snapshots(page_of(before), page_of(after))

    assert [(change.kind, change.name, change.expected, change.observed) for change in changes] == [
        ("attribute", "class", "a", "b"),
        ("attribute", "title", "(absent)", "t"),
        ("state", "checked", "false", "true"),
    ]


def test_an_added_and_a_removed_row_are_found_among_others() -> None:
    """Insertions do not make their neighbours look changed."""
    added = one_change(page_of(rows("a", "c", "d")), page_of(rows("a", "b", "c", "d")))
    removed = one_change(page_of(rows("a", "b", "c", "d")), page_of(rows("a", "b", "d")))

    assert (added.kind, added.path, added.observed) == ("added", "html > body > ul#list > li:nth(2)", "<li>b")
    assert (removed.kind, removed.path, removed.expected) == ("removed", "html > body > ul#list > li:nth(3)", "<li>c")


def test_a_moved_row_is_one_change() -> None:
    """One row in another place is one move."""
    change = one_change(page_of(rows("a", "b", "c", "d")), page_of(rows("b", "c", "a", "d")))

    assert (change.kind, change.path) == ("moved", "html > body > ul#list > li:nth(1)")


def test_keyed_elements_are_followed() -> None:
    """An element with an id is compared with the element of the same id, wherever it is."""
    before = page_of(element("div", "1", id="a"), element("div", "2", id="b"), element("div", "3", id="c"))
    after = page_of(element("div", "2", id="b"), element("div", "3", id="c"), element("div", "one", id="a"))

    changes = diff_snapshots(before, after)

    assert [(change.kind, change.path) for change in changes] == [
        ("moved", "html > body > div#a"),
        ("text", "html > body > div#a"),
    ]


def test_a_different_element_at_the_same_position_is_a_replacement() -> None:
    """A button that became a link is one change."""
    change = one_change(page_of(element("button", "Buy")), page_of(element("a", "Buy")))

    assert (change.kind, change.expected, change.observed) == ("replaced", "<button>Buy", "<a>Buy")


def test_changes_in_shadow_roots_and_frames_have_full_paths() -> None:
    """The path passes through shadow roots, and the frame is named."""
    before = DomNode(tag="x-a", shadow=(element("b", "1"),), shadow_mode="open")
    after = replace(before, shadow=(element("b", "2"),))
    frames = [
        FrameSnapshot(path="0.1", url="", name="", doctype="", root=element("html", node)) for node in (before, after)
    ]

    change = one_change(page_of(inner=(frames[0],)), page_of(inner=(frames[1],)))

    assert (change.frame, change.path) == ("0.1", "html > x-a > #shadow > b")
    assert "text at frame 0.1: html > x-a > #shadow > b" in render_diff((change,))


def test_the_tree_of_differences_is_indented_by_their_places() -> None:
    """Paths that do not branch are on one line, documents of frames have a heading, and absent sides no line."""
    frames = [
        FrameSnapshot(path="0.1", url="", name="", doctype="", root=element("html", element("b", text)))
        for text in ("1", "2")
    ]
    before = page_of(
        element("main", element("h1", "Cart"), rows("a", "b"), element("p", "3", lang="en")), inner=(frames[0],)
    )
    after = page_of(element("main", element("h1", "Cart"), rows("a"), element("p", "4", lang="de")), inner=(frames[1],))

    assert render_diff_tree(diff_snapshots(before, after)).splitlines() == [
        "html > body > main",
        "  ul#list > li:nth(2)",
        "    removed",
        "    - <li>b",
        "  p",
        "    attribute lang",
        "    - en",
        "    + de",
        "    text",
        "    - 3",
        "    + 4",
        "frame 0.1",
        "html > b",
        "  text",
        "  - 1",
        "  + 2",
    ]


def test_missing_frames_doctypes_and_empty_shadow_roots_are_found() -> None:
    """Every change of the digest is reported."""
    frame = FrameSnapshot(path="0", url="", name="", doctype="", root=element("html"))
    plain = page_of(element("p"))
    quirky = PageSnapshot(frames=(replace(plain.main, doctype=""),))
    shadowed = page_of(replace(element("p"), shadow=(), shadow_mode="open"))

    assert one_change(page_of(inner=(frame,)), page_of()).kind == "removed"
    assert one_change(page_of(), page_of(inner=(frame,))).kind == "added"
    assert one_change(plain, quirky).name == "doctype"
    assert one_change(plain, shadowed).name == "#shadow"


def test_a_sentence_added_to_a_long_text_is_shown() -> None:
    """The recorded text is short enough to be shown whole, the observed one is cut, but not where it is longer."""
    begin, end = "We deliver on all days of the week. " * 3, "Call us, and we come to you at once. " * 2
    longer = f"{begin}Except on Sundays, when only emergencies are served. {end}"
    change = one_change(page_of(element("p", begin + end)), page_of(element("p", longer)))

    assert len(begin + end) < 200 < len(longer)
    assert "Except on Sundays" in change.observed
    assert "Except on Sundays" not in change.expected


def test_long_values_are_cut_where_they_do_not_differ() -> None:
    """A difference in the middle of a long text stays visible."""
    change = one_change(page_of(element("p", "x" * 900 + "A" + "x" * 900)), page_of(element("p", "x" * 1801)))

    assert len(change.expected) <= 200
    assert "A" in change.expected
    assert "A" not in change.observed


def test_white_space_is_no_difference() -> None:
    """What the digest ignores is not reported."""
    assert diff_snapshots(page_of(element("p", " a ", " ")), page_of(element("p", "a"))) == ()


@pytest.mark.parametrize("count", [2000])
def test_many_equal_rows_are_compared_quickly(count: int) -> None:
    """Rows that look alike are matched without comparing each with each."""
    change = one_change(page_of(rows(*["same"] * count)), page_of(rows(*["same"] * (count + 1))))

    assert change.kind == "added"


def test_a_deep_change_is_found() -> None:
    """Depth has no limit."""
    pair = [element("b", "old"), element("b", "new")]
    for _ in range(5000):
        pair = [element("div", node) for node in pair]

    assert one_change(page_of(pair[0]), page_of(pair[1])).observed == "new"


@given(st.lists(st.sampled_from("abc"), max_size=5), st.lists(st.sampled_from("abc"), max_size=5))
def test_a_list_is_reordered_if_its_items_are_the_same_in_another_order(one: list[str], other: list[str]) -> None:
    """Equal items count as often as they occur."""
    found = find_reorderings(page_of(rows(*one)), page_of(rows(*other)))

    is_reordered = one != other and sorted(one) == sorted(other)
    assert [each.path for each in found] == (["html > body > ul#list"] if is_reordered else [])


def test_a_reordered_list_is_found_beside_other_differences() -> None:
    """The elements around it may differ; an element that itself differs in an attribute or a text is not reordered."""
    before = page_of(element("p", "1"), element("div", rows("a", "b", "c")), element("b", "x"))
    after = page_of(element("p", "2"), element("div", rows("c", "a", "b")))
    named = page_of(element("p", "1"), element("div", replace(rows("c", "a", "b"), attributes=(("class", "x"),))))

    assert [each.path for each in find_reorderings(before, after)] == ["html > body > div > ul#list"]
    assert find_reorderings(before, named) == ()
    assert (
        find_reorderings(
            page_of(element("p", "a", element("i"), element("b"))),
            page_of(element("p", "b", element("b"), element("i"))),
        )
        == ()
    )
