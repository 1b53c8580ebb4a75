"""The skill `extract_listing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import SkillError
from eikon_engine.skills import SkillInput
from eikon_engine.skills.extract_listing import ExtractListing

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.files.json_text import JsonValue


def listed(markup: str, **parameters: JsonValue) -> dict[str, JsonValue]:
    """Run the skill on markup."""
    page = SkillInput(html=markup, url="https://site.example/list/?p=2", parameters=parameters)
    result = ExtractListing().run(page)
    assert isinstance(result, dict)
    return result


def titles(result: dict[str, JsonValue]) -> list[JsonValue]:
    """Return the titles alone."""
    items = result["items"]
    assert isinstance(items, list)
    return [item["title"] for item in items if isinstance(item, dict)]


def test_the_cards_of_a_shop_are_found(stored_page: Callable[..., SkillInput]) -> None:
    """The product grid wins over longer menus; addresses start from `<base>`; crossed-out prices do not count."""
    result = ExtractListing().run(stored_page("shop_listing"))

    assert result == {
        "selector": "html > body > main > div:nth-of-type(2) > article.card",
        "count": 3,
        "items": [
            {
                "title": "Banana",
                "url": "https://shop.example/catalogue/banana",
                "price": "€ 1.99",
                "image": "https://shop.example/img/banana.jpg",
                "text": "Banana Ecuador per kg € 1.99",
            },
            {
                "title": "Apple & Pear",
                "url": "https://shop.example/catalogue/apple",
                "price": "€ 2.49",
                "image": "https://shop.example/img/apple.jpg",
                "text": "Apple & Pear Austria € 3.49 € 2.49",
            },
            {
                "title": "Kiwi",
                "url": "https://partner.example/kiwi?ref=1",
                "price": None,
                "image": None,
                "text": "Kiwi sold by a partner",
            },
        ],
    }


def test_the_selector_it_used_gives_the_same_again(stored_page: Callable[..., SkillInput]) -> None:
    """The returned selector finds the same listing again."""
    found = ExtractListing().run(stored_page("shop_listing"))
    assert isinstance(found, dict)

    assert ExtractListing().run(stored_page("shop_listing", selector=found["selector"])) == found


def test_limit_and_fields(stored_page: Callable[..., SkillInput]) -> None:
    """Further fields are read within each card; a missing one is null."""
    page = stored_page("shop_listing", selector=".card", limit=1, fields={"origin": ".origin", "stock": ".stock"})

    result = ExtractListing().run(page)

    assert isinstance(result, dict)
    assert isinstance(result["items"], list)
    assert isinstance(result["items"][0], dict)
    assert (result["count"], result["items"][0]["fields"]) == (1, {"origin": "Ecuador", "stock": None})


def test_a_list_of_bare_links_is_the_last_resort() -> None:
    """Bare links are a listing only if nothing richer repeats."""
    result = listed("<ul id=l><li><a href=a>A</a><li><a href=b>B</a></ul>")

    assert (result["selector"], titles(result)) == ("#l > li", ["A", "B"])


def test_equal_groups_are_decided_by_text_and_then_by_place() -> None:
    """Of two groups of one size the one with more text wins; of two equal ones, the first."""
    short = "<div class=s><p>x <a href=1>One</a></p></div>" * 2
    long = "<div class=w><p>more words <a href=1>Two</a></p></div>" * 2

    assert titles(listed(f"<main>{short}</main><section>{long}</section>")) == ["Two", "Two"]
    assert listed(f"<main>{short}</main><section>{short}</section>")["selector"] == "html > body > main > div.s"


def test_cards_in_a_shadow_root_are_found() -> None:
    """Cards rendered in a shadow root are found."""
    card = "<li><h3>{0}</h3>text</li>"
    result = listed(f"<x-l><template shadowrootmode=open>{card.format('A')}{card.format('B')}</template></x-l>")

    assert (result["selector"], titles(result)) == ("html > body > x-l li", ["A", "B"])


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("now $1,234.50 only", "$1,234.50"),
        ("1.234,50 € / kg", "1.234,50 €"),
        ("CHF 12", "CHF 12"),
        ("99 kr", "99 kr"),
        ("¥1200", "¥1200"),
        ("5 stars, 20 reviews", None),
        ("EUROPE 5", None),
    ],
)
def test_price_is_a_number_with_a_currency(text: str, price: str | None) -> None:
    """A number without a currency is not a price."""
    result = listed(f"<p class=c><a href=x>t</a> {text}</p>", selector=".c")

    assert isinstance(result["items"], list)
    assert isinstance(result["items"][0], dict)
    assert result["items"][0]["price"] == price


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("/a/b", "https://site.example/a/b"),
        ("c?d=1#e", "https://site.example/list/c?d=1#e"),
        ("../up", "https://site.example/up"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("https://other.example/y", "https://other.example/y"),
        ("/a/../b", "https://site.example/b"),
        ("http://[broken", None),
        ("#top", None),
        ("javascript:void 0", None),
    ],
)
def test_addresses_are_resolved(href: str, url: str | None) -> None:
    """Every address is absolute or null."""
    result = listed(f'<p class=c><a href="{href}">t</a></p>', selector=".c")

    assert isinstance(result["items"], list)
    assert isinstance(result["items"][0], dict)
    assert result["items"][0]["url"] == url


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"selector": ".none"}, "no element matches selector '.none'"),
        ({"limit": -1}, "parameter 'limit': .*got -1. Known parameters: fields, limit, selector"),
        ({"limit": True}, "parameter 'limit'"),
        ({"fields": {"origin": 1}}, "parameter 'fields.origin'"),
        ({"fields": {"origin": "p["}}, "parameter 'fields.origin': expected a standard CSS selector"),
        ({"count": 1}, "unknown parameter 'count'. Known parameters: fields, limit, selector"),
    ],
)
def test_wrong_parameters_are_refused(
    stored_page: Callable[..., SkillInput], parameters: dict[str, JsonValue], message: str
) -> None:
    """Each wrong parameter is named with its actual value."""
    with pytest.raises(SkillError, match=message):
        ExtractListing().run(stored_page("shop_listing", **parameters))


@pytest.mark.parametrize(
    "markup", ["", "<p>one <a href=x>link</a>", "<nav><ul><li><a href=1>1<li><a href=2>2</ul></nav>"]
)
def test_a_page_on_which_nothing_repeats_is_an_error(markup: str) -> None:
    """Navigation is not a listing."""
    with pytest.raises(SkillError, match="no listing found"):
        listed(markup)


def test_modifiers_and_states_do_not_split_a_listing() -> None:
    """Cards that differ only in `--modifier` and state classes are one group."""
    kinds = ("card card--big odd", "card card--sold even", "card last")
    cards = "".join(f'<div class="{kind}"><h3>{kind}</h3>text</div>' for kind in kinds)

    assert titles(listed(f"<main>{cards}</main>")) == list(kinds)
    assert listed(f"<main>{cards}</main>")["selector"] == "html > body > main > div.card"
