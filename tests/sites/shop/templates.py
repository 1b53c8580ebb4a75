"""Fill the pages' templates: ``{{name}}`` is escaped, ``{{{name}}}`` is inserted unchanged."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from tests.sites.shop.catalogue import CATEGORIES
from tests.sites.shop.messages import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.sites.shop.messages import Request

FOLDER = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
_PLACE = re.compile(r"\{\{\{(\w+)\}\}\}|\{\{(\w+)\}\}")


@cache
def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def fill(template: str, /, **values: object) -> str:
    """Fill one template; a name without a value is an error."""

    def put(match: re.Match[str]) -> str:
        raw, escaped = match.groups()
        return str(values[raw]) if raw else escape(str(values[escaped]))

    return _PLACE.sub(put, _read(template))


def fill_each(template: str, rows: tuple[Mapping[str, object], ...]) -> str:
    """Fill one template once for each row."""
    return "".join(fill(template, **row) for row in rows)


def options(choices: Mapping[str, str], chosen: str = "") -> str:
    """Return the options of a select."""
    marks = {value: " selected" if value == chosen else "" for value in choices}
    return "".join(
        f'<option value="{escape(value)}"{marks[value]}>{escape(text)}</option>' for value, text in choices.items()
    )


def page(request: Request, title: str, main: str, script: str = "", status: HTTPStatus = HTTPStatus.OK) -> Answer:
    """Return a whole page: the shop's head and menu around ``main``, and the page's own script."""
    session = request.session
    menu = "".join(f'<li role="none"><a role="menuitem" href="/?category={c}">{c.title()}</a></li>' for c in CATEGORIES)
    text = fill(
        "layout.html",
        title=title,
        session=session.name,
        account=_read("signed_in.html" if session.user else "signed_out.html"),
        count=session.count,
        departments=menu,
        main=main,
        script=f'<script src="/static/{script}" defer></script>' if script else "",
    )
    return Answer(status=status, body=text.encode())


def bare_page(title: str, main: str, script: str = "") -> Answer:
    """Return a page without the shop's head, for frames and popups."""
    tag = f'<script src="/static/{script}" defer></script>' if script else ""
    return Answer(body=fill("bare.html", title=title, main=main, script=tag).encode())
