"""Edited bundles and variables in a real browser: what is no longer verified never passes."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from eikon_engine.certify.certify import accept, certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.cli.trace import trace_command
from eikon_engine.errors import EikonError
from eikon_engine.record import RecordOptions
from eikon_engine.record.rerecord import rerecord
from eikon_engine.trace.bundle import open_bundle
from tests.error_codes import has_code
from tests.replay.conftest import SECRETS, Recorded, replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.certification import CertificationReport

pytestmark = pytest.mark.browser

TYPE = "find_banana__attempt_1_action_003"
SKILLS = ("compare_prices__attempt_1_skill_002", "find_banana__attempt_1_skill_005")


def edit(command: str, bundle: Path, *arguments: str, to: Path) -> Path:
    """Make a changed copy of a bundle, as the command does."""
    line = [command, str(bundle), *arguments, "-o", str(to)]
    result = CliRunner().invoke(trace_command, line, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return to


def certified(bundle: Path) -> CertificationReport:
    """Certify a bundle, and accept all proposals."""
    opened = open_bundle(bundle)
    return accept(opened, SHARED.run(certify(opened, CertifyOptions(runs=2, secrets=SECRETS))))


def search_alone(recorded: Recorded, to: Path, *, up_to: int) -> Path:
    """Shorten the mission to its search, up to one of its steps."""
    bundle = recorded.bundles["banana"]
    _, search, *later = open_bundle(bundle).trace.subgoal_traces
    after = [each.id for each in search.steps if each.sequence > up_to]
    return edit("delete", bundle, *after, *(each.id for subgoal in later for each in subgoal.steps), to=to)


@pytest.fixture
def with_variable(recorded: Recorded, tmp_path: Path) -> Path:
    """Replace the search text by a variable."""
    bundle = search_alone(recorded, tmp_path / "short", up_to=6)
    return edit("set", bundle, TYPE, "action.text={{fruit}}", "--var", "fruit=banana", to=tmp_path / "variable")


def test_an_edited_text_requests_what_is_not_recorded(recorded: Recorded, tmp_path: Path) -> None:
    """A changed search text has no recorded response, and no rule is proposed that would give it one."""
    short = search_alone(recorded, tmp_path / "short", up_to=4)
    copy = edit("set", short, TYPE, "action.text=carrot", to=tmp_path / "copy")

    outcome = replay(copy, tmp_path / "run")

    once = CertifyOptions(runs=2, rounds=2, doublings=0, secrets=SECRETS)
    report = SHARED.run(certify(open_bundle(copy), once)).report
    first = outcome.divergences[0]
    assert (report.status, report.certificate) == ("diverged", None)
    assert "add_rule" not in report.model_dump_json()
    assert (outcome.verdict, first.code, first.sequence) == ("diverged", "request-not-recorded", 4)
    assert "q=carrot" in first.observed
    assert any(each.startswith("edited: set action.text") for each in outcome.warnings)


def test_a_mission_without_one_of_its_steps_is_no_pass_until_it_is_certified(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Without a key press, later steps still find recorded responses but verify nothing, and get new baselines.

    Skills get none: no replay reaches the documents on which they ran.
    """
    short = search_alone(recorded, tmp_path / "short", up_to=6)
    copy = edit("delete", short, "find_banana__attempt_1_action_002", *SKILLS, to=tmp_path / "copy")

    before = replay(copy, tmp_path / "run")
    report = certified(copy)
    after = replay(copy, tmp_path / "run")

    assert (before.verdict, before.exit_status, before.certified) == ("unverifiable", 3, "none")
    assert (report.status, report.accepted) == ("certified", True)
    assert (after.verdict, after.certified) == ("faithful", "certified")


def test_steps_that_only_look_leave_everything_comparable(recorded: Recorded, tmp_path: Path) -> None:
    """Without an assertion, or with another subgoal boundary, the remaining steps stay faithful."""
    bundle = recorded.bundles["banana"]
    shorter = edit("delete", bundle, "add_to_cart__attempt_1_action_009", to=tmp_path / "shorter")
    options = ("--before", "add_to_cart__attempt_1_action_005", "--description", "Review it")
    split = edit("split", shorter, "add_to_cart__attempt_1", *options, to=tmp_path / "split")
    merged = edit("merge", split, "compare_prices__attempt_1", "find_banana__attempt_1", to=tmp_path / "merged")

    outcome = replay(merged, tmp_path / "run")

    assert outcome.verdict == "faithful"
    assert [each.id for each in outcome.subgoals] == [
        "compare_prices__attempt_1",
        "add_to_cart__attempt_1",
        "add_to_cart_2__attempt_1",
        "check_cart__attempt_1",
    ]


