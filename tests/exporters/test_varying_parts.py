"""An exported test expects what the site draws to be another value of its kind, and everything else as recorded."""

from __future__ import annotations

import ast
import itertools
import re
import secrets
from typing import TYPE_CHECKING

import pytest

from eikon_engine.exporters.varying_parts import VaryingParts
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import AnswerDialog, Click, Navigate
from eikon_engine.trace.execution import NetworkPart
from eikon_engine.trace.rules import ResponseValueRule
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, redirect, serve_pages
from tests.exporters.running import export, run
from tests.exporters.traces import body, trace_of
from tests.network.factories import make_exchange
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.pages import Asked, PageSite

RULES = (
    ResponseValueRule(pattern='data-ticket="([0-9a-f]{12})"', reason="an id"),
    ResponseValueRule(pattern=r'data-number="(\d+)"', reason="a number"),
)

WORDS = {"title": "Ticket", "dialog": "Saved as", "path": "status", "link": "Open/view", "heading": "Yours:"}
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


def parts_of(folder: Path, response: str, pattern: str) -> VaryingParts:
    """Return the varying parts of a recording with one response, in which a rule finds a value."""
    rule = ResponseValueRule(pattern=pattern, reason="a value")
    with NetworkWriter(folder) as writer:
        writer.append(make_exchange(response_body=writer.write_blob(response.encode())))
    return VaryingParts(trace_of(network=NetworkPart(rules=(rule,))), read_network(folder))


def compiled(source: str) -> re.Pattern[str]:
    """Return the regular expression that a source compiles."""
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    return re.compile(ast.literal_eval(call.args[0]))


def test_a_slash_does_not_end_the_name_in_a_selector(tmp_path: Path) -> None:
    """Neither in the words nor in the pattern of the value; one that is escaped already stays as it is."""
    parts = parts_of(tmp_path, "<a>Order 17/2026</a>", r"Order ([0-9]+/[0-9]+|\/)")

    source = parts.name_source("A/B 17/2026")

    pattern = compiled(source).pattern
    assert re.search(r"(?<!\\)/", pattern) is None
    assert re.fullmatch(pattern, "A/B 18/2027")
    assert re.search(r"\\\\/", pattern) is None
    assert parts.name_source("A/B") == '"A/B"'
    assert parts.drawn_source("A/B 17/2026").startswith('re.compile(r"^A/B (?:')


def test_spaces_in_the_pattern_of_a_value_stay(tmp_path: Path) -> None:
    """Only those between the words of the text may be any white space."""
    parts = parts_of(tmp_path, "<b>Jane Roe</b>", "<b>([^ ]+ [A-Z ]?oe)")

    source = parts.text_source("Dear Jane Roe , welcome")

    assert source is not None
    assert r"Dear\s+[^ ]+ [A-Z ]?oe\s+,\s+welcome" in source
    assert compiled(source).fullmatch("Dear  Jim Poe ,\nwelcome")


@pytest.mark.parametrize(
    ("response", "shown", "other"),
    [
        ('{"id": "Caf\\u00e9 & Bar"}', "Caf\u00e9 & Bar", "Th\u00e9 & Bar"),
        ('<p id="Tea &amp; Milk">', "Tea & Milk", "Tea & Salt"),
        ('<p id="Tea & Milk">', "Tea%20%26%20Milk", "Tea%20%26%20Salt"),
        ('<p id="a/b c">', "a%2Fb+c", "a%2Fd+c"),
        ('<p id="Tea &amp; Milk">', "VGVhICYgTWlsaw==", "VGVhICYgU2FsdA=="),
    ],
)
def test_a_drawn_value_is_open_in_every_encoding(tmp_path: Path, response: str, shown: str, other: str) -> None:
    """It is found in a response in one, and shown or sent in another."""
    parts = parts_of(tmp_path, response, '"?id"?[=:]"([^"]+)"')

    pattern = parts.drawn_pattern(f"Order {shown}")

    assert re.fullmatch(pattern, f"Order {shown}")
    assert re.fullmatch(pattern, f"Order {other}")
    assert not re.fullmatch(pattern, f"Offer {other}")


def test_a_value_in_an_alphabet_of_its_own_stays_narrow(tmp_path: Path) -> None:
    """Its pattern is that of the rule where it holds, and the alphabet of the encoding where it does not."""
    parts = parts_of(tmp_path, "<p id=0123456789ab>", "id=([0-9a-f]{12})")

    assert parts.drawn_pattern("No 0123456789ab") == "No [0-9a-f]{12}"
    assert parts.drawn_pattern("No MDEyMzQ1Njc4OWFi") == r"No [\w-]+"


def test_a_short_id_is_open_only_as_the_segment_of_a_record_that_is_used(tmp_path: Path) -> None:
    """With its site or without it; other numbers, and those of other sites and paths, are as recorded."""
    rule = ResponseValueRule(pattern='href="/tickets/([0-9]+)"', path="/tickets/*", reason="an id")
    links = b'<a href="/tickets/17"><a href="/tickets/16">'
    with NetworkWriter(tmp_path) as writer:
        listed = writer.write_blob(links)
        writer.append(make_exchange("http://shop.test/tickets", method="POST", response_body=listed))
        writer.append(make_exchange("http://shop.test/tickets/17", ordinal=1))
    parts = VaryingParts(trace_of(network=NetworkPart(rules=(rule,))), read_network(tmp_path))

    for text in ("/tickets/17/edit", "Saved as http://shop.test/tickets/17", "see /tickets/17."):
        opened = parts.drawn_pattern(text)
        assert re.fullmatch(opened, text.replace("17", "4711")), text
        assert not re.fullmatch(opened, text.replace("/tickets", "/orders")), text
    for text in ("/tickets/16", "/tickets/170", "/old/tickets/17", "http://other.test/tickets/17", "17 tickets"):
        assert not parts.are_drawn_in(text), text


@pytest.mark.parametrize("group", ["[a-z]{,3}", "[]a-z]+", r"\N{BULLET}|[a-z]+", r"\a|[a-z]+", "[^]]+"])
def test_a_pattern_that_javascript_reads_otherwise_becomes_any_text(tmp_path: Path, group: str) -> None:
    """So do the flags of the rule."""
    for number, pattern in enumerate((f"id=({group}) ", "(?i)ID=([A-Z]+) ")):
        parts = parts_of(tmp_path / str(number), "<p id=tea >", pattern)
        assert parts.drawn_pattern("No tea") == "No .+"


@pytest.mark.browser
def test_it_passes_on_the_unchanged_site_and_fails_where_that_changed(
    bundle: Path, desk: TicketDesk, tmp_path: Path
) -> None:
    """Only the drawn parts of URL, title, heading, link and dialog are open."""
    test = export(bundle, tmp_path / "test")

    assert r'page.get_by_role("link", name=re.compile(r"^Open\/view [0-9a-f]{12}$")).click()' in body(test)
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
