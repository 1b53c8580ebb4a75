"""An exported test expects what the site draws to be another value of its kind, and everything else as recorded."""

from __future__ import annotations

import itertools
import re
import secrets
from typing import TYPE_CHECKING

import pytest

from eikon_engine.exporters.varying_parts import VaryingParts
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import AnswerDialog, Click, Navigate
from eikon_engine.trace.rules import ResponseValueRule
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, redirect, serve_pages
from tests.exporters.running import export, run
from tests.exporters.traces import body, trace_of
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.pages import Asked, PageSite

RULES = (
    ResponseValueRule(pattern='data-ticket="([0-9a-f]{12})"', reason="an id"),
    ResponseValueRule(pattern=r'data-number="(\d+)"', reason="a number"),
)

WORDS = {"title": "Ticket", "dialog": "Saved as", "path": "status", "link": "Open", "heading": "Yours:"}
OTHER = {"title": "Order", "dialog": "Lost", "path": "state", "link": "Shut", "heading": "Mine:"}


class TicketDesk:
    """A desk that draws an id, a number and a token for each visit."""

    def __init__(self, site: PageSite) -> None:
        """Serve the pages on a site."""
        self.site = site
        self.words = dict(WORDS)
        self._numbers = itertools.count(4711)
        site.answers |= {"/": self._start, "/status": self._status, "/state": self._status}

    def _start(self, _asked: Asked) -> Answer:
        return redirect(f"/{self.words['path']}?session={secrets.token_urlsafe(32)}&tab=2")

    def _status(self, _asked: Asked) -> Answer:
        ticket, number, words = secrets.token_hex(6), next(self._numbers), self.words
        return Answer(
            body=f"""<!doctype html><title>{words["title"]} {ticket}</title>
            <body data-ticket="{ticket}" data-number="{number}"><h1>{words["heading"]} {ticket}</h1>
            <a href="#{ticket}">{words["link"]} {ticket}</a>
            <button onclick="alert('{words["dialog"]} {number} (12 pages)')">Save</button>"""
        )


@pytest.fixture
def desk() -> Iterator[TicketDesk]:
    """Serve the desk."""
    with serve_pages() as site:
        yield TicketDesk(site)


@pytest.fixture
def bundle(desk: TicketDesk, tmp_path: Path) -> Path:
    """Record a visit; the trace has rules for the id and the number."""
    folder = tmp_path / "b"

    async def visit() -> None:
        async with open_recorder(folder, mission_text="Save it") as mission, mission.subgoal("Save it"):
            await mission.perform(Navigate(url=f"{desk.site.url}/"))
            await mission.perform(Click(target=Target(selector="a")))
            await mission.perform(AnswerDialog(accept=True))
            await mission.perform(Click(target=Target(selector="button")))

    SHARED.run(visit())
    trace = read_trace(folder)
    assert trace.network is not None
    assert [each.kind for each in trace.redaction.found] == ["address"]
    network = trace.network.model_copy(update={"rules": RULES})
    write_trace(trace.model_copy(update={"network": network}), folder)
    return folder


@pytest.mark.parametrize(
    ("recorded", "same", "other"),
    [
        ("Closes 18:30", "Closes 9:05:10 AM", "Opens 18:30"),
        ("On 2026-01-15", "On 2027-12-31", "On Monday"),
        ("15 January 2026 (a+b)", "1 March 2026 (a+b)", "15 January 2026 (aab)"),
        ("Read 5 minutes ago", "Read just now", "Sent 5 minutes ago"),
        ("7 in stock", "7 in stock", "8 in stock"),
        ("At http://127.0.0.1:4711/", "At http://127.0.0.1:4711/", "At http://127.0.0.1:4811/"),
        (f"Order {'0123456789abcdef' * 2}.", f"Order {'f' * 32}.", f"Order {'f' * 32}"),
        ("Id 11111111-2222-4333-8444-555555555555!", "Id aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee!", "Id none!"),
    ],
)
def test_only_the_varying_part_of_a_text_is_open(recorded: str, same: str, other: str) -> None:
    """The pattern of a text matches another moment, and no other text."""
    pattern = VaryingParts(trace_of()).text_pattern(recorded)

    assert re.fullmatch(pattern, recorded)
    assert re.fullmatch(pattern, same)
    assert not re.fullmatch(pattern, other)


@pytest.mark.browser
def test_it_passes_on_the_unchanged_site_and_fails_where_that_changed(
    bundle: Path, desk: TicketDesk, tmp_path: Path
) -> None:
    """Only the drawn parts of URL, title, heading, link and dialog are open."""
    test = export(bundle, tmp_path / "test")

    assert 'page.get_by_role("link", name=re.compile(r"^Open [0-9a-f]{12}$")).click()' in body(test)
    unchanged = run(test, tmp_path / "test")
    assert unchanged.passed, unchanged.output
    for name, changed in (
        ("title", "Order"),
        ("dialog", "Lost"),
        ("path", "state"),
        ("link", "Shut"),
        ("heading", "No"),
    ):
        desk.words = WORDS | {name: changed}
        assert not run(test, tmp_path / "test").passed, name
