"""The encodings in which values appear in bodies, URLs and documents."""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable

ENCODINGS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("", lambda value: value),
    ("json", lambda value: json.dumps(value)[1:-1]),
    ("json-utf8", lambda value: json.dumps(value, ensure_ascii=False)[1:-1]),
    (
        "json-html",
        lambda value: _escape_characters(json.dumps(value)[1:-1], "<>&'", lambda char: f"\\u{ord(char):04x}"),
    ),
    ("json-slash", lambda value: json.dumps(value)[1:-1].replace("/", "\\/")),
    ("js-quote", lambda value: _js_string(value, "'", is_ascii=False)),
    ("js-quote-ascii", lambda value: _js_string(value, "'", is_ascii=True)),
    ("js-template", lambda value: _js_string(value, "`", is_ascii=False).replace("${", "\\${")),
    ("html", lambda value: html.escape(value, quote=True)),
    ("html-text", lambda value: html.escape(value, quote=False)),
    ("html-39", lambda value: html.escape(value, quote=True).replace("&#x27;", "&#39;")),
    ("html-34", lambda value: html.escape(value, quote=False).replace('"', "&#34;").replace("'", "&#39;")),
    ("html-attribute", lambda value: value.replace("&", "&amp;").replace('"', "&quot;")),
    ("form", quote_plus),
    ("form-browser", lambda value: quote_plus(value, safe="*").replace("~", "%7E")),
    ("url", lambda value: quote(value, safe="")),
    ("url-component", lambda value: quote(value, safe="!'()*")),
    ("url-path", quote),
    ("url-query", lambda value: _escape_characters(value, " \"#<>'", quote)),
    ("base64", lambda value: base64.b64encode(value.encode()).decode()),
    ("base64-url", lambda value: base64.urlsafe_b64encode(value.encode()).decode()),
)
"""In the order of the table: json.dumps, JSON.stringify, Django's json_script, PHP; string literals of JavaScript in
single quotes and backticks (ECMA-262, 12.9.4 and 12.9.6); Python's html, browsers' innerHTML in text, Jinja, Go,
browsers' innerHTML in attributes; Python's quote_plus, browser forms (WHATWG URL, 5.2); RFC 3986, encodeURIComponent,
Python's quote, browser query strings (WHATWG URL, 1.3)."""


def _js_string(value: str, quote: str, *, is_ascii: bool) -> str:
    """Encode a value as the content of a JavaScript string literal in other quotes than JSON's."""
    return json.dumps(value, ensure_ascii=is_ascii)[1:-1].replace('\\"', '"').replace(quote, "\\" + quote)


def _escape_characters(value: str, characters: str, escape: Callable[[str], str]) -> str:
    """Escape some ASCII characters; also all non-ASCII characters if `escape` is `quote`."""
    return "".join(
        escape(char) if char in characters or (escape is quote and not char.isascii()) else char for char in value
    )
