"""The documentation site is built from docs/ without a warning, and needs no other host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from typing import TYPE_CHECKING

import pytest

import eikon_engine
from tests.architecture.sources import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_PICTURE = 200_000
PICTURE = re.compile(r"!\[[^\]]+\]\(pictures/([\w-]+\.png)\)")
LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?((?:https?:)?//[^\"'\s>]+)")
LINKED = re.compile(r"<link\b[^>]*\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)")
IMPORTED = re.compile(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"'\s)]+)")
SECTION = re.compile(r'<h3 id="([\w.]+)" class="doc doc-heading">')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `scripts/build_site` does: a broken link, anchor or name fails."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_pictures_are_small_and_shown() -> None:
    """Each picture that `scripts/take_screenshots` took is on a page, with a text, and has at most 200 kB."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (PROJECT / "docs").glob("*.md"))
    sizes = {path.name: path.stat().st_size for path in (PROJECT / "docs" / "pictures").iterdir()}

    assert sorted(set(PICTURE.findall(pages))) == sorted(sizes)
    assert [name for name, size in sizes.items() if size > LARGEST_PICTURE] == []


def test_every_page_is_in_the_site(site: Path) -> None:
    """Each page of docs/ has one in the site."""
    pages = {path.relative_to(PROJECT / "docs").with_suffix("") for path in (PROJECT / "docs").rglob("*.md")}

    absent = [
        page.as_posix()
        for page in sorted(pages)
        if not (site / (page.parent if page.name in {"index", "README"} else page) / "index.html").is_file()
    ]

    assert absent == []


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    """Scripts, styles, fonts and pictures of the site are files of the site."""
    found = [
        f"{path.relative_to(site)}: {address}"
        for path in (*site.rglob("*.html"), *site.rglob("*.css"))
        for pattern in (LOADED, LINKED, IMPORTED)
        for address in pattern.findall(path.read_text(encoding="utf-8"))
    ]

    assert found == []


def test_the_api_reference_has_every_public_name(site: Path) -> None:
    """Each name that the package exports has a section of the reference, with the first line of its docstring."""
    page = (site / "api" / "index.html").read_text(encoding="utf-8")
    parts = SECTION.split(page)
    sections = {
        path.rpartition(".")[2]: " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())
        for path, text in zip(parts[1::2], parts[2::2], strict=True)
    }

    undocumented = [
        name
        for name in eikon_engine.__all__
        if _first_line(getattr(eikon_engine, name)) not in sections.get(name, "").replace("¶", "")
    ]

    assert undocumented == []


def _first_line(documented: object) -> str:
    line = (documented.__doc__ or "").strip().partition("\n")[0]
    assert line
    return line.replace("`", "")
