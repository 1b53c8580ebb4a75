"""Read what the body of a response tells a person: that they have to sign in, or what went wrong."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

MAX_PAGE_BYTES: Final = 512 * 1024
"""Larger bodies, in bytes, are no error or sign-in pages and are not parsed."""
MAX_ERROR_LENGTH: Final = 160
"""Maximum length of an error text, in characters; longer sentences are cut between two words."""
_PASSWORD_FIELD: Final = re.compile(rb"""<input\b[^>]*\btype\s*=\s*["']?password\b""", re.IGNORECASE)
_MESSAGES: Final = ", ".join(
    ("[role=alert]", *(f'[{name}*="{word}" i]' for name in ("class", "id") for word in ("error", "message", "alert")))
)
"""Elements that pages show messages in."""
_HEADINGS_AND_PARAGRAPHS: Final = ("h1", "h2", "p", "pre")
_PHRASES: Final = "|".join(sorted((re.escape(each.phrase) for each in HTTPStatus), key=len, reverse=True))
_ONLY_STATUS: Final = re.compile(
    rf"(?:(?:HTTP|status|server|error|oops)\b[\s:!]*)*(?:\d{{3}})?[\s:|\u2013\u2014-]*(?:{_PHRASES}|error)?[\s.!]*",
    re.IGNORECASE,
)
"""Texts that say no more than the status."""
_SENTENCE: Final = re.compile(r".+?[.!?](?=\s|\Z)")
_TRACEBACK: Final = "Traceback (most recent call last)"


def find_sign_in_form(body: bytes, media_type: str) -> str:
    """Return the title of an HTML page with a password field; empty if a body is no such page."""
    if media_type != "text/html" or len(body) > MAX_PAGE_BYTES or _PASSWORD_FIELD.search(body) is None:
        return ""
    title = LexborHTMLParser(body).css_first("title")
    return ("" if title is None else _text_of(title)) or "a password field"


def find_error_text(body: bytes, media_type: str, recorded: bytes = b"") -> str:
    """Return the sentence in which an error page or a plain text says what went wrong; empty if it says only a status.

    What the `recorded` body has, too, is the frame of the site and no error.
    """
    if len(body) > MAX_PAGE_BYTES:
        return ""
    if media_type == "text/html":
        known = recorded.decode("utf-8", "replace")
        texts = _page_texts(LexborHTMLParser(body))
        return next((_first_sentence(each) for each in texts if each not in known and not is_only_status(each)), "")
    if media_type != "text/plain":
        return ""
    lines = [line.strip() for line in body.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines or lines[0].startswith(("{", "[")):
        return ""
    text = lines[-1] if lines[0].startswith(_TRACEBACK) else lines[0]
    return "" if is_only_status(text) else _first_sentence(text)


def is_only_status(text: str) -> bool:
    """Return whether a text says no more than the status of a response, such as `500 Internal Server Error`."""
    return _ONLY_STATUS.fullmatch(text) is not None


def _page_texts(page: LexborHTMLParser) -> Iterator[str]:
    """Yield the texts of a page that may say what went wrong, most likely first."""
    blocks = "h1, h2, h3, p, div, form, ul"
    for node in page.css(_MESSAGES):
        if node.tag not in {"html", "body", "script", "style"} and not any(
            each.mem_id != node.mem_id for each in node.css(blocks)
        ):
            yield _text_of(node)
    for name in _HEADINGS_AND_PARAGRAPHS:
        yield from map(_text_of, page.css(name))


def _text_of(node: LexborNode) -> str:
    return " ".join(node.text(separator=" ").split())


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text)
    sentence = text if found is None else found[0]
    if len(sentence) <= MAX_ERROR_LENGTH:
        return sentence
    return f"{sentence[:MAX_ERROR_LENGTH].rpartition(' ')[0] or sentence[:MAX_ERROR_LENGTH]}…"
