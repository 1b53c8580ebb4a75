"""Rules and masks of a trace apply to every network: that of the bundle, a HAR, another recording, and the site."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.masks import Mask, TextPart
from eikon_engine.trace.rules import (
    FormFieldRule,
    HeaderRule,
    JsonPathRule,
    PathSegmentRule,
    QueryKeyRule,
    QueryStampRule,
    ResponseValueRule,
    TelemetryRule,
    TimestampRule,
)
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

RULES = (
    QueryKeyRule(name="_", url="*/price", reason="query_key"),
    QueryStampRule(url="*/logo", reason="query_stamp"),
    PathSegmentRule(position=1, pattern="[0-9a-f]{8}", url="*/s/*", reason="path_segment"),
    JsonPathRule(path="$.at", url="*/visit", reason="json_path"),
    FormFieldRule(name="nonce", url="*/form", reason="form_field"),
    TimestampRule(url="*/log", reason="timestamp"),
    HeaderRule(name="X-Requested-With", url="*/head", reason="header"),
    TelemetryRule(url="*/collect", reason="telemetry"),
    ResponseValueRule(pattern="data-ticket=([0-9a-f]{12})", reason="response_value"),
)
COUNTER = TextPart(path="html > body > p#visitors", pattern=r"\d+ visitors")
MASK = Mask(name="visitors", reason="a counter", part=COUNTER)
PLAIN = ("price", "logo", "visit", "form", "log", "head", "collect")


class DrawingSite:
    """A shop that draws a ticket for each visit, and whose pages send other numbers each time."""

    def __init__(self, site: PageSite) -> None:
        """Serve the pages on a site."""
        self.site = site
        self.greeting = "Welcome"
        self._visits = itertools.count(1)
        self._visit = 0
        site.answers |= {
            "/": self._page,
            "/sends.js": self._script,
            **{f"/{each}": Answer(body="done") for each in PLAIN},
        }

    def draw_from(self, visit: int) -> None:
        """Go on with the values of this visit."""
        self._visits = itertools.count(visit)

    @property
    def ticket(self) -> str:
        """The ticket of the present visit."""
        return f"{self._visit * 0x5DEECE66D1:012x}"[-12:]

    def _page(self, _asked: Asked) -> Answer:
        self._visit = next(self._visits)
        segment = f"{self._visit * 0x9E3779B1:08x}"[-8:]
        self.site.answers[f"/s/{segment}/cart"] = Answer(body="empty")
        self.site.answers[f"/tickets/{self.ticket}"] = Answer(body=f"<!doctype html><title>{self.ticket}</title>open")
        return Answer(
            body=f"""<!doctype html><title>Ticket {self.ticket}</title><body data-ticket={self.ticket}>
            <h1>{self.greeting}, ticket {self.ticket}</h1><p id=visitors>{self._visit} visitors</p>
            <a href=/tickets/{self.ticket}>Ticket</a><script src=/sends.js></script>"""
        )

    def _script(self, _asked: Asked) -> Answer:
        number, segment = self._visit, f"{self._visit * 0x9E3779B1:08x}"[-8:]
        head = f"{{headers: {{'X-Requested-With': '{number}'}}}}"
        return Answer(
            content_type="text/javascript",
            body=f"""
            fetch('/price?_={number}'); fetch('/logo?17000000{number:02}00'); fetch('/s/{segment}/cart')
            fetch('/visit', {{method: 'POST', body: '{{"at": {number}, "ticket": "{self.ticket}"}}'}})
            fetch('/form', {{method: 'POST', body: new URLSearchParams({{nonce: '{number}', item: '7'}})}})
            fetch('/log', {{method: 'POST', body: 'seen 2026-01-02T03:04:{number:02}Z'}})
            fetch('/head'); fetch('/head', {head})
            fetch('/collect?n={number}', {{method: 'POST', body: 'v{number}'}})""",
        )


@pytest.fixture
def shop() -> Iterator[DrawingSite]:
    """Serve the shop."""
    with serve_pages() as site:
        yield DrawingSite(site)


def record(shop: DrawingSite, folder: Path) -> Path:
    """Record a visit; the trace has the rules and the mask."""

    async def visit() -> None:
        async with open_recorder(folder, mission_text="Look") as mission, mission.subgoal("Look"):
            await mission.perform(Navigate(url=f"{shop.site.url}/"))
            await mission.perform(Click(target=Target(selector="a")))

    SHARED.run(visit())
    trace = read_trace(folder)
    assert trace.network is not None
    network = trace.network.model_copy(update={"rules": RULES})
    write_trace(trace.model_copy(update={"network": network, "masks": (MASK,)}), folder)
    return folder


def record_visit(url: str, folder: Path) -> Path:
    """Record a visit of one page; the trace has the rules."""

    async def visit() -> None:
        async with open_recorder(folder, mission_text="Look") as mission, mission.subgoal("Look"):
            await mission.perform(Navigate(url=url))

    SHARED.run(visit())
    trace = read_trace(folder)
    assert trace.network is not None
    write_trace(trace.model_copy(update={"network": trace.network.model_copy(update={"rules": RULES})}), folder)
    return folder


def messages(outcome: ReplayOutcome) -> list[str]:
    """Return what differs."""
    return [each.message + each.detail for each in outcome.divergences]


def exported_har(bundle: Path, path: Path) -> Path:
    """Export the network of a bundle."""
    assert run_command(eikon, ["export", "har", str(bundle), "--output", str(path)], "eikon") == 0
    return path


USED = ["query_key", "query_stamp", "path_segment", "json_path", "form_field", "timestamp", "header", "telemetry"]


def test_rules_apply_to_a_har_of_another_visit(shop: DrawingSite, tmp_path: Path) -> None:
    """What the server drew for the visit of the HAR stands for what it drew for the recorded one."""
    bundle = record(shop, tmp_path / "b")
    har = exported_har(record(shop, tmp_path / "other"), tmp_path / "other.har")

    outcome = replay(bundle, tmp_path / "run", har=har, on_divergence="continue")

    assert messages(outcome) == []
    assert outcome.verdict == "faithful"
    assert outcome.network.misses == ()
    assert {each.reason for each in outcome.network.rules_applied} == {*USED, "response_value"}


def test_another_text_of_a_har_is_a_difference(shop: DrawingSite, tmp_path: Path) -> None:
    """Rules cover the values that they name and nothing else."""
    bundle = record(shop, tmp_path / "b")
    shop.greeting = "Goodbye"
    har = exported_har(record(shop, tmp_path / "other"), tmp_path / "other.har")

    outcome = replay(bundle, tmp_path / "run", har=har, on_divergence="continue")

    assert [each.code for each in outcome.divergences] == ["dom-changed"]
    assert [str(value) for each in outcome.divergences for value in each.because] == [
        f"GET {shop.site.url}/: body line 2: recorded Welcome, ticket 005deece66d1, live Goodbye, ticket 005deece66d1"
    ]


def test_rules_apply_to_the_responses_of_another_recording(shop: DrawingSite, tmp_path: Path) -> None:
    """Another recording of the unchanged site is no difference."""
    bundle, other = record(shop, tmp_path / "b"), record(shop, tmp_path / "other")

    outcome = replay(bundle, tmp_path / "run", responses_from=other, on_divergence="continue")

    assert messages(outcome) == []
    assert outcome.verdict == "faithful"
    assert not any("ticket" in str(value) for each in outcome.network.response_changes for value in each.what)


def test_a_rule_that_both_recordings_need_counts_once(tmp_path: Path) -> None:
    """A request with a value that is in neither recording is one request."""
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(
                body="""<!doctype html><title>Key</title><h1>Key</h1><script>
                crypto.subtle.generateKey({name: 'AES-GCM', length: 128}, true, ['encrypt'])
                    .then(key => crypto.subtle.exportKey('jwk', key))
                    .then(key => fetch('/price?_=' + key.k))</script>"""
            ),
            "/price": Answer(body="1"),
        }
        bundle, other = (record_visit(f"{site.url}/", tmp_path / name) for name in ("b", "other"))

        outcome = replay(bundle, tmp_path / "run", responses_from=other, on_divergence="continue")

    assert messages(outcome) == []
    assert [(each.reason, each.times) for each in outcome.network.rules_applied] == [("query_key", 1)]


@pytest.mark.parametrize("step", [1, 2])
def test_rules_apply_after_resuming_on_the_site(shop: DrawingSite, tmp_path: Path, step: int) -> None:
    """The site draws its values anew where a replay goes on live."""
    bundle = record(shop, tmp_path / "b")

    outcome = replay(bundle, tmp_path / "run", from_step=step, then_network="live", on_divergence="continue")

    assert messages(outcome) == []
    assert outcome.verdict == "faithful"
    assert outcome.network.unmatched == ()
    assert not any("ticket" in str(value) for each in outcome.network.response_changes for value in each.what)


def test_another_text_of_the_site_is_a_difference(shop: DrawingSite, tmp_path: Path) -> None:
    """Rules cover the values that they name and nothing else, also on the site."""
    bundle = record(shop, tmp_path / "b")
    shop.greeting = "Goodbye"

    outcome = replay(bundle, tmp_path / "run", from_step=1, then_network="live", on_divergence="continue")

    assert [each.code for each in outcome.divergences] == ["dom-changed"]


def test_own_network_and_live_network_need_no_difference(shop: DrawingSite, tmp_path: Path) -> None:
    """The same trace is faithful sealed and live."""
    bundle = record(shop, tmp_path / "b")

    outcomes = [replay(bundle, tmp_path / each, network=each, on_divergence="continue") for each in ("sealed", "live")]

    assert [messages(each) for each in outcomes] == [[], []]
    assert [each.verdict for each in outcomes] == ["faithful", "faithful"]
