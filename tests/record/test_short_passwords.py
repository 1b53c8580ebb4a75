"""Passwords that are part of other texts: recorded and replayed pages are masked alike, and the trace stays valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser

from eikon_engine.errors import UsageError
from eikon_engine.record import AttachOptions, RecordOptions, open_recorder, record_mission
from eikon_engine.trace.actions import Click, Fill, Navigate
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer
from tests.missions.shop import css
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

LOGIN = """<h1>The {word} shop</h1><p>Sign in as {word}</p>
<form id=login><input id=user><input id=word type=password name=word><button>Go</button></form><p id=state></p>
<script>
  login.onsubmit = async event => {{
    event.preventDefault();
    const answer = await fetch('/login', {{ method: 'POST', body: new URLSearchParams(new FormData(login)) }});
    state.textContent = `${{await answer.text()}}, ${{word.value}}, ${{3 + 4}} of 10`;
  }};
</script>"""


@pytest.mark.parametrize("redact", [True, False])
@pytest.mark.parametrize("word", ["demo", "page", "903", "7"])
def test_a_mission_replays_whatever_else_contains_its_password(
    site: PageSite, tmp_path: Path, word: str, *, redact: bool
) -> None:
    """Pages seen before it was typed, field names of the trace, numbers: replays are faithful, with no secret given."""
    site.answers["/login"] = lambda asked: Answer(body=f"hello {asked.body.decode()}", content_type="text/plain")
    url = site.put(LOGIN.format(word=word))

    async def record() -> None:
        options = RecordOptions(redact=redact)
        async with (
            open_recorder(tmp_path / "b", mission_text="Sign in", options=options) as mission,
            mission.subgoal("Sign in"),
        ):
            await mission.perform(Navigate(url=url))
            await mission.perform(Fill(target=css("#user"), text=word))
            await mission.perform(Fill(target=css("#word"), text=word))
            await mission.perform(Click(target=css("button")))

    SHARED.run(record())

    trace = open_bundle(tmp_path / "b").trace
    assert trace.start.secrets == (("PASSWORD",) if len(word) > 2 else ())
    assert any("fewer than 3 characters" in each for each in trace.warnings) == (len(word) < 3)
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


def test_what_no_placeholder_can_name_is_refused_before_anything_acts() -> None:
    """A name with a space or a brace would not be found again in what was written."""
    for options in (AttachOptions, RecordOptions):
        with pytest.raises(UsageError, match="secrets: expected identifiers as names, got 'my word'"):
            options(secrets={"my word": "swordfish"})


def test_wrong_arguments_are_refused_and_leave_no_folder(chromium: Browser, tmp_path: Path) -> None:
    """The message names the argument; the next try finds the folder free."""
    context = chromium.new_context()
    for changes, named in (
        ({"mission_text": 3}, "mission_text: expected a text, got int"),
        ({"directory": 5}, "directory: expected the path of a folder, got int"),
        ({"options": {"certify": None}}, "options: expected AttachOptions(…), got dict"),
    ):
        arguments = {"mission_text": "Try it", "directory": tmp_path / "b", "options": AttachOptions(certify=None)}
        with pytest.raises(UsageError) as caught:
            record_mission(context, **{**arguments, **changes})  # type: ignore[arg-type] # that is the test
        assert named in caught.value.message
    assert not (tmp_path / "b").exists()
    context.close()
