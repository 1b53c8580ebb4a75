"""Ids that pages draw for their own elements may differ; what else an attribute says is compared."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.drawn_ids import find_drawn_ids
from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot


def page(*elements: tuple[str, str]) -> PageSnapshot:
    """Return a page of elements with an attribute each."""
    nodes = tuple(DomNode(tag="g", attributes=(each,)) for each in elements)
    frame = FrameSnapshot(path="", url="", name="", doctype="html", root=DomNode(tag="html", children=nodes))
    return PageSnapshot(frames=(frame,))


def left(recorded: tuple[tuple[str, str], ...], observed: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the recorded values of the attributes that differ in more than drawn ids."""
    before, after = page(*recorded), page(*observed)
    changes = diff_snapshots(before, after)
    drawn = find_drawn_ids(changes, before, after)
    return tuple(change.whole[0] for change in changes if change.whole not in drawn)


@pytest.mark.parametrize(
    ("name", "recorded", "observed"),
    [
        ("clip-path", "url(#clip2805b6xy)", "url(#clipd5a05fxy)"),
        ("href", "#clip2805b6xy", "#clipd5a05fxy"),
        ("class", "axis clip2805b6xy", "axis clipd5a05fxy"),
        ("aria-labelledby", "clip2805b6xy title", "clipd5a05fxy title"),
    ],
)
def test_a_drawn_id_may_differ_wherever_the_page_refers_to_it(name: str, recorded: str, observed: str) -> None:
    """Plotly names the parts of a chart so."""
    ids = ("id", "clip2805b6xy"), ("id", "clipd5a05fxy")

    assert left((ids[0], (name, recorded)), (ids[1], (name, observed))) == ()


@pytest.mark.parametrize(
    ("recorded", "observed", "is_drawn"),
    [
        ("defs-d59708", "defs-9708c0", True),
        ("row2col3", "row3col2", False),
        ("item-100001", "item-decade", False),
        ("9f1c2b7e-1a2b-4c3d-8e9f-0123456789ab", "0a1b2c3d-1a2b-4c3d-8e9f-ba9876543210", True),
        ("item-100001", "item-100002", False),
        ("decade", "facade", False),
        ("navigation", "information", False),
        ("defs-d59708", "defs-9708c0e", False),
        ("tab-1", "tab-2", False),
        ("dialog_4170549203491795932774819", "dialog_176711473501795932774819", True),
        ("dialog_4170549203491795932774819", "dialog_4170549203491795939974819", False),
        ("order-417054920349", "order-417054920351", False),
        ("account-DE89370400440532013000", "account-DE12500105170648489890", False),
        ("slot-20261129103000000000", "slot-20261129104500000000", False),
        ("row-00000000000000000042", "row-00000000000000000043", False),
        ("first-d59708", "second-9708c0", False),
    ],
)
def test_an_id_is_drawn_if_it_looks_so(recorded: str, observed: str, *, is_drawn: bool) -> None:
    """Numbers and words are not drawn."""
    assert left((("id", recorded),), (("id", observed),)) == (() if is_drawn else (recorded,))


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [
        pytest.param(
            (("id", "row-d59708"), ("href", "/orders/d59708")),
            (("id", "row-9708c0"), ("href", "/orders/9708c0")),
            id="an address",
        ),
        pytest.param(
            (("id", "order-4f2a91d0"), ("href", "#/orders/4f2a91d0")),
            (("id", "order-8b3c07e1"), ("href", "#/orders/8b3c07e1")),
            id="an address of a router",
        ),
        pytest.param((("class", "css-d59708"),), (("class", "css-9708c0"),), id="no element has it"),
        pytest.param(
            (("id", "row-d59708"), ("aria-label", "Order d59708")),
            (("id", "row-9708c0"), ("aria-label", "Order 9708c0")),
            id="a text for screen readers",
        ),
        pytest.param(
            (("id", "a-d59708"), ("for", "a-d59708")), (("id", "a-9708c0"), ("for", "a-1708c0")), id="another element"
        ),
        pytest.param((("id", "a-d59708"), ("id", "a-1708c0")), (("id", "a-9708c0"), ("id", "a-9708c0")), id="twice"),
    ],
)
def test_what_refers_to_something_else_is_compared(
    recorded: tuple[tuple[str, str], ...], observed: tuple[tuple[str, str], ...]
) -> None:
    """A reference to another element, or to what is not of the page, is a change."""
    assert recorded[-1][1] in left(recorded, observed)


def test_texts_are_compared() -> None:
    """An id that a person reads is none of the page alone."""
    assert left((("id", "d59708"), ("title", "d59708")), (("id", "9708c0"), ("title", "9708c0"))) == ("d59708",) * 2


def test_what_no_longer_refers_to_the_element_is_a_change() -> None:
    """The id is another one, and the label has the recorded one still."""
    recorded, observed = (("id", "a-d59708"), ("for", "a-d59708")), (("id", "a-9708c0"), ("for", "a-d59708"))

    assert left(recorded, observed) == ("a-d59708",)
