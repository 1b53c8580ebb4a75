"""The short id of a new record stands for the recorded one in its path, on every network; that of others never."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.learn_recordings import learn_from_recordings
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.record.rerecord import rerecord, with_recorded_environment
from eikon_engine.trace.actions import Click, Fill, Navigate
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import AddRule
from eikon_engine.trace.rules import ResponseValueRule
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

RULE = ResponseValueRule(url="*/tickets", pattern='"id":([0-9]{1,9})(?=,)', path="/tickets/*", reason="the id")


class TicketDesk:
    """A desk that numbers its tickets."""

    def __init__(self, site: PageSite, first: int = 17) -> None:
        """Serve the pages on a site; its first ticket is that of this number."""
        self.site = site
        self.linked: int | None = None
        """The ticket to which a page links instead of to its own."""
        self._numbers = count(first)
        site.answers |= {"/": Answer(body=START), "/tickets": self._create, "/saved": Answer(body=START)}

    def _create(self, _asked: Asked) -> Answer:
        number = next(self._numbers)
        linked = self.linked or number
        edit = EDIT.replace("OTHER", str(linked)).replace("NUMBER", str(number))
        self.site.answers[f"/tickets/{number}/edit"] = Answer(body=edit)
        self.site.answers[f"/tickets/{number}/notes"] = Answer(body="none")
        return Answer(body=json.dumps({"id": number, "open": 17}), content_type="application/json")


START = """<!doctype html><title>Tickets</title><button id=new>New</button><p id=made></p><script>
document.getElementById('new').onclick = async () => {
  const made = await (await fetch('/tickets', {method: 'POST'})).json();
  document.getElementById('made').innerHTML = `<a id=open href='/tickets/${made.id}/edit'>Open</a> ${made.open}` }
