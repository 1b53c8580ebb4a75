"""What is taken for a repair, and what is not, whatever was proposed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.fix.missions.options import RepairOptions
from eikon_engine.fix.missions.repair import repair_trace
from eikon_engine.trace.edits import SetFields
from eikon_engine.trace.patch import TracePatch, apply_patch
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, write_trace
from tests.fix.missions.conftest import contents

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.missions.report import RepairReport
    from tests.fix.missions.conftest import Changing

QUICK = RepairOptions(timeout_ms=500, runs=2)


def repair(bundle: Path, options: RepairOptions = QUICK, **others: object) -> RepairReport:
    """Mend a bundle."""
    return asyncio.run(repair_trace(bundle, replace(options, **others)))  # type: ignore[arg-type] # of the test


def test_a_likely_element_that_does_something_else_is_refused(changing: Changing) -> None:
    """A button with the same id that adds to a wish list is proposed, tried, and found out; also with the flag."""
    bundle = changing.bundle("buy")
    changing.shop.restart("wrong-target")

    report = repair(bundle, accept_baseline=True)

    assert report.status == "refused"
    assert [each.proposer for each in report.repairs] == ["did-you-mean"]
    assert "does not do what the recorded one did" in report.refusal
    assert "/api/cart" in report.refusal
    assert not any("POST" in line for line in changing.shop.requests)


@pytest.mark.parametrize("change", ["two-matches", "renamed-target"])
def test_nobody_guesses(changing: Changing, change: str) -> None:
    """Two elements that are alike, or one that nothing names alike, are no proposal."""
    bundle = changing.bundle("buy")
    changing.shop.restart(change)

    report = repair(bundle)

    assert (report.status, report.repairs) == ("refused", ())
    assert report.refusal.startswith("nobody knows a fix")


def test_an_assertion_is_what_a_mission_is_for(changing: Changing) -> None:
    """A text that is asserted is another one: refused, though a change of data could be accepted."""
    bundle = changing.bundle("demand_label")
    changing.shop.restart("new-label")

    report = repair(bundle, accept_baseline=True)

    assert report.status == "refused"
    assert "an assertion of the mission does not hold" in report.refusal


def test_other_data_is_taken_only_where_it_is_accepted(changing: Changing) -> None:
    """A price that changed is refused with the flag that takes it; with it, the mission is recorded and proved."""
    bundle, output = changing.bundle("look"), changing.tmp_path / "mended"
    changing.shop.restart("other-price")

    refused = repair(bundle)
    taken = repair(bundle, accept_baseline=True, output=output)

    assert refused.status == "refused"
    assert "--accept-baseline" in refused.refusal
    assert taken.status == "repaired"
    assert [each.proposer for each in taken.repairs] == ["accept-baseline"]
    assert any("0.35" in line for line in taken.accepted)
    assert any("accepted" in line and "0.35" in line for line in read_trace(output).warnings)


def test_a_trace_at_odds_with_its_recording_is_mended_without_a_site(changing: Changing) -> None:
    """A selector that was edited to find nothing is put right against the recorded network; nothing is asked."""
    bundle, output = changing.bundle("buy"), changing.tmp_path / "mended"
    trace = read_trace(bundle)
    step = trace.subgoal_traces[0].actions_taken[-1].id
    edit = SetFields(step=step, fields={"action.target.selector": "#nowhere"}, same_element=True, reason="by hand")
    write_trace(apply_patch(trace, TracePatch(operations=(edit,))), bundle / TRACE_FILE)
    changing.shop.restart()

    report = repair(bundle, against="recording", output=output)

    assert (report.status, report.refusal) == ("repaired", "")
    assert report.explanation is not None
    assert report.explanation.cause == "trace-invalid"
    assert '"selector": "#add-to-cart"' in (output / TRACE_FILE).read_text()
    assert changing.shop.requests == ()


def test_a_faithful_mission_is_left_alone(changing: Changing) -> None:
    """Nothing diverges: nothing is written, and the status says so."""
    bundle, output = changing.bundle("look"), changing.tmp_path / "mended"
    before = contents(bundle)
    changing.shop.restart()

    report = repair(bundle, output=output)

    assert (report.status, report.exit_status) == ("faithful", 0)
    assert contents(bundle) == before
    assert not output.exists()
