"""`eikon certify` as a user runs it: exit status, streams and files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.outcome.certification import CertificationReport
from tests.certify.conftest import change_actions
from tests.commands import run_here

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]


def run_certify(bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle, in this process."""
    return run_here(eikon, ("certify", bundle, "--runs", "2", *options), "eikon")


def run_apart(bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a bundle, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "eikon_engine", "certify", str(bundle), "--runs", "2", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_proposals_are_shown_and_only_written_when_accepted(bundle: Callable[[str], Path]) -> None:
    """A proposed baseline is printed as a diff with status 3; with `--accept` it is written with status 0."""
    folder = bundle("stable")
    change_actions(folder, lambda action: action.model_copy(update={"observation": None}))
    before = (folder / "trace.json").read_bytes()

    shown = run_apart(folder, "--stress")
    untouched = (folder / "trace.json").read_bytes() == before and not (folder / "certificate.json").exists()
    accepted = run_certify(folder, "--accept", "--json")

    assert shown.returncode == 3, shown.stderr
    assert shown.stdout.count('-     "observation": null,') == 2
    assert "Apply them with --accept" in shown.stderr
    assert untouched
    assert accepted.returncode == 0, accepted.stderr
    report = CertificationReport.model_validate_json(accepted.stdout)
    assert (report.status, report.accepted, len(report.patch.operations)) == ("certified", True, 2)
    assert json.loads((folder / "certificate.json").read_text())["runs"] == 2


def test_the_runs_may_be_sequential(bundle: Callable[[str], Path]) -> None:
    """`--parallel 1` gives the same result, and a value that is not a number is rejected."""
    folder = bundle("stable")

    done = run_certify(folder, "--parallel", "1")
    refused = run_certify(folder, "--parallel", "0")

    assert done.returncode == 0, done.stderr
    assert refused.returncode == 2
    assert "--parallel" in refused.stderr


def test_a_bundle_that_is_none_is_one_line(tmp_path: Path) -> None:
    """A folder without a trace is a one-line error with the exit status of unreadable traces."""
    done = run_certify(tmp_path)

    assert done.returncode == 65
    assert done.stderr.count("\n") == 1
    assert "(code trace-missing)" in done.stderr
