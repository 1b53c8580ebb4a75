"""Responses of a live site that differ only in the present time are not listed as changed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.files.wall_clock import utc_now
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import AnswerDialog, Click, Navigate
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Stock</title><p id=state>loading</p>
<script>fetch("/stock.json").then((r) => r.json()).then((found) => { state.textContent = found.count; });</script>"""


def test_a_response_with_the_present_time_is_not_listed(chromium: Browser, tmp_path: Path) -> None:
    """Its other values are, and explain what differs."""
    now = utc_now()

    def stock(count: int, at: datetime) -> Answer:
        body = f'{{"served_at": "{at.isoformat()}", "count": {count}}}'
        return Answer(body=body, content_type="application/json")

    with serve_pages() as site:
        site.answers["/"] = Answer(body=PAGE)
        site.answers["/stock.json"] = stock(4, now)
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(f"{site.url}/")
            expect(agent.page.locator("#state")).to_have_text("4")
        runs = {}
        for name, count, later in (("same", 4, 90), ("changed", 5, 95), ("old", 4, -86_400)):
            site.answers["/stock.json"] = stock(count, now + timedelta(seconds=later))
            runs[name] = replay(tmp_path / "b", tmp_path / name, network="live", secrets={})

    listed = {
        name: [value.part for change in run.network.response_changes for value in change.what]
        for name, run in runs.items()
    }
    assert listed == {"same": [], "changed": ["body $.count"], "old": ["body $.served_at"]}
    assert runs["same"].network.response_changes == ()
    assert [run.verdict for run in runs.values()] == ["faithful", "diverged", "faithful"]
    assert "GET" not in (tmp_path / "same" / "replay_summary.txt").read_text(encoding="utf-8").partition("Network")[2]


def test_a_dialog_with_the_present_time_is_the_recorded_one(tmp_path: Path) -> None:
    """Its message may have the time of the replay, and no other words or times."""
    now = utc_now()

    def say(words: str, at: datetime) -> Answer:
        return Answer(body=f"said = '{words} {at:%Y-%m-%d %H:%M:%S} UTC'", content_type="text/javascript")

    with serve_pages() as site:
        page = "<!doctype html><title>t</title><script src=/say.js></script><button onclick='alert(said)'>Save</button>"
        site.answers |= {"/": Answer(body=page), "/say.js": say("Saved at", now)}

        async def save() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Save") as mission, mission.subgoal("Save"):
                await mission.perform(Navigate(url=f"{site.url}/"))
                await mission.perform(AnswerDialog(accept=True))
                await mission.perform(Click(target=Target(selector="button")))

        SHARED.run(save())
        found = []
        for words, later in (("Saved at", 20), ("Lost at", 20), ("Saved at", -86_400)):
            site.answers["/say.js"] = say(words, now + timedelta(seconds=later))
            found.append(replay(tmp_path / "b", tmp_path / "run", network="live"))

    assert [run.verdict for run in found] == ["faithful", "diverged", "diverged"]
    assert [each.code for run in found for each in run.divergences] == ["dialog-changed", "dialog-changed"]
    click = found[0].subgoals[0].steps[-1]
    assert isinstance(click, ActionOutcome)
    assert click.masked == ("present time",)


LISTED = "<!doctype html><title>t</title><ul><li title='{name}, saved {at}'><button>{name}<i>{age}</i></button></ul>"


def test_a_target_with_the_present_time_is_the_recorded_one(chromium: Browser, tmp_path: Path) -> None:
    """Its name and text may have the time of the replay, as in a list of files; another name is another target."""
    now = utc_now()

    def listing(at: datetime, name: str = "prices.csv", age: str = "4s ago") -> Answer:
        return Answer(body=LISTED.format(name=name, at=f"{at:%Y-%m-%d %H:%M}", age=age))

    with serve_pages() as site:
        site.answers["/"] = listing(now)
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(f"{site.url}/")
            agent.page.get_by_title("saved").click()
            agent.page.get_by_role("button").click()
        later = now + timedelta(minutes=5)
        live = {
            "same": listing(later, age="next yr."),
            "other name": listing(later, name="orders.csv"),
            "long ago": listing(now - timedelta(days=9)),
        }
        found = {}
        for name, answer in live.items():
            site.answers["/"] = answer
            found[name] = replay(
                tmp_path / "b", tmp_path / name, network="live", now=lambda: later, on_divergence="continue"
            )

    assert found["same"].verdict == "faithful", [str(each) for each in found["same"].divergences]
    click = found["same"].subgoals[0].steps[-1]
    assert isinstance(click, ActionOutcome)
    assert click.masked == ("present time",)
    for name in ("other name", "long ago"):
        assert "target-changed" in {each.code for each in found[name].divergences}


