from __future__ import annotations

import re

import pytest

from eikon_engine.cli.main import COMMANDS
from tests.architecture.sources import PROJECT

DOCS = PROJECT / "docs"
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")


def test_every_page_can_be_reached_from_the_index() -> None:
    """Each page in docs/ and docs/adr/ is linked from docs/index.md."""
    linked = set(LINK.findall((DOCS / "index.md").read_text(encoding="utf-8")))

    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}

    assert sorted(pages - linked) == []


def test_links_lead_somewhere() -> None:
    """Every relative link in the documents of the project names a file that exists."""
    pages = (*PROJECT.glob("*.md"), *DOCS.rglob("*.md"), PROJECT / "replay_artifacts" / "README.md")

    broken = [
        f"{page.relative_to(PROJECT)} -> {link}"
        for page in pages
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]

    assert broken == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_is_documented(command: str) -> None:
    """A page of docs/ shows how `eikon COMMAND` is called."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))

    assert f"eikon {command}" in text
