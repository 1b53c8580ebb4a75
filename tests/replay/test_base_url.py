"""A mission recorded on one deployment and replayed on another one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from eikon_engine.cli.replay import replay_command
from eikon_engine.errors import UsageError
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.trace.actions import Assert, AssertUrl, Click, GoBack, Navigate, UrlCondition, WaitFor
from eikon_engine.trace.target import Target
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED
from tests.sites.deployment import serve_deployment
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.replay.conftest import Recorded

pytestmark = pytest.mark.browser


class Deployed(NamedTuple):
    """A bundle, and the deployment on which it was recorded."""

    bundle: Path
    base: str


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Record a mission, signed in by a cookie, on a deployment that keeps running."""
    folder = tmp_path_factory.mktemp("deployed")
    with serve_deployment("/app") as base:
        cookie = {"name": "sid", "value": "1", "domain": "127.0.0.1", "path": "/app/", "expires": -1}
        cookie |= {"httpOnly": False, "secure": False, "sameSite": "Lax"}
        state = folder / "state.json"
        state.write_text(json.dumps({"cookies": [cookie], "origins": []}), encoding="utf-8")
        SHARED.run(_record(base, folder / "bundle", state))
        yield Deployed(folder / "bundle", base)


async def _record(base: str, folder: Path, state: Path) -> None:
    options = RecordOptions(storage_state=state)
    async with open_recorder(folder, mission_text="Look around", mission_id="look", options=options) as mission:
        async with mission.subgoal("Look around", subgoal_id="look"):
            await mission.perform(Navigate(url=f"{base}/"))
            await mission.perform(Click(target=Target(selector="#next")))
            await mission.perform(WaitFor(condition=UrlCondition(url=f"{base}/done*")))
            await mission.perform(Click(target=Target(selector="#home")))
            await mission.perform(Click(target=Target(selector=f'form[action="{base}/form"] button')))
            await mission.perform(Assert(expectation=AssertUrl(url=f"{base}/form")))
        async with mission.subgoal("Go elsewhere", subgoal_id="elsewhere"):
            await mission.perform(GoBack())
            await mission.perform(Click(target=Target(selector="text=Elsewhere")))


@pytest.mark.parametrize("path", ["/app", "/next/app", ""], ids=["port", "path", "root"])
def test_an_unchanged_deployment_elsewhere_is_faithful(deployed: Deployed, tmp_path: Path, path: str) -> None:
    """A replay at another port and path has no divergence."""
    with serve_deployment(path) as base:
        outcome = replay(deployed.bundle, tmp_path / "run", base_urls={deployed.base: base})

    assert [(each.message, each.detail) for each in outcome.divergences] == []
    assert (outcome.verdict, outcome.network_mode, outcome.warnings) == ("faithful", "live", ())
    network = outcome.network
    assert (network.unmatched, network.unused, network.response_changes, network.unmapped_requests) == ((), (), (), ())


def test_a_changed_value_elsewhere_is_found_and_explained(deployed: Deployed, tmp_path: Path) -> None:
    """A replay on a deployment with another price explains the difference by the JSON value."""
    with serve_deployment("/app", price="3.50") as base:
        outcome = replay(deployed.bundle, tmp_path / "run", base_urls={deployed.base: base})

    first = outcome.divergences[0]
    assert (first.code, first.expected, first.observed) == ("dom-changed", "3.10", "3.50")
    assert len(first.because) == 1
    assert re.search(r"/api/price: body \$\.price: recorded 3\.10, live 3\.50$", first.because[0])
    assert base not in (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")


def test_the_other_deployment_without_a_rule_is_another_site(deployed: Deployed, tmp_path: Path) -> None:
    """With a rule for another port, the recorded deployment is visited, and the rule is reported as unused."""
    outcome = replay(deployed.bundle, tmp_path / "run", base_urls={f"{deployed.base}lication": "http://127.0.0.1:1"})

    assert outcome.verdict == "faithful"
    assert [warning for warning in outcome.warnings if "does not occur in the recording" in warning] != []


def test_a_request_to_the_recorded_deployment_is_no_pass(deployed: Deployed, tmp_path: Path) -> None:
    """If a page still requests its picture from the recorded deployment, which is gone, an equal page does not pass."""
    with serve_deployment("/app", stray=deployed.base) as base:
        outcome = replay(deployed.bundle, tmp_path / "run", base_urls={deployed.base: base})

    notes = [note for each in outcome.subgoals for step in each.steps for note in step.unverifiable]
    assert (outcome.verdict, outcome.divergences[0].code) == ("diverged", "resource-failed")
    assert set(outcome.network.unmapped_requests) == {f"GET {deployed.base}/picture"}
    assert "1 request went to the deployment that --base-url replaces" in notes[0]


def test_the_shop_elsewhere_is_faithful_and_a_change_is_found(recorded: Recorded, tmp_path: Path) -> None:
    """An order in a shop at another port is faithful, and diverges with one changed price."""
    with serve_shop() as shop:
        rules = {recorded.shop.url: shop.url}
        same = replay(recorded.bundles["order"], tmp_path / "same", base_urls=rules)
        shop.restart("other-price")
        other = replay(recorded.bundles["order"], tmp_path / "other", base_urls=rules)

    assert ([each.message for each in same.divergences], same.verdict) == ([], "faithful")
    assert "recorded 0.25 €, live 0.35 €" in other.divergences[0].because[0]
    assert other.divergences[0].because[0].startswith(f"GET {recorded.shop.url}/prices")


@pytest.mark.parametrize("mode", ["sealed", "snapshot"])
def test_only_a_live_replay_visits_a_deployment(deployed: Deployed, tmp_path: Path, mode: str) -> None:
    """A recorded network and another deployment are mutually exclusive."""
    rules = {deployed.base: "http://127.0.0.1:1"}
    options = ReplayOptions(artifacts_dir=tmp_path / "run", network=mode, base_urls=rules)  # type: ignore[arg-type] # a parameter

    with pytest.raises(UsageError, match="--base-url requires --network live"):
        ReplayEngine(options).replay(deployed.bundle)


def test_the_command_takes_rules(deployed: Deployed, tmp_path: Path) -> None:
    """The command accepts a rule."""
    with serve_deployment() as base:
        done = CliRunner().invoke(
            replay_command,
            [f"--trace={deployed.bundle}", f"--artifacts-dir={tmp_path / 'run'}", f"--base-url={deployed.base}={base}"],
            standalone_mode=False,
        )

    assert done.return_value == 0, done.output
