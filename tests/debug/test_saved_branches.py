"""Saving branches, live branches, and sessions whose browser is killed."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import ActionError
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import read_certificate
from eikon_engine.trace.target import Target
from tests.debug.conftest import DEADLINE_S, TRACES, Session, run_eikon, session
from tests.replay.shared_browsers import SHARED
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

FAILING = TRACES / "shop_failing"
_OLD, _NEW = "#add-to-cart", "#buy-now"


@pytest.fixture(scope="module")
def branched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Run a session with a branch that replaces the failing step."""
    with session(tmp_path_factory.mktemp("sessions"), "--parked", "0", trace=FAILING) as running:
        running.run("step")
        running.run("branch", "skip", "--name", "try with search")
        running.run("branch", "insert", "fill", "#search", "voucher")
        running.run("branch", "insert", "press", "Tab", "--perform")
        yield running


def test_a_branch_is_saved_as_a_certified_bundle(branched: Session, tmp_path: Path) -> None:
    """It has its certificate, replays faithfully, and contains no branch files."""
    completed = branched.run("branch", "save", "try with search", "--output", str(tmp_path / "saved"))

    replayed = run_eikon("replay", "--trace", str(tmp_path / "saved"), "--artifacts-dir", str(tmp_path / "run"))
    assert "saved as a bundle, certified" in completed
    assert read_certificate(tmp_path / "saved") is not None
    assert (replayed.status, "verdict: faithful" in replayed.out + replayed.err) == (0, True), replayed.err
    assert not (tmp_path / "saved" / "branch.json").exists()


def test_a_branch_is_saved_as_a_patch_on_the_original(branched: Session, tmp_path: Path) -> None:
    """Applied to the recording, it gives a bundle with the branch's steps, which replays faithfully."""
    patch, patched = tmp_path / "search.json", tmp_path / "patched"
    branched.run("branch", "save", "try with search", "--patch", str(patch))

    applied = run_eikon("trace", "apply", str(FAILING), str(patch), "-o", str(patched))
    assert applied.status == 0, applied.err
    branch = open_bundle(branched.folder / "branches" / "try_with_search")
    actions = [[step.action for step in each.actions_taken] for each in branch.trace.subgoal_traces]
    assert [
        [step.action for step in each.actions_taken] for each in open_bundle(patched).trace.subgoal_traces
    ] == actions
    assert ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(patched).verdict == "faithful"


@pytest.mark.parametrize(("form", "output"), [("--output", "mine"), ("--patch", "mine/search.json")])
def test_an_unwritable_output_is_reported(branched: Session, tmp_path: Path, form: str, output: str) -> None:
    """Existing files stay, and so does the session."""
    (tmp_path / "mine").write_text("mine")

    completed = branched("branch", "save", "try with search", form, str(tmp_path / output))

    assert (completed.status, len(completed.err.splitlines())) == (2, 1), completed
    assert (tmp_path / "mine").read_text() == "mine"
    assert branched.json("branch", "list")[1]["name"] == "try with search"
    assert branched.process.poll() is None


async def record(folder: Path, url: str) -> None:
    """Record a mission that clicks a missing button."""
    async with open_recorder(
        folder, mission_text="Buy", mission_id="buy", options=RecordOptions(redact=False)
    ) as mission:
        with suppress(ActionError):
            async with mission.subgoal("Buy it", subgoal_id="buy"):
                await mission.perform(Navigate(url=f"{url}/product/1"))
                await mission.perform(Click(target=Target(selector=_NEW), timeout_ms=300))


def test_a_live_branch_requests_a_changed_site(tmp_path: Path) -> None:
    """The requested page has the new button; inserted steps use it, and replay without the site."""
    with serve_shop() as shop:
        SHARED.run(record(tmp_path / "buy", shop.url))
        port = int(shop.url.rpartition(":")[2])
    with (
        serve_shop(port=port, change="renamed-target") as shop,
        session(tmp_path / "sessions", "--parked", "0", trace=tmp_path / "buy") as running,
    ):
        running.run("step")
        running.run("branch", "create", "live", "--live")
        sealed = len(shop.requests)
        running.run("branch", "skip")
        running.run("branch", "insert", "navigate", f"{shop.url}/product/1?again=1")
        running.run("branch", "insert", "click", _NEW)
        position = running.json("branch", "insert", "click", "#cart-link", "--perform")
        requested = [str(each) for each in shop.requests[sealed:]]
        labels = [step["label"] for step in running.timeline()["branches"][1]["steps"]]
        branch = running.folder / "branches" / "live"

    assert sealed == 0
    assert any("product/1?again" in each for each in requested), requested
    assert len(labels) == 3
    assert (position["next"], position["verdict"]) == (None, "unverifiable")
    assert ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(branch).verdict == "faithful"


def browser_of(process: int) -> int:
    """Return the browser process of a session, not that of a launcher script."""
    parents, browsers = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes()
            if b"--user-data-dir" in command and b"--type=" not in command:
                browsers.append(int(path.name))

    def is_of(child: int) -> bool:
        return child == process or (child in parents and is_of(parents[child]))

    return next(each for each in browsers if is_of(each) and each not in {parents[other] for other in browsers})


@pytest.mark.skipif(sys.platform != "linux", reason="the browser of a process is looked for in /proc")
def test_a_killed_browser_loses_nothing(tmp_path: Path) -> None:
    """The command fails with one line; a new session continues from the checkpoints."""
    with session(tmp_path, "--parked", "0") as running:
        running.run("step", "2")
        running.run("checkpoint", "create", "kept")
        os.kill(browser_of(running.process.pid), signal.SIGKILL)
        failed = running("step")
        status = running.process.wait(timeout=DEADLINE_S)
        (listed,) = json.loads(run_eikon("debug", "sessions", "--json", "--sessions-dir", str(tmp_path)).out)
        with session(tmp_path, "--from-session", "s1", "--parked", "0", name="s2", trace=None) as new:
            back = new.json("rewind", "kept")
            verified = new.events("rewind")[-1].verified
            on = new.json("step")

    assert (failed.status, len(failed.err.splitlines())) == (69, 1), failed
    assert status == 69
    assert "Traceback" not in "".join(running.started)
    assert listed["timeline"]["branches"][0]["iteration"] == 2
    assert (back["iteration"], verified) == (2, 3 * 10)
    assert (on["iteration"], on["verdict"]) == (3, "faithful")
