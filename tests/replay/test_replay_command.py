"""`python -m eikon_engine.replay`, tested by its exit status, streams and files.

It runs in its own process for passing, diverging, printing and stopping; elsewhere in this process.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eikon_engine.cli.replay import replay_command
from eikon_engine.outcome.events import ObservationMade, RunEnd
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.outcome.read_events import read_events
from tests.commands import run_here

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests" / "data" / "traces"
COMMAND = (sys.executable, "-m", "eikon_engine.replay")


def run_replay(trace: Path, artifacts: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle, in this process."""
    arguments = ("--trace", trace, "--artifacts-dir", artifacts, *options)
    return run_here(replay_command, arguments, "eikon-replay")


def run_apart(trace: Path, artifacts: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle in a separate process."""
    return subprocess.run(
        [*COMMAND, "--trace", str(trace), "--artifacts-dir", str(artifacts), *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=120,
        env={**os.environ, **environ},
    )


def copy_bundle(name: str, folder: Path) -> Path:
    """Copy a bundle of the repository, to change it."""
    return Path(shutil.copytree(TRACES / name, folder / name))


def change_trace(bundle: Path, old: str, new: str) -> None:
    """Replace a text in a trace that must contain it."""
    path = bundle / "trace.json"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def assert_one_line(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    """Check the exit status and that one clear line has these words, without a traceback."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("[REPLAY]")]
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0]


def test_a_passing_mission_is_faithful_without_its_site(tmp_path: Path) -> None:
    """The bundled mission replays offline: exit status 0, and all artifacts are written."""
    done = run_apart(TRACES / "shop_passing", tmp_path / "run")

    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    events = read_events(tmp_path / "run" / "events.jsonl").lines
    assert done.returncode == 0, done.stderr
    assert "verdict: faithful" in done.stderr
    assert done.stdout == ""
    assert outcome.verdict == "faithful"
    assert outcome.counts.subgoals == outcome.counts.subgoals_recorded == 4
    assert outcome.counts.actions == outcome.counts.actions_recorded >= 15
    assert outcome.counts.skills == outcome.counts.skills_recorded == 2
    assert (outcome.network.misses, outcome.network.unused) == ((), ())
    assert "REPLAY_DIVERGENCE" not in summary
    assert [line.sequence for line in events] == list(range(1, len(events) + 1))
    assert [line.event.observation for line in events if isinstance(line.event, ObservationMade)] == [
        step.observation for subgoal in outcome.subgoals for step in subgoal.steps if step.kind == "action"
    ]
    assert all(
        (tmp_path / "run" / artifact.path).stat().st_size > 0
        for subgoal in outcome.subgoals
        for step in subgoal.steps
        for artifact in step.artifacts
    )


def test_a_diverging_mission_reports_its_place_and_cause(tmp_path: Path) -> None:
    """The failure demo: exit status 1, the flag in both places, the exact action, a diff of exactly the change."""
    done = run_apart(TRACES / "shop_diverging", tmp_path / "run")

    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    first = outcome.divergences[0]
    assert done.returncode == 1
    assert "REPLAY_DIVERGENCE" in done.stderr
    assert "Replay divergence detected" in summary
    assert "REPLAY_DIVERGENCE" in summary
    assert (first.subgoal_id, first.sequence, first.layer, first.code) == ("find_banana", 6, "dom", "dom-changed")
    assert "#add-to-cart" in first.detail
    assert "buy-now" in first.detail
    assert outcome.ended_early == "stopped at the first divergence"


def test_the_console_has_the_cause_before_other_reasons(tmp_path: Path) -> None:
    """A difference of the environment is a possible cause only, and comes after the one that the evidence shows."""
    other = ["--responses-from", str(TRACES / "shop_diverging")]

    done = run_apart(TRACES / "shop_passing", tmp_path / "run", *other)

    lines = done.stderr.splitlines()
    shown = lines[lines.index("[REPLAY] verdict: diverged") + 1 :]
    assert shown[0].startswith("[REPLAY] cause: site-changed: The site has changed: at step 6 of find_banana")
    assert shown[1].startswith("[REPLAY] evidence: the site responds differently")
    assert shown[2].startswith("[REPLAY] because: dom-changed")
    assert "[REPLAY] next: if the change is intended, record the mission again; otherwise fix the site" in shown