@pytest.mark.parametrize(("selector", "verdict"), [("input[type=search]", "faithful"), ("#quantity", "diverged")])
def test_another_selector_of_the_same_element_is_proved(
    recorded: Recorded, tmp_path: Path, selector: str, verdict: str
) -> None:
    """A new selector that matches the recorded element is faithful; one that does not diverges."""
    bundle = recorded.bundles["banana"]
    change = f"action.target.selector={selector}"
    copy = edit("set", bundle, TYPE, change, "--same-element", to=tmp_path / "copy")

    assert replay(copy, tmp_path / "run").verdict == verdict


def test_a_variable_has_its_recorded_value_unless_it_is_given_another(with_variable: Path, tmp_path: Path) -> None:
    """Sealed, the recorded value is faithful, by default or provided; another value has no recorded response."""
    recorded_value = replay(with_variable, tmp_path / "run")
    given = replay(with_variable, tmp_path / "run", variables={"fruit": "banana"})
    other = replay(with_variable, tmp_path / "run", variables={"fruit": "carrot"})

    assert (recorded_value.verdict, given.verdict) == ("faithful", "faithful")
    assert other.divergences[0].code == "request-not-recorded"


def test_another_value_does_the_mission_on_a_live_site(recorded: Recorded, with_variable: Path, tmp_path: Path) -> None:
    """A carrot is bought: every action succeeds, and no recorded data of the banana counts as verification."""
    recorded.shop.restart()

    outcome = replay(with_variable, tmp_path / "run", network="live", variables={"fruit": "carrot"})

    steps = [step for subgoal in outcome.subgoals for step in subgoal.steps]
    assert (outcome.verdict, outcome.is_whole, outcome.divergences) == ("unverifiable", True, ())
    assert any(each.kind == "action" and "'carrot'" in each.label for each in steps)
    assert any("recorded as 'banana'" in each for each in outcome.warnings)
    assert any(
        "Carrot" in page.title
        for step in steps
        if step.kind == "action" and step.observation is not None
        for page in step.observation.pages
    )


def test_a_mission_is_recorded_again_with_another_value(
    recorded: Recorded, with_variable: Path, tmp_path: Path
) -> None:
    """The new bundle keeps the variable with its new value, is faithful, and reports what it lacks."""
    source = edit("delete", with_variable, *SKILLS, to=tmp_path / "source")
    recorded.shop.restart()

    SHARED.run(rerecord(open_bundle(source), tmp_path / "new", RecordOptions(variables={"fruit": "carrot"})))

    trace = open_bundle(tmp_path / "new").trace
    assert trace.variables == {"fruit": "carrot"}
    assert [each.partition(" of the older")[0] for each in trace.warnings] == ["not recorded again: 1 extraction"]
    assert '"text":"{{fruit}}"' in trace.model_dump_json()
    assert replay(tmp_path / "new", tmp_path / "run").verdict == "faithful"


def test_wrong_variables_are_refused_before_anything_is_written(
    recorded: Recorded, with_variable: Path, tmp_path: Path
) -> None:
    """A value for an unknown variable, or a variable without a value, fails before a browser starts."""
    needed = edit("set", with_variable, "--var", "fruit", to=tmp_path / "needed")

    for bundle, given, code in (
        (needed, {}, "variable-missing"),
        (with_variable, {"frut": "carrot"}, "usage"),
        (recorded.bundles["banana"], {"fruit": "carrot"}, "usage"),
    ):
        with pytest.raises(EikonError, match="--var", check=has_code(code)):
            replay(bundle, tmp_path / "run", variables=given)
        with pytest.raises(EikonError, match="--var", check=has_code(code)):
            SHARED.run(certify(open_bundle(bundle), CertifyOptions(secrets=SECRETS, variables=given)))
        with pytest.raises(EikonError, match="--var", check=has_code(code)):
            SHARED.run(rerecord(open_bundle(bundle), tmp_path / "new", RecordOptions(variables=given)))
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("release", "cause"), [("browser_version", "trace-invalid"), ("playwright_version", "unknown")]
)
def test_a_wrong_selector_on_an_equal_page_is_not_blamed_on_another_browser(
    recorded: Recorded, tmp_path: Path, release: str, cause: str
) -> None:
    """Another release of Playwright may find other elements, another one of the browser does not."""
    copy = tmp_path / "copy"
    shutil.copytree(recorded.bundles["banana"], copy)
    trace = json.loads((copy / "trace.json").read_text(encoding="utf-8"))
    trace["environment"][release] = "1.0"
    actions = (step for subgoal in trace["subgoal_traces"] for step in subgoal["actions_taken"])
    next(step for step in actions if step["action"].get("target"))["action"]["target"]["selector"] = "#elsewhere"
    (copy / "trace.json").write_text(json.dumps(trace), encoding="utf-8")

    outcome = replay(copy, tmp_path / "run")

    assert outcome.explanation is not None
    assert (outcome.divergences[0].code, outcome.explanation.cause) == ("target-missing", cause)
