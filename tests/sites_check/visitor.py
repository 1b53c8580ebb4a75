"""Visit a site with cookies and without a browser, following no redirect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, ProxyHandler, Request, build_opener

if TYPE_CHECKING:
    from email.message import Message
    from typing import IO


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response."""

    status: int
    headers: Message
    text: str

    @property
    def location(self) -> str:
        """Return the target of a redirect."""
        return self.headers.get("Location", "")


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str) -> None:
        """Do not follow redirects."""


class Visitor:
    """A visitor with its own cookies."""

    def __init__(self, url: str) -> None:
        """Start without cookies."""
        self.url = url
        self.jar = CookieJar()
        self._opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(self.jar), _NoRedirects())

    def ask(self, method: str, path: str, body: bytes | None = None, content_type: str = "") -> Reply:
        """Send one request; every status returns a reply."""
        request = Request(self.url + path, data=body, method=method)  # noqa: S310 - loopback only
        if content_type:
            request.add_header("Content-Type", content_type)
        try:
            with self._opener.open(request, timeout=20) as response:
                return Reply(status=response.status, headers=response.headers, text=response.read().decode())
        except HTTPError as answer:
            with answer:
                return Reply(status=answer.code, headers=answer.headers, text=answer.read().decode())

    def get(self, path: str) -> Reply:
        """Request a page."""
        return self.ask("GET", path)

    def post(self, path: str, **fields: str) -> Reply:
        """Send a form."""
        return self.ask("POST", path, urlencode(fields).encode(), "application/x-www-form-urlencoded")

    def post_json(self, path: str, value: object) -> Reply:
        """Send JSON."""
        return self.ask("POST", path, json.dumps(value).encode(), "application/json")

    def sign_in(self) -> Reply:
        """Sign in to the shop as its one user."""
        return self.post("/login", username="ada", password="correct-horse-battery")
