"""What a living site varies has types: each is learned with its evidence, and other changes are still found."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.certify import MAX_REPEATED_ROUNDS, accept, certify
from eikon_engine.certify.learn_recordings import learn_from_recordings
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer, redirect, serve_pages
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.outcome.learning import LearningReport
    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

PAGE = "<!doctype html><title>Shop</title><h1 id=title>Shop</h1>{}"


@contextmanager
def shop(body: Callable[[int], str]) -> Iterator[PageSite]:
    """Serve a page whose body is made anew at each visit, from the number of the visit."""
    visits = count()
    with serve_pages() as site:

        def show(_asked: Asked) -> Answer:
            return Answer(body=PAGE.format(body(next(visits))))

        site.answers["/"] = show
        yield site


def record(folder: Path, site: PageSite) -> Path:
    """Record a visit."""

    async def visit() -> None:
        options = RecordOptions(random_seed=1)
        recorder = open_recorder(folder, mission_text="Look", mission_id="look", options=options)
        async with recorder as mission, mission.subgoal("Look", subgoal_id="look"):
            await mission.perform(Navigate(url=site.url))

    asyncio.run(visit())
    return folder


def certify_live(bundle: Path, *, runs: int = 2) -> CertificationReport:
    """Certify on the site, and accept what is proposed."""
    recorded = open_bundle(bundle)
    certification = asyncio.run(certify(recorded, CertifyOptions(runs=runs, network="live")))
    report = certification.report
    return accept(recorded, certification) if report.certificate is not None else report


def reasons(report: CertificationReport | LearningReport) -> list[str]:
    """Return the evidence of what was learned."""
    operations = report.patch.model_dump()["operations"]
    return [(each.get("mask") or each.get("rule"))["reason"] for each in operations]


ITEMS = ("Tea", "Milk", "Rice", "Salt")


def items_of(visit: int) -> list[str]:
    """Return the items in another order at each visit."""
    turned = visit % len(ITEMS)
    return [*ITEMS[turned:], *ITEMS[:turned]]


def listed(items: list[str]) -> str:
    """Write a list."""
    return f"<ul id=items>{''.join(f'<li>{each}</li>' for each in items)}</ul>"


def test_a_list_in_another_order_at_each_visit_is_masked_in_its_order_only(tmp_path: Path) -> None:
    """The evidence counts items and orders; a missing, changed or additional item is still found."""
    changes: list[Callable[[list[str]], list[str]]] = []
    with shop(lambda visit: listed(changes[-1](items_of(visit)) if changes else items_of(visit))) as site:
        bundle = record(tmp_path / "b", site)
        report = certify_live(bundle)
        same = replay(bundle, tmp_path / "same", network="live")
        sealed = replay(bundle, tmp_path / "sealed")
        found = []
        for change in (
            lambda items: [each for each in items if each != "Milk"],
            lambda items: [each.replace("Rice", "Wheat") for each in items],
            lambda items: [*items, "Tea"],
        ):
            changes.append(change)
            found.append(replay(bundle, tmp_path / f"changed-{len(changes)}", network="live"))

    assert report.status == "certified", report.findings
    assert reasons(report) == ["order: the same 4 elements came in 4 orders in 4 observations"]
    assert (same.verdict, sealed.verdict) == ("faithful", "faithful"), same.divergences
    assert [[each.code for each in outcome.divergences] for outcome in found] == [["dom-changed"]] * 3


def test_an_order_that_the_site_changed_once_is_a_difference(tmp_path: Path) -> None:
    """All runs agree on the new order: nothing varies."""
    with shop(lambda visit: listed(items_of(min(visit, 1)))) as site:
        report = certify_live(record(tmp_path / "b", site))

    assert (report.status, report.patch.operations) == ("diverged", ())


def test_two_recordings_teach_an_order(tmp_path: Path) -> None:
    """The evidence says that there were two orders in two observations."""
    with shop(lambda visit: listed(items_of(visit))) as site:
        first, second = (open_bundle(record(tmp_path / name, site)) for name in ("first", "second"))

    report = learn_from_recordings(first, second).report

    assert (report.status, report.differences) == ("proposed", ())
    assert reasons(report) == ["order: the same 4 elements came in 2 orders in 2 observations"]


COUNTED = (
    "<p id=visits data-visit={visit}>Visits: {visit}</p><p id=price>Price: {price} EUR</p><p id=left>{left} left</p>"
    "<script>const visit = Number(visits.dataset.visit); fetch('/seen?visit=' + visit);"
    "fetch('/save', {{method: 'POST', body: JSON.stringify({{visit}})}})</script>"
)


@contextmanager
def counting_shop(changes: dict[str, object]) -> Iterator[PageSite]:
    """Serve a page that counts its visits from 41, also in what it sends; `changes` replace what it shows."""

    def body(visit: int) -> str:
        shown = {"visit": 41 + visit, "price": 12, "left": 7} | changes
        return COUNTED.format(**shown)

    with shop(body) as site:
        site.answers["/seen"] = Answer(body="{}", content_type="application/json")
        site.answers["/save"] = Answer(body="{}", content_type="application/json")
        yield site


def test_a_counter_is_learned_in_texts_attributes_and_requests(tmp_path: Path) -> None:
    """The evidence has the values; a counter that falls back, another price and other words are still found."""
    changes: dict[str, object] = {}
    with counting_shop(changes) as site:
        bundle = record(tmp_path / "b", site)
        report = certify_live(bundle)
        same = [replay(bundle, tmp_path / f"same-{number}", network="live") for number in range(2)]
        sealed = replay(bundle, tmp_path / "sealed")
        found: list[str] = []
        others: tuple[dict[str, object], ...] = ({"visit": 40}, {"price": 13}, {"left": 6}, {"left": "None"})
        for other in others:
            changes.clear()
            changes.update(other)
            found.append(replay(bundle, tmp_path / f"changed-{len(found)}", network="live").verdict)

    assert report.status == "certified", report.findings
    assert {each.partition(":")[0] for each in reasons(report)} == {"counter from 41"}
    assert all("41, 4" in each for each in reasons(report))
    operations = report.patch.model_dump()["operations"]
    kinds = sorted((each.get("mask") or {"part": each.get("rule")})["part"]["kind"] for each in operations)
    assert kinds == ["attribute", "json_path", "query_key", "text"]
    assert [each.verdict for each in (*same, sealed)] == ["faithful"] * 3, same[0].divergences
    assert found == ["diverged"] * 4


PRICES = (
    "<p>Now {0} EUR</p><p>$<b>{0}</b></p><p class=unit-price>{0}</p><p>From {0}, with tax &euro; 9</p>"
    "<p title='only {0} EUR'>Tea</p>"
)


def test_a_price_that_rises_at_each_visit_is_no_counter(tmp_path: Path) -> None:
    """Neither with a currency sign in its text or beside it, nor in an element that is named after it."""
    with shop(lambda visit: PRICES.format(41 + visit)) as site:
        report = certify_live(record(tmp_path / "b", site))

    assert (report.status, report.patch.operations) == ("unstable", ())


LOADS = (12, 37, 25, 31, 18, 40, 22)


def test_a_number_that_rises_and_falls_is_learned_with_its_range(tmp_path: Path) -> None:
    """A number outside of the range, and other words around it, are differences."""
    shown: list[str] = []
    with shop(lambda visit: f"<p>CPU load {shown[-1] if shown else f'{LOADS[visit % len(LOADS)]} %'}</p>") as site:
        bundle = record(tmp_path / "b", site)
        report = certify_live(bundle)
        verdicts = {}
        for text in ("62 %", "0 %", "63 %", "37 &deg;C"):
            shown.append(text)
            verdicts[text] = replay(bundle, tmp_path / f"run-{len(shown)}", network="live").verdict

    assert report.status == "certified", report.findings
    assert reasons(report) == ["number from 0 to 62: 12, 37, 25, 31 in 4 observations"]
    assert verdicts == {"62 %": "faithful", "0 %": "faithful", "63 %": "diverged", "37 &deg;C": "diverged"}


RARELY_OTHER = (3, 3, 3, 30, 3, 3, 21, 3, 30, 21, 3, 21)


def test_runs_that_disagree_about_a_number_are_followed_by_more(tmp_path: Path) -> None:
    """Two values far from each other have no type; a third one, in a later round, tells it."""
    with shop(lambda visit: f"<p>{RARELY_OTHER[visit % len(RARELY_OTHER)]} users</p>") as site:
        report = certify_live(record(tmp_path / "b", site))

    assert report.status == "certified", report.findings
    assert reasons(report) == ["number from 0 to 57: 3, 3, 3, 30, 3, 3 … in 8 observations"]
    assert report.rounds == 4


def test_two_counts_that_take_turns_are_learned(tmp_path: Path) -> None:
    """No change of the site goes back."""
    with shop(lambda visit: f"<p>{8 if visit in (0, 1, 4, 8) else 7} requests</p>") as site:
        report = certify_live(record(tmp_path / "b", site))

    assert report.status == "certified", report.findings
    assert reasons(report) == ["number from 6 to 9: 8, 8, 7, 7, 8, 7 in 6 observations"]


def test_a_number_with_two_values_gets_no_type_however_often_it_is_seen(tmp_path: Path) -> None:
    """The rounds end."""
    with shop(lambda visit: f"<p>{30 if visit == 3 else 3} users</p>") as site:
        report = certify_live(record(tmp_path / "b", site))

    assert (report.status, report.patch.operations) == ("unstable", ())
    assert report.rounds == 1 + MAX_REPEATED_ROUNDS


def test_what_fails_in_all_runs_is_not_tried_again_and_again(tmp_path: Path) -> None:
    """One run tells whether it still fails after a proposal; a number without a type makes no difference to that."""
    shown: list[str] = []
    broken = "<script>throw new Error('down')</script>"
    with shop(lambda visit: f"<p>{visit % 2 * 27 + 3} users</p>{broken if visit else ''}") as site:
        bundle = open_bundle(record(tmp_path / "b", site))
        options = CertifyOptions(runs=2, network="live", progress=shown.append)
        report = asyncio.run(certify(bundle, options)).report

    assert (report.status, report.rounds, report.runs) == ("diverged", 2, 1)
    assert "page-error-changed" in {each.code for each in report.findings}
    assert shown[-1].endswith("the same actions fail as before, so no more is tried")


def test_a_number_that_shows_the_difference_of_two_clocks_is_named(tmp_path: Path) -> None:
    """Its page has the time of the recording, and the server the present one."""

    def age(visit: int) -> str:
        at = utc_now() + timedelta(hours=1 if visit else 0)
        script = f"age.textContent = Math.floor((Date.now() - {at.timestamp() * 1000:.0f}) / 1000)"
        return f"<p id=age></p><script src='data:text/javascript,{script}'></script>"

    with shop(age) as site:
        bundle = open_bundle(record(tmp_path / "b", site))
        options = CertifyOptions(runs=2, network="live", now=lambda: utc_now() + timedelta(hours=1))
        report = asyncio.run(certify(bundle, options)).report

    assert report.status in {"diverged", "unstable"}
    assert "The pages of a live replay have the time of the recording" in report.findings[0].message


BY_SCRIPT = (
    "<button id=new>New</button><p id=made></p><script>document.getElementById('new').onclick = async () => {"
    "const made = await (await fetch('/tickets', {method: 'POST'})).json();"
    "document.getElementById('made').innerHTML = `<a id=open href='/tickets/${made.id}'>Open</a>` }</script>"
)
BY_FORM = "<form method=post action=/tickets><button id=new>New</button></form>"
TICKET = (
    "<p id=name>Ticket #{0}</p><p>17 open</p><a id=edit href='/tickets/{0}/edit'>Edit</a>"
    "<a href='/tickets/{1}/history'>History</a>"
)
EDIT = "<form action=/tickets/{0}/save><button>Save</button></form>"


@contextmanager
def tickets(start: str, linked: list[int]) -> Iterator[PageSite]:
    """Serve tickets that are numbered from 17; the last of `linked` is in their links to a history."""
    numbers = count(17)
    with serve_pages() as site:

        def create(_asked: Asked) -> Answer:
            number = next(numbers)
            shown = linked[-1] if linked else number
            site.answers[f"/tickets/{number}/edit"] = Answer(body=PAGE.format(EDIT.format(number)))
            site.answers[f"/tickets/{number}"] = Answer(body=PAGE.format(TICKET.format(number, shown)))
            if start == BY_FORM:
                return redirect(f"/tickets/{number}", status=303)
            return Answer(body=json.dumps({"id": number, "open": 17, "priority": 3}), content_type="application/json")

        site.answers["/"] = Answer(body=PAGE.format("") + start)
        site.answers["/tickets"] = create
        yield site


async def create_ticket(folder: Path, url: str, *clicks: str) -> None:
    """Record a mission that creates a ticket and edits it."""
    options = RecordOptions(random_seed=1)
    recorder = open_recorder(folder, mission_text="Create", mission_id="create", options=options)
    async with recorder as mission, mission.subgoal("Create", subgoal_id="create"):
        await mission.perform(Navigate(url=url))
        for selector in clicks:
            await mission.perform(Click(target=Target(selector=selector)))


@pytest.mark.parametrize(
    ("start", "clicks"),
    [(BY_SCRIPT, ("#new", "#open", "#edit")), (BY_FORM, ("#new", "#edit"))],
    ids=("json", "redirect"),
)
def test_a_short_id_of_a_new_record_stands_for_the_recorded_one_in_its_path(
    tmp_path: Path, start: str, clicks: tuple[str, ...]
) -> None:
    """No reset is needed; a link to another record, also the recorded one, is found; other numbers are compared."""
    linked: list[int] = []
    bundle = tmp_path / "b"
    with tickets(start, linked) as site:
        asyncio.run(create_ticket(bundle, site.url, *clicks))
        report = certify_live(bundle)
        same = [replay(bundle, tmp_path / f"same-{number}", network="live") for number in range(2)]
        sealed = replay(bundle, tmp_path / "sealed")
        found = []
        for other in (17, 9):
            linked.append(other)
            found.append(replay(bundle, tmp_path / f"other-{other}", network="live").verdict)

    assert report.status == "certified", report.findings
    operations = report.patch.model_dump()["operations"]
    assert {each["rule"]["path"] for each in operations if "rule" in each} == {"/tickets/*"}
    assert "id: recorded 17 in a response, requested as /tickets/17 later; another one in another run" in reasons(
        report
    )
    assert [each["mask"]["part"]["path"] for each in operations if "mask" in each] == ["html > body > p#name"]
    assert [each.verdict for each in (*same, sealed)] == ["faithful"] * 3, same[0].divergences
    assert found == ["diverged"] * 2


def test_live_runs_need_not_agree_in_present_times(tmp_path: Path) -> None:
    """Neither a time nor the age of one differs; the finding is about what varies besides."""
    words = ["Tea", "Tea"]

    def stamped(visit: int) -> str:
        saved = utc_now() - timedelta(seconds=visit)
        kept = f"<time datetime={saved:%Y-%m-%dT%H:%M:%SZ}>{visit} second{'' if visit == 1 else 's'}</time>"
        return f"<p>Saved {saved:%m/%d/%y %H:%M:%S} ({kept})</p><p id=offer>{words[visit % len(words)]}</p>"

    with shop(stamped) as site:
        bundle = record(tmp_path / "b", site)
        same = certify_live(bundle, runs=3)
        words[1] = "Milk"
        other = certify_live(bundle, runs=3)

    assert (same.status, same.findings, same.patch.operations) == ("certified", (), ())
    assert other.status == "unstable"
    (finding,) = other.findings
    assert finding.message.endswith(("'Tea', another 'Milk'", "'Milk', another 'Tea'"))
    assert other.patch.operations == ()
