"""Five missions on changed sites: three are repaired without a model and certified, two must be refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.repair.options import RepairOptions
from eikon_engine.repair.repair import repair_trace
from eikon_engine.repair.report import RepairHistory
from eikon_engine.repair.summary import render_repair
from eikon_engine.trace.actions import Click
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import Certificate, certificate_state
from tests.commands import run_here
from tests.repair.conftest import SECRETS, contents
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from eikon_engine.trace.target import Target
    from tests.repair.conftest import Changing

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]


def run_fix_trace(bundle: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle, in this process."""
    known = {"EIKON_SECRET_PASSWORD": SECRETS["PASSWORD"], **environ}
    return run_here(eikon, ("fix", "trace", bundle, *options), "eikon", known)


def run_apart(bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "eikon_engine", "fix", "trace", str(bundle), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), "EIKON_SECRET_PASSWORD": SECRETS["PASSWORD"]},
    )


def clicked(bundle: Path) -> Target:
    """Return the target of the last action of a bundle."""
    last = open_bundle(bundle).trace.subgoal_traces[-1].actions_taken[-1].action
    assert isinstance(last, Click)
    return last.target


def test_a_renamed_button_is_found_rerecorded_and_certified(changing: Changing) -> None:
    """The copy has the new id, its provenance, and replays strictly; the original is unchanged."""
    bundle, output = changing.bundle("buy"), changing.tmp_path / "mended"
    before = contents(bundle)
    changing.shop.restart("new-id")

    done = run_apart(bundle, "--output", str(output))

    assert done.returncode == 0, done.stderr
    assert contents(bundle) == before
    assert clicked(output).selector == "#buy-now"
    assert '-       "selector": "#add-to-cart",' in done.stdout
    for line in ("cause      site-changed", "[did-you-mean]", "proof      3 sealed replays: faithful"):
        assert line in done.stderr
    certificate = Certificate.model_validate_json((output / "certificate.json").read_text())
    assert certificate.runs == 3
    history = RepairHistory.model_validate_json((output / "repair.json").read_text())
    assert [each.proposer for each in history.repairs] == ["did-you-mean"]
    assert history.is_rerecorded
    warnings = open_bundle(output).trace.warnings
    assert any(line.startswith("edited: by eikon fix trace") and "did-you-mean" in line for line in warnings)
    assert certificate_state(output, open_bundle(output).trace).status == "certified"
    assert sorted(path.name for path in changing.tmp_path.iterdir()) == ["buy", "mended"]


def test_a_changed_label_is_repaired_in_place_and_the_old_bundle_kept(changing: Changing) -> None:
    """A role selector gets the new name; the old bundle is kept complete under another name."""
    bundle = changing.bundle("buy_by_label")
    before = contents(bundle)
    changing.shop.restart("new-label")

    report = SHARED.run(repair_trace(bundle, RepairOptions(in_place=True, runs=2)))

    assert (report.status, report.refusal) == ("repaired", "")
    assert clicked(bundle).selector == 'role=button[name="Add to basket"]'
    assert certificate_state(bundle, open_bundle(bundle).trace).status == "certified"
    aside = bundle.with_name("buy_by_label.before-repair")
    assert report.backup == str(aside)
    assert contents(aside) == before


def test_a_repair_without_a_destination_is_shown_and_not_stored(changing: Changing) -> None:
    """A moved element is found; without a destination the repair is verified and shown, and the exit status is 3."""
    bundle = changing.bundle("buy")
    before = contents(bundle)
    changing.shop.restart("moved-button")

    report = SHARED.run(repair_trace(bundle, RepairOptions(runs=2)))

    assert (report.status, report.exit_status, report.refusal) == ("proposed", 3, "")
    shown = render_repair(report)
    assert "proof      2 sealed replays: faithful" in shown
    assert "use --output DIR or --in-place to store" in shown
    assert '-          "id": "buy-form",' in report.diff
    assert contents(bundle) == before
    assert [path.name for path in changing.tmp_path.iterdir()] == ["buy"]


@pytest.mark.parametrize(
    ("change", "cause", "advice"),
    [("error-on-submit", "site-error", "Fix the site"), ("expired-session", "session-expired", "--storage-state")],
)
def test_a_fault_of_the_site_is_refused(changing: Changing, change: str, cause: str, advice: str) -> None:
    """After a 500 on submit or an expired session: one visit, one line with the reason, status 1, nothing written."""
    bundle, output = changing.bundle("order"), changing.tmp_path / "mended"
    before = contents(bundle)
    changing.shop.restart(change)

    done = run_fix_trace(bundle, "--output", str(output), "--accept-baseline", "--json")

    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert f"the cause is {cause}" in last
    assert advice in last
    assert last.endswith("(code fix-refused)")
    report = json.loads(done.stdout)
    assert (report["status"], report["repairs"]) == ("refused", [])
    assert contents(bundle) == before
    assert not output.exists()
    assert sum(line.startswith("GET /login") for line in changing.shop.requests) <= 3
