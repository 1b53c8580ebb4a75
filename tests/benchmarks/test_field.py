"""The field's own machinery, with a stand-in for the applications of strangers, which tests do not install."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.async_api import Page as AsyncPage
from playwright.async_api import expect

from benchmarks.field import __main__ as field
from benchmarks.field.application import Application, Place
from benchmarks.field.catalogue import APPLICATIONS
from benchmarks.field.install import InstallError, install
from benchmarks.field.live import learn, open_site, replay_live
from benchmarks.field.perform import Performance, perform
from benchmarks.field.serve import ServeError, serve
from benchmarks.often import replay_often
from benchmarks.subjects import Subject

PINNED = re.compile(r"[\w.\[\]-]+==[\w.]+|@?[\w./-]+@[\w.-]+")
FORM = """<!doctype html><title>Names</title><label>Name <input id="name"></label><button>Greet</button><p></p>
<script>document.querySelector("button").onclick = () =>
  (document.querySelector("p").textContent = `Hello ${document.querySelector("#name").value}`);</script>"""


def _start(place: Place) -> Sequence[str]:
    place.write("index.html", FORM)
    serving = [sys.executable, "-m", "http.server", str(place.port), "--bind", "127.0.0.1", "-d", str(place.home)]
    return ["sh", "-c", " ".join(serving) + " & wait"]  # a server of which only the child listens


async def greet(page: AsyncPage, url: str) -> None:
    """Greet Ada."""
    await page.goto(url)
    await page.get_by_label("Name").fill("Ada")
    await page.get_by_role("button", name="Greet").click()
    await expect(page.get_by_text("Hello Ada")).to_be_visible()


async def fail(page: AsyncPage, url: str) -> None:
    """Look for what is not there."""
    await page.goto(url)
    await page.get_by_role("button", name="Leave").click(timeout=50)


STAND_IN = Application(name="stand-in", kind="test", start=_start, missions=(greet, fail))


def test_the_field_is_as_large_as_it_says_and_everything_in_it_is_pinned() -> None:
    """Twenty applications at least with forty missions: each with a name of its own, a text, and pinned packages."""
    missions = [mission for application in APPLICATIONS for mission in application.missions]

    assert len(APPLICATIONS) >= 20
    assert len(missions) >= 40
    assert max(Counter(application.name for application in APPLICATIONS).values()) == 1
    assert max(Counter(mission.__name__ for mission in missions).values()) == 1
    assert all(mission.__doc__ for mission in missions)
    packages = [package for application in APPLICATIONS for package in (*application.python, *application.npm)]
    assert [package for package in packages if not PINNED.fullmatch(package)] == []


@pytest.mark.browser
def test_a_mission_is_recorded_certified_and_replayed_without_its_server(tmp_path: Path) -> None:
    """The whole way of a mission of the field: it is certified, and replays after the server has ended."""
    with serve(STAND_IN, tmp_path, tmp_path / "home") as url:
        done = perform(greet, url, tmp_path / "bundle")
    tally = asyncio.run(replay_often(Subject(name="greet", bundle=tmp_path / "bundle"), runs=2, parallel=2))

    assert done.reasons == []
    assert done.is_certified
    assert done.mission_s is not None
    assert done.certify_s is not None
    assert tally.holds


@pytest.mark.browser
def test_a_mission_that_fails_says_why_and_passes_nowhere(tmp_path: Path) -> None:
    """The exception of the mission is the reason; nothing is certified."""
    with serve(STAND_IN, tmp_path, tmp_path / "home") as url:
        done = perform(fail, url, tmp_path / "bundle")

    assert "the mission failed" in done.reasons[0]
    assert "TimeoutError" in done.reasons[0]
    assert not done.is_certified
    assert not field.Result(application="a", kind="b", mission="fail", performance=done).passes


@pytest.mark.browser
def test_what_an_application_varies_is_learned_on_it(tmp_path: Path) -> None:
    """Each start of the application draws a value, with which no live replay is faithful before learning."""

    def start(place: Place) -> Sequence[str]:
        command = _start(place)
        place.write("index.html", f'{FORM}<p id="release">Release {secrets.token_hex(8)}</p>')
        return command

    drawn = Application(name="drawn", kind="test", start=start, missions=(greet,))
    with serve(drawn, tmp_path, tmp_path / "home") as url:
        assert perform(greet, url, tmp_path / "bundle").is_certified

    with open_site(drawn, tmp_path, tmp_path / "home", int(url.rpartition(":")[2])) as site:
        before = replay_live(site, tmp_path / "bundle", limit=120)
        changes, refused = learn(site, tmp_path / "bundle", limit=300)
        after = replay_live(site, tmp_path / "bundle", limit=120)

    assert not before[0]
    assert "Release" in before[1][0]
    assert (changes > 0, refused, after) == (True, [], (True, []))


def test_a_server_and_its_children_are_ended(tmp_path: Path) -> None:
    """The port of a server that a child of the command listens on is closed after the block."""
    with serve(STAND_IN, tmp_path, tmp_path / "home") as url:
        port = int(url.rpartition(":")[2])
        with socket.socket() as during:
            assert during.connect_ex(("127.0.0.1", port)) == 0

    with socket.socket() as after:
        assert after.connect_ex(("127.0.0.1", port)) != 0


def test_a_server_that_does_not_start_shows_its_last_words(tmp_path: Path) -> None:
    """The last line of the log is the reason."""

    def start(_place: Place) -> Sequence[str]:
        return ["sh", "-c", "echo no such settings >&2; exit 3"]

    broken = Application(name="broken", kind="test", start=start, missions=())

    with pytest.raises(ServeError, match="no such settings"), serve(broken, tmp_path, tmp_path / "home"):
        pass


def test_what_is_installed_is_kept_and_what_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that fails leaves no mark; one that works is not repeated until a version changes."""
    commands: list[tuple[str, ...]] = []
    statuses = [1, 0, 0]

    def run(command: tuple[str, ...], **_options: object) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, statuses.pop(0))

    monkeypatch.setattr(subprocess, "run", run)
    first = Application(name="widget", kind="test", start=_start, missions=(), npm=("widget@1.0.0",))
    second = Application(name="widget", kind="test", start=_start, missions=(), npm=("widget@2.0.0",))

    with pytest.raises(InstallError, match="npm exited with 1"):
        install(first, tmp_path)
    install(first, tmp_path)
    install(first, tmp_path)
    install(second, tmp_path)

    assert [command[-1] for command in commands] == ["widget@1.0.0", "widget@1.0.0", "widget@2.0.0"]


