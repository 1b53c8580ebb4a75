from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import TraceError, UsageError
from eikon_engine.outcome.suite_results import MissionResult, PlannedReplay, SuiteResult, worst_status
from eikon_engine.report.suite_report import (
    render_suite_junit,
    render_suite_markdown,
    render_suite_page,
    render_suite_text,
)
from eikon_engine.suite.results import SuiteJournal, SuitePlan, failed_names, merge_suites, read_suite
from eikon_engine.trace.variables import missing_secret_message
from eikon_engine.triage.groups import TriageBuilder
from tests.report.test_ci_formats import junit_schema
from tests.suite.bundles import START

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e|`&\n" + "x" * 5_000


def result(name: str, status: int = 0, *, repeat: int = 1, summary: str = "") -> MissionResult:
    """Return a result with an exit status."""
    verdict = {0: "faithful", 1: "diverged", 3: "unverifiable"}.get(status, "failed")
    return MissionResult.model_validate(
        {
            "name": name,
            "repeat": repeat,
            "verdict": verdict,
            "exit_status": status,
            "summary": summary,
            "started_at": START,
            "duration_ms": 1500,
        }
    )


def plan(*names: str, shard: str = "", **settings: str) -> SuitePlan:
    """Return the plan of a suite."""
    planned = tuple(PlannedReplay(name=each) for each in names)
    return SuitePlan(shard=shard, started_at=START, planned=planned, settings=settings)


def suite(*results: MissionResult, planned: tuple[str, ...] = (), ended_early: str = "") -> SuiteResult:
    """Return a suite with these results."""
    replays = dict.fromkeys([*(each.key for each in results), *((name, 1) for name in planned)])
    return SuiteResult(
        started_at=START,
        ended_at=START + timedelta(seconds=9),
        planned=tuple(PlannedReplay(name=name, repeat=repeat) for name, repeat in replays),
        results=results,
        ended_early=ended_early,
    )


@pytest.mark.parametrize(
    ("statuses", "worst"), [((), 0), ((0, 3), 3), ((3, 1, 70), 1), ((65, 78, 3), 78), ((0, 130), 130), ((69, 2), 69)]
)
def test_a_divergence_outweighs_everything(statuses: tuple[int, ...], worst: int) -> None:
    """Then what failed, then what is unverifiable."""
    assert worst_status(statuses) == worst


@given(st.integers(0, 60), st.integers(0, 3))
def test_a_journal_that_ends_anywhere_is_resumed(
    tmp_path_factory: pytest.TempPathFactory, cut: int, complete: int
) -> None:
    """A killed process leaves complete lines and a part of one."""
    folder = tmp_path_factory.mktemp("suite") / "out"
    names = [f"m{number}" for number in range(4)]
    journal = SuiteJournal.create(folder, plan(*names))
    for name in names[: complete + 1]:
        journal.add(result(name))
    journal.close()
    file = folder / "results.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[: complete + 1]) + lines[complete + 1][:cut])

    resumed = SuiteJournal.resume(folder, plan(*names))
    for name in names[complete:]:
        resumed.add(result(name))
    resumed.close()

    assert [each.name for each in resumed.results] == names
    assert len(file.read_bytes().splitlines()) == 5
    assert SuiteJournal.resume(folder, plan(*names)).results == resumed.results


def test_a_suite_resumes_only_with_what_it_began_with(tmp_path: Path) -> None:
    """Other results would be mixed with those of another plan."""
    SuiteJournal.create(tmp_path / "out", plan("a", "b", policy="strict")).close()

    for other, message in (
        (plan("a", "c", policy="strict"), r"b \(replay 1\) is gone"),
        (plan("a", "b", policy="effects"), r'settings was {"policy": "strict"}, and is {"policy": "effects"}'),
        (plan("a", "b", shard="1/2", policy="strict"), r'shard was "", and is "1/2"'),
    ):
        with pytest.raises(UsageError, match=message):
            SuiteJournal.resume(tmp_path / "out", other)
    with pytest.raises(UsageError, match=r"--resume expected a suite that was interrupted, got: No such file"):
        SuiteJournal.resume(tmp_path / "none", plan("a"))
    (tmp_path / "out" / "results.jsonl").write_text('{"journal_version": 2}\n')
    with pytest.raises(TraceError, match=r"results\.jsonl: journal_version"):
        SuiteJournal.resume(tmp_path / "out", plan("a"))


def test_results_of_another_kind_are_refused(tmp_path: Path) -> None:
    """A missing file, and one of a newer version."""
    with pytest.raises(TraceError, match=r"suite\.json: expected the results of a suite, got: No such file"):
        read_suite(tmp_path)
    (tmp_path / "suite.json").write_text('{"suite_version": 2}')
    with pytest.raises(TraceError, match=r"suite\.json: suite_version"):
        read_suite(tmp_path)


def test_failed_missions_include_those_that_were_not_replayed() -> None:
    """Both are replayed by --last-failed."""
    whole = suite(result("a"), result("b", 1), result("c", 3), planned=("d",), ended_early="interrupted")

    assert failed_names(whole) == {"b", "c", "d"}
    assert whole.exit_status == 1


def test_merged_shards_are_those_of_all(tmp_path: Path) -> None:
    """From the first beginning to the last end, in the order of their names."""
    one, two = suite(result("b", 3), result("d")), suite(result("a"), planned=("c",), ended_early="--fail-fast")

    merged = merge_suites([(tmp_path / "1", one), (tmp_path / "2", two)], tmp_path / "all")

    assert [each.name for each in merged.planned] == ["a", "b", "c", "d"]
    assert [each.name for each in merged.missing] == ["c"]
    assert (merged.exit_status, merged.ended_early) == (3, "--fail-fast")


def test_reports_show_hostile_texts_harmless() -> None:
    """Names are paths, and summaries come from pages."""
    whole = suite(result(f"t/{HOSTILE}", 1, summary=HOSTILE), result("b", 70, summary=HOSTILE), planned=("c",))

    junit, page = render_suite_junit(whole), render_suite_page(whole, TriageBuilder().build())
    text, markdown = render_suite_text(whole), render_suite_markdown(whole)

    junit_schema().validate(junit)
    cases = ET.fromstring(junit.encode()).findall(".//testcase")  # noqa: S314 - our own
    assert [len(each) for each in cases] == [1, 1, 1]
    assert "<script" not in page
    assert "\x1b" not in page + text + markdown + junit
    assert "\u202e" not in page + text + markdown
    assert len(text.splitlines()) == 3


def test_replays_that_ended_differently_are_named() -> None:
    """A mission of which one replay diverged is flaky."""
    whole = suite(result("a"), result("a", 1, repeat=2), result("b"), result("b", repeat=2))

    assert whole.unequal() == ("a",)
    assert "flaky        a: 1 faithful, 1 diverged" in render_suite_text(whole)


def test_what_to_do_about_a_missing_secret_fits_in_a_line() -> None:
    """The line of a suite ends neither before the ways to provide it nor before where it is configured."""
    origin = "eikon.toml [env.staging.replay.secrets]: environment variable STAGING_PASSWORD, which is not set"
    lacking = result("a", 78, summary=missing_secret_message("PASSWORD", origin))

    line = render_suite_text(suite(lacking)).splitlines()[0]

    assert "use --secret PASSWORD=…, --secret-file, or the variable EIKON_SECRET_PASSWORD" in line
    assert "environment variable STAGING_PASSWORD, which is not set" in line


def test_a_replay_that_is_faithful_to_a_failure_is_in_the_table() -> None:
    """The number of faithful replays alone would hide that the mission never worked."""
    whole = suite(result("a"), result("b", summary="faithful to a mission that failed: no ticket"))

    text, markdown = render_suite_text(whole), render_suite_markdown(whole)

    assert text.splitlines()[0] == "faithful     b  1.5 s  faithful to a mission that failed: no ticket"
    assert "| b | faithful | faithful to a mission that failed: no ticket |" in markdown
    assert text.splitlines()[1].startswith("2 replays: 2 faithful")
    assert whole.exit_status == 0
