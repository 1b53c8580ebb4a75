"""What is left of a session whose process was killed, and how a new one goes on from there."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.debug.conftest import DEADLINE_S, PASSING, Session, eikon_process, say, session, wait_for
from tests.until import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTIONS = (
    *("--checkpoint-interval", "4", "--keep-checkpoints", "9", "--parked", "0", "--timeout", "20"),
    *("--secret", "TOKEN=hush-hush", "--break", "pattern:hush-hush", "--on-divergence", "continue"),
)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Kill a session in the midst of its mission, while somebody waits for it, and have its last line torn."""
    with session(tmp_path_factory.mktemp("sessions"), *OPTIONS) as running:
        running.good("step")
        running.good("checkpoint", "create", "prices")
        running.good("step", "2")
        running.good("branch", "create", "other", "--from", "prices")
        running.good("switch", "main")
        waiting = eikon_process("debug", "resume", "--sessions-dir", str(running.parent))
        wait_for(running.folder / "events.jsonl", "action", 6)
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(timeout=DEADLINE_S)
        out, _ = waiting.communicate(timeout=DEADLINE_S)
        running.started.append(out)
        assert waiting.returncode == 69
        with (running.folder / "events.jsonl").open("ab") as events:
            events.write(b'{"sequence":9')
        yield running


def test_who_waits_is_told(killed: Session) -> None:
    """The command that waited for an answer ends with one line."""
    assert "session s1 ended before it responded" in killed.started[-1]


def test_a_killed_session_is_listed(killed: Session) -> None:
    """At once, as crashed, with where it was."""
    (listed,) = json.loads(say("debug", "sessions", "--json", "--sessions-dir", str(killed.parent)).out)

    assert (listed["id"], listed["state"], listed["problem"]) == ("s1", "crashed", None)
    assert listed["session"]["mission_id"] == "shop_passing"
    assert listed["timeline"]["branches"][0]["iteration"] >= 5


def test_its_options_stand_in_its_file(killed: Session) -> None:
    """Whoever goes on from it can tell how it was begun; a secret is none of that."""
    text = (killed.folder / "session.json").read_text()
    about = json.loads(text)

    assert (about["timeout_ms"], about["checkpoint_interval"], about["keep_checkpoints"]) == (20_000, 4, 9)
    assert (about["parked"], about["browser_path"], about["variables"]) == (0, None, {})
    assert [each["on"] for each in about["breakpoints"]] == ["pattern"]
    assert "hush" not in text


def test_a_killed_session_is_read(killed: Session) -> None:
    """Timeline, checkpoints, branches and their difference come from its files."""
    assert "prices" in killed.good("timeline")
    assert killed.json("checkpoint", "show", "prices")["iteration"] == 1
    assert [each["name"] for each in killed.json("branch", "list")] == ["main", "other"]
    assert "no differences" in killed.good("diff", "main", "other")


def test_a_killed_session_is_replayed_as_events(killed: Session) -> None:
    """Up to its last whole line."""
    said = say("debug", "replay", "s1", "--sessions-dir", str(killed.parent), "--from-iteration", "5")

    assert said.status == 0
    assert said.out.endswith("--- Replay complete ---\n")
    assert "is truncated" in said.err


@pytest.mark.parametrize("words", [("step",), ("rewind", "prices", "--force"), ("quit",)])
def test_a_dead_session_cannot_be_driven(killed: Session, words: tuple[str, ...]) -> None:
    """One line that says what can be done."""
    said = killed(*words)

    assert (said.status, said.out) == (69, "")
    assert "s1 has crashed" in said.err
    assert "eikon debug start --from-session s1" in said.err