SCRIPTED = """<!doctype html><title>Ticket</title>
<script>const ticket = {{"saved": "{saved}", "owner": "{owner}"}};</script>
<script type=application/json>{{"saved": "{saved}"}}</script>
<form action=/done method=post><input type=hidden name=start value={start}><input type=hidden name=size value={size}>
<button>Send</button></form>"""


def test_inline_scripts_and_requests_with_the_present_time_are_the_recorded_ones(
    chromium: Browser, tmp_path: Path
) -> None:
    """The data that a page has in a script may have the time of the replay, and so may what it sends; nothing else."""
    now = utc_now()

    def ticket(at: datetime, owner: str = "Ada", size: str = "3") -> Answer:
        start = int(at.timestamp() * 1_000_000)
        return Answer(body=SCRIPTED.format(saved=f"{at:%Y-%m-%dT%H:%M:%SZ}", owner=owner, start=start, size=size))

    with serve_pages() as site:
        site.answers |= {"/": ticket(now), "/done": Answer(body="<!doctype html><title>t</title><p>Done")}
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(f"{site.url}/")
            agent.page.get_by_role("button").click()
            expect(agent.page.get_by_text("Done")).to_be_visible()
        later = now + timedelta(seconds=90)
        live = {
            "same": ticket(later),
            "other owner": ticket(later, owner="Bob"),
            "other size": ticket(later, size="4"),
            "long ago": ticket(now - timedelta(days=1)),
        }
        runs = {}
        for name, answer in live.items():
            site.answers["/"] = answer
            runs[name] = replay(tmp_path / "b", tmp_path / name, network="live", on_divergence="continue")

    assert runs["same"].verdict == "faithful", [str(each) for each in runs["same"].divergences]
    (script,) = runs["other owner"].divergences
    assert "Ada" in script.detail
    assert "Bob" in script.detail
    assert script.because[0].startswith(f"GET {site.url}/: body line 2: recorded ")
    assert script.because[0].endswith("Bob")
    codes = [each.code for each in runs["other size"].divergences]
    assert codes == ["dom-changed", "request-changed"]
    assert "start" not in runs["other size"].divergences[0].detail
    assert [each.code for each in runs["long ago"].divergences] == ["dom-changed", "request-changed"]


OPENED = """<!doctype html><title>Ticket</title><p>Opened <b id=age></b> {unit}</p>
<script>age.textContent = Math.floor((Date.now() - {at}) / 1000);</script>"""


def test_an_age_by_the_clock_of_the_page_is_the_recorded_one(chromium: Browser, tmp_path: Path) -> None:
    """Pages have the time of the recording, so what the server does now is ahead; without a unit, a reason says so."""

    def ticket(at: datetime, unit: str) -> Answer:
        return Answer(body=OPENED.format(at=int(at.timestamp() * 1000), unit=unit))

    runs = {}
    with serve_pages() as site:
        for name, unit, shift in (
            ("same", "seconds ago", timedelta(hours=1)),
            ("old", "seconds ago", timedelta(minutes=55)),
            ("no unit", "so far", timedelta(hours=1)),
        ):
            now = utc_now()
            later = now + timedelta(hours=1)
            site.answers["/"] = ticket(now, unit)
            with recorded_page(chromium, tmp_path / name, TWICE) as agent:
                agent.page.goto(f"{site.url}/")
            site.answers["/"] = ticket(now + shift, unit)
            runs[name] = replay(tmp_path / name, tmp_path / f"run {name}", network="live", now=lambda at=later: at)

    assert [run.verdict for run in runs.values()] == ["faithful", "diverged", "diverged"]
    assert runs["old"].divergences[0].because == ()
    assert runs["no unit"].divergences[0].because[0].startswith("The pages of a live replay have the time of the rec")
