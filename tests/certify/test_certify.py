"""Certify real bundles in a real browser."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.certify import accept, certify, cpu_load
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.certify.propose_rules import propose_rules
from eikon_engine.certify.runs import concurrent_replays
from eikon_engine.errors import PageMissingError, RequirementError, UsageError
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import write_certificate
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.masks import Mask, TextPart
from eikon_engine.trace.patch import AddMask, SetEnvironment, SetObservation
from eikon_engine.trace.rules import QueryKeyRule
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.certify.conftest import change_actions
from tests.error_codes import has_code
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.outcome.certification import Certification
    from eikon_engine.trace.execution import ActionTrace

pytestmark = pytest.mark.browser


def run_certify(folder: Path, **changes: object) -> Certification:
    """Certify a bundle with two runs; more page time is tested without a browser."""
    options = CertifyOptions(**{"runs": 2, "doublings": 0, **changes})  # type: ignore[arg-type] # of the test
    return SHARED.run(certify(open_bundle(folder), options))


def everything_in(folder: Path) -> dict[str, bytes]:
    """Read all files of a bundle."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_bundle_that_replays_equally_is_certified_as_it_is(bundle: Callable[[str], Path], tmp_path: Path) -> None:
    """There are no proposals, the trace is unchanged, and replays report it as certified until it is changed."""
    folder = bundle("stable")
    before = everything_in(folder)

    certification = run_certify(folder)
    assert everything_in(folder) == before
    report = accept(open_bundle(folder), certification)

    written = everything_in(folder)
    assert (report.status, report.patch.operations, report.diff) == ("certified", (), "")
    assert {name: written[name] for name in before} == before
    assert json.loads(written["certificate.json"])["runs"] == 2
    assert replay(folder, tmp_path / "run").certified == "certified"
    assert "Certified    yes: 2 equal runs" in (tmp_path / "run" / "replay_summary.txt").read_text()

    assert report.certificate is not None
    for trace, other_runs, notes in ((report.certificate.trace_sha256, 3, 0), ("0" * 64, 0, 1)):
        live = report.certificate.model_copy(update={"network_mode": "live", "runs": 3, "trace_sha256": trace})
        write_certificate(folder, live)
        again = accept(open_bundle(folder), certification)
        assert again.certificate is not None
        assert again.certificate.other_runs == other_runs
        assert len([each for each in again.notes if "3 equal live runs" in each]) == notes

    write_trace(read_trace(folder).model_copy(update={"mission_text": "Buy rye bread"}), folder)
    changed = replay(folder, tmp_path / "run")
    assert (changed.certified, changed.verdict) == ("stale", "faithful")
    assert changed.certified_why.startswith("the trace changed")


def test_a_random_text_is_masked_and_nothing_else(bundle: Callable[[str], Path], tmp_path: Path) -> None:
    """Runs disagree on one text: only this text is masked, and replays are faithful with reduced coverage."""
    folder = bundle("shows_key")
    assert replay(folder, tmp_path / "run").verdict == "diverged"

    certification = run_certify(folder)
    report = certification.report

    masks = [each.mask for each in report.patch.operations if isinstance(each, AddMask)]
    assert report.status == "proposed"
    assert len(masks) == len(report.patch.operations) == 1
    assert (masks[0].name, masks[0].part) == ("key-text", TextPart(path="html > body > p#key"))
    assert masks[0].reason.startswith("differed in 1 of 2 runs: ")
    assert '+   "name": "key-text",' in report.diff
    assert read_trace(folder).masks == ()

    accept(open_bundle(folder), certification)
    outcome = replay(folder, tmp_path / "run")
    assert (outcome.verdict, outcome.certified) == ("faithful", "certified")
    assert [step.masked for step in outcome.subgoals[0].steps if step.kind == "action"] == [("key-text",)] * 2
    assert "mask key-text: hid a difference at 2 actions" in (tmp_path / "run" / "replay_summary.txt").read_text()