def test_its_checkpoints_are_gone_back_to_in_a_new_session(killed: Session) -> None:
    """Every digest on the way is that of the session before, and the mission goes on to its end from there."""
    with session(killed.parent, "--from-session", "s1", "--parked", "0", name="s2", trace=None) as new:
        automatic = next(each for each in new.json("checkpoint", "list") if each["reason"] == "automatic")
        stand = new.json("rewind", automatic["id"])
        rewound = new.events("rewind")[-1]
        there = new.json("step")
        on_branch = new.json("switch", "other")
        branches = {each["name"]: each for each in new.json("branch", "list")}
        about = json.loads((new.folder / "session.json").read_text())

    assert stand["iteration"] == rewound.reexecuted == automatic["iteration"] == 3
    assert rewound.verified == 4 * 10
    assert (there["iteration"], there["verdict"]) == (4, "faithful")
    assert (on_branch["branch"], on_branch["iteration"]) == ("other", 1)
    assert branches["other"]["parent_branch"] == "main"
    assert (about["timeout_ms"], about["keep_checkpoints"]) == (20_000, 20)


def test_what_is_damaged_is_left_behind_and_told(killed: Session) -> None:
    """A checkpoint that was changed, one that lost its picture, and the branch that began there.

    A damaged checkpoint can be deleted from the files, unless a branch begins at it.
    """
    listed = {each["iteration"]: each["id"] for each in killed.json("checkpoint", "list") if each["branch"] == "main"}
    checkpoints = killed.folder / "checkpoints"
    forged, torn = checkpoints / f"{listed[1]}.json", checkpoints / f"{listed[3]}.png"
    forged.write_text(forged.read_text().replace('"label": "prices"', '"label": "forged"'))
    torn.unlink()
    with session(killed.parent, "--from-session", "s1", name="s4", trace=None) as new:
        left = {each["id"] for each in new.json("checkpoint", "list")}
        branches = [each["name"] for each in new.json("branch", "list")]
        notes = [event.text for event in new.events("note")]

    refused = killed("checkpoint", "delete", "prices")
    deleted = killed("checkpoint", "delete", listed[3])

    assert (left & {listed[1], listed[3]}, branches) == (set(), ["main"])
    assert any(
        f"not imported: {listed[1]} of main" in each and "was modified after it was written" in each for each in notes
    )
    assert any(f"not imported: {listed[3]} of main" in each for each in notes)
    assert "not imported: branch other: no intact checkpoint to continue from" in notes
    assert (refused.status, "branch other was forked from" in refused.err) == (2, True)
    assert (deleted.status, deleted.out.startswith(f"deleted {listed[3]}")) == (0, True)
    assert listed[3] not in {each["id"] for each in killed.json("checkpoint", "list")}
    assert not list(checkpoints.glob(f"{listed[3]}.*"))


def test_a_session_that_cannot_begin_with_another_one_leaves_nothing(killed: Session) -> None:
    """Its name stays free."""
    gone = killed.folder / "checkpoints" / "gone"
    gone.symlink_to(gone.with_name("nowhere"))
    said = say("debug", "start", "--from-session", "s1", "--sessions-dir", str(killed.parent), "--session", "s3")
    gone.unlink()

    assert (said.status, "cannot be copied" in said.err) == (2, True)
    assert not (killed.parent / "s3").exists()


def test_a_session_is_ended_by_a_signal(tmp_path: Path) -> None:
    """SIGTERM ends it in order: the end is written, the state is ended, the exit status says interrupted."""
    with session(tmp_path, "--run", trace=PASSING) as running:
        wait_for(running.folder / "events.jsonl", "action", 1)
        running.process.terminate()
        status = running.process.wait(timeout=DEADLINE_S)
        end = running.events("run_end")[-1]

    assert status == 130
    assert (end.how, end.ended_early) == ("interrupted", "stopped by SIGTERM")
    assert say("debug", "sessions", "--sessions-dir", str(tmp_path)).out.startswith("s1  ended, main at ")
    assert "Traceback" not in "".join(running.started)


