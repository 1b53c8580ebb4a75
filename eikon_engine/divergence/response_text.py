"""Find sign-in forms and error messages in the bodies of responses."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from selectolax.lexbor import LexborNode

MAX_PAGE_BYTES: Final = 512 * 1024
"""Larger bodies, in bytes, are no error or sign-in pages and are not parsed."""
MAX_ERROR_LENGTH: Final = 160
"""Maximum length of an error text, in characters; longer sentences are cut between two words."""
_FIELDS: Final = "input, textarea"
_OTHER_INPUTS: Final = frozenset(
    {
        "password",
        "search",
        "hidden",
        "checkbox",
        "radio",
        "submit",
        "button",
        "image",
        "reset",
        "file",
        "range",
        "color",
    }
)
"""Types of `input` elements that are no text fields."""
_PASSWORD_FIELD: Final = re.compile(rb"""<input\b[^>]*\btype\s*=\s*["']?password\b""", re.IGNORECASE)
_ALERTS: Final = ("[role=alert]", '[class*="error" i], [id*="error" i]')
_MESSAGES: Final = (
    *_ALERTS,
    *("h1", "h2", "p", "pre"),
    '[class*="message" i], [id*="message" i], [class*="alert" i], [id*="alert" i]',
)
"""Elements that error pages show their message in, most likely first."""
_FRAME_TAGS: Final = frozenset({"nav", "header", "footer"})
_NOTICE: Final = re.compile(r"cookie|consent|gdpr", re.IGNORECASE)
"""Classes and ids of notices that a site shows on every page."""
_NOT_SHOWN: Final = re.compile(r"\bdisplay\s*:\s*none\b", re.IGNORECASE)
_PHRASES: Final = "|".join(sorted((re.escape(each.phrase) for each in HTTPStatus), key=len, reverse=True))
_ONLY_STATUS: Final = re.compile(
    rf"(?:(?:HTTP|status|server|error|oops)\b[\s:!]*)*(?:\d{{3}})?[\s:|\u2013\u2014-]*(?:{_PHRASES}|error)?[\s.!]*",
    re.IGNORECASE,
)
"""Texts that say no more than the status."""
_SENTENCE: Final = re.compile(r".+?[.!?](?=\s|\Z)")
_TRACEBACK: Final = "Traceback (most recent call last)"


def find_sign_in_form(body: bytes, media_type: str) -> str:
    """Return the title of an HTML page or fragment with a sign-in form; empty if a body has none.

    A sign-in form has one password field, and at most one other field to type in: forms to register, to add a user or
    to change a password have more.
    """
    if media_type != "text/html" or len(body) > MAX_PAGE_BYTES or _PASSWORD_FIELD.search(body) is None:
        return ""
    page = LexborHTMLParser(body)
    if not any(map(_is_sign_in, _forms(page))):
        return ""
    title = page.css_first("title")
    return ("" if title is None else _text_of(title)) or "a password field"


def _forms(page: LexborHTMLParser) -> Iterator[list[LexborNode]]:
    """Yield the fields of each form, then those in no form."""
    owned: set[int] = set()
    for form in page.css("form"):
        fields = form.css(_FIELDS)
        owned.update(field.mem_id for field in fields)
        yield fields
    yield [field for field in page.css(_FIELDS) if field.mem_id not in owned]


def _is_sign_in(fields: list[LexborNode]) -> bool:
    passwords = [each for each in fields if (each.attributes.get("type") or "").lower() == "password"]
    if len(passwords) != 1 or sum(map(_is_text_field, fields)) > 1:
        return False
    return "new-password" not in (passwords[0].attributes.get("autocomplete") or "")


def _is_text_field(node: LexborNode) -> bool:
    kind = (node.attributes.get("type") or "text").lower()
    return node.tag == "textarea" or (kind not in _OTHER_INPUTS and "hidden" not in node.attributes)


def find_error_text(body: bytes, media_type: str, recorded: bytes = b"") -> str:
    """Return the sentence in which an error page or a plain text says what went wrong; empty if it says only a status.

    What the `recorded` body has, too, is the frame of the site and no error.
    """
    if len(body) > MAX_PAGE_BYTES:
        return ""
    if media_type == "text/html" and b"<" in body:
        known = recorded.decode("utf-8", "replace")
        texts = _page_texts(LexborHTMLParser(body))
        return next((_first_sentence(each) for each in texts if each not in known and not is_only_status(each)), "")
    if media_type not in {"text/html", "text/plain"}:
        return ""
    lines = [line.strip() for line in body.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines or lines[0].startswith(("{", "[")):
        return ""
    text = lines[-1] if lines[0].startswith(_TRACEBACK) else lines[0]
    return "" if is_only_status(text) else _first_sentence(text)


def find_sign_in_error(body: bytes) -> str:
    """Return what a page with a sign-in form reports of a refused sign-in; empty if it reports nothing."""
    shown = (each for each in _page_texts(LexborHTMLParser(body), _ALERTS) if each)
    return next(map(_first_sentence, shown), "")


def is_only_status(text: str) -> bool:
    """Return whether a text says no more than the status of a response, such as `500 Internal Server Error`."""
    return _ONLY_STATUS.fullmatch(text) is not None


def _page_texts(page: LexborHTMLParser, selectors: Sequence[str] = _MESSAGES) -> Iterator[str]:
    """Yield the texts of a page that may say what went wrong, most likely first."""
    blocks = "h1, h2, h3, p, div, form, ul"
    for selector in selectors:
        for node in page.css(selector):
            if (
                node.tag not in {"html", "body", "script", "style"}
                and not any(each.mem_id != node.mem_id for each in node.css(blocks))
                and not _is_frame(node)
                and not _is_hidden(node)
            ):
                yield _text_of(node)


def _is_frame(node: LexborNode) -> bool:
    """Return whether an element belongs to the header, navigation, footer or cookie notice of a site."""
    here: LexborNode | None = node
    while here is not None and here.tag not in {"html", "body"}:
        names = f"{here.attributes.get('class') or ''} {here.attributes.get('id') or ''}"
        if here.tag in _FRAME_TAGS or _NOTICE.search(names):
            return True
        here = here.parent
    return False


def _is_hidden(node: LexborNode) -> bool:
    """Return whether the markup hides an element, as it does with messages that a script may show later."""
    here: LexborNode | None = node
    while here is not None and here.tag != "html":
        if "hidden" in here.attributes or _NOT_SHOWN.search(here.attributes.get("style") or ""):
            return True
        here = here.parent
    return False


def _text_of(node: LexborNode) -> str:
    return " ".join(node.text(separator=" ").split())


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text)
    sentence = text if found is None else found[0]
    if len(sentence) <= MAX_ERROR_LENGTH:
        return sentence
    return f"{sentence[:MAX_ERROR_LENGTH].rpartition(' ')[0] or sentence[:MAX_ERROR_LENGTH]}…"
