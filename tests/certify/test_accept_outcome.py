"""A reviewed change of a site becomes the baseline of live replays; the recording keeps its own."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.divergence.next_step import next_step
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.accepted import ACCEPTED_FILE, read_accepted
from eikon_engine.trace.actions import Click, Navigate, Read, ReadValue
from eikon_engine.trace.bundle import load_page, open_bundle
from eikon_engine.trace.masks import Mask, TitlePart
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import TRACE_FILE
from tests.browser.pages import Answer, redirect, serve_pages
from tests.commands import run_here
from tests.replay.conftest import replay
from tests.replay.test_rules_of_other_networks import DrawingSite, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.browser.pages import Asked

pytestmark = pytest.mark.browser

SHOP = """<!doctype html><title>Shop</title><p id=price>{price} EUR</p>
{more}<form method=post action=/order><button id={button}>Order</button></form>"""
TOKEN = "4fb0c1d29ae84b5f9d3c7a6e12f08b95"
SIGN_IN = """<!doctype html><title>Sign in</title><h1>Sign in</h1>
<form method=post><label>Password <input type=password name=password></label><button>Sign in</button></form>"""
ORDERED = "<!doctype html><title>Thanks</title><h1>Ordered for {price} EUR</h1>"


@dataclass(slots=True)
class Shop:
    """A shop whose price and button change."""

    url: str
    price: int = 3
    button: str = "order"
    status: int = 200
    more: str = ""
    has_expired: bool = False
    """Whether an order leads to the sign-in page."""


@contextmanager
def serve_shop() -> Iterator[Shop]:
    """Serve a shop."""
    with serve_pages() as site:
        shop = Shop(site.url)

        def order(_asked: Asked) -> Answer:
            if shop.has_expired:
                return redirect("/login?next=/order")
            return Answer(body=ORDERED.format(price=shop.price), status=shop.status)

        site.answers["/login"] = Answer(body=SIGN_IN)
        site.answers["/"] = lambda _asked: Answer(
            body=SHOP.format(price=shop.price, button=shop.button, more=shop.more)
        )
        site.answers["/order"] = order
        yield shop


@dataclass(frozen=True, slots=True)
class Recorded:
    """A shop and a mission that was recorded there, in a folder of one test."""

    shop: Shop
    bundle: Path
    folder: Path

    def replay(self, name: str, network: str = "live") -> ReplayOutcome:
        """Replay to the end, into a folder of this name."""
        return replay(self.bundle, self.folder / name, network=network, on_divergence="continue")

    def accept(self, name: str, *options: str) -> CompletedProcess[str]:
        """Accept a replay."""
        return run_here(eikon, ["accept", self.bundle, self.folder / name, *options], "eikon")


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    """Record an order at a price of 3."""
    with serve_shop() as shop:
        asyncio.run(_order(tmp_path / "bundle", shop.url))
        yield Recorded(shop, tmp_path / "bundle", tmp_path)


async def _order(folder: Path, url: str) -> None:
    recorder = open_recorder(folder, mission_text="Order", mission_id="order", options=RecordOptions())
    async with recorder as mission, mission.subgoal("Order", subgoal_id="order"):
        await mission.perform(Navigate(url=url))
        await mission.perform(Read(what="inner_text", target=Target(selector="#price"), value=ReadValue(value="3 EUR")))
        await mission.perform(Click(target=Target(selector="#order")))


def test_a_new_price_is_accepted_for_live_replays_only(recorded: Recorded) -> None:
    """Shown first, written with a reason: live replays expect the new price, sealed ones the recorded one."""
    before = (recorded.bundle / TRACE_FILE).read_bytes()
    recorded.shop.price = 4
    assert recorded.replay("run").verdict == "diverged"

    shown = recorded.accept("run")
    assert shown.returncode == 3
    assert "step 2, read inner text of #price" in shown.stderr
    assert "Recorded '3 EUR' → seen '4 EUR'" in shown.stderr
    assert "warning" not in shown.stderr
    assert not (recorded.bundle / ACCEPTED_FILE).exists()

    written = recorded.accept("run", "--reason", "New price list", "--by", "Ada")
    assert written.returncode == 0, written.stderr
    (decision,) = read_accepted(recorded.bundle).history
    assert (decision.by, decision.reason, len(decision.steps)) == ("Ada", "New price list", 3)
    assert any("read-changed" in each for step in decision.steps for each in step.differences)
    assert (recorded.bundle / TRACE_FILE).read_bytes() == before

    again = recorded.replay("again")
    assert again.verdict == "faithful"
    assert "live baselines of 3 steps accepted, last by Ada" in again.certified_why
    sealed = recorded.replay("sealed", network="sealed")
    assert sealed.verdict == "faithful"
    assert "accepted" not in sealed.certified_why
    recorded.shop.price = 5
    first = recorded.replay("later").divergences[0]
    assert (first.expected, first.observed) == ("4 EUR", "5 EUR")


def test_an_accepted_page_has_the_recorded_ids(tmp_path: Path) -> None:
    """What rules name is drawn anew in each replay: also in those that follow, and nothing else may differ."""
    with serve_pages() as site:
        shop = DrawingSite(site)
        bundle = Recorded(Shop(site.url), record(shop, tmp_path / "b"), tmp_path)
        shop.greeting = "Hello"
        assert bundle.replay("run").verdict == "diverged"
        accepted = bundle.accept("run", "--reason", "A new greeting")
        again = bundle.replay("again")
        shop.greeting = "Goodbye"
        later = bundle.replay("later")

    assert accepted.returncode == 0, accepted.stderr
    assert again.verdict == "faithful"
    assert [(each.sequence, each.code) for each in later.divergences] == [(1, "dom-changed")]


def test_chosen_steps_are_accepted_and_others_diverge_still(recorded: Recorded) -> None:
    """Two decisions follow each other; the last one of a step counts."""
    recorded.shop.price = 4
    recorded.replay("run")
    chosen = recorded.accept("run", "--only", "1", "--only", "2", "--reason", "Listed prices")
    assert chosen.returncode == 0
    assert "not chosen: step 3" in chosen.stderr
    again = recorded.replay("again")
    assert {each.sequence for each in again.divergences} == {3}

    assert recorded.accept("again", "--reason", "And the order").returncode == 0
    assert len(read_accepted(recorded.bundle).history) == 2
    assert recorded.replay("last").verdict == "faithful"


def test_a_step_whose_target_an_accepted_page_lacks_is_named(recorded: Recorded) -> None:
    """The page that first shows the change is accepted, but the step that clicks there needs another target."""
    recorded.shop.button = "buy"
    stopped = replay(recorded.bundle, recorded.folder / "run", network="live")
    accepted = recorded.accept("run")
    following = next_step(stopped, recorded.folder / "run")

    assert [each.sequence for each in stopped.divergences] == [1]
    assert accepted.returncode == 3
    assert "warning: step 3 of order, click #order ('Order'), acts on what changed here: its target " in accepted.stderr
    assert "`, since step 3 of order, click #order ('Order'), is expected to lose its target" in following
    assert "eikon accept" not in following


def test_a_later_decision_keeps_what_it_does_not_change(recorded: Recorded) -> None:
    """A new price is accepted, then a new notice: the price that is read stays the accepted one."""
    recorded.shop.price = 4
    recorded.replay("run")
    recorded.accept("run", "--reason", "New price list")
    recorded.shop.more = "<p>Closed on Sundays</p>"
    recorded.replay("again")
    assert recorded.accept("again", "--reason", "New notice").returncode == 0

    assert recorded.replay("last").verdict == "faithful"
    earlier = recorded.accept("run", "--reason", "By mistake")
    assert earlier.returncode == 2
    assert "a later replay of these steps was accepted already" in earlier.stderr


def test_what_a_replay_ignored_is_not_accepted(recorded: Recorded) -> None:
    """A reviewer did not see it."""
    recorded.shop.price = 4
    mask = Mask(name="title", reason="not mine", part=TitlePart())
    replay(recorded.bundle, recorded.folder / "run", network="live", on_divergence="continue", masks=(mask,))

    ended = recorded.accept("run", "--reason", "Fine")

    assert ended.returncode == 1
    assert "Replay again without --ignore" in ended.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": 500}, "the cause of the first divergence is site-error"),
        ({"has_expired": True}, "the cause of the first divergence is session-expired"),
        ({"button": "buy"}, "the mission cannot go on as recorded"),
    ],
)
def test_what_no_baseline_should_contain_is_refused(
    recorded: Recorded, change: dict[str, object], message: str
) -> None:
    """Errors of a site and lost targets are not accepted, whatever the reason."""
    for name, value in change.items():
        setattr(recorded.shop, name, value)
    recorded.replay("run")
    ended = recorded.accept("run", "--reason", "It is fine")

    assert ended.returncode == 1
    assert message in ended.stderr
    assert not (recorded.bundle / ACCEPTED_FILE).exists()


def test_a_divergence_without_a_known_cause_is_refused(recorded: Recorded) -> None:
    """A person cannot have wanted what is not known."""
    recorded.shop.price = 4
    recorded.replay("run")
    written = recorded.folder / "run" / "outcome.json"
    outcome = json.loads(written.read_text(encoding="utf-8"))
    outcome["explanation"]["cause"] = "unknown"
    written.write_text(json.dumps(outcome), encoding="utf-8")

    ended = recorded.accept("run", "--reason", "It is fine")

    assert ended.returncode == 1
    assert "the cause of the first divergence is unknown" in ended.stderr
    assert not (recorded.bundle / ACCEPTED_FILE).exists()


def test_only_a_live_replay_of_the_bundle_as_it_is_can_be_accepted(recorded: Recorded) -> None:
    """Sealed and faithful replays, those of an earlier state, and steps that did not diverge are refused in a line."""
    recorded.replay("sealed", network="sealed")
    recorded.replay("same")
    recorded.shop.price = 4
    recorded.replay("run")
    outcome = json.loads((recorded.folder / "run" / "outcome.json").read_bytes())
    shutil.copytree(recorded.folder / "run", recorded.folder / "other")
    (recorded.folder / "other" / "outcome.json").write_text(json.dumps({**outcome, "plan_digest": "0" * 64}))

    for name, options, message in (
        ("sealed", (), "expected a live replay, got a sealed one"),
        ("same", (), "nothing diverged"),
        ("other", (), "as it is now, got another one"),
        ("run", ("--only", "9"), "--only: step 9 did not diverge"),
        ("run", ("--only", "2"), "--only: must include step 1"),
    ):
        ended = recorded.accept(name, *options, "--reason", "Fine")
        assert ended.returncode == 2
        assert message in ended.stderr
    assert recorded.accept("nothing").returncode == 65
    assert not (recorded.bundle / ACCEPTED_FILE).exists()


def test_what_was_accepted_is_checked_like_the_trace(recorded: Recorded) -> None:
    """A damaged file, an unknown action and a changed snapshot end a live replay; sealed ones do not read them."""
    recorded.shop.price = 4
    recorded.replay("run")
    recorded.accept("run", "--reason", "New price list")
    accepted = recorded.bundle / ACCEPTED_FILE
    good = accepted.read_text(encoding="utf-8")
    damaged = (
        good[:-40],
        good.replace('"action": "', '"action": "no-'),
        good.replace('"sha256": "', '"sha256": "0', 1),
    )

    for text in damaged:
        accepted.write_text(text, encoding="utf-8")
        folder = recorded.folder / "artifacts"
        ended = run_here(
            eikon,
            ["replay", "--trace", recorded.bundle, "--network", "live", "--artifacts-dir", folder],
            "eikon",
        )
        assert ended.returncode == 65, ended.stderr
        assert ACCEPTED_FILE in ended.stderr
    assert recorded.replay("sealed", network="sealed").verdict == "faithful"


def test_a_redacted_export_has_no_secret_of_an_accepted_page(recorded: Recorded) -> None:
    """A token that only an accepted page shows is found and replaced, there and in the file of the decision."""
    recorded.shop.more = f"<input type=hidden name=csrf_token value={TOKEN}>"
    recorded.replay("run")
    assert recorded.accept("run", "--only", "1", "--reason", "New form").returncode == 0
    assert find_in_files(recorded.bundle, {TOKEN.encode()})

    archive, exported = recorded.folder / "exported.zip", recorded.folder / "exported" / "bundle"
    ended = run_here(eikon, ["export", "bundle", recorded.bundle, "--redacted", "--output", archive], "eikon")
    assert ended.returncode == 0, ended.stderr
    shutil.unpack_archive(archive, exported.parent)

    assert not find_in_files(exported, {TOKEN.encode()})
    (decision,) = read_accepted(exported).history
    (page,) = decision.steps[0].observation.pages
    assert load_page(open_bundle(exported).dom, page) is not None
