"""A repair may replay against another bundle of the mission or a HAR file; it is recorded on the live site."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.record import open_recorder
from eikon_engine.repair.options import RepairOptions
from eikon_engine.repair.repair import repair_trace
from eikon_engine.trace.actions import Click, Navigate
from tests.missions.shop import css
from tests.repair.conftest import contents
from tests.repair.test_five_missions import clicked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.repair.small_site import SmallSite

pytestmark = pytest.mark.browser


async def _order(folder: Path, url: str) -> None:
    recorder = open_recorder(folder, mission_text="Order bread", mission_id="today")
    async with recorder as mission, mission.subgoal("Order", subgoal_id="order"):
        await mission.perform(Navigate(url=f"{url}/cart"))
        await mission.perform(Click(target=css("#send")))


@pytest.fixture
def today(small: SmallSite, tmp_path: Path) -> Path:
    """Record the mission on the changed site, with the current name of its button."""
    bundle = tmp_path / "today"
    small.change(button="send")
    asyncio.run(_order(bundle, small.pages.url))
    return bundle


def test_against_another_bundle_finds_the_change_and_keeps_that_bundle(
    small: SmallSite, today: Path, tmp_path: Path
) -> None:
    """The bundle's responses lead to the lost button without a visit; the repaired mission is recorded on the site."""
    bundle = small.bundle("order")
    small.change(button="send")
    before = contents(today)

    report = asyncio.run(repair_trace(bundle, RepairOptions(runs=2, against=today, output=tmp_path / "mended")))

    assert (report.status, report.refusal) == ("repaired", "")
    assert report.explanation is not None
    assert report.explanation.cause == "site-changed"
    assert clicked(tmp_path / "mended").selector == "#send"
    assert small.pages.paths() == ("GET /cart", "POST /order")
    assert contents(today) == before


def test_against_a_har_finds_the_change_and_rerecords_on_the_live_site(
    small: SmallSite, today: Path, tmp_path: Path
) -> None:
    """The button in the HAR is proposed; the mission cannot be recorded on a site without it."""
    bundle, har = small.bundle("order"), tmp_path / "today.har"
    assert run_command(eikon, ["export", "har", str(today), "--output", str(har)], "eikon") == 0
    small.change()

    report = asyncio.run(repair_trace(bundle, RepairOptions(runs=2, against=har, output=tmp_path / "mended")))

    assert [each.proposer for each in report.repairs] == ["did-you-mean"]
    assert report.status == "refused"
    assert "#send" in report.refusal
    assert "POST /order" not in small.pages.paths()
    assert not (tmp_path / "mended").exists()


@pytest.mark.parametrize(
    ("name", "status", "reported"),
    [
        ("nowhere", 2, "expected live, recording, a bundle or a HAR file, got"),
        ("", 2, "got '', which does not exist"),
        ("empty", 65, "expected a bundle with trace.json"),
        ("list.har", 65, "log: expected an object"),
        ("words.har", 65, "expected valid JSON"),
    ],
)
def test_a_source_without_responses_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, status: int, reported: str, small: SmallSite
) -> None:
    """A path that is neither a bundle nor a HAR is reported before a browser starts, with what was expected."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "list.har").write_text('{"entries": []}')
    (tmp_path / "words.har").write_text("a word")
    against = str(tmp_path / name) if name else ""

    ended = run_command(eikon, ["fix", "trace", str(small.bundle("look")), "--against", against], "eikon")

    *_, last = capsys.readouterr().err.splitlines()
    assert ended == status
    assert reported in last
    assert last.startswith("eikon: ")
