"""On any page a skill returns a valid output or raises a SkillError, deterministically."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import SkillError
from eikon_engine.files.json_text import JsonValue, canonical_json
from eikon_engine.skills import Skill, SkillInput, default_skills

PURE = tuple(skill for skill in default_skills() if skill.name != "ask_page")
WORDS = (
    *("1.234,56 €", "$1,234", "¥ 1000", "٢٥٫٥ ر.س", "10 – 20 kr", "USD 5", "1 234 567 zł", "€", "£.", "19"),  # noqa: RUF001
    *("03/04/2025", "31.02.2025", "5 May 2025", "2025-04-03T10:00Z", "2025年4月3日", "May 99 2025"),
    *("Next", "‹", "›", "1", "2", "3", "load more", "log in", "page 4", "התחבר", "a" * 300, "one, two, three. " * 9),  # noqa: RUF001
)
TAGS = (
    *("a", "article", "base", "b", "blockquote", "button", "del", "div", "fieldset", "figure", "form", "h1", "h2"),
    *("html", "img", "input", "label", "legend", "li", "link", "main", "meta", "nav", "option", "p", "pre", "section"),
    *("select", "span", "sup", "svg", "table", "td", "template", "textarea", "th", "time", "title", "tr", "ul", "x-y"),
)
ATTRIBUTES = {
    "href": (
        "/x",
        "#a",
        "mailto:a@b.c",
        "http://[",
        "javascript:x",
        "//h:99999/",
        "?p=2",
        "file.pdf",
        "tel:1",
        "\ud800",
    ),
    "class": ("pagination", "current", "old-price", "author", "card", "card card--big", "disabled", "infinite-scroll"),
    "id": ("a", "b", "1", "a b"),
    "for": ("a", "b"),
    "form": ("a", "zzz"),
    "type": ("password", "email", "hidden", "submit", "checkbox", "application/ld+json"),
    "name": ("user", "robots", "description", "date"),
    "property": ("og:title", "og:type", "product:price:amount"),
    "content": ("1.5", "noindex, follow", "2025-01-01", "text/html; charset=x"),
    "itemprop": ("price", "priceCurrency", "articleBody"),
    "rel": ("next", "canonical", "alternate", "icon", "author"),
    "datetime": ("2025-04-03", "soon", "2025-13-40"),
    "shadowrootmode": ("open",),
    "dir": ("rtl",),
    "lang": ("de", "ar", ""),
    "colspan": ("2", "99999999999", "-1"),
    "aria-labelledby": ("a b", ""),
    "aria-hidden": ("true",),
    "hidden": ("",),
    "style": ("text-decoration: line-through",),
}
JSON_LD = (
    "{}",
    "[",
    '{"@graph": [{"@type": "Product", "offers": [{"price": "1,234", "priceCurrency": "usd"}]}, 3]}',
    '{"@type": ["Article"], "headline": ["x"], "author": {"name": "Ada"}, "datePublished": 5}',
    '{"price": NaN}',
    '{"price": 1e999}',
    '{"name": "\\ud800"}',
    "[" * 300 + "]" * 300,
    '{"a":' * 60 + "1" + "}" * 60,
)


def _started(tag: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{written}>"


_given_attributes = st.sampled_from([(name, value) for name, values in ATTRIBUTES.items() for value in values])
_starts = st.builds(_started, st.sampled_from(TAGS), st.lists(_given_attributes, max_size=3).map(dict))
_parts = st.one_of(
    _starts,
    _starts,
    _starts,
    st.sampled_from([f"</{tag}>" for tag in TAGS]),
    st.sampled_from(WORDS),
    st.sampled_from([f'<script type="application/ld+json">{each}</script>' for each in JSON_LD]),
    st.text(max_size=20),
)
MARKUP = st.integers(0, 40).flatmap(lambda size: st.lists(_parts, min_size=size, max_size=size)).map("".join)
"""Markup with unbalanced tags and texts that are significant to some skill."""


@given(MARKUP, st.sampled_from(["https://site.example/a?p=2#x", "", "about:blank", "http://[", "\ud800"]))
@settings(max_examples=150, deadline=None)
def test_a_skill_ends_with_its_output_or_with_a_skill_error(html: str, url: str) -> None:
    """No page causes another error of a built-in skill, and the same page always gives the same result."""
    for skill in PURE:
        first = _outcome(skill, html, url)

        assert _outcome(skill, html, url) == first, skill.name


@pytest.mark.parametrize("skill", PURE, ids=lambda skill: skill.name)
@pytest.mark.parametrize(
    "html",
    [
        "",
        "\x00",
        "<div>" * 3000 + "<p>one, two</p>",
        "<table><tr><td>" * 400 + "deep, deep text of a cell that is long enough to count",
        "<ul>" + "<li><a href=/x>1</a> € 1" * 2000,
        "<p>" + "1.234 € and 03/04/2025, " * 4000,
        "<input id=a><label for=a>x</label>" * 500,
        "<p>" + "1,00" * 20000,
        "<p>" + "12 " * 30000,
    ],
    ids=["empty", "nul", "deep", "nested tables", "long list", "long text", "same ids", "no end", "digits"],
)
def test_extreme_pages_are_read(skill: Skill, html: str) -> None:
    """Extreme depth, length and repetition are handled."""
    _outcome(skill, html, "https://site.example/")


def _outcome(skill: Skill, html: str, url: str) -> JsonValue:
    try:
        output = skill.run(SkillInput(html=html, url=url))
    except SkillError as error:
        return error.message
    text = canonical_json(output)
    skill.output.model_validate_json(text)
    assert json.loads(text.encode()) == output
    return output
