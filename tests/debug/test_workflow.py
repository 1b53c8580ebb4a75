"""The workflow of sessions: run to a failure, rewind, change the steps, pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.debug.conftest import TRACES, session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

FAILING = TRACES / "shop_failing"
TIMELINE = """\
mission shop_failing, session s1
○ main
├── ✓ 1 navigate to http://127.0.0.1:8642/
├── ◆ the catalogue [cp_1]
│   └── ● try-search (from main at [cp_1], active): faithful ✓
│       ├── - skipped: click #redeem-voucher
│       ├── ✓ 2 fill #search ('Search') with 'voucher' (new)
│       ├── ✓ 3 press Tab (new)
│       └── ▶ here: 3 of 3 steps done
└── · 1 step left
"""
DIFFERENCE = """\
--- main
+++ try-search
    1 navigate to http://127.0.0.1:8642/
-   2 click #redeem-voucher  [target-missing]
+   2 fill #search ('Search') with 'voucher'
+   3 press Tab

pages at the end
  page 0: http://127.0.0.1:8642/
"""
"""The start of the diff."""


def test_a_failing_mission_passes_on_a_branch(tmp_path: Path) -> None:
    """The branch passes twice; the second run is compared with the first."""
    options = ("--break", "error", "--checkpoint-interval", "0", "--parked", "1")
    with session(tmp_path / "sessions", *options, trace=FAILING) as running:
        running.run("step")
        checkpoint_id = running.json("checkpoint", "create", "the catalogue")["checkpoint"]["id"]
        failed = running.json("resume")
        running.run("rewind", "the catalogue", "--force")
        running.run("branch", "create", "try-search", "--from", "the catalogue")
        running.run("branch", "skip")
        running.run("branch", "insert", "fill", "#search", "voucher", "--perform")
        first = running.json("branch", "insert", "press", "Tab", "--perform")
        running.run("rewind", "the catalogue", "--force")
        again = running.json("resume")
        timeline, difference = running.run("timeline"), running.run("diff", "main", "try-search")
        branch = running.folder / "branches" / "try-search"
        outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(branch)

    assert (failed["iteration"], failed["reason"]) == (2, "breakpoint")
    assert (first["verdict"], again["verdict"]) == ("unverifiable", "faithful")
    assert timeline.replace(checkpoint_id, "cp_1") == TIMELINE
    assert difference.startswith(DIFFERENCE)
    assert outcome.verdict == "faithful"