@pytest.mark.parametrize("while_it", ["paused", "action"])
def test_a_session_is_ended_together_with_its_browser(tmp_path: Path, while_it: str) -> None:
    """What stops the whole group of processes, as `timeout` does, ends it in order, too: one line, and no noise."""
    command = (sys.executable, "-m", "eikon_engine", "debug", "start", "--trace", str(PASSING), "--session", "s1")
    options = ("--sessions-dir", str(tmp_path), *(("--run",) if while_it == "action" else ()))
    process = subprocess.Popen(
        [*command, *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    events = tmp_path / "s1" / "events.jsonl"
    wait_until(lambda: events.exists() or process.poll() is not None, "a session", DEADLINE_S)
    wait_for(events, while_it)
    os.killpg(process.pid, signal.SIGTERM)
    out, _ = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 130, out
    assert out.splitlines()[-1] == "eikon: the session was stopped by SIGTERM; its files are kept (code interrupted)"
    assert "never retrieved" not in out
    assert "Traceback" not in out


def test_a_signal_does_not_wait_for_the_step_that_is_done(tmp_path: Path) -> None:
    """The step would wait for minutes; the session ends within two seconds, and stands before it."""
    with session(tmp_path, "--parked", "0", "--timeout", "3600") as running:
        running.good("step")
        running.good("branch", "insert", "click", "#never", "--name", "other")
        waiting = eikon_process("debug", "resume", "--sessions-dir", str(running.parent))
        wait_for(running.folder / "events.jsonl", "action_start", 2)
        asked_at = datetime.now(UTC)  # noqa: TID251 - compared with the stamps of the session
        running.process.terminate()
        status = running.process.wait(timeout=DEADLINE_S)
        waiting.communicate(timeout=DEADLINE_S)
        last = running.lines()[-1]

    listed = json.loads(say("debug", "sessions", "--json", "--sessions-dir", str(tmp_path)).out)[0]
    assert (status, waiting.returncode, last.event.type) == (130, 69, "run_end")
    assert (last.at - asked_at).total_seconds() < 2
    assert (listed["state"], listed["timeline"]["branches"][1]["iteration"]) == ("ended", 1)


def test_a_session_whose_disk_is_full_ends_in_order(tmp_path: Path) -> None:
    """With one line that names the file, in the midst of going on; what was written before is read."""
    with session(tmp_path, "--parked", "0") as running:
        running.good("step")
        full = (running.folder / "events.jsonl").stat().st_size + 1500
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (full, full))
        asked = running("resume")
        status = running.process.wait(timeout=DEADLINE_S)

    listed = say("debug", "sessions", "--sessions-dir", str(tmp_path)).out
    assert (status, asked.status) == (2, 69)
    assert f"cannot write {running.folder / 'events.jsonl'}: " in running.started[-1]
    assert "internal error" not in "".join(running.started)
    assert "s1  crashed, main at " in listed


def test_a_session_whose_files_are_removed_ends(tmp_path: Path) -> None:
    """Nobody could drive it any more, nor find it: it keeps no browser running, and says why in one line."""
    with session(tmp_path, "--parked", "0") as running:
        running.good("step")
        shutil.rmtree(running.folder)
        status = running.process.wait(timeout=DEADLINE_S)

    assert status == 65
    assert running.started[-1].endswith(
        "the commands cannot be read (it was removed); restore the file (code session)\n"
    )
    assert "Traceback" not in "".join(running.started)


def test_a_session_whose_browser_dies_ends_at_once(tmp_path: Path) -> None:
    """With one line, whether or not somebody asks for it; it is listed as crashed, as one that was killed."""
    with session(tmp_path, "--parked", "0") as running:
        running.good("step", "2")
        _kill_browser_of(running.process.pid)
        status = running.process.wait(timeout=DEADLINE_S)
        end = running.events("run_end")[-1]

    assert status == 69
    assert running.started[-1].startswith("eikon: the browser crashed or was closed; all its pages are gone")
    assert (end.how, end.ended_early) == ("failed", "the browser crashed or was closed; all its pages are gone")
    assert say("debug", "sessions", "--sessions-dir", str(tmp_path)).out.startswith("s1  crashed, main at 2 of 29")


def _kill_browser_of(ancestor: int) -> None:
    """Kill all processes of the browser below a process."""
    below, found = {ancestor}, []
    for each in sorted((path for path in Path("/proc").iterdir() if path.name.isdigit()), key=lambda it: int(it.name)):
        with suppress(OSError):
            name, _, rest = (each / "stat").read_text().partition("(")[2].rpartition(")")
            if int(rest.split()[1]) in below:
                below.add(int(each.name))
                if "chrom" in name or "headless" in name:
                    found.append(int(each.name))
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