def test_a_failed_mission_fails_again_as_recorded(tmp_path: Path) -> None:
    """A mission that failed when recorded is faithful if it fails the same way."""
    done = run_replay(TRACES / "shop_failing", tmp_path / "run")

    assert done.returncode == 0, done.stderr
    assert "(target-missing)" in done.stderr
    assert "[REPLAY] verdict: faithful\n[REPLAY] faithful to a mission that failed: target-missing" in done.stderr
    assert "Recorded as  failed, a mission that failed: target-missing" in (
        tmp_path / "run" / "replay_summary.txt"
    ).read_text(encoding="utf-8")


def test_all_divergences_are_collected_on_request(tmp_path: Path) -> None:
    """With --on-divergence continue, the replay continues after a divergence to the end of the mission."""
    bundle = copy_bundle("shop_diverging", tmp_path)
    change_trace(bundle, '"timeout_ms": 5000.0', '"timeout_ms": 500.0')  # every lost target takes the whole timeout

    run_replay(bundle, tmp_path / "run", "--on-divergence", "continue")

    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    assert outcome.ended_early is None
    assert outcome.counts.actions == outcome.counts.actions_recorded
    assert "target-missing" in {divergence.code for divergence in outcome.divergences}


def test_an_old_trace_on_a_site_that_is_gone_diverges(tmp_path: Path) -> None:
    """An old-format trace without a server diverges: an action that succeeded cannot reach its page."""
    done = run_replay(TRACES / "old_format", tmp_path / "run", "--network", "live", "--secret", "PASSWORD=x")

    assert done.returncode == 1
    assert "navigation-failed" in done.stderr


def test_snapshots_alone_are_never_a_pass(tmp_path: Path) -> None:
    """On stored snapshots every target is found, and the verdict is unverifiable, exit status 3."""
    done = run_replay(TRACES / "shop_passing", tmp_path / "run", "--network", "snapshot")

    outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
    assert done.returncode == 3, done.stderr
    assert outcome.divergences == ()
    assert outcome.counts.actions == outcome.counts.actions_recorded


def test_a_lost_target_is_found_on_snapshots(tmp_path: Path) -> None:
    """A selector without a match on the stored snapshots is reported."""
    bundle = copy_bundle("shop_passing", tmp_path)
    change_trace(bundle, '"selector": "#quantity"', '"selector": "#amount"')

    done = run_replay(bundle, tmp_path / "run", "--network", "snapshot")

    assert done.returncode == 1
    assert "target-missing in subgoal add_to_cart, sequence 1" in done.stderr


def test_the_outcome_is_printed_on_request(tmp_path: Path) -> None:
    """With --json, standard output has the outcome and nothing else."""
    done = run_apart(TRACES / "shop_failing", tmp_path / "run", "--json")

    assert json.loads(done.stdout)["verdict"] == "faithful"


def test_a_second_run_keeps_the_first_one_aside(tmp_path: Path) -> None:
    """A second run into one folder moves the complete first one to `<folder>.1`."""
    run_replay(TRACES / "shop_failing", tmp_path / "run")
    first = sorted(path.name for path in (tmp_path / "run").rglob("*"))

    run_replay(TRACES / "shop_failing", tmp_path / "run")

    assert sorted(path.name for path in (tmp_path / "run.1").rglob("*")) == first
    assert sorted(path.name for path in (tmp_path / "run").rglob("*")) == first


