"""The skill `extract_article`: the text of an article without navigation and other page furniture.

The main text is found by the algorithm of Readability: paragraphs score the elements around them. The implementation
is our own, because an output must not change with a library while `version` stays the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.errors import SkillError
from eikon_engine.skills.dates import find_dates, iso_date
from eikon_engine.skills.document import normalize_text, text_of
from eikon_engine.skills.json_ld import first_text, read_json_ld, types_of
from eikon_engine.skills.main_text import Block, find_main_text, read_blocks
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from collections.abc import Iterable

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document
    from eikon_engine.skills.json_ld import JsonLdNode

BlockKind: TypeAlias = Literal["heading", "paragraph", "item", "quote", "code", "caption"]

_NAME: Final = "extract_article"
_ARTICLE_TYPE: Final = re.compile(r"Article|Posting|Report|Review$")
_TITLE_SUFFIX: Final = re.compile(r"\s+[|\u2013\u2014\u00b7\u00bb-]\s+[^|\u2013\u2014\u00b7\u00bb]{1,40}$")
_BYLINE: Final = "[rel=author],[itemprop=author],.byline,.author,.post-author,.entry-author,[class*=byline]"
_BYLINE_PREFIX: Final = re.compile(r"^(?:by|von|par|por|di|door|av|af|автор:?)\s+", re.IGNORECASE)
_MAX_BYLINE_LENGTH: Final = 120


class ArticleParameters(Parameters):
    """The location of the text."""

    selector: str | None = None
    """CSS selector of exactly one element, which contains the text; if None, the text is detected."""


class TextBlock(Output):
    """One block of the text."""

    kind: BlockKind
    level: int | None
    """1 to 6 for headings, else null."""
    text: str


class Article(Output):
    """An article with its metadata."""

    title: str | None
    byline: str | None
    published: str | None
    """ISO 8601; null if it is missing or ambiguous."""
    modified: str | None
    language: str | None
    direction: str | None
    blocks: tuple[TextBlock, ...]
    length: int
    """Number of characters in all blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """The sources of title, author and date, in order of priority."""

    node: JsonLdNode
    """JSON-LD node of the article; empty if there is none."""
    metas: dict[str, str]
    root: LexborNode


class ExtractArticle(TypedSkill[ArticleParameters, Article]):
    """Return title, author, dates and text of an article."""

    name = _NAME
    version = 1
    description = "Extract an article: title, byline, dates, headings and paragraphs, without the rest of the page."
    parameters = ArticleParameters
    output = Article
    example = SkillInput(
        html=(
            "<article><h1>Bananas ripen</h1><p class=byline>By Ada</p><time datetime=2025-04-03>April 3</time>"
            "<p>Bananas ripen faster in a bag, because the gas they give off stays near them and does its work.</p>"
            "<p>Apples give off the same gas, so one apple in the bag is enough for a whole bunch of bananas.</p>"
            "</article>"
        ),
        url="https://blog.example/ripe",
    )

    def analyze(self, document: Document, parameters: ArticleParameters) -> Article:
        """Find and read the main text.

        Raises:
            SkillError: the page has no article, or the selector does not match exactly one element.
        """
        root = _article_root(document, parameters.selector)
        blocks = tuple(TextBlock(kind=each.kind, level=each.level, text=each.text) for each in read_blocks(root))
        page = _Sources(node=_article_json_ld(document), metas=_metas(document), root=root)
        title = _title(document, page)
        shown = tuple(each for each in blocks if each.level != 1 or each.text != title)
        html = document.tree.css_first("html")
        outer = html.attributes if html is not None else {}
        return Article(
            title=title,
            byline=_byline(page, document),
            published=_date(page, document, ("datePublished", "dateCreated"), ("published_time", "date", "pubdate")),
            modified=_date(page, None, ("dateModified",), ("modified_time", "last-modified")),
            language=root.attributes.get("lang") or outer.get("lang") or None,
            direction=root.attributes.get("dir") or outer.get("dir") or None,
            blocks=shown,
            length=sum(len(each.text) for each in shown),
        )


def article_blocks(document: Document) -> tuple[Block, ...]:
    """Return the blocks of the main text; empty if the page has no article."""
    root = find_main_text(document)
    return () if root is None else tuple(read_blocks(root))


def _article_root(document: Document, selector: str | None) -> LexborNode:
    if selector is None:
        root = find_main_text(document)
        if root is None:
            message = f"{_NAME}: no main text found. Select it with the parameter 'selector'."
            raise SkillError(message)
        return root
    found = document.select(selector, f"{_NAME}: parameter 'selector'")
    if len(found) != 1:
        message = f"{_NAME}: expected one element for selector {selector!r}, got {len(found)}"
        raise SkillError(message)
    return found[0]


def _article_json_ld(document: Document) -> JsonLdNode:
    nodes = read_json_ld(document).nodes
    return next((node for node in nodes if any(_ARTICLE_TYPE.search(each) for each in types_of(node))), {})


def _metas(document: Document) -> dict[str, str]:
    """Return the first content of each `<meta>`, by its full name and by its name without prefix."""
    found: dict[str, str] = {}
    for meta in document.tree.css("meta[content]"):
        attributes = meta.attributes
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        for each in (name, name.rpartition(":")[2]):
            found.setdefault(each, normalize_text(attributes.get("content") or ""))
    return found


def _title(document: Document, page: _Sources) -> str | None:
    own, everywhere = (_headings(page.root.css("h1")), _headings(document.tree.css("h1")))
    if len(own) == 1 or len(everywhere) == 1:
        return own[0] if len(own) == 1 else everywhere[0]
    declared = first_text(page.node, "headline", "name") or page.metas.get("og:title")
    if declared:
        return normalize_text(declared)
    if own:
        return own[0]
    title = document.tree.css_first("head > title")
    shown = normalize_text(title.text()) if title is not None else ""
    return _TITLE_SUFFIX.sub("", shown) or None


def _headings(nodes: Iterable[LexborNode]) -> list[str]:
    return [text for text in map(text_of, nodes) if text]


def _byline(page: _Sources, document: Document) -> str | None:
    declared = first_text(page.node, "author") or page.metas.get("author") or ""
    if declared and not declared.startswith(("http:", "https:")):
        return normalize_text(declared)
    for scope in (page.root, document.tree.body):
        for node in scope.css(_BYLINE) if scope is not None else ():
            text = text_of(node)
            if text and len(text) <= _MAX_BYLINE_LENGTH:
                return _BYLINE_PREFIX.sub("", text)
    return None


def _date(page: _Sources, document: Document | None, members: tuple[str, ...], metas: tuple[str, ...]) -> str | None:
    """Return the first declared date; with a document, fall back to the first `<time>`, then to the byline."""
    declared = (first_text(page.node, *members), *(page.metas.get(each) for each in metas))
    stated = next((iso for each in declared if each and (iso := iso_date(each)) is not None), None)
    if stated is not None or document is None:
        return stated
    for scope in (page.root, document.tree.body):
        for time in scope.css("time[datetime]") if scope is not None else ():
            iso = iso_date(time.attributes.get("datetime") or "")
            if iso is not None:
                return iso
    for node in page.root.css(".date,.published,.post-date,.entry-date,.byline,time"):
        for written in find_dates(text_of(node)):
            return written.readings[0] if len(written.readings) == 1 else None
    return None
