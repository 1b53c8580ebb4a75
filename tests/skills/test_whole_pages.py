"""The skills on whole pages: a German product page, an Arabic article, a shop, sign-in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eikon_engine.errors import SkillError
from eikon_engine.skills import SkillInput, default_skills

Stored = Callable[..., SkillInput]


def run(name: str, page: SkillInput) -> Any:  # noqa: ANN401 - the JSON of any skill
    """Run a skill by its name."""
    return default_skills().get(name).run(page)


def on(html: str, name: str, **parameters: Any) -> Any:  # noqa: ANN401 - as above
    """Run a skill on a piece of HTML."""
    return run(name, SkillInput(html=html, url="https://site.example/a/?p=2", parameters=parameters))


def test_links_have_addresses_texts_and_kinds(stored_page: Stored) -> None:
    """The kinds of links are distinguished; the text of an image link is that of its image."""
    links = run("extract_links", stored_page("product_de"))["links"]

    assert [(link["text"], link["kind"]) for link in links] == [
        ("Start", "internal"),
        ("Schuhe", "internal"),
        ("Zum Inhalt", "anchor"),
        ("Datenblatt", "download"),
        ("Fragen?", "mailto"),
        ("Anrufen", "tel"),
        ("Karte", "external"),
    ]
    assert links[3] == {
        "url": "https://site.example/datenblatt.pdf",
        "text": "Datenblatt",
        "kind": "download",
        "rel": ["nofollow"],
        "new_window": False,
    }
    assert (links[6]["rel"], links[6]["new_window"]) == (["noopener", "external"], True)


def test_links_can_be_narrowed_down() -> None:
    """Links are filtered by location, kind and number; a link in two locations counts once."""
    html = "<nav><ul><li><a href=/1>1</a></ul></nav><a href=//www.site.example/2>2</a><a href='http://['>3</a>"

    narrow = on(html, "extract_links", selector="nav, ul")
    kinds = on(html, "extract_links", kinds=["malformed"])
    few = on(html, "extract_links", limit=2)

    assert [link["text"] for link in narrow["links"]] == ["1"]
    assert kinds["links"][0]["url"] is None
    assert [link["kind"] for link in few["links"]] == ["internal", "internal"]
    with pytest.raises(SkillError, match="no element matches selector"):
        on(html, "extract_links", selector=".nothing")


def test_forms_have_all_fields_with_labels_and_options(stored_page: Stored) -> None:
    """Labels in every form, groups, options, bounds, hidden fields and buttons are read."""
    (form,) = run("extract_forms", stored_page("product_de"))["forms"]

    assert (form["action"], form["method"]) == ("https://site.example/warenkorb", "post")
    assert [(each["name"], each["type"], each["label"], each["group"]) for each in form["fields"]] == [
        ("groesse", "select", "Größe", "Ausführung"),
        ("farbe", "radio", "Rot", "Ausführung"),
        ("farbe", "radio", "Blau", "Ausführung"),
        ("csrf", "hidden", None, None),
        ("menge", "number", "Menge", None),
    ]
    size, red, _, _, number = form["fields"]
    assert (size["required"], red["checked"], number["constraints"]) == (True, True, {"min": "1", "max": "9"})
    assert [(each["value"], each["selected"], each["disabled"], each["group"]) for each in size["options"]] == [
        ("", False, False, None),
        ("38", False, False, "Damen"),
        ("39", True, False, "Damen"),
        ("44", False, True, None),
    ]
    assert [button["text"] for button in form["buttons"]] == ["In den Warenkorb"]


def test_controls_outside_and_passwords() -> None:
    """External fields belong to the form they name, others come last; the value of a password is omitted."""
    html = "<form id=f></form><input form=f name=a><fieldset disabled><input name=p type=password value=x></fieldset>"

    owned, loose = on(html, "extract_forms")["forms"]

    assert [each["name"] for each in owned["fields"]] == ["a"]
    assert (loose["selector"], loose["action"]) == (None, None)
    assert (loose["fields"][0]["value"], loose["fields"][0]["disabled"]) == (None, True)


def test_metadata_is_read_and_faults_are_reported(stored_page: Stored) -> None:
    """OpenGraph, languages, feeds, robots and charset are read; a broken JSON-LD block is reported."""
    found = run("extract_metadata", stored_page("product_de"))

    assert (found["title"], found["language"], found["charset"]) == (
        "Wanderschuh Alpspitz – Schuhhaus Berger",  # noqa: RUF001 - as the page writes it
        "de-DE",
        "utf-8",
    )
    assert found["canonical"] == "https://site.example/schuhe/alpspitz"
    assert found["robots"] == {"robots": ["index", "follow", "max-image-preview:large"]}
    assert found["open_graph"] == {"og:type": ["product"], "og:image": ["/a.jpg", "/b.jpg"]}
    assert [each["language"] for each in found["hreflang"]] == ["en"]
    assert [each["title"] for each in found["feeds"]] == ["Neues"]
    assert [node["@type"] for node in found["json_ld"]] == ["Product", "BreadcrumbList"]
    assert [each["block"] for each in found["json_ld_errors"]] == [2]


def test_prices_of_a_german_page(stored_page: Stored) -> None:
    """Old and new price, superscript cents, ranges, and declared prices are read."""
    found = run("extract_prices", stored_page("product_de"))

    assert [(each["amount"], each["amount_to"], each["old"]) for each in found["prices"]] == [
        ("1499.00", None, True),
        ("1299.00", None, False),
        ("4.90", None, False),
        ("50", None, False),
        ("10", "25.50", False),
    ]
    assert found["declared"] == [{"amount": "1299.00", "amount_to": None, "currency": "EUR", "source": "json-ld"}]


@pytest.mark.parametrize(
    ("language", "text", "amount", "currency"),
    [
        ("en", "$1,234", "1234", None),
        ("en", "US$1,234.50", "1234.50", "USD"),
        ("de", "1.234 €", "1234", "EUR"),
        ("de", "1,759 €", "1.759", "EUR"),
        ("de-CH", "CHF 1'234.50", "1234.50", "CHF"),
        ("fr", "1 234,50 €", "1234.50", "EUR"),
        ("pl", "12,99 zł", "12.99", "PLN"),
        ("ja", "¥1,980", "1980", None),
        ("", "12.345.678 €", "12345678", "EUR"),
        ("", "-5,00 £", "-5.00", "GBP"),
        ("ar", "٢٥٫٥٠ ر.س", "25.50", "SAR"),  # noqa: RUF001 - as it is written
        ("en-IN", "₹1,23,456.00", "123456.00", "INR"),
        ("sv", "99:- kr", None, None),
    ],
)
def test_amounts_as_people_write_them(language: str, text: str, amount: str | None, currency: str | None) -> None:
    """Leading and trailing currency signs, separators of many countries and non-Latin digits are parsed."""
    found = on(f"<html lang='{language}'><p>{text}</p>", "extract_prices")["prices"]

    assert [(each["amount"], each["currency"]) for each in found] == ([(amount, currency)] if amount else [])


def test_an_ambiguous_amount_is_reported() -> None:
    """Without a language, 1.234 € is ambiguous and a parameter decides."""
    (price,) = on("<p>1.234 €", "extract_prices")["prices"]
    (known,) = on("<p>1.234 €", "extract_prices", language="de")["prices"]
    (dollar,) = on("<p>$5", "extract_prices", currency="CAD")["prices"]

    assert (price["amount"], price["readings"]) == (None, ["1.234", "1234"])
    assert known["amount"] == "1234"
    assert dollar["currency"] == "CAD"


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2025-04-03", "2025-04-03"),
        ("2025-04-03 10:15", "2025-04-03T10:15"),
        ("3 April 2025", "2025-04-03"),
        ("April 3rd, 2025", "2025-04-03"),
        ("3. März 2025", "2025-03-03"),
        ("1er août 2025", "2025-08-01"),
        ("3 de abril de 2025", "2025-04-03"),
        ("3 апреля 2025", "2025-04-03"),
        ("2025年4月3日", "2025-04-03"),
        ("03.04.2025", "2025-04-03"),
        ("25/12/2025", "2025-12-25"),
        ("12/25/2025", "2025-12-25"),
        ("04/04/2025", "2025-04-04"),
        ("2025/4/3", "2025-04-03"),
    ],
)
def test_dates_as_people_write_them(text: str, iso: str) -> None:
    """Unambiguous dates are parsed."""
    (found,) = on(f"<p>on {text}, noon</p>", "extract_dates")["dates"]

    assert (found["iso"], found["readings"]) == (iso, [])


def test_ambiguous_dates_are_reported_and_never_guessed() -> None:
    """03/04/2025 is ambiguous in any language of the page; a parameter decides."""
    html = "<html lang=en-US><p>03/04/2025 and 31.02.2025 and 1.2.3</p>"

    (found,) = on(html, "extract_dates")["dates"]
    (european,) = on(html, "extract_dates", order="dmy")["dates"]

    assert (found["iso"], found["readings"]) == (None, ["2025-03-04", "2025-04-03"])
    assert european["iso"] == "2025-04-03"


def test_declared_dates_and_times_come_with_their_source() -> None:
    """JSON-LD and meta elements name what a date refers to; a `<time>` counts by its attribute, not by its text."""
    html = (
        '<meta property="article:modified_time" content="2025-05-01T10:00:00Z">'
        '<script type="application/ld+json">{"@type": "Article", "datePublished": "2025-04-03"}</script>'
        "<p>Posted <time datetime=2025-04-03>on 1 May 2020</time></p>"
    )

    dates = on(html, "extract_dates")["dates"]

    assert [(each["source"], each["name"], each["iso"]) for each in dates] == [
        ("json-ld", "datePublished", "2025-04-03"),
        ("meta", "article:modified_time", "2025-05-01T10:00:00Z"),
        ("time", None, "2025-04-03"),
    ]


def test_an_article_from_right_to_left(stored_page: Stored) -> None:
    """Title, author, date and blocks are in order; menus, share buttons, asides and footers are omitted."""
    found = run("extract_article", stored_page("article_ar"))

    assert (found["byline"], found["published"]) == ("ليلى حداد", "2025-03-01T08:30:00+03:00")
    assert (found["title"], found["direction"]) == ("القمر يبتعد عن الأرض", "rtl")
    assert [each["kind"] for each in found["blocks"]] == ["paragraph", "heading", "paragraph", "quote", "item"]
    assert not any("شارك" in each["text"] or "المريخ" in each["text"] for each in found["blocks"])


def test_a_page_without_a_text_has_no_article(stored_page: Stored) -> None:
    """A product and a form are not articles; a selector with two matches is refused."""
    for name in ("product_de", "logins"):
        with pytest.raises(SkillError, match="no main text found"):
            run("extract_article", stored_page(name))
    with pytest.raises(SkillError, match=r"expected one element for selector .*, got 2"):
        on("<p>a</p><p>b</p>", "extract_article", selector="p")


def test_right_to_left_pages_have_the_opposite_direction(stored_page: Stored) -> None:
    """On a right-to-left page, an arrow to the left leads to the next page."""
    found = run("detect_pagination", stored_page("article_ar"))

    assert (found["kind"], found["current"], found["last"]) == ("numbered", 2, 3)
    assert (found["next"]["url"], found["previous"]["url"]) == (
        "https://site.example/article_ar?p=3",
        "https://site.example/article_ar?p=1",
    )


@pytest.mark.parametrize(
    ("html", "kind", "following"),
    [
        ("<link rel=next href=/p3>", "steps", "https://site.example/p3"),
        ("<div class=pager><button>Next</button></div>", "steps", None),
        ("<a href=/old>Older posts</a>", "steps", "https://site.example/old"),
        ("<div class=pager><button disabled>Next</button></div>", "none", None),
        ("<div class=carousel><a href=#>Next</a><button>›</button></div>", "none", None),  # noqa: RUF001
        ("<button>Load more results</button>", "load_more", None),
        ("<div class='infinite-scroll'></div>", "infinite", None),
        ("<p><a href=/1>1</a> <a href=/7>7</a> footnotes", "none", None),
        ("<ul><li class=active><a href=?p=1>1</a><li><a href=?p=2>2</a></ul>", "numbered", None),
    ],
)
def test_controls_that_load_more_of_a_list(html: str, kind: str, following: str | None) -> None:
    """Numbers, next links, buttons and infinite lists are distinguished, also from carousels."""
    found = on(html, "detect_pagination")

    assert (found["kind"], (found["next"] or {}).get("url")) == (kind, following)


def test_intents_of_whole_pages(stored_page: Stored) -> None:
    """Each page gets its intent."""
    names = ("product_de", "article_ar", "shop_listing", "logins", "shadow_login", "timetable")

    found = [run("detect_page_intent", stored_page(name))["intent"] for name in names]

    assert found == ["detail_page", "article_page", "listing_page", "login_form", "login_form", "unknown"]
    board = on(
        "<title>Dashboard</title><a href=/logout>Sign out</a><table></table><canvas></canvas>", "detect_page_intent"
    )
    assert (board["intent"], board["signals"]) == (
        "dashboard",
        ["way to sign out", "named a dashboard", "several tables or charts"],
    )


def test_everything_is_found_within_shadow_roots() -> None:
    """Every skill reads the content of declarative shadow roots."""
    inner = "<a href=/x>5 May 2025 for € 5</a><form><input name=q></form><nav class=pager><a href=/n>Next</a></nav>"
    html = f"<x-app><template shadowrootmode=open>{inner}</template></x-app>"

    assert on(html, "extract_links")["count"] == 2
    assert on(html, "extract_forms")["forms"][0]["fields"][0]["name"] == "q"
    assert on(html, "extract_prices")["prices"][0]["amount"] == "5"
    assert on(html, "extract_dates")["dates"][0]["iso"] == "2025-05-05"
    assert on(html, "detect_pagination")["next"]["url"] == "https://site.example/n"