def test_a_line_that_fails_fails_the_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1 and the reason in the table, although the other mission passed; all is in the JSON file."""

    def performed(_application: Application, mission: object, *_rest: object) -> Performance:
        reasons = [] if mission is greet else ["diverged: step 2"]
        return Performance(mission_s=1.0, certify_s=2.0, actions=3, reasons=reasons)

    monkeypatch.setattr(field, "APPLICATIONS", (STAND_IN,))
    monkeypatch.setattr(field, "_perform", performed)
    results = tmp_path / "results.json"
    monkeypatch.setattr(sys, "argv", ["field", "--cache", str(tmp_path / "cache"), "--json", str(results)])

    status = field.main()

    assert status == 1
    assert "diverged: step 2" in capsys.readouterr().out
    assert [len(each["performance"]["reasons"]) for each in json.loads(results.read_text())] == [0, 1]


@pytest.mark.parametrize(("repeated", "status"), [(20, 0), (19, 0), (18, 1)])
def test_live_replays_of_nearly_all_missions_must_be_faithful(repeated: int, status: int) -> None:
    """Of 20, one may differ, without those that are not replayed live; all must have passed otherwise."""
    good, bad = (Performance(mission_s=1.0, actions=3, reasons=reasons) for reasons in ([], ["diverged"]))
    done = [
        field.Result(
            application="a", kind="b", mission=str(number), performance=good, live_runs=3, live_faithful=faithful
        )
        for number, faithful in enumerate([3] * repeated + [2] * (20 - repeated))
    ]

    other = field.Result(application="a", kind="b", mission="o", performance=good, never_the_same="it shows the time")

    assert field.exit_status(done) == field.exit_status([*done, *[other] * 20]) == status
    assert field.exit_status([*done, field.Result(application="a", kind="b", mission="m", performance=bad)]) == 1


def test_an_unknown_application_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, and the name."""
    monkeypatch.setattr(sys, "argv", ["field", "nosuch"])

    assert field.main() == 2
    assert "nosuch" in capsys.readouterr().err
