"""The skill `extract_metadata`: extract the metadata in the head of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.files.json_text import JsonValue
from eikon_engine.skills.document import normalize_text
from eikon_engine.skills.json_ld import read_json_ld
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document

_NAME: Final = "extract_metadata"
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_ROBOTS: Final = frozenset({"robots", "googlebot", "googlebot-news", "bingbot"})
_OPEN_GRAPH: Final = ("og:", "article:", "book:", "profile:", "video:", "music:", "product:", "fb:")


class MetadataParameters(Parameters):
    """No parameters."""


class Alternate(Output):
    """An alternate version of the page: a language or a feed."""

    url: str | None
    language: str | None
    type: str | None
    title: str | None


class Icon(Output):
    """One icon."""

    url: str | None
    rel: str
    sizes: str | None


class InvalidJsonLdBlock(Output):
    """An invalid JSON-LD block."""

    block: int
    """Number of the block on the page, from 1."""
    error: str


class Metadata(Output):
    """The metadata of a page; missing values are null or empty."""

    title: str | None
    """Text of `<title>`."""
    description: str | None
    language: str | None
    direction: str | None
    """`ltr`, `rtl` or `auto`, from the root element."""
    charset: str | None
    """As declared in the document, in lower case."""
    canonical: str | None
    robots: dict[str, tuple[str, ...]]
    """Directives in lower case, by robot; `robots` means all."""
    open_graph: dict[str, tuple[str, ...]]
    """Values by property (`og:title`, `article:author` …), in document order."""
    twitter: dict[str, tuple[str, ...]]
    meta: dict[str, tuple[str, ...]]
    """Values of all other named `<meta>` elements, by name in lower case."""
    hreflang: tuple[Alternate, ...]
    feeds: tuple[Alternate, ...]
    icons: tuple[Icon, ...]
    json_ld: tuple[dict[str, JsonValue], ...]
    """Nodes of all blocks, with lists and `@graph` flattened."""
    json_ld_errors: tuple[InvalidJsonLdBlock, ...]


class ExtractMetadata(TypedSkill[MetadataParameters, Metadata]):
    """Return title, description, OpenGraph, Twitter, JSON-LD, canonical URL, languages, robots and charset."""

    name = _NAME
    version = 1
    description = "Extract the metadata of a page: OpenGraph, Twitter, JSON-LD, canonical URL, languages, robots."
    parameters = MetadataParameters
    output = Metadata
    example = SkillInput(
        html='<html lang=en><title>Banana</title><meta property=og:type content=product><link rel=canonical href="/b">',
        url="https://shop.example/banana?ref=1",
    )

    def analyze(self, document: Document, parameters: MetadataParameters) -> Metadata:  # noqa: ARG002 - no parameters
        """Read the head; a page without metadata is a result, not an error."""
        named, properties = _meta_values(document)
        robots = {name: tuple(_directives(contents)) for name, contents in named.items() if name in _ROBOTS}
        graph = {name: tuple(found) for name, found in properties.items() if name.startswith(_OPEN_GRAPH)}
        twitter = {name: tuple(found) for name, found in properties.items() if name.startswith("twitter:")}
        taken = _ROBOTS | graph.keys() | twitter.keys()
        html = document.tree.css_first("html")
        root = html.attributes if html is not None else {}
        links = _head_links(document)
        data = read_json_ld(document)
        return Metadata(
            title=_title(document),
            description=next(iter(named.get("description", ())), None),
            language=root.get("lang") or None,
            direction=(root.get("dir") or "").lower() or None,
            charset=_charset(document),
            canonical=next((document.absolute(link.attributes.get("href")) for rel, link in links["canonical"]), None),
            robots=robots,
            open_graph=graph,
            twitter=twitter,
            meta={name: tuple(found) for name, found in named.items() if name not in taken},
            hreflang=tuple(_alternate(document, link) for _, link in links["hreflang"]),
            feeds=tuple(_alternate(document, link) for _, link in links["feed"]),
            icons=tuple(_icon(document, rel, link) for rel, link in links["icon"]),
            json_ld=data.nodes,
            json_ld_errors=tuple(InvalidJsonLdBlock(block=block, error=error) for block, error in data.errors),
        )


def _title(document: Document) -> str | None:
    """Return the text of the first `<title>` outside SVG."""
    found = document.tree.css_first("head > title") or document.tree.css_first("body > title")
    return (normalize_text(found.text()) or None) if found is not None else None


def _meta_values(document: Document) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return values by `name`, and values by `property` or `name`, as many pages mix the two up."""
    named: dict[str, list[str]] = {}
    either: dict[str, list[str]] = {}
    for meta in document.tree.css("meta[content]"):
        attributes = meta.attributes
        content = normalize_text(attributes.get("content") or "")
        name, prop = ((attributes.get(each) or "").strip().lower() for each in ("name", "property"))
        if name:
            named.setdefault(name, []).append(content)
        for each in dict.fromkeys(one for one in (prop, name) if one):
            either.setdefault(each, []).append(content)
    return named, either


def _directives(contents: list[str]) -> list[str]:
    parts = (part.strip().lower() for content in contents for part in content.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def _charset(document: Document) -> str | None:
    declared = document.tree.css_first("meta[charset]")
    if declared is not None and declared.attributes.get("charset"):
        return normalize_text(declared.attributes.get("charset") or "").lower()
    for meta in document.tree.css("meta[http-equiv][content]"):
        if (meta.attributes.get("http-equiv") or "").strip().lower() == "content-type":
            found = _CHARSET.search(meta.attributes.get("content") or "")
            if found is not None:
                return found[1].lower()
    return None


def _head_links(document: Document) -> dict[str, list[tuple[str, LexborNode]]]:
    found: dict[str, list[tuple[str, LexborNode]]] = {name: [] for name in ("canonical", "hreflang", "feed", "icon")}
    for link in document.tree.css("link[rel][href]"):
        attributes = link.attributes
        rel = " ".join((attributes.get("rel") or "").lower().split())
        words = rel.split()
        kind = (attributes.get("type") or "").lower()
        if "canonical" in words:
            found["canonical"].append((rel, link))
        elif "alternate" in words and attributes.get("hreflang"):
            found["hreflang"].append((rel, link))
        elif "alternate" in words and ("rss" in kind or "atom" in kind or kind.endswith("feed+json")):
            found["feed"].append((rel, link))
        elif "icon" in rel:
            found["icon"].append((rel, link))
    return found


def _alternate(document: Document, link: LexborNode) -> Alternate:
    attributes = link.attributes
    return Alternate(
        url=document.absolute(attributes.get("href")),
        language=attributes.get("hreflang") or None,
        type=attributes.get("type") or None,
        title=attributes.get("title") or None,
    )


def _icon(document: Document, rel: str, link: LexborNode) -> Icon:
    attributes = link.attributes
    return Icon(url=document.absolute(attributes.get("href")), rel=rel, sizes=attributes.get("sizes") or None)
