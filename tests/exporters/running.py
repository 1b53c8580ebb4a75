"""Run an exported test as a user does: with pytest in its own folder and a browser of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser.executable import find_browser
from eikon_engine.exporters.playwright_test import export_bundle
from eikon_engine.trace.base_urls import build_url_map
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eikon_engine.exporters.playwright_test import ExportedTest

_CONFTEST = """
import pytest


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {{**browser_type_launch_args, "executable_path": {path!r}, "args": {flags!r}}}
"""
NAME = "test_mission.py"
PLUGINS = ("-p", "pytest_playwright.pytest_playwright")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of a test run."""

    passed: bool
    step: tuple[str, int] | None
    """Subgoal and sequence of the step at which the test failed; None if it passed."""
    output: str


def export(bundle: Path, folder: Path) -> ExportedTest:
    """Write the test of a bundle into a folder, with a conftest that configures the browser."""
    folder.mkdir(parents=True, exist_ok=True)
    test = export_bundle(open_bundle(bundle), build_url_map({}), files_folder="test_mission_files")
    (folder / NAME).write_text(test.source, encoding="utf-8")
    for name, content in test.files.items():
        (folder / "test_mission_files").mkdir(exist_ok=True)
        (folder / "test_mission_files" / name).write_bytes(content)
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    conftest = _CONFTEST.format(path=str(find_browser(None, environ=os.environ).path), flags=flags)
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    return test


def run(test: ExportedTest, folder: Path, url: str = "", secrets: Mapping[str, str] | None = None) -> Ran:
    """Run an exported test against a site."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # importing our other plugins takes a second
    environment |= {f"EIKON_SECRET_{name}": value for name, value in (secrets or {}).items()}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGINS, NAME, *(["--base-url", url] if url else [])],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    output = done.stdout + done.stderr
    lines = [int(found) for found in re.findall(rf"^{NAME}:(\d+): ", output, re.MULTILINE)]
    body = [line for line in lines if test.step_lines and line >= test.step_lines[0][0]]
    step = None if done.returncode == 0 or not body else _step_at(test, body[0])
    return Ran(passed=done.returncode == 0, step=step, output=output)


def _step_at(test: ExportedTest, line: int) -> tuple[str, int]:
    _, subgoal, sequence = max(each for each in test.step_lines if each[0] <= line)
    return subgoal, sequence
