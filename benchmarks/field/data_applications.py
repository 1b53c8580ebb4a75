"""Browsers and editors of databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect

from benchmarks.field.application import Application, Place

BOOKS = """
create table author(id integer primary key, name text not null);
create table book(id integer primary key, title text not null, year integer, author_id integer references author(id));
insert into author values (1, 'Ursula Le Guin'), (2, 'Stanislaw Lem'), (3, 'Octavia Butler');
insert into book values (1, 'The Dispossessed', 1974, 1), (2, 'The Lathe of Heaven', 1971, 1), (3, 'Solaris', 1961, 2),
  (4, 'The Cyberiad', 1965, 2), (5, 'Kindred', 1979, 3);
"""


def make_books(place: Place) -> Path:
    """Write a small database."""
    path = place.home / "books.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(BOOKS)
    return path


def _start_datasette(place: Place) -> Sequence[str]:
    database = str(make_books(place))
    return [place.script("datasette"), "serve", database, "-h", "127.0.0.1", "-p", str(place.port)]


def filter_books(page: Page, url: str) -> None:
    """Find the books after 1970, newest first, and open one."""
    page.goto(url)
    page.get_by_role("link", name="books", exact=True).first.click()
    page.get_by_role("heading", name="book", exact=True).get_by_role("link").click()
    page.get_by_role("combobox").nth(0).select_option("year")
    page.get_by_role("combobox").nth(1).select_option(">")
    page.get_by_role("textbox").fill("1970")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", name="3 rows")).to_be_visible()
    page.get_by_role("columnheader", name="year").get_by_role("link").first.click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("The Lathe of Heaven")
    page.get_by_role("row").nth(1).get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("2")


async def query_authors(page: AsyncPage, url: str) -> None:
    """Count books by author in SQL."""
    await page.goto(f"{url}/books/book")
    await page.get_by_role("link", name="View and edit SQL").click()
    await page.locator(".CodeMirror, .cm-content").first.click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("select name, count(*) as n from book join author on author.id = author_id group by name")
    await page.get_by_role("button", name="Run SQL").click()
    await async_expect(page.get_by_role("row")).to_have_count(4)
    rows = await page.get_by_role("row").all_inner_texts()
    assert any("Stanislaw Lem" in row and "2" in row for row in rows), rows
    await page.get_by_role("link", name="hide").click()
    await async_expect(page.get_by_role("link", name="show")).to_be_visible()


def _start_sqlite_web(place: Place) -> Sequence[str]:
    return [place.script("sqlite_web"), "-x", "-H", "127.0.0.1", "-p", str(place.port), str(make_books(place))]


def insert_a_book(page: Page, url: str) -> None:
    """Insert a book and see it in the table."""
    page.goto(url)
    page.get_by_role("link", name="book", exact=True).click()
    page.get_by_role("link", name="Insert").click()
    page.get_by_role("textbox", name="title", exact=True).fill("Lilith's Brood")
    page.get_by_role("textbox", name="year").fill("1987")
    page.get_by_role("textbox", name="author_id").fill("3")
    page.get_by_role("button", name="Insert").click()
    page.get_by_role("link", name="Content", exact=True).click()
    expect(page.get_by_role("row", name="Lilith's Brood")).to_be_visible()
    assert "1987" in page.get_by_role("row", name="Lilith's Brood").inner_text()


async def create_a_table(page: AsyncPage, url: str) -> None:
    """Run a query, create a table, and drop it again."""
    await page.goto(url)
    await page.get_by_role("textbox", name="SQL query").fill("select title from book where year < 1970")
    await page.get_by_role("button", name="Execute").click()
    await async_expect(page.get_by_role("cell", name="Solaris")).to_be_visible()
    await page.get_by_role("button", name="Table").click()
    await page.get_by_role("textbox", name="New table name").fill("shelf")
    await page.get_by_role("button", name="Create").click()
    await async_expect(page.get_by_role("link", name="shelf").first).to_be_visible()
    await page.get_by_role("link", name="Drop", exact=True).first.click()
    await page.get_by_role("button", name="Drop").click()
    await async_expect(page.get_by_role("tablist").get_by_role("link", name="shelf")).to_have_count(0)


APPLICATIONS = (
    Application(
        name="datasette",
        kind="data",
        python=("datasette==0.65.5",),
        start=_start_datasette,
        ready="/-/versions.json",
        missions=(filter_books, query_authors),
    ),
    Application(
        name="sqlite-web",
        kind="data",
        python=("sqlite-web==0.8.2",),
        start=_start_sqlite_web,
        missions=(insert_a_book, create_a_table),
    ),
)
