"""A recording is complete when it ends, readable when it is killed, and never contains a secret."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from eikon_engine.errors import ActionError, OutputError, UsageError
from eikon_engine.record import MissionRecorder, RecordOptions, open_recorder
from eikon_engine.record.bundle_writer import BundleWriter
from eikon_engine.record.skill_runs import CompletionCapture
from eikon_engine.trace.actions import Click, Fill, Navigate, Screenshot, SecretRef
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Failed
from tests.browser.pages import Answer, serve_pages
from tests.error_codes import has_code
from tests.missions.shop import SHOP_PASSWORD, css, import_a_file, order
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED
from tests.sites.shop import serve_shop
from tests.sites.static import serve_folder

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]


def everything_in(folder: Path) -> bytes:
    """Return the content of all files below a folder, with decompressed blobs."""
    unpack = zstandard.ZstdDecompressor()
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            parts.append(unpack.decompress(content) if path.suffix == ".zst" else content)
    return b"\n".join(parts)


def test_a_killed_recording_can_be_opened_and_replayed(tmp_path: Path) -> None:
    """A killed recording is a bundle that replays faithfully up to the kill, and does not block the next one."""
    with serve_shop() as shop:
        command = [sys.executable, str(ROOT / "tests" / "record" / "drive_forever.py"), str(tmp_path / "b"), shop.url]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
            assert process.stdout is not None
            for _ in range(3):
                assert process.stdout.readline() == "walked\n"
            process.send_signal(signal.SIGKILL)

    trace = open_bundle(tmp_path / "b").trace
    outcome = replay(tmp_path / "b", tmp_path / "run")

    assert trace.status == "aborted"
    assert len(trace.subgoal_traces[0].actions_taken) >= 4
    assert "ended early" in " ".join(trace.warnings)
    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"
    BundleWriter(tmp_path / "b").close()
    assert open_bundle(tmp_path / "b.unfinished-1").trace == trace


def test_a_password_is_in_no_file_and_the_replay_is_faithful(tmp_path: Path) -> None:
    """The password of a sign-in is a reference in the trace, and is in no file of bundle or artifacts."""
    with serve_shop() as shop:

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Order") as mission:
                await order(mission, shop.url)

        SHARED.run(record())

    outcome = replay(tmp_path / "b", tmp_path / "run")

    fills = [
        action.action
        for subgoal in open_bundle(tmp_path / "b").trace.subgoal_traces
        for action in subgoal.actions_taken
        if isinstance(action.action, Fill)
    ]
    assert SecretRef(secret="PASSWORD") in [fill.text for fill in fills]
    assert SHOP_PASSWORD.encode() not in everything_in(tmp_path)
    assert outcome.verdict == "faithful"


def test_a_replay_with_another_value_of_a_secret_is_faithful(tmp_path: Path) -> None:
    """The recorded sign-in matches by its reference, so a sealed replay with another password is faithful."""
    with serve_shop() as shop:

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Order") as mission:
                await order(mission, shop.url)

        SHARED.run(record())

    outcome = replay(tmp_path / "b", tmp_path / "run", secrets={"PASSWORD": "p@ss & w'örd"})

    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"


def test_an_uploaded_file_is_in_the_bundle(tmp_path: Path) -> None:
    """A deleted file is replayed with its content from the bundle."""
    file = tmp_path / "list.csv"
    file.write_bytes(b"name,amount\nbanana,3\n")
    with serve_shop() as shop:

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Import") as mission:
                await import_a_file(mission, shop.url, file)

        SHARED.run(record())
    file.unlink()

    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


def test_a_failed_action_is_recorded_and_raised(tmp_path: Path) -> None:
    """If a target is missing, the caller gets the error, and the trace the failure with its code."""
    with serve_shop() as shop:

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Fail") as mission, mission.subgoal("Look"):
                await mission.perform(Navigate(url=f"{shop.url}/"))
                await mission.perform(Click(target=css("#nothing"), timeout_ms=200))

        with pytest.raises(ActionError, check=has_code("target-missing")):
            SHARED.run(record())

    trace = open_bundle(tmp_path / "b").trace
    last = trace.subgoal_traces[0].actions_taken[-1]
    assert trace.status == trace.subgoal_traces[0].status == "failed"
    assert isinstance(last.result, Failed)
    assert last.result.code == "target-missing"


@pytest.mark.parametrize(("code", "status"), [(0, "complete"), (3, "failed")])
def test_a_mission_that_exits_is_recorded_with_its_status(tmp_path: Path, code: int, status: str) -> None:
    """Only an exit status other than 0 is a failure, as in recordings of agents."""

    async def record() -> None:
        with pytest.raises(SystemExit):
            async with open_recorder(tmp_path / "b", mission_text="Leave"):
                sys.exit(code)

    SHARED.run(record())

    trace = open_bundle(tmp_path / "b").trace
    assert trace.status == status
    assert [failure.message for failure in trace.failures] == ([] if code == 0 else ["SystemExit: 3"])


def test_a_mission_that_has_ended_takes_nothing(tmp_path: Path) -> None:
    """Its journal is closed; late records are not written to any other open file."""

    async def record() -> MissionRecorder:
        async with open_recorder(tmp_path / "b", mission_text="Leave") as mission:
            return mission

    mission = SHARED.run(record())

    with (tmp_path / "other").open("wb"), pytest.raises(OutputError):
        mission.warn("too late")
    assert not (tmp_path / "other").read_bytes()


def test_a_second_recording_never_overwrites_the_first(tmp_path: Path) -> None:
    """The second recording into one folder is refused, and the first one stays."""

    async def record() -> None:
        async with open_recorder(tmp_path / "b", mission_text="Nothing"):
            pass

    SHARED.run(record())
    before = everything_in(tmp_path)

    with pytest.raises(OutputError, match="already"):
        SHARED.run(record())

    assert everything_in(tmp_path) == before


def test_actions_belong_to_a_subgoal(tmp_path: Path) -> None:
    """An action outside a subgoal and a subgoal inside another are refused."""

    async def stray(mission: MissionRecorder) -> None:
        await mission.perform(Navigate(url="about:blank"))

    async def nested(mission: MissionRecorder) -> None:
        async with mission.subgoal("outer"), mission.subgoal("inner"):
            pass

    async def record(name: str) -> None:
        async with open_recorder(tmp_path / name, mission_text="Wrong", options=RecordOptions()) as mission:
            await (stray if name == "stray" else nested)(mission)

    for name in ("stray", "nested"):
        with pytest.raises(UsageError, match="subgoal"):
            SHARED.run(record(name))


def test_a_secret_inside_a_longer_text_is_restored(tmp_path: Path) -> None:
    """The bundle has only the secret's name, and the site gets its value in replays."""

    async def search(mission: MissionRecorder, url: str) -> None:
        async with mission.subgoal("Search"):
            await mission.perform(Navigate(url=f"{url}/?q=swordfish-7"))
            await mission.perform(Fill(target=css("#search"), text="about swordfish-7 and bananas"))

    with serve_shop() as shop:

        async def record() -> None:
            options = RecordOptions(secrets={"WORD": "swordfish-7"})
            async with open_recorder(tmp_path / "b", mission_text="Search", options=options) as mission:
                await search(mission, shop.url)

        SHARED.run(record())
        shop.restart()
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={"WORD": "swordfish-7"})

        assert "GET /?q=swordfish-7" in shop.requests
    assert b"swordfish-7" not in everything_in(tmp_path)
    assert outcome.verdict == "faithful"


