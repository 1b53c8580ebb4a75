"""Changes of one element of a document, as changes of its markup."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from selectolax.lexbor import LexborNode

TEXTUAL = frozenset({"a", "button", "h1", "h2", "h3", "li", "option", "p", "span", "td", "th", "legend"})
FIELDS = frozenset({"input", "select", "textarea"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """An element of a served document."""

    tag: str
    attributes: Mapping[str, str | None]
    markup: str
    """From its start tag to its end tag."""
    following: str
    """Text up to and including its next sibling; empty if there is none."""
    is_leaf: bool
    """Whether it contains only text."""
    text: str
    shown: str
    """Its text after the page's scripts have run; empty if a script refers to the element."""

    @classmethod
    def of(cls, node: LexborNode, page: str, shown: str) -> Element:
        """Return the element of a page's node."""
        markup = node.html or ""
        return cls(
            tag=node.tag or "",
            attributes=node.attributes,
            markup=markup,
            following=_following(node, page.partition(markup)[2]),
            is_leaf=re.search(r"<[a-z]", (node.html or "")[1:]) is None,
            text=node.text().strip(),
            shown=shown,
        )

    @property
    def with_following(self) -> str:
        """Return its markup and that of its next sibling."""
        return f"{self.markup}{self.following}"

    def has(self, **wanted: str) -> bool:
        """Return whether attributes have these values."""
        return all(self.attributes.get(name) == value for name, value in wanted.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementOperator:
    """One kind of change to an element."""

    name: str
    fits: Callable[[Element], bool]
    change: Callable[[Element], str]
    span: Callable[[Element], str] = lambda element: element.markup
    """The part of the page that is replaced."""
    layers: frozenset[str] = frozenset({"dom"})
    """Where the change is found first; a script that misses an element may fail, or request less."""
    causes: frozenset[str] = frozenset({"site-changed"})


def _following(node: LexborNode, rest: str) -> str:
    """Return the page up to the end of the next element, if only white space precedes it."""
    after = node.next
    while after is not None and after.tag == "-text" and not (after.text() or "").strip():
        after = after.next
    markup = after.html or "" if after is not None and not (after.tag or "-").startswith("-") else ""
    space, found, _ = rest.partition(markup) if markup else (rest, "", "")
    return f"{space}{found}" if found and not space.strip() else ""


def _moved(element: Element) -> str:
    """Move an element after its next sibling."""
    other = element.following.lstrip()
    space = element.following[: len(element.following) - len(other)]
    return f"{other}{space}{element.markup}"


def _any(_element: Element) -> bool:
    return True


def _nothing(_element: Element) -> str:
    return ""


def _start(markup: str, edit: Callable[[str], str]) -> str:
    """Edit the start tag."""
    found = re.match(r"<[^>]*>", markup)
    assert found is not None, markup
    return edit(found[0]) + markup[found.end() :]


def with_attribute(element: Element, name: str, value: str) -> str:
    """Set an attribute."""
    without = without_attribute(element, name)
    return _start(without, lambda tag: f'{tag[:-1].rstrip("/")} {name}="{html.escape(value)}">')


def without_attribute(element: Element, name: str) -> str:
    """Remove an attribute."""
    return _start(element.markup, lambda tag: re.sub(rf'\s{re.escape(name)}(="[^"]*")?(?=[\s>])', "", tag, count=1))


def _text(element: Element) -> str:
    shown = html.escape(element.text, quote=False)
    assert shown in element.markup, element.markup
    head, _, tail = element.markup.rpartition(shown)
    return f"{head}{shown} now{tail}"


def _reversed_attributes(element: Element) -> str:
    def edit(tag: str) -> str:
        pairs = re.findall(r'\s([\w:-]+(?:="[^"]*")?)', tag)
        return f"<{element.tag} {' '.join(reversed(pairs))}>"

    return _start(element.markup, edit)


ANYWHERE = frozenset({"dom", "lifecycle", "network", "value"})
ELEMENT_OPERATORS = (
    ElementOperator(
        name="id renamed",
        fits=_any,
        change=lambda each: with_attribute(each, "id", f"{each.attributes['id']}-new"),
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="text changed",
        fits=lambda each: each.tag in TEXTUAL and each.is_leaf and each.text == each.shown != "",
        change=_text,
    ),
    ElementOperator(
        name="label changed",
        fits=lambda each: each.tag == "label" and each.is_leaf and bool(each.text),
        change=_text,
    ),
    ElementOperator(
        name="element moved",
        fits=lambda each: each.following != "" and "<script" not in each.following,
        change=_moved,
        span=lambda each: each.with_following,
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="aria-label changed",
        fits=lambda each: each.tag in TEXTUAL | FIELDS,
        change=lambda each: with_attribute(each, "aria-label", "Something else"),
    ),
    ElementOperator(
        name="class changed",
        fits=_any,
        change=lambda each: with_attribute(each, "class", "another"),
        layers=ANYWHERE,
    ),
    ElementOperator(name="element removed", fits=_any, change=_nothing, layers=ANYWHERE),
    ElementOperator(
        name="element duplicated",
        fits=lambda each: each.tag not in {"html", "head", "body", "script"},
        change=lambda each: each.markup * 2,
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="element disabled",
        fits=lambda each: each.tag in FIELDS | {"button"} and "disabled" not in each.attributes,
        change=lambda each: with_attribute(each, "disabled", ""),
    ),
    ElementOperator(
        name="element hidden",
        fits=lambda each: "hidden" not in each.attributes,
        change=lambda each: with_attribute(each, "hidden", ""),
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="element covered",
        fits=lambda each: each.tag in FIELDS | {"a", "button"},
        change=lambda each: f'{each.markup}<div style="position:fixed;inset:0;z-index:9999"></div>',
    ),
    ElementOperator(
        name="moved into an iframe",
        fits=lambda each: each.tag in TEXTUAL | FIELDS,
        change=lambda each: f'<iframe srcdoc="{html.escape(each.markup)}"></iframe>',
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="moved into a shadow root",
        fits=lambda each: each.tag in {"a", "button", "h1", "h2", "p", "span", "input", "div"},
        change=lambda each: f'<div><template shadowrootmode="open">{each.markup}</template></div>',
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="wrapped",
        fits=lambda each: each.tag in {"a", "button", "h1", "h2", "input", "p", "span", "table"},
        change=lambda each: f"<div>{each.markup}</div>",
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="link led elsewhere",
        fits=lambda each: each.tag == "a" and bool(each.attributes.get("href")),
        change=lambda each: with_attribute(each, "href", "/elsewhere"),
    ),
    ElementOperator(
        name="form sent elsewhere",
        fits=lambda each: each.tag == "form",
        change=lambda each: with_attribute(each, "action", "/elsewhere"),
    ),
    ElementOperator(
        name="form method changed",
        fits=lambda each: each.tag == "form",
        change=lambda each: with_attribute(
            each, "method", "get" if (each.attributes.get("method") or "get").lower() == "post" else "post"
        ),
    ),
    ElementOperator(
        name="hidden value changed",
        fits=lambda each: each.has(type="hidden"),
        change=lambda each: with_attribute(each, "value", "0000"),
    ),
    ElementOperator(
        name="default value changed",
        fits=lambda each: each.tag == "input" and each.attributes.get("type") in {None, "text", "number", "search"},
        change=lambda each: with_attribute(each, "value", "7"),
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="placeholder changed",
        fits=lambda each: each.tag in {"input", "textarea"} and "placeholder" in each.attributes,
        change=lambda each: with_attribute(each, "placeholder", "Something else"),
    ),
    ElementOperator(
        name="type changed",
        fits=lambda each: each.has(type="number") or each.has(type="search"),
        change=lambda each: with_attribute(each, "type", "text"),
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="options reordered",
        fits=lambda each: each.tag in {"select", "ul", "ol"} and len(_items(each)) > 1,
        change=lambda each: _with_items(each, list(reversed(_items(each)))),
        layers=ANYWHERE,
    ),
    ElementOperator(
        name="title attribute changed",
        fits=_any,
        change=lambda each: with_attribute(each, "title", "Something else"),
    ),
    ElementOperator(
        name="link opens no window",
        fits=lambda each: each.has(target="_blank"),
        change=lambda each: without_attribute(each, "target"),
    ),
    ElementOperator(
        name="link opens another window",
        fits=lambda each: each.tag == "a" and "target" not in each.attributes,
        change=lambda each: with_attribute(each, "target", "_blank"),
    ),
)
NEUTRAL_ELEMENT_OPERATORS = (
    ElementOperator(
        name="attributes in another order",
        fits=lambda each: len(each.attributes) > 1,
        change=_reversed_attributes,
    ),
    ElementOperator(
        name="white space around",
        fits=lambda each: each.tag in {"form", "section", "main", "table", "ul", "header", "nav", "div"},
        change=lambda each: f"\n\n  {each.markup}\n  ",
    ),
    ElementOperator(
        name="comment before",
        fits=lambda each: each.tag not in {"tr", "td", "option"},
        change=lambda each: f"<!-- build 4711 -->{each.markup}",
    ),
)
"""Changes that are invisible and that no script depends on."""

_ITEM = re.compile(r"<(option|li)\b.*?</\1>", re.DOTALL)


def _items(element: Element) -> list[str]:
    return [found[0] for found in _ITEM.finditer(element.markup)] if "<ul" not in element.markup[1:] else []


def _with_items(element: Element, items: list[str]) -> str:
    left = iter(items)
    return _ITEM.sub(lambda _: next(left), element.markup)
