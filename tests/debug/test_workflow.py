"""The workflow that sessions are for: run to a failure, go back, go another way, pass; all of it shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.debug.conftest import TRACES, session

if TYPE_CHECKING:
    from pathlib import Path

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
└── · 1 step to come
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
"""How the comparison begins."""


def test_a_mission_that_fails_is_gone_another_way_and_passes(tmp_path: Path) -> None:
    """What fails on the recording passes on the branch, twice: the second time it is compared with the first."""
    options = ("--break", "error", "--checkpoint-interval", "0", "--parked", "1")
    with session(tmp_path / "sessions", *options, trace=FAILING) as running:
        running.good("step")
        made = running.json("checkpoint", "create", "the catalogue")["checkpoint"]["id"]
        failed = running.json("resume")
        running.good("rewind", "the catalogue", "--force")
        running.good("branch", "create", "try-search", "--from", "the catalogue")
        running.good("branch", "skip")
        running.good("branch", "insert", "fill", "#search", "voucher", "--perform")
        first = running.json("branch", "insert", "press", "Tab", "--perform")
        running.good("rewind", "the catalogue", "--force")
        again = running.json("resume")
        timeline, difference = running.good("timeline"), running.good("diff", "main", "try-search")
        branch = running.folder / "branches" / "try-search"
        outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(branch)

    assert (failed["iteration"], failed["reason"]) == (2, "breakpoint")
    assert (first["verdict"], again["verdict"]) == ("unverifiable", "faithful")
    assert timeline.replace(made, "cp_1") == TIMELINE
    assert difference.startswith(DIFFERENCE)
    assert outcome.verdict == "faithful"
