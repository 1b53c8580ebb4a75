"""Replays of a mission that began signed in: a recorded network needs no session, a live site a current one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Assert, AssertText, Navigate
from tests.error_codes import has_code
from tests.missions.shop import css
from tests.redact.test_login import left_in
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED
from tests.sites.async_loopback import hide_the_server, running_application

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

SESSION = "9f86d081884c7d659a2feaa0c55ad015"
STORED = "kJ83hdPq0zLmWv7TnXy2"


async def _home(request: web.Request) -> web.Response:
    who = "Ada" if request.cookies.get("sid") == SESSION else "nobody"
    text = f"<!doctype html><title>Home</title><h1>{who}</h1><script>document.title = localStorage.token</script>"
    return web.Response(text=text, content_type="text/html")


@pytest.fixture
def site() -> Iterator[str]:
    """Serve a page that shows who is signed in."""
    application = web.Application()
    application.on_response_prepare.append(hide_the_server)
    application.add_routes([web.get("/", _home)])
    with running_application(application, (0,)) as ports:
        yield f"http://127.0.0.1:{ports[0]}"


def signed_in(site: str, folder: Path) -> Path:
    """Write a storage state with a session."""
    cookie = {"name": "sid", "value": SESSION, "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True}
    storage = {"origin": site, "localStorage": [{"name": "token", "value": STORED}]}
    state = {"cookies": [{**cookie, "secure": False, "sameSite": "Lax"}], "origins": [storage]}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder / "state.json"


@pytest.fixture
def bundle(site: str, tmp_path: Path) -> Path:
    """Record a mission that begins signed in."""

    async def record() -> None:
        options = RecordOptions(
            storage_state=signed_in(site, tmp_path), extra_http_headers={"X-Trace": "on", "X-Color": "blue"}
        )
        async with (
            open_recorder(tmp_path / "b", mission_text="Look", options=options) as mission,
            mission.subgoal("Look"),
        ):
            await mission.perform(Navigate(url=f"{site}/"))
            await mission.perform(Assert(expectation=AssertText(target=css("h1"), text="Ada")))

    SHARED.run(record())
    return tmp_path / "b"


def test_a_sealed_replay_needs_no_session(bundle: Path, tmp_path: Path) -> None:
    """The session is in no file, and the mission starts with its stand-in."""
    outcome = replay(bundle, tmp_path / "run", secrets={})

    assert left_in(bundle, {"session": SESSION, "stored": STORED}) == set()
    assert outcome.verdict == "faithful"


def test_a_live_replay_requires_a_session(bundle: Path, tmp_path: Path) -> None:
    """The error states that the start state is redacted and how to supply a session."""
    with pytest.raises(
        RequirementError,
        match=r"storage state \(supply one with --storage-state FILE",
        check=has_code("secret-missing"),
    ):
        replay(bundle, tmp_path / "run", secrets={}, network="live")

    assert not (tmp_path / "run").exists()


def test_a_live_replay_starts_with_the_supplied_session(site: str, bundle: Path, tmp_path: Path) -> None:
    """The site shows the signed-in user; with the session of the recording nothing differs."""
    state = signed_in(site, tmp_path)

    outcome = replay(bundle, tmp_path / "run", secrets={}, network="live", storage_state=state)

    assert outcome.divergences == ()
    assert left_in(tmp_path / "run", {"session": SESSION, "stored": STORED}) == set()


def test_a_sealed_replay_rejects_a_session(bundle: Path, tmp_path: Path) -> None:
    """A sealed replay starts as the recording did; a provided session would contradict it."""
    with pytest.raises(UsageError, match="--storage-state requires --network live"):
        replay(bundle, tmp_path / "run", secrets={}, storage_state=tmp_path / "state.json")


def test_a_live_replay_requires_the_value_of_a_redacted_header(site: str, tmp_path: Path) -> None:
    """The header's value is in no file and has no secret name, so a live replay cannot send it."""

    async def record() -> None:
        options = RecordOptions(extra_http_headers={"Authorization": f"Bearer {SESSION}"})
        async with (
            open_recorder(tmp_path / "b", mission_text="Look", options=options) as mission,
            mission.subgoal("Look"),
        ):
            await mission.perform(Navigate(url=f"{site}/"))

    SHARED.run(record())

    assert left_in(tmp_path / "b", {"session": SESSION}) == set()
    with pytest.raises(
        RequirementError,
        match=r"header Authorization \(name the value in RecordOptions.secrets",
        check=has_code("secret-missing"),
    ):
        replay(tmp_path / "b", tmp_path / "run", secrets={}, network="live")
