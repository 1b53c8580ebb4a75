"""Sign visitors in and out."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import USERS
from tests.sites.shop.messages import redirect
from tests.sites.shop.templates import fill, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request


def _form(username: str, next_path: str, error: str) -> str:
    alert = fill("alert.html", id="login-error", text=error) if error else ""
    return fill("login.html", username=username, next=next_path, error=alert)


def show_login(request: Request) -> Answer:
    """Show the form."""
    return page(request, "Sign in", _form("", request.query.get("next", "/"), ""))


def sign_in(request: Request) -> Answer:
    """Start a new session for a known user, or show the form again with 401."""
    form = request.form()
    user, wanted = form.get("username", ""), form.get("next", "/")
    if USERS.get(user) != form.get("password"):
        main = _form(user, wanted, "The user name or the password is wrong.")
        return page(request, "Sign in", main, status=HTTPStatus.UNAUTHORIZED)
    session = request.shop.open_session(user, before=request.session)
    target = wanted if wanted.startswith("/") and not wanted.startswith("//") else "/"
    cookies = (f"sid={session.id}; Path=/; HttpOnly; SameSite=Lax", f"shopper={user}; Path=/; SameSite=Lax")
    return redirect(target, HTTPStatus.FOUND, *cookies)


def sign_out(request: Request) -> Answer:
    """Start an empty session for a guest."""
    session = request.shop.open_session()
    cookies = (f"sid={session.id}; Path=/; HttpOnly; SameSite=Lax", "shopper=; Path=/; Max-Age=0; SameSite=Lax")
    return redirect("/", HTTPStatus.FOUND, *cookies)
