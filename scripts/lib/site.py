"""Adapt pages to the site that mkdocs builds from docs/; see mkdocs.yml."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?:deploy|scenarios|scripts|benchmarks|tests)/[\w./-]*)\)")
"""A link to a file of the repository that is not a page."""
FILE_NAME = re.compile(r"\[(?:[\w-]+/)*[\w-]+\.md\]\(([\w./-]+\.md)((?:#[\w-]+)?)\)")
"""A link whose text is the name of a page's file."""


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Name files outside docs/ instead of linking to them, and call pages by their titles instead of their files."""
    folder = Path(page.file.abs_src_path or "").parent
    named = OUTSIDE.sub(lambda link: _name_file(text=link[1], path=link[2]), markdown)
    return FILE_NAME.sub(lambda link: f"[{_title(folder / link[1])}]({link[1]}{link[2]})", named)


def _name_file(*, text: str, path: str) -> str:
    return f"`{path}`" if text.strip("`") == path else f"{text} (`{path}`)"


def _title(page: Path) -> str:
    """Return the heading of a page; a missing page keeps its name, and mkdocs reports it."""
    if not page.is_file():
        return page.name
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").replace("`", "")
