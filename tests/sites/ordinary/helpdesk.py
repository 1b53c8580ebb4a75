"""A help desk whose pages are made by the server: a form with a token signs users in, tickets have drawn ids."""

from __future__ import annotations

import html
import itertools
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aiohttp import web

from tests.sites.ordinary.restartable import serve_ordinary

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.sites.ordinary.restartable import OrdinarySite

USER: Final = "ada"
_MINUTE: Final = 60.0
_PAGES: Final = itertools.count()
"""Numbers the pages, so that the time that each took differs from run to run."""

_LAYOUT: Final = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="csrf-token" content="{token}"><link rel="stylesheet" href="/static/helpdesk.css?v={build}">
<link rel="icon" href="data:,"></head><body>
<header id="top"><a id="home" href="/tickets">Help desk</a> <span id="user">{user}</span></header>
<main id="content">{content}</main>
<footer id="footer">Page made in {spent} ms</footer>
<script src="/static/helpdesk.js?v={build}"></script></body></html>"""
_LOGIN: Final = """<h1 id="heading">Sign in</h1><form id="sign-in" method="post" action="/login">
<input id="token" type="hidden" name="csrfmiddlewaretoken" value="{token}">
<label id="user-label" for="name">User name</label> <input id="name" name="name" placeholder="User">
<label id="password-label" for="password">Password</label> <input id="password" name="password" type="password">
<button id="submit">Sign in</button></form>"""
_LIST: Final = """<h1 id="heading">Tickets</h1><p id="summary">{count} tickets are open.</p>
<table id="tickets"><thead><tr><th>Subject</th><th>Priority</th><th>Opened</th></tr></thead>
<tbody>{rows}</tbody></table>
<a id="new" href="/new">New ticket</a>"""
_ROW: Final = """<tr id="row-{place}"><td><a id="open-{place}" href="/tickets/{id}">{subject}</a></td>
<td id="priority-{place}">{priority}</td><td class="age">{age}</td></tr>"""
_FORM: Final = """<h1 id="heading">New ticket</h1><form id="ticket" method="post" action="/new">
<input type="hidden" name="csrfmiddlewaretoken" value="{token}">
<label for="subject">Subject</label> <input id="subject" name="subject" placeholder="What is wrong?">
<label for="priority">Priority</label> <select id="priority" name="priority">
<option id="low">low</option><option id="normal" selected>normal</option><option id="high">high</option></select>
<button id="save">Save</button> <a id="cancel" href="/tickets">Cancel</a></form><p id="length">0 characters</p>"""
_TICKET: Final = """<h1 id="heading">{subject}</h1><p id="state">{state}</p><p id="urgency">Priority: {priority}</p>
<p class="opened">Opened <time datetime="{iso}">{age}</time></p><ul id="comments">{comments}</ul>
<form id="comment" method="post" action="/tickets/{id}/comments">
<input type="hidden" name="csrfmiddlewaretoken" value="{token}">
<label for="text">Comment</label> <textarea id="text" name="text"></textarea><button id="send">Send</button></form>
<form id="closing" method="post" action="/tickets/{id}/close">
<input type="hidden" name="csrfmiddlewaretoken" value="{token}"><button id="close">Close ticket</button></form>"""


@dataclass(slots=True)
class _Ticket:
    subject: str
    priority: str
    opened: float
    state: str = "open"
    comments: list[tuple[float, str]] = field(default_factory=list)
    id: str = field(default_factory=lambda: secrets.token_hex(6))


class Helpdesk:
    """Tickets, sessions and tokens since the last restart."""

    def __init__(self) -> None:
        """Begin with three tickets."""
        now = time.time()
        self._tickets = [
            _Ticket("Printer is on fire", "high", now - 2 * _MINUTE),
            _Ticket("Chair squeaks", "low", now - 180 * _MINUTE),
            _Ticket("Coffee is cold", "normal", now - 3000 * _MINUTE),
        ]
        self._sessions: dict[str, str] = {}
        self._tokens: set[str] = set()
        self._build = secrets.token_hex(5)

    def routes(self) -> dict[str, Callable[[web.Request], object]]:
        """Return the handlers."""
        return {
            "GET /login": lambda request: self._page(request, "Sign in", _LOGIN),
            "POST /login": self._sign_in,
            "GET /tickets": self._private(self._list),
            "GET /new": self._private(lambda request: self._page(request, "New ticket", _FORM)),
            "POST /new": self._private(self._create),
            "GET /tickets/*": self._private(self._show),
            "POST /tickets/*/comments": self._private(self._comment),
            "POST /tickets/*/close": self._private(self._close),
        }

    def _page(self, request: web.Request, title: str, content: str, **values: object) -> web.Response:
        token = secrets.token_urlsafe(24)
        self._tokens.add(token)
        user = self._sessions.get(request.cookies.get("sessionid", ""), "")
        page = _LAYOUT.format(
            title=html.escape(title),
            user=user,
            token=token,
            build=self._build,
            spent=10 + 17 * next(_PAGES) % 89,
            content=content.format(token=token, **values),
        )
        return web.Response(text=page, content_type="text/html")

    def _private(self, handler: Callable[[web.Request], object]) -> Callable[[web.Request], object]:
        async def answer(request: web.Request) -> web.StreamResponse:
            if request.cookies.get("sessionid") not in self._sessions:
                return _redirect(f"/login?next={request.path}")
            if request.method == "POST" and (await request.post()).get("csrfmiddlewaretoken") not in self._tokens:
                return web.Response(
                    status=403, text="<!doctype html><h1>CSRF token missing</h1>", content_type="text/html"
                )
            response = handler(request)
            if not isinstance(response, web.StreamResponse):
                response = await response  # type: ignore[misc] # of a handler that awaits
            assert isinstance(response, web.StreamResponse)
            return response

        return answer

    async def _sign_in(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form.get("csrfmiddlewaretoken") not in self._tokens:
            return web.Response(status=403, text="<!doctype html><h1>CSRF token missing</h1>", content_type="text/html")
        if form.get("name") != USER or not form.get("password"):
            return _redirect("/login")
        session = secrets.token_hex(16)
        self._sessions[session] = USER
        response = _redirect("/tickets")
        response.set_cookie("sessionid", session, httponly=True)
        return response

    def _list(self, request: web.Request) -> web.Response:
        rows = "".join(
            _ROW.format(place=place, id=each.id, subject=each.subject, priority=each.priority, age=_age(each.opened))
            for place, each in enumerate(self._tickets)
            if each.state == "open"
        )
        count = sum(each.state == "open" for each in self._tickets)
        return self._page(request, "Tickets", _LIST, rows=rows, count=count)

    async def _create(self, request: web.Request) -> web.Response:
        form = await request.post()
        ticket = _Ticket(html.escape(str(form["subject"])), html.escape(str(form["priority"])), time.time())
        self._tickets.insert(0, ticket)
        return _redirect(f"/tickets/{ticket.id}")

    def _find(self, request: web.Request) -> _Ticket:
        return next(each for each in self._tickets if each.id == request.path.split("/")[2])

    def _show(self, request: web.Request) -> web.Response:
        ticket = self._find(request)
        comments = "".join(
            f"<li>{text} <small>{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(at))}</small></li>"
            for at, text in ticket.comments
        )
        return self._page(
            request,
            ticket.subject,
            _TICKET,
            id=ticket.id,
            subject=ticket.subject,
            state=ticket.state,
            priority=ticket.priority,
            age=_age(ticket.opened),
            iso=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ticket.opened)),
            comments=comments,
        )

    async def _comment(self, request: web.Request) -> web.Response:
        ticket = self._find(request)
        ticket.comments.append((time.time(), html.escape(str((await request.post())["text"]))))
        return _redirect(f"/tickets/{ticket.id}")

    def _close(self, request: web.Request) -> web.Response:
        ticket = self._find(request)
        ticket.state = "closed"
        return _redirect(f"/tickets/{ticket.id}")


def _redirect(path: str) -> web.Response:
    return web.Response(status=302, headers={"Location": path})


def _age(opened: float) -> str:
    """Describe how long ago a ticket was opened."""
    seconds = int(time.time() - opened)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count = seconds // length
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def serve_helpdesk(*, port: int = 0) -> AbstractContextManager[OrdinarySite]:
    """Serve the help desk until the block ends."""
    return serve_ordinary(Helpdesk, port=port)
