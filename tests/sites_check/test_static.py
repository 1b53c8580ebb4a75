"""A folder is served unchanged."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

from tests.sites.static import content_type, serve_folder
from tests.sites_check.visitor import Visitor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.html", "text/html; charset=utf-8"),
        ("b.JS", "text/javascript; charset=utf-8"),
        ("c", "application/octet-stream"),
    ],
)
def test_content_types_follow_the_name(name: str, expected: str) -> None:
    """The suffix decides, in any case; content is not inspected."""
    assert content_type(name) == expected


def test_files_and_the_index_of_a_folder_are_served(tmp_path: Path) -> None:
    """A folder returns its index, the query is ignored, and a name may contain a space."""
    (tmp_path / "index.html").write_text("home", encoding="utf-8")
    (tmp_path / "two words.txt").write_text("words", encoding="utf-8")
    with serve_folder(tmp_path) as url:
        visitor = Visitor(url)
        replies = [visitor.get(path) for path in ("/", "/?a=1", "/two%20words.txt", "/missing.txt")]

    assert [reply.text for reply in replies[:3]] == ["home", "home", "words"]
    assert replies[3].status == HTTPStatus.NOT_FOUND


def test_nothing_outside_the_folder_is_served(tmp_path: Path) -> None:
    """Dots in the path do not lead outside of the folder."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    with serve_folder(tmp_path / "inside") as url:
        reply = Visitor(url).get("/..%2fsecret.txt")

    assert reply.status == HTTPStatus.NOT_FOUND