@pytest.mark.parametrize("secrets", [{"PASSWORD": "plum-4711"}, {"PASSWORD": "pear-0815"}, {}])
def test_a_password_that_the_page_showed_before_is_in_no_file(secrets: dict[str, str], tmp_path: Path) -> None:
    """Once the password is typed, earlier records are rewritten; it replays with any value or none."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(
        "<!doctype html><title>Welcome</title><p>Your password is plum-4711</p>"
        "<label>Password <input id=p type=password></label><button onclick='p.hidden = true'>Hide</button>",
        encoding="utf-8",
    )
    with serve_folder(site) as url:

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Sign up") as mission, mission.subgoal("Sign up"):
                await mission.perform(Navigate(url=f"{url}/index.html"))
                await mission.perform(Fill(target=css("#p"), text="plum-4711"))
                await mission.perform(Click(target=css("button")))

        SHARED.run(record())

    outcome = replay(tmp_path / "b", tmp_path / "run", secrets=secrets)

    assert b"plum-4711" not in everything_in(tmp_path / "b")
    assert open_bundle(tmp_path / "b").trace.start.secrets == ("PASSWORD",)
    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"


def test_a_declared_secret_is_in_no_text_of_the_trace(tmp_path: Path) -> None:
    """Wherever a mission uses a secret, files have its name, never its value."""
    value = "lime-grove-88"

    async def mention(mission: MissionRecorder, url: str) -> None:
        async with mission.subgoal(f"Look for {value}", subgoal_id=f"find {value}"):
            await mission.perform(Navigate(url=f"{url}/"))
            await mission.perform(Screenshot())
            await mission.skill("extract_listing", parameters={"selector": "article.card", "fields": {value: "h2"}})
            mission.extraction("found", {"word": [value]})
            mission.warn(f"nothing about {value}")

    with serve_shop() as shop:

        async def record() -> None:
            options = RecordOptions(secrets={"WORD": value})
            async with open_recorder(tmp_path / "b", mission_text=f"Find {value}", options=options) as mission:
                await mention(mission, shop.url)

        SHARED.run(record())

    names = [path.name for path in tmp_path.rglob("*")]
    assert value.encode() not in everything_in(tmp_path)
    assert [name for name in names if value in name] == []
    assert "{{eikon-secret:WORD}}" in open_bundle(tmp_path / "b").trace.mission_text


def test_an_id_that_looks_like_a_path_stays_in_the_bundle(tmp_path: Path) -> None:
    """A subgoal named like a path outside the bundle keeps its screenshot inside; the folder is given as text."""
    with serve_shop() as shop:

        async def record() -> None:
            async with (
                open_recorder(str(tmp_path / "in" / "b"), mission_text="Escape") as mission,
                mission.subgoal("Escape", subgoal_id="../../escaped/z"),
            ):
                await mission.perform(Navigate(url=f"{shop.url}/"))
                await mission.perform(Screenshot())

        SHARED.run(record())

    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["b"]
    assert open_bundle(tmp_path / "in" / "b").trace.status == "complete"


@pytest.mark.parametrize("early", [True, False])
def test_a_full_disk_fails_the_recording_and_leaves_it_complete(tmp_path: Path, *, early: bool) -> None:
    """A response that cannot be stored fails the mission; what was recorded before can be read."""
    blobs = tmp_path / "b" / "network" / "blobs"
    answer = Answer(content_type="text/event-stream", pieces=(b"data: 1\n\n",), ending="whole" if early else "open")
    with serve_pages() as site:
        site.answers["/x"] = answer
        page = site.put("<p id=p></p><button id=b onclick=\"fetch('/x')\">Go</button>")

        async def record() -> None:
            async with open_recorder(tmp_path / "b", mission_text="Fill up") as mission, mission.subgoal("Look"):
                await mission.perform(Navigate(url=page))
                shutil.rmtree(blobs)
                blobs.write_text("in the way of every other body")
                await mission.perform(Click(target=css("#b")))

        with pytest.raises(OutputError, match="cannot write the blob"):
            SHARED.run(record())

    trace = open_bundle(tmp_path / "b").trace
    assert trace.status == "failed"
    assert any("cannot write the blob" in failure.message for failure in trace.failures)


def test_a_recording_whose_responses_cannot_be_completed_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace is written without claiming that the mission is complete."""

    def fail(_: CompletionCapture) -> None:
        message = "disk full"
        raise OutputError(message)

    async def run() -> None:
        async with open_recorder(tmp_path / "b", mission_text="m", options=RecordOptions()) as mission:
            async with mission.subgoal("first"):
                await mission.perform(Navigate(url="about:blank"))
            monkeypatch.setattr(CompletionCapture, "close", fail)

    with pytest.raises(OutputError, match="disk full"):
        SHARED.run(run())

    assert open_bundle(tmp_path / "b").trace.status == "failed"