def test_the_browsers_of_all_rounds_have_one_driver(
    bundle: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round launches its own browser, but all share one driver."""
    programs: list[str] = []
    start = asyncio.create_subprocess_exec

    async def noting(program: str, *arguments: object, **options: object) -> object:
        programs.append(program)
        return await start(program, *arguments, **options)  # type: ignore[arg-type] # as Playwright calls it

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noting)
    folder = bundle("stable")
    change_actions(folder, lambda action: action.model_copy(update={"observation": None}))

    certification = asyncio.run(certify(open_bundle(folder), CertifyOptions(runs=2, doublings=0)))

    assert (certification.report.status, certification.report.rounds) == ("proposed", 2)
    assert len(programs) == 1


def test_a_recording_without_observations_gets_a_baseline(bundle: Callable[[str], Path], tmp_path: Path) -> None:
    """A trace without observations is unverifiable; with the accepted baseline it replays faithfully."""

    def forget(action: ActionTrace) -> ActionTrace:
        target = getattr(action.action, "target", None)
        update = {"target": target.model_copy(update={"identity": None})} if target is not None else {}
        return action.model_copy(update={"observation": None, "action": action.action.model_copy(update=update)})

    folder = bundle("stable")
    change_actions(folder, forget, environment=None)
    assert replay(folder, tmp_path / "run").verdict == "unverifiable"

    certification = run_certify(folder)
    kinds = [type(each) for each in certification.report.patch.operations]
    assert kinds == [SetEnvironment, SetObservation, SetObservation]
    accept(open_bundle(folder), certification)

    outcome = replay(folder, tmp_path / "run")
    assert (outcome.verdict, outcome.certified) == ("faithful", "certified")


def test_a_recording_that_nothing_meets_gets_a_new_baseline(bundle: Callable[[str], Path]) -> None:
    """If all runs agree but differ from the recording, another observation is proposed, with the reason."""

    def age(action: ActionTrace) -> ActionTrace:
        assert action.observation is not None
        pages = tuple(page.model_copy(update={"title": "older"}) for page in action.observation.pages)
        return action.model_copy(update={"observation": action.observation.model_copy(update={"pages": pages})})

    folder = bundle("stable")
    change_actions(folder, age)

    report = run_certify(folder).report

    reasons = [each.reason for each in report.patch.operations if isinstance(each, SetObservation)]
    assert (report.status, report.rounds, len(report.patch.operations)) == ("proposed", 2, 2)
    assert len(reasons) == 2
    assert reasons[0].startswith("2 of 2 runs agreed against the recording: title-changed")


def test_a_diverged_mission_is_not_certified(bundle: Callable[[str], Path]) -> None:
    """A missing target is no new baseline: the bundle is diverged, and nothing can be accepted."""

    def misname(action: ActionTrace) -> ActionTrace:
        target = getattr(action.action, "target", None)
        if target is None:
            return action
        changed = action.action.model_copy(
            update={"target": target.model_copy(update={"selector": "#gone"}), "timeout_ms": 100.0}
        )
        return action.model_copy(update={"action": changed})

    folder = bundle("stable")
    change_actions(folder, misname)

    certification = run_certify(folder)

    assert (certification.report.status, certification.report.rounds) == ("diverged", 1)
    assert "target-missing" in {finding.code for finding in certification.report.findings}
    with pytest.raises(UsageError, match="nothing written"):
        accept(open_bundle(folder), certification)


def test_a_random_part_of_a_request_gets_a_rule(bundle: Callable[[str], Path]) -> None:
    """A random query parameter that no seed controls is a miss in every run; a rule for this key is proposed."""
    folder = bundle("asks_with_key")
    options = CertifyOptions(runs=2)

    runs = SHARED.run(concurrent_replays(options)(open_bundle(folder), 2))
    rules = propose_rules([run.outcome.network.misses for run in runs], ())

    (rule,) = rules
    assert isinstance(rule, QueryKeyRule)
    assert (rule.name, rule.method, rule.url.endswith("/price")) == ("_", "GET", True)
    assert rule.reason.startswith("differed in 2 of 2 runs: recorded '")


def test_a_bundle_without_recorded_network_is_refused(bundle: Callable[[str], Path]) -> None:
    """A live mission is not run several times unless requested with `--network live`."""
    folder = bundle("stable")
    change_actions(folder, lambda action: action, network=None)

    with pytest.raises(RequirementError, match="--network live", check=has_code("network-part-missing")):
        run_certify(folder)


def test_stress_ends_with_its_block() -> None:
    """The processes that load the CPU run inside the block, and are gone after it."""
    with cpu_load() as ids:
        for process in ids:
            os.kill(process, 0)

    for process in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_mask_that_hides_nothing_is_warned_of(bundle: Callable[[str], Path], tmp_path: Path) -> None:
    """A mask that hides nothing is a warning in the outcome; the verdict is unchanged."""
    folder = bundle("stable")
    mask = Mask(name="clock", reason="it ticks", part=TextPart(path="** > p#clock"))
    change_actions(folder, lambda action: action, masks=(mask,))

    outcome = replay(folder, tmp_path / "run")

    assert outcome.verdict == "faithful"
    assert [warning for warning in outcome.warnings if warning.startswith("mask clock hid nothing")]


def test_a_click_that_failed_since_its_popup_closed_may_succeed(tmp_path: Path) -> None:
    """Tools may record a failure if a page closes before it reports its click; certifying goes on after it."""
    folder = tmp_path / "bundle"
    with serve_pages() as site:
        site.answers["/"] = Answer(body="<button id=open onclick=\"window.open('/popup')\">Help</button>")
        site.answers["/popup"] = Answer(body="<button id=close onclick=window.close()>Close</button>")
        SHARED.run(_close_a_popup(folder, site.url))

    def fail(action: ActionTrace) -> ActionTrace:
        closes = isinstance(action.action, Click) and action.action.page == 1
        failure = Failed(code=PageMissingError.code, message="the page is gone")
        return action.model_copy(update={"result": failure}) if closes else action

    change_actions(folder, fail)

    certification = run_certify(folder)

    assert certification.report.status == "certified", certification.report.findings


async def _close_a_popup(folder: Path, url: str) -> None:
    async with (
        open_recorder(folder, mission_text="Help", mission_id="help") as mission,
        mission.subgoal("Help", subgoal_id="help"),
    ):
        await mission.perform(Navigate(url=url))
        await mission.perform(Click(target=Target(selector="#open")))
        await mission.perform(Click(page=1, target=Target(selector="#close")))
        await mission.perform(Navigate(url=url))