def test_a_foreign_folder_is_not_overwritten(tmp_path: Path) -> None:
    """Artifacts are not written into a folder with other files."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")

    done = run_replay(TRACES / "shop_failing", tmp_path)

    assert_one_line(done, 2, "mine.txt", "--artifacts-dir")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("spoil", "status", "words"),
    [
        (shutil.rmtree, 65, ("trace-missing",)),
        (lambda bundle: (bundle / "trace.json").unlink(), 65, ("trace.json", "trace-missing")),
        (lambda bundle: (bundle / "trace.json").write_bytes(b"\x89PNG"), 65, ("trace-syntax",)),
        (lambda bundle: _cut(bundle / "trace.json"), 65, ("trace-syntax",)),
        (lambda bundle: change_trace(bundle, '"page": 0', '"page": "0"'), 65, ("action.page", "trace-field")),
        (lambda bundle: change_trace(bundle, '"trace_version": 4', '"trace_version": 9'), 65, ("9", "trace-version")),
        (lambda bundle: change_trace(bundle, '"type": "click"', '"type": "leap"'), 65, ("leap", "trace-field")),
        (lambda bundle: change_trace(bundle, '"storage_state.json"', '"../x"'), 65, ("../x", "bundle-path")),
        (lambda bundle: (bundle / "storage_state.json").unlink(), 65, ("storage_state", "attachment-missing")),
        (lambda bundle: _spoil_blobs(bundle / "network" / "blobs"), 65, ("attachment-corrupt",)),
        (lambda bundle: change_trace(bundle, '"folder": "network"', '"folder": "net"'), 65, ("attachment-missing",)),
        (lambda bundle: _cut(bundle / "network" / "index.jsonl"), 65, ("index.jsonl", "trace-syntax")),
        (lambda bundle: change_trace(bundle, '"UTC"', '"Mars/Olympus"'), 65, ("Mars/Olympus", "trace-field")),
        (lambda bundle: (bundle / "storage_state.json").write_text("[1]"), 65, ("storage state", "trace-")),
    ],
    ids=[
        "no bundle",
        "no trace",
        "no JSON",
        "cut off",
        "wrong type",
        "newer version",
        "unknown action",
        "path outside",
        "no attachment",
        "other content",
        "no network",
        "torn network",
        "no such timezone",
        "other storage state",
    ],
)
def test_a_bundle_that_cannot_be_read_is_one_clear_line(
    tmp_path: Path, spoil: object, status: int, words: tuple[str, ...]
) -> None:
    """A damaged bundle is reported in one line with the right exit status."""
    bundle = copy_bundle("shop_failing", tmp_path)
    assert callable(spoil)
    spoil(bundle)

    done = run_replay(bundle, tmp_path / "run")

    assert_one_line(done, status, *words)


def test_an_unknown_skill_names_the_known_ones(tmp_path: Path) -> None:
    """An unknown skill ends with exit status 78, and nothing is written."""
    bundle = copy_bundle("shop_passing", tmp_path)
    change_trace(bundle, '"skill": "extract_table"', '"skill": "extract_tables"')

    done = run_replay(bundle, tmp_path / "run")

    assert_one_line(done, 78, "extract_tables", "detect_login_form, detect_page")
    assert not (tmp_path / "run").exists()


def test_a_missing_secret_is_reported_with_how_to_supply_it(tmp_path: Path) -> None:
    """A missing secret ends with exit status 78 and names the three ways to provide it."""
    done = run_replay(TRACES / "old_format", tmp_path / "run")

    assert_one_line(done, 78, "--secret PASSWORD=", "EIKON_SECRET_PASSWORD", "--secret-file")


@pytest.mark.parametrize("value", ["hunter2hunter", "pin47"])
def test_a_secret_in_a_selector_is_in_no_output(tmp_path: Path, value: str) -> None:
    """The browser uses the value; the error, events, outcome and summary have only its name."""
    bundle = copy_bundle("shop_passing", tmp_path)
    trace = json.loads((bundle / "trace.json").read_text())
    actions = trace["subgoal_traces"][0]["actions_taken"]
    target = next(each["action"] for each in actions if "target" in each["action"])["target"]
    target |= {"selector": "#{{eikon-secret:PW}}", "identity": None}
    (bundle / "trace.json").write_text(json.dumps(trace))

    done = run_replay(bundle, tmp_path / "run", "--secret", f"PW={value}")

    written = [each for each in (tmp_path / "run").rglob("*") if each.is_file() and value.encode() in each.read_bytes()]
    assert done.returncode == 1, done.stderr
    assert "target-missing: #{{eikon-secret:PW}}" in done.stderr
    assert (value in done.stdout + done.stderr, written) == (False, [])


def test_a_browser_that_is_not_there_is_exit_69(tmp_path: Path) -> None:
    """A browser path that does not exist is reported with exit status 69."""
    done = run_replay(TRACES / "shop_failing", tmp_path / "run", "--browser-path", str(tmp_path / "none"))

    assert_one_line(done, 69, str(tmp_path / "none"))


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "inf", "soon"])
def test_a_deadline_that_is_none_is_exit_2(tmp_path: Path, timeout: str) -> None:
    """Deadlines other than a positive number of seconds are refused."""
    done = run_replay(TRACES / "shop_failing", tmp_path / "run", "--timeout", timeout)

    assert done.returncode == 2
    assert "--timeout" in done.stderr


def test_actions_that_were_blocked_are_no_pass(tmp_path: Path) -> None:
    """A mission whose actions were blocked when recorded is unverifiable, never faithful."""
    bundle = copy_bundle("shop_failing", tmp_path)
    trace = json.loads((bundle / "trace.json").read_bytes())
    for subgoal in trace["subgoal_traces"]:
        for action in subgoal["actions_taken"]:
            action["result"] = {"kind": "blocked", "reason": "policy"}
    (bundle / "trace.json").write_text(json.dumps(trace), encoding="utf-8")

    assert run_replay(bundle, tmp_path / "run").returncode == 3


def test_a_snapshot_of_another_page_is_refused(tmp_path: Path) -> None:
    """Swapped snapshots of two actions contradict their observations, which is reported."""
    bundle = copy_bundle("shop_passing", tmp_path)
    trace = json.loads((bundle / "trace.json").read_bytes())
    first, second = (each["actions_taken"][-1]["observation"]["pages"][0] for each in trace["subgoal_traces"][:2])
    first["snapshot"], second["snapshot"] = second["snapshot"], first["snapshot"]
    (bundle / "trace.json").write_text(json.dumps(trace), encoding="utf-8")

    done = run_replay(bundle, tmp_path / "run")

    assert_one_line(done, 65, "got a different one", "attachment-corrupt")


def test_an_unknown_option_is_exit_2(tmp_path: Path) -> None:
    """An option that does not exist ends with exit status 2."""
    done = run_apart(TRACES / "shop_failing", tmp_path / "run", "--retry")

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_made_is_exit_2(tmp_path: Path) -> None:
    """An artifacts folder below a file ends with exit status 2."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    done = run_replay(TRACES / "shop_failing", tmp_path / "file" / "run")

    assert_one_line(done, 2, "file")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_can_be_read_back(tmp_path: Path, how: signal.Signals) -> None:
    """Events of a killed or interrupted replay read back; Ctrl-C leaves a complete outcome, exit status 130."""
    command = [*COMMAND, "--trace", str(TRACES / "shop_passing"), "--artifacts-dir", str(tmp_path / "run")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "subgoal 2" in line:
                process.send_signal(how)
                break
        rest = process.stderr.read()
        status = process.wait(timeout=60)

    read = read_events(tmp_path / "run" / "events.jsonl")
    end = read.lines[-1].event
    assert len(read.lines) >= 4
    assert "Traceback" not in rest
    if how is not signal.SIGKILL:
        outcome = ReplayOutcome.model_validate_json((tmp_path / "run" / "outcome.json").read_bytes())
        assert status == 128 + how
        assert read.truncation is None
        assert isinstance(end, RunEnd)
        assert (end.how, end.ended_early) == ("interrupted", "interrupted")
        assert outcome.verdict == "unverifiable"
        assert outcome.ended_early == "interrupted"
        stopper = "the user" if how is signal.SIGINT else "SIGTERM"
        assert f"the replay was stopped by {stopper}; its artifacts cover the steps completed so far" in rest
    else:
        assert status == -signal.SIGKILL
        assert not read.has_ended


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _spoil_blobs(folder: Path) -> None:
    first, second, *_ = sorted(folder.iterdir())
    content = first.read_bytes()
    for path in folder.iterdir():
        path.write_bytes(content if path != first else second.read_bytes())
