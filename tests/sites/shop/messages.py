"""The request and the answer of a page function."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.sites.shop.state import Session, ShopState

HTML = "text/html; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, with the visitor's session and the parsed path."""

    method: str
    path: str
    query: Mapping[str, str]
    arguments: tuple[str, ...]
    """The variable parts of the path."""

    content_type: str
    body: bytes
    session: Session
    shop: ShopState

    def form(self) -> dict[str, str]:
        """Return the body as form fields, with surrounding white space removed from the values."""
        pairs = parse_qsl(self.body.decode(), keep_blank_values=True)
        return {name: value.strip() for name, value in pairs}

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object; any other body is read as an empty one."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def changed(self, name: str) -> bool:
        """Return whether the site has this change."""
        return self.shop.change == name


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response."""

    status: HTTPStatus = HTTPStatus.OK
    content_type: str = HTML
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def answer_json(value: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    """Return an answer with JSON."""
    return Answer(status=status, content_type=JSON, body=json.dumps(value, ensure_ascii=False).encode())


def redirect(target: str, status: HTTPStatus, *cookies: str) -> Answer:
    """Return a redirect that may set cookies."""
    headers = (("Location", target), *(("Set-Cookie", cookie) for cookie in cookies))
    return Answer(status=status, headers=headers)
