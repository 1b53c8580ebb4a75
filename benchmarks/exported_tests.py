"""Proves that exported tests fail on a changed site, at the step that the change affects, and pass otherwise.

Run: `python -m benchmarks.exported_tests` in the environment of scripts/test. Two missions of the shop are recorded and
exported for pytest-playwright; each test is run as its owner would, on the unchanged shop and on each of its changes.
Prints how each run ended, and where. Exits with 1 unless all are as expected.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.table import table
from tests.exporters.changes import GREEN, RED
from tests.exporters.running import export, run
from tests.replay.conftest import MISSIONS, SECRETS, record
from tests.sites.shop import serve_shop


def main() -> None:
    """Run all tests."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    wanted: list[tuple[str, str, tuple[str, int] | None]] = [("", mission, None) for mission in MISSIONS]
    wanted += [(change, mission, (subgoal, sequence)) for change, mission, subgoal, sequence in RED]
    wanted += [(change, mission, None) for change, mission in GREEN]
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as name, serve_shop() as shop:
        folder = Path(name)
        tests = {}
        for mission in MISSIONS:
            shop.restart()
            asyncio.run(record(mission, shop.url, folder / mission))
            tests[mission] = export(folder / mission, folder / f"{mission}-test"), folder / f"{mission}-test"
        for change, mission, step in wanted:
            shop.restart(*([change] if change else []))
            ran = run(*tests[mission], secrets=SECRETS)
            is_right = ran.step == step and ran.passed == (step is None)
            wrong += not is_right
            where = "passed" if ran.passed else "failed" if ran.step is None else f"{ran.step[0]} {ran.step[1]}"
            rows.append((change or "unchanged", mission, where, "right" if is_right else "WRONG"))
    sys.stdout.write(table(("site", "mission", "exported test", ""), rows))
    sys.stdout.write(f"{len(rows)} runs, {wrong} wrong\n")
    sys.exit(int(wrong > 0))


if __name__ == "__main__":
    main()
