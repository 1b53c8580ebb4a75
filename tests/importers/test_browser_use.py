"""A history that browser-use made with a scripted model is recorded and replayed; see benchmarks/agent_history.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.trace.actions import Fill, SecretRef, SelectOption
from eikon_engine.trace.bundle import open_bundle
from tests.missions.shop import SHOP_PASSWORD
from tests.replay.conftest import replay
from tests.sites.shop import serve_shop

pytestmark = pytest.mark.browser

HISTORY = Path(__file__).parents[1] / "data" / "histories" / "browser_use.json"
RECORDED_AT = "http://shop.test"


def test_a_history_of_browser_use_is_imported_recorded_and_replayed(tmp_path: Path) -> None:
    """Elements are found by their descriptions in the history; no bundle contains the password."""
    with serve_shop() as shop:
        history = tmp_path / "history.json"
        history.write_text(HISTORY.read_text().replace(RECORDED_AT, shop.url))
        _run("import", history, "-o", tmp_path / "imported")
        secret = f"PASSWORD={SHOP_PASSWORD}"
        _run("record", "--trace", tmp_path / "imported", "-o", tmp_path / "recorded", "--secret", secret)

    outcome = replay(tmp_path / "recorded", tmp_path / "run")

    actions = [
        each.action for part in open_bundle(tmp_path / "recorded").trace.subgoal_traces for each in part.actions_taken
    ]
    assert outcome.verdict == "faithful"
    assert [each.text for each in actions if isinstance(each, Fill)][1] == SecretRef(secret="PASSWORD")
    assert [each.options for each in actions if isinstance(each, SelectOption)] == [("express",)]


def _run(*arguments: str | Path) -> None:
    assert run_command(eikon, list(map(str, arguments)), "eikon") == 0
