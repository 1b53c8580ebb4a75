"""The skill `extract_links`: extract the links of a page."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias
from urllib.parse import urldefrag

from pydantic import Field

from eikon_engine.files.origins import split_url
from eikon_engine.skills.document import normalize_text, select_scopes, text_of
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document

LinkKind: TypeAlias = Literal[
    "internal", "external", "download", "anchor", "mailto", "tel", "script", "other", "malformed"
]

_NAME: Final = "extract_links"
_FILE_EXTENSION: Final = re.compile(
    r"\.(?:pdf|zip|gz|tgz|bz2|xz|7z|rar|tar|dmg|exe|msi|deb|rpm|apk|iso|csv|tsv|xlsx?|ods|docx?|odt|rtf|pptx?|odp"
    r"|epub|mobi|mp3|ogg|wav|flac|mp4|mkv|webm|avi|mov|ics|vcf)$",
    re.IGNORECASE,
)
_KIND_OF_SCHEME: Final[dict[str, LinkKind]] = {"mailto": "mailto", "tel": "tel", "javascript": "script"}
_HTTP_SCHEMES: Final = frozenset({"http", "https"})


class LinksParameters(Parameters):
    """The links to extract."""

    selector: str | None = None
    """CSS selector of the links, or of the parts of the page to search; if None, the whole page."""
    kinds: list[LinkKind] | None = None
    """Kinds to include; if None, all."""
    limit: Annotated[int, Field(ge=0)] | None = None
    """Maximum number of links."""


class Link(Output):
    """One link."""

    url: str | None
    """Absolute URL; null if malformed."""
    text: str
    """The text, else the label, the `alt` of the image or the title; empty if there is none."""
    kind: LinkKind
    rel: tuple[str, ...]
    """Link types in lower case, in document order."""
    new_window: bool


class Links(Output):
    """The links of a page, in document order."""

    count: int
    links: tuple[Link, ...]


class ExtractLinks(TypedSkill[LinksParameters, Links]):
    """Return URL, text, relation and kind of every link."""

    name = _NAME
    version = 1
    description = "Extract the links of a page: absolute URL, text, relation, kind."
    parameters = LinksParameters
    output = Links
    example = SkillInput(
        html="<a href=/prices.pdf>Prices</a> <a href=https://other.example/ rel=nofollow>Partner</a>",
        url="https://shop.example/",
    )

    def analyze(self, document: Document, parameters: LinksParameters) -> Links:
        """Extract the links of the requested kinds.

        Raises:
            SkillError: the selector is not standard CSS, or matches nothing.
        """
        found = (_link(document, node) for node in _link_elements(document, parameters.selector))
        kinds = parameters.kinds
        expected = (link for link in found if kinds is None or link.kind in kinds)
        links = tuple(islice(expected, parameters.limit))
        return Links(count=len(links), links=links)


def _link_elements(document: Document, selector: str | None) -> Iterator[LexborNode]:
    for scope in select_scopes(document, selector, _NAME):
        yield from scope.css("a[href],area[href]")


def _link(document: Document, node: LexborNode) -> Link:
    attributes = node.attributes
    href = (attributes.get("href") or "").strip()
    url = document.absolute(href)
    return Link(
        url=url,
        text=text_of(node) or _label(node, attributes),
        kind=_kind(document, href, url, is_download="download" in attributes),
        rel=tuple((attributes.get("rel") or "").lower().split()),
        new_window=(attributes.get("target") or "").lower() == "_blank",
    )


def _label(node: LexborNode, attributes: Mapping[str, str | None]) -> str:
    picture = node.css_first("img[alt],svg[aria-label]")
    shown = picture.attributes if picture is not None else {}
    named = (attributes.get("aria-label"), shown.get("alt"), shown.get("aria-label"))
    return next((normalize_text(each) for each in (*named, attributes.get("alt"), attributes.get("title")) if each), "")


def _kind(document: Document, href: str, url: str | None, *, is_download: bool) -> LinkKind:
    if url is None:
        return "malformed"
    if document.site_prefix and url.startswith(document.site_prefix) and "#" not in url:
        return "download" if is_download or _FILE_EXTENSION.search(url.partition("?")[0]) else "internal"
    return _kind_by_parts(document, href, url, is_download=is_download)


def _kind_by_parts(document: Document, href: str, url: str, *, is_download: bool) -> LinkKind:
    try:
        parts, here = split_url(url), split_url(document.url)
        host, own_host = parts.hostname or "", here.hostname or ""
    except ValueError:
        return "malformed"
    if parts.scheme not in _HTTP_SCHEMES:
        return _KIND_OF_SCHEME.get(parts.scheme, "other" if parts.scheme else "internal")
    if href.startswith("#") or ("#" in url and urldefrag(url).url == urldefrag(document.url).url):
        return "anchor"
    if is_download or _FILE_EXTENSION.search(parts.path):
        return "download"
    return "internal" if host.removeprefix("www.") == own_host.removeprefix("www.") else "external"
