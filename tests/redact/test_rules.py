"""Redaction rules on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.redact import RedactionRules
from eikon_engine.redact.rewrite_bundle import _field_names
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.execution import ExecutionTrace
from tests.browser.pages import Answer, serve_pages
from tests.redact.test_login import left_in
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

WIDGET, KEPT, PLAIN = "kJ83hdPq0zLmWv7T", "pQ55mnbVcxZ1lKjH", "tin-whistle-44"


def test_a_pattern_that_is_none_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is reported in one line, and nothing is recorded."""
    bundle = "tests/data/traces/shop_passing"
    arguments = ["record", "--trace", bundle, "-o", str(tmp_path / "b"), "--redact-pattern", "("]

    assert run_command(eikon, arguments, "eikon") == 2
    assert "malformed redaction pattern '('" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_a_recording_follows_its_rules(tmp_path: Path) -> None:
    """An added name is replaced, a kept one is not, and the replay is faithful."""
    rules = RedactionRules(names=("widget",), keep=("token",))
    with serve_pages() as site:
        given = f"{{widget: '{WIDGET}', token: '{KEPT}', own: {{Widget: '{PLAIN}'}}}}"
        script = f"const given = {given}; document.title = given.token"
        site.answers["/"] = Answer(body=f"<!doctype html><title>T</title><script>{script}</script>")

        async def drive() -> None:
            options = RecordOptions(redaction=rules)
            async with (
                open_recorder(tmp_path / "b", mission_text="Look", options=options) as mission,
                mission.subgoal("Look"),
            ):
                await mission.perform(Navigate(url=f"{site.url}/"))

        SHARED.run(drive())

    assert left_in(tmp_path / "b", {"widget": WIDGET, "plain": PLAIN, "kept": KEPT}) == {"kept"}
    assert replay(tmp_path / "b", tmp_path / "run", secrets={}).verdict == "faithful"


def test_the_field_names_of_a_trace_are_those_of_its_schema() -> None:
    """They are never redacted; generating the schema would take too long while an agent acts."""
    schema = ExecutionTrace.model_json_schema()
    models = (schema, *schema["$defs"].values())

    assert _field_names() == {name for each in models for name in each.get("properties", {})}
