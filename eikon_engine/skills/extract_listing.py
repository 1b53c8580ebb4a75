"""The skill `extract_listing`: extract the cards of a listing page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from eikon_engine.errors import SkillError
from eikon_engine.skills.document import (
    Document,
    is_shadow_root,
    parent_element,
    select_descendants,
    selector_of,
    text_of,
    text_with_and_without,
)
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from selectolax.lexbor import LexborNode

CARD_CONTENT: Final = "a[href],h1,h2,h3,h4,h5,h6,[role=heading]"
_PAGE_FURNITURE: Final = "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],[role=menu]"
_NON_CARD_TAGS: Final = frozenset(
    [
        "html",
        "head",
        "body",
        "a",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "td",
        "th",
        "tbody",
        "thead",
        "tfoot",
        "option",
        "br",
        "input",
        "button",
        "label",
        "img",
        "picture",
    ]
)
_STATE_CLASSES: Final = frozenset({"odd", "even", "first", "last", "active", "selected", "current"})
_PLAIN_CLASS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_TAG: Final = re.compile(r"[a-z][a-z0-9-]*")
_MIN_CARDS: Final = 2

_Signature = tuple[int, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Group:
    tag: str
    classes: tuple[str, ...]
    members: tuple[LexborNode, ...]
    order: int


def find_listing(document: Document) -> str | None:
    """Return a CSS selector of the cards of a listing; None if the page has no repeated elements.

    Candidates are siblings of one tag and one set of classes (except state and `--modifier` classes) that each
    contain a link or a heading, outside navigation, header, footer and aside. Groups rank by: at least half of the
    members have content besides links; then size; then text length; then document order.
    """
    groups = _groups(document)
    candidates = [group for group in groups if _has_own_content(group)] or groups
    if not candidates:
        return None
    largest = max(len(group.members) for group in candidates)
    tied = [group for group in candidates if len(group.members) == largest]
    best = tied[0] if len(tied) == 1 else max(tied, key=lambda group: (_text_length(group), -group.order))
    return _selector(document, best)


def _groups(document: Document) -> list[_Group]:
    outside = {node.mem_id for node in document.tree.css(_PAGE_FURNITURE)}
    members: dict[_Signature, dict[int, LexborNode]] = {}
    seen: set[int] = set()
    for mark in document.tree.css(CARD_CONTENT):
        chain: dict[int, tuple[LexborNode, LexborNode | None]] = {}
        current: LexborNode | None = mark
        while current is not None and (identity := current.mem_id) not in seen and identity not in outside:
            parent = current.parent
            chain[identity] = (current, parent)
            seen.add(identity)
            current = parent if parent is not None and parent.is_element_node else None
        if current is not None and current.mem_id in outside:
            outside.update(chain)
            continue
        for identity, (node, parent) in chain.items():
            tag = node.tag or ""
            if tag not in _NON_CARD_TAGS and parent is not None and not is_shadow_root(node):
                signature = (parent.mem_id, tag, _stable_classes(node.attributes.get("class") or ""))
                members.setdefault(signature, {})[identity] = node
    alike = [
        (signature, tuple(found.values())) for signature, found in members.items() if _is_repeated(signature, found)
    ]
    return [_Group(tag, classes, found, order) for order, ((_, tag, classes), found) in enumerate(alike)]


def _is_repeated(signature: _Signature, found: dict[int, LexborNode]) -> bool:
    return len(found) >= _MIN_CARDS and bool(_PLAIN_TAG.fullmatch(signature[1]))


@lru_cache(maxsize=1024)
def _stable_classes(classes: str) -> tuple[str, ...]:
    tokens = classes.split()
    return tuple(sorted({token for token in tokens if token not in _STATE_CLASSES and "--" not in token}))


def _has_own_content(group: _Group) -> bool:
    enough = (len(group.members) + 1) // 2
    rich = filter(_has_content_besides_links, group.members)
    return sum(1 for _ in islice(rich, enough)) == enough


def _has_content_besides_links(node: LexborNode) -> bool:
    return bool(node.css_first("img,h1,h2,h3,h4,h5,h6,[role=heading]") or text_of(node, excluded=frozenset({"a"})))


def _text_length(group: _Group) -> int:
    return sum(len(text_of(member)) for member in group.members)


def _selector(document: Document, group: _Group) -> str:
    parent = parent_element(group.members[0])
    classes = "".join(f".{name}" for name in group.classes if _PLAIN_CLASS.fullmatch(name))
    step = f"{group.tag}{classes}"
    if parent is None:
        return step
    joint = " " if is_shadow_root(parent) else " > "
    return f"{selector_of(document, parent, shadow_combinator=' ').removesuffix(' ')}{joint}{step}"


_NAME: Final = "extract_listing"
_CARD_PARTS: Final = "h1,h2,h3,h4,h5,h6,[role=heading],a[href],img"
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_STRUCK_TAGS: Final = frozenset({"del", "s", "strike"})
_CURRENCY: Final = r"(?:[$€£¥₹₽₩₺₪₴฿]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|CAD|AUD)\b|\b(?:zł|kr|Kč)(?!\w))"
_AMOUNT: Final = r"\d{1,3}(?:[ .,'\u2019]\d{3})*(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)"
_PRICE: Final = re.compile(rf"{_CURRENCY} ?-?(?:{_AMOUNT})|(?<![\d.,])(?:{_AMOUNT}) ?{_CURRENCY}")
_PRICE_STARTS: Final = re.compile(
    r"[\d$€£¥₹₽₩₺₪₴฿UEGCJSNDPAzkK](?:(?<=[^A-Zzk\d])|(?<=\d)(?<![\d.,]\d)"
    r"|(?<=[A-Z])(?=[A-Z]{2} ?-?\d)|(?<=[zkK])(?=[łrč] ?-?\d))"
)
"""Possible starts of a price: matching at these positions only is faster than `_PRICE.search`."""
_NON_URL_PREFIXES: Final = ("#", "javascript:")


class ListingParameters(Parameters):
    """The cards to extract, and additional fields of each."""

    selector: str | None = None
    """CSS selector of every card; if None, the listing is detected."""
    limit: Annotated[int, Field(ge=0)] | None = None
    """Maximum number of cards."""
    fields: dict[str, str] | None = None
    """Additional fields: name to CSS selector within the card, whose first match is read."""


class Card(Output):
    """One card of a listing."""

    title: str | None
    url: str | None
    price: str | None
    """Price as written."""
    image: str | None
    text: str
    fields: dict[str, str | None] | None = Field(default=None, exclude_if=lambda fields: fields is None)
    """Values of the parameter `fields`; omitted if it was not given."""


class Listing(Output):
    """The cards of a listing."""

    selector: str
    """CSS selector that matches the same cards again."""
    count: int
    items: tuple[Card, ...]


class ExtractListing(TypedSkill[ListingParameters, Listing]):
    """Return title, URL, price, image and text of every card of a listing."""

    name = _NAME
    version = 1
    description = "Extract the cards of a listing page: title, URL, price, image, text."
    parameters = ListingParameters
    output = Listing
    example = SkillInput(
        html="<ul><li><a href=/banana>Banana</a> € 1.99</li><li><a href=/kiwi>Kiwi</a> € 0.49</li></ul>",
        url="https://shop.example/fruit",
    )

    def analyze(self, document: Document, parameters: ListingParameters) -> Listing:
        """Find and read the cards.

        Raises:
            SkillError: the selector matches nothing, or the page has no repeated elements.
        """
        selector = parameters.selector or find_listing(document)
        if selector is None:
            message = f"{_NAME}: no listing found. Select its cards with the parameter 'selector'."
            raise SkillError(message)
        cards = document.select(selector, f"{_NAME}: parameter 'selector'")
        if not cards:
            message = f"{_NAME}: no element matches selector {selector!r}"
            raise SkillError(message)
        items = tuple(_read_card(document, card, parameters.fields) for card in cards[: parameters.limit])
        return Listing(selector=selector, count=len(items), items=items)


def _read_card(document: Document, card: LexborNode, fields: Mapping[str, str] | None) -> Card:
    parts = card.css(_CARD_PARTS)
    heading = next(filter(_is_heading, parts), None)
    link = _link(card, heading, parts)
    text, valid = text_with_and_without(card, excluded=_STRUCK_TAGS)
    return Card(
        title=_title(card, heading, link),
        url=document.absolute(link.attributes.get("href")) if link is not None else None,
        price=find_price(valid),
        image=_image(document, parts),
        text=text,
        fields=None if fields is None else {name: _read_field(card, name, css) for name, css in fields.items()},
    )


def _title(card: LexborNode, heading: LexborNode | None, link: LexborNode | None) -> str | None:
    for source in (heading, link):
        text = text_of(source) if source is not None else ""
        if text:
            return text
    image = card.css_first("img[alt]")
    return (image.attributes.get("alt") or None) if image is not None else None


def _is_heading(node: LexborNode) -> bool:
    return node.tag in _HEADINGS or node.attributes.get("role") == "heading"


def _link(card: LexborNode, heading: LexborNode | None, parts: Sequence[LexborNode]) -> LexborNode | None:
    """Choose the link in the heading, else the link around it, else the card itself, else its first link."""
    if heading is not None:
        inside = next((node for node in heading.css("a[href]") if _has_target(node)), None)
        if inside is not None:
            return inside
        around = parent_element(heading)
        while around is not None and around.mem_id != card.mem_id:
            if around.tag == "a" and _has_target(around):
                return around
            around = parent_element(around)
    if card.tag == "a" and _has_target(card):
        return card
    return next((node for node in parts if node.tag == "a" and _has_target(node)), None)


def _has_target(link: LexborNode) -> bool:
    href = (link.attributes.get("href") or "").strip()
    return bool(href) and not href.lower().startswith(_NON_URL_PREFIXES)


def find_price(text: str) -> str | None:
    """Return the first amount with a currency sign or code, as written."""
    for start in _PRICE_STARTS.finditer(text):
        found = _PRICE.match(text, start.start())
        if found is not None:
            return found.group()
    return None


def _image(document: Document, parts: Sequence[LexborNode]) -> str | None:
    for part in parts:
        if part.tag != "img":
            continue
        attributes = part.attributes
        for source in (attributes.get("src"), attributes.get("data-src")):
            if source and not source.lstrip().lower().startswith("data:"):
                return document.absolute(source)
    return None


def _read_field(card: LexborNode, name: str, css: str) -> str | None:
    found = select_descendants(card, css, f"{_NAME}: parameter 'fields.{name}'")
    return text_of(found[0]) if found else None
