"""The templates of the pages that reports write: self-contained, with every text escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from eikon_engine.network.keys import readable_key
from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from jinja2 import Template

MAX_LINE_LENGTH: Final = 2_000
"""Characters of a line that are shown."""


@cache
def page_template(name: str) -> Template:
    """Return a template; the style of all pages is its variable `style`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - a faithful replay has no page

    environment = Environment(
        loader=PackageLoader("eikon_engine.report", "page"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable_key"] = readable_key
    return environment.get_template(name, globals={"style": page_file("report.css")})


def page_file(name: str) -> str:
    """Return a file that a page contains."""
    return files("eikon_engine.report.page").joinpath(name).read_text(encoding="utf-8")


def _shown(value: object) -> object:
    """Return what is shown of a value: long lines are cut, and characters that change how others look are named."""
    if type(value) is not str:
        return value
    lines = (line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}…" for line in value.split("\n"))
    return escape_control_characters("\n".join(lines))
