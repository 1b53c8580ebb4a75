"""Suites in actors of a real Ray cluster on this machine."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from eikon_engine.cli.suite import suite_command
from eikon_engine.errors import RequirementError
from eikon_engine.outcome.suite_results import MissionResult
from eikon_engine.suite.missions import find_missions
from eikon_engine.suite.run import SuiteOptions, run_suite
from tests.commands import run_here
from tests.suite.bundles import copy_bundle
from tests.until import GENEROUS_S

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]


def test_a_killed_actor_costs_nothing_but_time(tmp_path: Path) -> None:
    """The same verdicts as in processes of this machine, with all artifacts; nothing is left running."""
    for name in ("a", "b", "c"):
        copy_bundle("shop_failing", tmp_path / "traces" / name)
    copy_bundle("shop_diverging", tmp_path / "traces" / "d")
    killed: list[psutil.Process] = []

    def kill_an_actor(_result: MissionResult) -> None:
        if not killed:
            killed.append(next(each for each in psutil.process_iter() if "_ReplayActor" in each.name()))
            killed[0].kill()

    options = SuiteOptions(folder=tmp_path / "out", workers=1, engine="ray", repeat=2)
    suite = run_suite(find_missions([tmp_path / "traces"]), options, lambda _mission: {}, kill_an_actor)

    assert killed
    assert [each.key for each in suite.results] == [each.key for each in suite.planned]
    assert {each.verdict for each in suite.results if each.mission_id != "d"} == {"faithful"}
    assert {each.verdict for each in suite.results if each.mission_id == "d"} == {"diverged"}
    assert any(each.retried.startswith("its actor ended") for each in suite.results)
    assert len(list((tmp_path / "out").rglob("outcome.json"))) == 8
    left = [each for each in psutil.Process().children(recursive=True) if "ray" in each.name().lower()]
    assert psutil.wait_procs(left, timeout=GENEROUS_S)[1] == []


def test_a_cluster_out_of_reach_is_one_line(tmp_path: Path) -> None:
    """Nothing was replayed, and the results say so."""
    copy_bundle("shop_failing", tmp_path / "traces" / "a")

    words = [
        "run",
        tmp_path / "traces",
        "--engine",
        "ray",
        "--address",
        "127.0.0.1:9",
        "--artifacts-dir",
        tmp_path / "out",
    ]
    done = run_here(suite_command, words, "eikon suite")

    assert done.returncode == RequirementError.exit_status
    assert done.stderr.splitlines()[-1].startswith("eikon suite: Ray cannot be reached at 127.0.0.1:9: ")
