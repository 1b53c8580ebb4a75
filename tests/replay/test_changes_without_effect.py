"""A live replay that is faithful although responses changed says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from tests.browser.pages import Answer, serve_pages
from tests.commands import run_here
from tests.replay.shared_browsers import SHARED
from tests.replay.test_quoted_errors import JSON, PAGE, record

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

NOTE = "1 response changed; nothing that is compared is affected (listed under Network in the summary)"


@pytest.mark.parametrize(
    ("now", "has_note"), [('{"request": null}', True), ('{"request": "a1b2c3d4"}', False)], ids=["changed", "same"]
)
def test_changed_responses_that_no_page_shows_are_mentioned(tmp_path: Path, now: str, *, has_note: bool) -> None:
    """In the result of the command, also with --quiet, in the summary and in the outcome."""
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(body=PAGE),
            "/api/notes": Answer(body='{"request": "a1b2c3d4"}', content_type=JSON),
        }
        SHARED.run(record(site, tmp_path / "bundle"))
        site.answers["/api/notes"] = Answer(body=now, content_type=JSON)
        run = tmp_path / "run"
        ended = run_here(
            eikon,
            ["--quiet", "replay", tmp_path / "bundle", "--network", "live", "--artifacts-dir", run, "--no-config"],
            "eikon",
        )

    assert ended.returncode == 0, ended.stderr
    assert (f"[REPLAY] {NOTE}" in ended.stderr) == has_note
    assert (f"note: {NOTE}" in (run / "replay_summary.txt").read_text()) == has_note
    assert (NOTE in json.loads((run / "outcome.json").read_text())["network"]["notes"]) == has_note
