"""A page tells that a number is an amount of money in its text, beside it, or by a name."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

import pytest

from eikon_engine.certify.money import PageMoney, is_about_money
from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAG: Final = re.compile(r"<(/?)(\w+)((?: [\w-]+=(?:\"[^\"]*\"|[\w-]+))*)>|([^<]+)")


def page_of(html: str) -> PageSnapshot:
    """Return a page with a body, from HTML without omitted tags."""
    root = DomNode(tag="html", children=(DomNode(tag="body", children=tuple(_nodes(_TAG.finditer(html)))),))
    return PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=root),))


def _nodes(tokens: Iterator[re.Match[str]]) -> Iterator[DomNode]:
    for token in tokens:
        end, tag, attributes, text = token.groups()
        if end:
            return
        if text is not None:
            yield build_text_node(text)
        else:
            named = re.findall(r"([\w-]+)=\"?([^\"]*?)\"?(?= [\w-]+=|$)", attributes)
            yield DomNode(tag=tag, attributes=tuple(sorted(named)), children=tuple(_nodes(tokens)))


def is_money(html: str) -> bool:
    """Return whether the number that changes from 41 to 42 is about money."""
    before, after = page_of(html), page_of(html.replace("41", "42"))
    (change,) = diff_snapshots(before, after)
    return PageMoney(before).is_money(change)


TABLE = "<table><thead><tr><th>Item</th><th>{}</th></tr></thead><tbody><tr><td>Tea</td><td>41</td></tr></tbody></table>"


@pytest.mark.parametrize(
    "html",
    [
        "<p>41 Euro</p>",
        "<p>only 41 dollars left</p>",
        "<p>Rs. 41</p>",
        "<p>Price: 41</p>",
        "<p>Price: <b>41</b></p>",
        "<p>Price: <i><b>41</b></i></p>",
        "<div><b>$</b><span><b>41</b></span></div>",
        "<dl><dt>Total</dt><dd>41</dd></dl>",
        "<dl><dt>Visits</dt><dd>9</dd><dt>Shipping fee</dt><dd>41 net</dd></dl>",
        TABLE.format("Price (EUR)"),
        TABLE.format("in \u20ac"),
        "<table><tr><td>Item</td><td>Price</td></tr><tr><td>Tea</td><td><b>41</b></td></tr></table>",
        "<table><tr><td colspan=2>Item</td><td>Price</td></tr><tr><td>Tea</td><td>7</td><td>41</td></tr></table>",
        "<table><tr><th>Item</th></tr><tr><th>Subtotal</th><td>41 net</td></tr></table>",
        "<table><tr><td>Item</td></tr><tr><td>Total</td><td>41</td></tr></table>",
        "<table><tr><td>Item</td></tr><tr><td>41</td><td>EUR</td></tr></table>",
        "<label>Cost</label><output>41</output>",
        "<label for=sum>Cost</label><p>Tea</p><output id=sum>41</output>",
        "<p class=subtotal>41</p>",
        '<p class="cart grandtotal">41</p>',
        "<p id=productprice>41</p>",
        "<div class=discount><b>41 off</b></div>",
        '<td data-label="Tax">41</td>',
        "<meta property=product:price content=41></meta>",
        "<li data-price=41>Tea</li>",
    ],
)
def test_an_amount_of_money_is_recognized(html: str) -> None:
    """By a currency or a word about money in its text, in the header, term or label beside it, or in a name."""
    assert is_money(html)


@pytest.mark.parametrize(
    "html",
    [
        "<p>Visits: 41</p>",
        "<section><h1>Prices</h1><p>Visits: 41</p></section>",
        "<dl><dt>Price</dt><dd>9 EUR</dd><dt>Visits</dt><dd>41</dd></dl>",
        TABLE.format("Stock"),
        "<table><tr><th>Price</th><th>Stock</th></tr><tr><td>9</td><td>41</td></tr></table>",
        f"<div class=shop><p>{'All prices are net. ' * 20}</p><b>41</b></div>",
        "<p class=priceless>41</p>",
        "<li data-visit=41>Tea</li>",
    ],
)
def test_another_number_is_none(html: str) -> None:
    """Though money is mentioned elsewhere on the page."""
    assert not is_money(html)


def test_texts_about_money() -> None:
    """A currency without an amount is enough, an unrelated word is not."""
    texts = ("Price in CHF", "12 \u20ac", "grand total", "totally free", "Visit 8", "priceless")
    assert [is_about_money(each) for each in texts] == [True, True, True, False, False, False]


def test_many_changes_of_one_list_are_examined_once() -> None:
    """The children of an element are named once for all changes in it."""
    items = 4000
    before, after = (
        page_of(f"<ul>{''.join(f'<li><b>{2 * each + number}</b></li>' for each in range(items))}</ul>")
        for number in (0, 1)
    )
    changes = diff_snapshots(before, after)
    money = PageMoney(before)

    begin = time.process_time()
    found = [money.is_money(each) for each in changes]
    elapsed = time.process_time() - begin

    assert (len(found), any(found)) == (items, False)
    assert elapsed < 3  # seconds; over 15 if each change names all of them
