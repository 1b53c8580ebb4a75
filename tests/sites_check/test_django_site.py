"""The Django admin answers, accepts a sign-in, and stops with its block."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.error import URLError

import pytest

from tests.sites.django_site import DJANGO_PASSWORD, DJANGO_USER, serve_django
from tests.sites_check.visitor import Visitor

if TYPE_CHECKING:
    from pathlib import Path


def token(text: str) -> str:
    """Return the CSRF token of a form."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', text)
    assert found is not None
    return found.group(1)


def test_the_admin_takes_a_sign_in_and_a_new_note(tmp_path: Path) -> None:
    """An added note is in the list."""
    with serve_django(tmp_path) as url:
        visitor = Visitor(url)
        form = visitor.get("/admin/login/?next=/admin/")
        fields = {"username": DJANGO_USER, "password": DJANGO_PASSWORD, "next": "/admin/"}
        signed_in = visitor.post("/admin/login/", csrfmiddlewaretoken=token(form.text), **fields)
        empty = visitor.get("/admin/notes/note/add/")
        note = {"title": "Call the bank", "body": "", "priority": "high", "pinned": "on"}
        added = visitor.post("/admin/notes/note/add/", csrfmiddlewaretoken=token(empty.text), **note)
        listed = visitor.get("/admin/notes/note/?pinned__exact=1")

    assert (signed_in.status, signed_in.location) == (HTTPStatus.FOUND, "/admin/")
    assert added.status == HTTPStatus.FOUND
    assert "Call the bank" in listed.text
    assert "Order tea" not in listed.text


def test_the_admin_has_its_styles_and_ends_with_its_block(tmp_path: Path) -> None:
    """Static files are served without a front-end server, and the port is closed afterwards."""
    with serve_django(tmp_path) as url:
        visitor = Visitor(url)
        styles = visitor.get("/static/admin/css/base.css")

    assert (styles.status, styles.headers.get_content_type()) == (HTTPStatus.OK, "text/css")
    with pytest.raises(URLError):
        visitor.get("/admin/login/")


def test_a_site_that_cannot_start_reports_why(tmp_path: Path) -> None:
    """The error contains the reason that the process gave."""
    (tmp_path / "site.sqlite3").write_text("this is no database, whatever its name says", encoding="utf-8")

    with pytest.raises(RuntimeError, match="file is not a database"), serve_django(tmp_path):
        pass
