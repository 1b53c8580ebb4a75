"""Which proposed repairs are accepted and which are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import UsageError
from eikon_engine.repair.options import RepairOptions
from eikon_engine.repair.repair import repair_trace
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.edits import SetFields
from eikon_engine.trace.patch import TracePatch, apply_patch
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, write_trace
from tests.browser.pages import serve_pages
from tests.repair.conftest import contents
from tests.repair.small_site import set_pages
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.repair.report import RepairReport
    from tests.repair.conftest import Changing
    from tests.repair.small_site import SmallSite

pytestmark = pytest.mark.browser

QUICK = RepairOptions(runs=2)


def repair(bundle: Path, options: RepairOptions = QUICK, **others: object) -> RepairReport:
    """Repair a bundle."""
    return SHARED.run(repair_trace(bundle, replace(options, **others)))  # type: ignore[arg-type] # of the test


def test_several_steps_are_repaired_on_another_deployment(small: SmallSite, tmp_path: Path) -> None:
    """A link and a button have new ids on another deployment: both are found there and verified."""
    bundle = small.bundle("shelf_to_order")
    with serve_pages() as staging:
        set_pages(staging, link="basket", button="send")
        report = repair(bundle, output=tmp_path / "mended", base_urls={small.pages.url: staging.url})

    assert (report.status, report.refusal) == ("repaired", "")
    assert [each.proposer for each in report.repairs] == ["did-you-mean", "did-you-mean"]
    trace = read_trace(tmp_path / "mended")
    first, *clicks = (each.action for each in trace.subgoal_traces[0].actions_taken)
    assert isinstance(first, Navigate)
    assert first.url == staging.url
    assert [each.target.selector for each in clicks if isinstance(each, Click)] == ["#basket", "#send"]
    assert sum("did-you-mean" in line for line in trace.warnings) == 2
    assert small.pages.asked == []


def test_an_error_page_after_a_lost_target_is_refused(small: SmallSite, tmp_path: Path) -> None:
    """The button is found again, but it leads to a 500: the repair is refused, with the error page as the cause."""
    bundle = small.bundle("order")
    small.change(button="send", status=500)

    report = repair(bundle, output=tmp_path / "mended", accept_baseline=True)

    assert report.status == "refused"
    assert "the cause is site-error" in report.refusal
    assert "500" in report.refusal
    assert not (tmp_path / "mended").exists()


def test_a_candidate_with_a_different_effect_is_refused(small: SmallSite) -> None:
    """A button with the recorded id that saves for later is proposed, tried and refused; also with the flag."""
    bundle = small.bundle("order")
    small.change(label="Order later", action="/wish")

    report = repair(bundle, accept_baseline=True)

    assert report.status == "refused"
    assert [each.proposer for each in report.repairs] == ["did-you-mean"]
    assert "does not have the effect of the recorded one" in report.refusal
    assert "/wish" in report.refusal


def test_two_similar_candidates_are_not_proposed(changing: Changing) -> None:
    """If the second candidate is nearly as good as a perfect first one, none is chosen."""
    bundle = changing.bundle("buy")
    changing.shop.restart("two-matches")

    report = repair(bundle)

    assert (report.status, report.repairs) == ("refused", ())
    assert report.refusal.startswith("no repair found")


def test_a_failed_assertion_is_refused(small: SmallSite) -> None:
    """A changed text that is asserted is refused, even if changed data may be accepted."""
    bundle = small.bundle("assert")
    small.change(label="Order for free")

    report = repair(bundle, accept_baseline=True)

    assert report.status == "refused"
    assert "an assertion of the mission fails" in report.refusal


def test_changed_data_needs_accept_baseline(small: SmallSite, tmp_path: Path) -> None:
    """A changed price is refused with a hint to the flag; with the flag, the mission is recorded again and verified."""
    bundle = small.bundle("look")
    small.change(price="3.50")

    refused = repair(bundle)
    taken = repair(bundle, accept_baseline=True, output=tmp_path / "mended")

    assert refused.status == "refused"
    assert "--accept-baseline" in refused.refusal
    assert taken.status == "repaired"
    assert [each.proposer for each in taken.repairs] == ["accept-baseline"]
    assert any("3.50" in line for line in taken.accepted)
    assert any("accepted" in line and "3.50" in line for line in read_trace(tmp_path / "mended").warnings)


def test_a_part_that_varies_between_runs_becomes_a_rule(small: SmallSite, tmp_path: Path) -> None:
    """A request key generated by the browser becomes a rule, verified on the recording and on the site."""
    report = repair(small.bundle("key"), output=tmp_path / "mended")

    assert (report.status, report.refusal) == ("repaired", "")
    assert [each.proposer for each in report.repairs] == ["volatile-rule"]
    network = read_trace(tmp_path / "mended").network
    assert network is not None
    assert [each.kind for each in network.rules] == ["query_key"]


def test_a_trace_that_contradicts_its_recording_is_repaired_without_a_site(small: SmallSite, tmp_path: Path) -> None:
    """A selector edited to match nothing is repaired against the recorded network, without a request to the site."""
    bundle = small.bundle("order")
    trace = read_trace(bundle)
    step = trace.subgoal_traces[0].actions_taken[-1].id
    edit = SetFields(step=step, fields={"action.target.selector": "#nowhere"}, same_element=True, reason="by hand")
    write_trace(apply_patch(trace, TracePatch(operations=(edit,))), bundle / TRACE_FILE)

    report = repair(bundle, against="recording", output=tmp_path / "mended")

    assert (report.status, report.refusal) == ("repaired", "")
    assert report.explanation is not None
    assert report.explanation.cause == "trace-invalid"
    assert '"selector": "#order"' in (tmp_path / "mended" / TRACE_FILE).read_text()
    assert small.pages.asked == []


def test_a_faithful_mission_is_left_alone(small: SmallSite, tmp_path: Path) -> None:
    """If nothing diverges, nothing is written, and the status reports it."""
    bundle = small.bundle("look")
    before = contents(bundle)

    report = repair(bundle, output=tmp_path / "mended")

    assert (report.status, report.exit_status) == ("faithful", 0)
    assert contents(bundle) == before
    assert not (tmp_path / "mended").exists()


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"runs": 1}, "expected at least 2, got 1"),
        ({"against": "recording", "base_urls": {"http://a.test": "http://b.test"}}, "visits no site"),
    ],
)
def test_contradictory_options_are_refused_before_a_file_is_read(
    options: dict[str, object], reported: str, tmp_path: Path
) -> None:
    """A single verification run, or base URLs without a visit to a site, is a usage error."""
    with pytest.raises(UsageError, match=reported):
        repair(tmp_path, QUICK, **options)
