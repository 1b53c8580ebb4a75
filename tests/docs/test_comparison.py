"""What docs/comparison.md says of other tools can be repeated."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.executable import find_browser
from tests.architecture.sources import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (PROJECT / "docs" / "comparison.md").read_text(encoding="utf-8")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BENCHMARK = re.compile(r"python -m benchmarks\.(\w+)")


@pytest.mark.browser
def test_har_replay_gives_the_first_response_twice(tmp_path: Path) -> None:
    """The program on the page prints what the page says: Playwright serves the first of two responses twice."""
    (program,) = PYTHON.findall(PAGE)

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "EIKON_BROWSER_PATH": str(find_browser(None, environ=os.environ).path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout.splitlines()) == (0, ["recorded: 1 2", "replayed: 1 1"]), done.stderr
    assert all(f"`{line}`" in PAGE for line in done.stdout.splitlines())


def test_benchmarks_of_the_page_exist() -> None:
    """Each command of the page that runs a benchmark names one."""
    names = set(BENCHMARK.findall(PAGE))

    assert names
    assert [name for name in names if not any((PROJECT / "benchmarks").glob(f"{name}*"))] == []