</script>"""
EDIT = """<!doctype html><title>Edit</title><h1>Edit</h1><a id=history href="/tickets/OTHER/history">History</a>
<form action=/saved><input id=name><input id=next name=next value=/tickets/NUMBER/notes><button>Save</button></form>
<iframe src=/tickets/NUMBER/notes></iframe><script>
localStorage.setItem('last', location.pathname); sessionStorage.setItem('at', location.href)
document.cookie = 'seen=' + location.pathname; fetch('/tickets/NUMBER/notes?from=' + encodeURIComponent(location.href))
fetch('/saved', {method: 'POST', body: JSON.stringify({self: location.href, up: '/tickets/NUMBER'})})</script>"""


@pytest.fixture
def desk() -> Iterator[TicketDesk]:
    """Serve the desk."""
    with serve_pages() as site:
        yield TicketDesk(site)


def record(desk: TicketDesk, folder: Path, *rules: ResponseValueRule, last: Navigate | None = None) -> Path:
    """Record a visit that creates a ticket and edits it, and a `last` action."""

    async def visit() -> None:
        async with open_recorder(folder, mission_text="Create") as mission, mission.subgoal("Create"):
            await mission.perform(Navigate(url=f"{desk.site.url}/"))
            await mission.perform(Click(target=Target(selector="#new")))
            await mission.perform(Click(target=Target(selector="#open")))
            await mission.perform(Fill(target=Target(selector="#name"), text="Ann"))
            await mission.perform(Click(target=Target(selector="form button")))
            if last is not None:
                await mission.perform(last)

    SHARED.run(visit())
    trace = read_trace(folder)
    assert trace.network is not None
    write_trace(trace.model_copy(update={"network": trace.network.model_copy(update={"rules": rules})}), folder)
    return folder


def differences(outcome: ReplayOutcome) -> list[str]:
    """Return what differs."""
    found = [each.message + each.detail for each in outcome.divergences]
    return [*found, *outcome.network.unmatched, *(each.key for each in outcome.network.misses)]


NETWORKS = ("live", "har", "responses_from", "then_live")


def replay_on(network: str, bundle: Path, desk: TicketDesk, folder: Path) -> ReplayOutcome:
    """Replay a visit with the responses of another one."""
    if network == "live":
        return replay(bundle, folder / "run", network="live", on_divergence="continue")
    if network == "then_live":
        return replay(bundle, folder / "run", from_step=1, then_network="live", on_divergence="continue")
    other = record(desk, folder / "other")
    if network == "responses_from":
        return replay(bundle, folder / "run", responses_from=other, on_divergence="continue")
    har = folder / "other.har"
    assert run_command(eikon, ["export", "har", str(other), "--output", str(har)], "eikon") == 0
    return replay(bundle, folder / "run", har=har, on_divergence="continue")


@pytest.mark.parametrize("network", NETWORKS)
def test_the_id_of_the_new_record_stands_for_the_recorded_one(desk: TicketDesk, tmp_path: Path, network: str) -> None:
    """In URLs of pages, frames, requests, links and forms, in storage and cookies."""
    bundle = record(desk, tmp_path / "b", RULE)

    outcome = replay_on(network, bundle, desk, tmp_path)

    assert differences(outcome) == []
    assert outcome.verdict == "faithful"
    assert [each.reason for each in outcome.network.rules_applied] == ["the id"]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("linked", [17, 9])
def test_a_link_to_another_record_is_another_link(desk: TicketDesk, tmp_path: Path, network: str, linked: int) -> None:
    """Also to that which has the recorded number: it is another record than the new one."""
    bundle = record(desk, tmp_path / "b", RULE)
    desk.linked = linked

    outcome = replay_on(network, bundle, desk, tmp_path)

    assert {each.code for each in outcome.divergences} == {"dom-changed"}
    assert "/tickets/17/history" in outcome.divergences[0].expected


def test_recordings_with_different_ids_teach_a_rule(desk: TicketDesk, tmp_path: Path) -> None:
    """With it they are equal; without it, a link to another record is a difference."""
    bundle, other = (record(desk, tmp_path / name) for name in ("b", "other"))
    desk.linked = 17
    changed = record(desk, tmp_path / "changed")

    equal, different = (learn_from_recordings(*map(open_bundle, (bundle, each))).report for each in (other, changed))

    assert (equal.status, equal.differences) == ("proposed", ())
    (rule,) = [each.rule for each in equal.patch.operations if isinstance(each, AddRule)]
    assert isinstance(rule, ResponseValueRule)
    assert (rule.pattern, rule.path) == (RULE.pattern, RULE.path)
    assert different.status == "different"
    assert {each.code for each in different.differences} == {"dom-changed"}
    assert all("'/tickets/17/history' in one recording" in each.message for each in different.differences)
    assert all("'/tickets/17-other/history' in the other" in each.message for each in different.differences)


def test_a_mission_that_is_recorded_again_uses_the_new_id(desk: TicketDesk, tmp_path: Path) -> None:
    """In the paths of its actions; the same number in a parameter stays."""
    bundle = record(desk, tmp_path / "b", RULE, last=Navigate(url=f"{desk.site.url}/tickets/17/notes?open=17"))
    desk.site.answers |= {"/tickets/17/notes": Answer(body="old"), "/tickets/18/notes": Answer(body="none")}

    again = open_bundle(bundle)
    SHARED.run(rerecord(again, tmp_path / "again", with_recorded_environment(again, RecordOptions())))

    (attempt,) = read_trace(tmp_path / "again").subgoal_traces
    last = attempt.actions_taken[-1]
    assert isinstance(last.action, Navigate)
    assert last.action.url == f"{desk.site.url}/tickets/18/notes?open=17"
    assert last.result.kind == "ok"


def test_the_id_stands_for_the_recorded_one_on_another_deployment(desk: TicketDesk, tmp_path: Path) -> None:
    """The live site has another host; the rule applies to both."""
    bundle = record(desk, tmp_path / "b", RULE)
    with serve_pages() as other:
        TicketDesk(other, first=30)
        found = replay(
            bundle,
            tmp_path / "run",
            network="live",
            base_urls={desk.site.url: other.url},
            on_divergence="continue",
        )

    assert differences(found) == []
    assert found.verdict == "faithful"
