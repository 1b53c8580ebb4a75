"""The file of a suite, and gates over a suite."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.cli.suite import suite_command
from eikon_engine.errors import UsageError, YamlError
from eikon_engine.outcome.suite_results import SuiteGates, SuiteResult
from eikon_engine.report.suite_report import (
    render_suite_junit,
    render_suite_markdown,
    render_suite_page,
    render_suite_text,
)
from eikon_engine.suite.results import merge_suites
from eikon_engine.suite.suite_file import choose_suite
from eikon_engine.triage.groups import TriageBuilder
from tests.commands import run_here
from tests.report.test_ci_formats import junit_schema
from tests.suite.bundles import START, copy_bundle
from tests.suite.test_results import result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.outcome.suite_results import MissionResult

WHOLE = """suite_version: 1
bundles: [traces/shop, "s3://bucket/traces"]
include: ["*/order*"]
exclude: ["*/old"]
tags: [smoke]
skip_tags: [slow]
repeat: 2
mission_timeout: 60
suite_timeout: 600.5
gates: {min_replays: 40, max_duration: 900, max_replay_duration: 60, max_retried: 0, max_quarantined: 2}
"""


def written(folder: Path, text: str) -> Path:
    """Write the file of a suite."""
    file = folder / "suite.yaml"
    file.write_text(text)
    return file


def with_gates(limits: Mapping[str, float], *results: MissionResult, missing: int = 0, shard: str = "") -> SuiteResult:
    """Return a suite that took nine seconds."""
    planned = [{"name": each.name} for each in results] + [{"name": f"missing{number}"} for number in range(missing)]
    data = {"shard": shard, "planned": planned, "gates": dict(limits)}
    times = {"started_at": START.isoformat(), "ended_at": (START + timedelta(seconds=9)).isoformat()}
    made = [each.model_dump(mode="json") for each in results]
    return SuiteResult.model_validate_json(json.dumps({**data, **times, "results": made}))


def test_a_file_names_bundles_options_and_gates(tmp_path: Path) -> None:
    """Paths are relative to it; what it does not say is left to the defaults."""
    suite = choose_suite([written(tmp_path, WHOLE)])

    assert suite.paths == (tmp_path / "traces/shop", "s3://bucket/traces")
    assert suite.options == {
        "include": ("*/order*",),
        "exclude": ("*/old",),
        "tags": ("smoke",),
        "skipped_tags": ("slow",),
        "repeat": 2,
        "mission_timeout_s": 60.0,
        "suite_timeout_s": 600.5,
    }
    assert suite.gates == SuiteGates(
        min_replays=40, max_duration=900, max_replay_duration=60, max_retried=0, max_quarantined=2
    )
    assert choose_suite([written(tmp_path, "bundles: [a]")]).options == {"repeat": 1}
    assert choose_suite([Path("a"), "s3://b/c"]).paths == (Path("a"), "s3://b/c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bundles: []", r"suite\.yaml: line 1, column 10: bundles"),
        ("bundels: [a]", r"bundels|bundles"),
        ("bundles: [a]\nrepeat: 0", r"line 2, column 9: repeat"),
        ("bundles: [a]\ngates:\n  max_retries: 1", r"line 3, column 3: gates\.max_retries"),
        ("bundles: [a]\nsuite_version: 2", r"line 2, column 16: suite_version"),
        ("bundles: a", r"line 1, column 10: bundles"),
        ("[", r"invalid YAML"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    """With the place of what is wrong."""
    with pytest.raises(YamlError, match=message):
        choose_suite([written(tmp_path, text)])


def test_a_file_is_the_only_argument(tmp_path: Path) -> None:
    """Another argument would leave open which options hold for it."""
    with pytest.raises(UsageError, match="expected the file of a suite as the only argument, got 2 arguments"):
        choose_suite([tmp_path, written(tmp_path, WHOLE)])


@pytest.mark.parametrize(
    ("limits", "failed"),
    [
        ({"min_replays": 2, "max_duration": 9, "max_replay_duration": 1.5, "max_retried": 1, "max_quarantined": 1}, []),
        ({"min_replays": 3}, ["min_replays: failed; limit 3, observed 2."]),
        ({"max_duration": 8.9}, ["max_duration: failed; limit 8.9, observed 9."]),
        ({"max_replay_duration": 1}, ["max_replay_duration: failed; limit 1, observed 1.5."]),
        ({"max_retried": 0}, ["max_retried: failed; limit 0, observed 1."]),
        ({"max_quarantined": 0}, ["max_quarantined: failed; limit 0, observed 1."]),
    ],
)
def test_a_gate_that_fails_makes_the_suite_fail(limits: dict[str, float], failed: list[str]) -> None:
    """In its exit status and in each report."""
    retried = result("a").model_copy(update={"retried": "its browser ended"})
    held = result("b", 1, summary="x").model_copy(update={"quarantine": "known"})
    suite = with_gates(limits, retried, held)

    assert [each.message for each in suite.gate_results if each.passed is not True] == failed
    assert suite.exit_status == (1 if failed else 0)
    junit = render_suite_junit(suite)
    junit_schema().validate(junit)
    assert junit.count('classname="eikon.gates"') == len(limits)
    assert f'tests="{2 + len(limits)}" failures="{len(failed)}"' in junit
    assert ("1 gate not passed" in render_suite_text(suite)) == bool(failed)
    for message in failed:
        assert message in render_suite_text(suite)
        assert message.partition(":")[0] in render_suite_markdown(suite).replace("\\", "")
        assert f'<li class="diverged">{message}</li>' in render_suite_page(suite, TriageBuilder().build())


def test_a_gate_is_unverifiable_if_replays_are_missing() -> None:
    """Unless what was made decides it."""
    words = {
        each.gate: each.word
        for each in with_gates({"min_replays": 1, "max_retried": 0}, result("a"), missing=1).gate_results
    }
    assert words == {"min_replays": "passed", "max_retried": "unverifiable"}
    few = with_gates({"min_replays": 2, "max_replay_duration": 1.0}, result("a"), missing=1)
    assert [each.word for each in few.gate_results] == ["unverifiable", "failed"]
    assert few.exit_status == 1


@given(st.lists(st.sampled_from([0, 1, 3, 65, 70]), min_size=1, max_size=5), st.integers(1, 6))
def test_gates_never_make_a_suite_pass(statuses: list[int], least: int) -> None:
    """They fail what is faithful, and pass nothing that is not."""
    results = [result(f"m{number}", status) for number, status in enumerate(statuses)]

    gated, plain = with_gates({"min_replays": least}, *results), with_gates({}, *results)

    assert gated.exit_status == (plain.exit_status if len(results) >= least else 1)
    assert gated.exit_status or not plain.exit_status


def test_gates_hold_for_the_merged_suite(tmp_path: Path) -> None:
    """A shard has a part of the replays, so it is not measured."""
    one = with_gates({"min_replays": 2}, result("a"), shard="1/2")
    two = with_gates({"min_replays": 2}, result("b"), shard="2/2")
    assert (one.gate_results, one.exit_status) == ((), 0)

    whole = merge_suites([(tmp_path / "1", one), (tmp_path / "2", two)], tmp_path)
    half = merge_suites([(tmp_path / "1", one)], tmp_path)

    assert [each.passed for each in whole.gate_results] == [True]
    assert [each.passed for each in half.gate_results] == [None]
    with pytest.raises(UsageError, match="expected the gates of"):
        merge_suites([(tmp_path / "1", one), (tmp_path / "2", with_gates({}, result("b"), shard="2/2"))], tmp_path)


@pytest.mark.browser
def test_a_suite_is_run_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that is given replaces that of the file."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        copy_bundle("shop_failing", tmp_path / "project" / "traces" / name)
    file = written(tmp_path / "project", "bundles: [traces]\nrepeat: 3\ninclude: ['*/a']\ngates: {min_replays: 2}")
    command = ["run", str(file), "-j", "1", "--artifacts-dir"]

    done = run_here(suite_command, [*command, "out", "--repeat", "1"], "eikon suite")

    assert done.returncode == 1
    assert "gate         min_replays: failed; limit 2, observed 1." in done.stdout
    assert "1 replay: 1 faithful, 1 gate not passed" in done.stdout
    both = run_here(suite_command, [*command, "all", "--repeat", "1", "--include", "*"], "eikon suite")
    assert (both.returncode, "2 replays: 2 faithful" in both.stdout) == (0, True)
