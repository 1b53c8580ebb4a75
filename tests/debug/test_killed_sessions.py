"""What remains of a killed session, and how a new one resumes it."""

from __future__ import annotations

import json
import os
import re
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

from tests.debug.conftest import DEADLINE_S, PASSING, Session, eikon_process, run_eikon, session, wait_for
from tests.until import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

OPTIONS = (
    *("--checkpoint-interval", "4", "--keep-checkpoints", "9", "--parked", "0", "--timeout", "20"),
    *("--secret", "TOKEN=hush-hush", "--break", "pattern:hush-hush", "--on-divergence", "continue"),
)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Kill a session during its mission, while a client waits, and truncate its last line."""
    with session(tmp_path_factory.mktemp("sessions"), *OPTIONS) as running:
        running.run("step")
        running.run("checkpoint", "create", "prices")
        running.run("step", "2")
        running.run("branch", "create", "other", "--from", "prices")
        running.run("switch", "main")
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


def test_a_waiting_client_reports_the_killed_session(killed: Session) -> None:
    """Its command ends with one line."""
    assert "session s1 ended before it responded" in killed.started[-1]


def test_a_killed_session_is_listed_as_crashed(killed: Session) -> None:
    """It is listed at once, with its last position."""
    (listed,) = json.loads(run_eikon("debug", "sessions", "--json", "--sessions-dir", str(killed.parent)).out)

    assert (listed["id"], listed["state"], listed["problem"]) == ("s1", "crashed", None)
    assert listed["session"]["mission_id"] == "shop_passing"
    assert listed["timeline"]["branches"][0]["iteration"] >= 5


def test_a_killed_session_keeps_its_options(killed: Session) -> None:
    """A successor can read how it was started; secrets are not stored."""
    text = (killed.folder / "session.json").read_text()
    about = json.loads(text)

    assert (about["timeout_ms"], about["checkpoint_interval"], about["keep_checkpoints"]) == (20_000, 4, 9)
    assert (about["parked"], about["browser_path"], about["variables"]) == (0, None, {})
    assert [each["on"] for each in about["breakpoints"]] == ["pattern"]
    assert "hush" not in text


def test_a_killed_session_is_readable(killed: Session) -> None:
    """Its timeline, checkpoints, branches and diffs are read from its files."""
    assert "prices" in killed.run("timeline")
    assert killed.json("checkpoint", "show", "prices")["iteration"] == 1
    assert [each["name"] for each in killed.json("branch", "list")] == ["main", "other"]
    assert "no differences" in killed.run("diff", "main", "other")
    logged = [
        json.loads(line)["command"]["type"] for line in (killed.folder / "commands.jsonl").read_text().splitlines()
    ]
    assert logged == ["step", "checkpoint_create", "step", "branch_create", "branch_switch", "resume"]


def test_a_killed_session_is_printed_as_events(killed: Session) -> None:
    """Events are printed up to the last complete line."""
    output = run_eikon("debug", "replay", "s1", "--sessions-dir", str(killed.parent), "--from-iteration", "5")

    assert output.status == 0
    assert output.out.endswith("--- Replay complete ---\n")
    assert "is truncated" in output.err


@pytest.mark.parametrize("words", [("step",), ("rewind", "prices", "--force"), ("quit",)])
def test_a_dead_session_rejects_commands(killed: Session, words: tuple[str, ...]) -> None:
    """The error says what to do next."""
    output = killed(*words)

    assert (output.status, output.out) == (69, "")
    assert "s1 has crashed" in output.err
    assert "eikon debug start --from-session s1" in output.err


def test_a_new_session_restores_the_checkpoints_of_a_killed_one(killed: Session) -> None:
    """Every digest on the way equals the earlier one, and the mission continues to its end."""
    with session(killed.parent, "--from-session", "s1", "--parked", "0", name="s2", trace=None) as new:
        automatic = next(each for each in new.json("checkpoint", "list") if each["reason"] == "automatic")
        position = new.json("rewind", automatic["id"])
        rewound = new.events("rewind")[-1]
        there = new.json("step")
        on_branch = new.json("switch", "other")
        branches = {each["name"]: each for each in new.json("branch", "list")}
        about = json.loads((new.folder / "session.json").read_text())

    assert position["iteration"] == rewound.reexecuted == automatic["iteration"] == 3
    assert rewound.verified == 4 * 10
    assert (there["iteration"], there["verdict"]) == (4, "faithful")
    assert (on_branch["branch"], on_branch["iteration"]) == ("other", 1)
    assert branches["other"]["parent_branch"] == "main"
    assert (about["timeout_ms"], about["keep_checkpoints"]) == (20_000, 20)


@pytest.mark.parametrize("name", ["/victim", "../../victim"])
def test_a_session_deletes_no_file_of_others(killed: Session, name: str) -> None:
    """A damaged checkpoint is deleted by its id."""
    file = killed.folder / "timeline.json"
    before = file.read_text()
    file.write_text(re.sub(r'"id": ?"cp_[^"]*"', f'"id": "{name}"', before, count=1))

    output = run_eikon(
        "debug", "start", "--from-session", "s1", "--sessions-dir", str(killed.parent), "--session", "s6"
    )
    file.write_text(before)

    assert output.status == 65, output.err
    assert name in output.err


def test_a_session_copies_no_file_of_others(killed: Session, tmp_path: Path) -> None:
    """A link may lead anywhere."""
    (tmp_path / "secret.txt").write_text("secret")
    link = killed.folder / "checkpoints" / "linked.txt"
    link.symlink_to(tmp_path / "secret.txt")

    output = run_eikon(
        "debug", "start", "--from-session", "s1", "--sessions-dir", str(killed.parent), "--session", "s7"
    )
    link.unlink()

    assert (output.status, "outside through a symbolic link" in output.err) == (2, True), output.err
    assert not (killed.parent / "s7").exists()


def test_a_session_starts_no_program_that_it_names(killed: Session) -> None:
    """It may be that of another person; its browser must be given again."""
    file = killed.folder / "session.json"
    before = file.read_text()
    named = str(killed.folder / "browser.sh")
    file.write_text(before.replace('"browser_path": null', f'"browser_path": "{named}"'))

    output = run_eikon(
        "debug", "start", "--from-session", "s1", "--sessions-dir", str(killed.parent), "--session", "s5"
    )
    file.write_text(before)

    assert (output.status, f"its browser was {named}" in output.err, "--browser-path" in output.err) == (2, True, True)


def test_damaged_items_are_skipped_and_reported(killed: Session) -> None:
    """A modified checkpoint, one without its screenshot, and the branch forked there are skipped.

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


def test_a_session_that_cannot_resume_another_leaves_no_files(killed: Session) -> None:
    """Its name stays free."""
    dangling = killed.folder / "checkpoints" / "gone"
    dangling.symlink_to(dangling.with_name("nowhere"))
    output = run_eikon(
        "debug", "start", "--from-session", "s1", "--sessions-dir", str(killed.parent), "--session", "s3"
    )
    dangling.unlink()

    assert (output.status, "cannot be copied" in output.err) == (2, True)
    assert not (killed.parent / "s3").exists()


def test_sigterm_ends_a_session(tmp_path: Path) -> None:
    """The end is written, and the exit status says interrupted."""
    with session(tmp_path, "--run", trace=PASSING) as running:
        wait_for(running.folder / "events.jsonl", "action", 1)
        running.process.terminate()
        status = running.process.wait(timeout=DEADLINE_S)
        end = running.events("run_end")[-1]

    assert status == 143
    assert (end.how, end.ended_early) == ("interrupted", "stopped by SIGTERM")
    assert run_eikon("debug", "sessions", "--sessions-dir", str(tmp_path)).out.startswith("s1  ended, main at ")
    assert "Traceback" not in "".join(running.started)


@pytest.mark.parametrize("while_it", ["paused", "action"])
def test_a_signal_to_the_process_group_ends_session_and_browser(tmp_path: Path, while_it: str) -> None:
    """It prints one line, as when `timeout` stops it."""
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

    assert process.returncode == 143, out
    assert out.splitlines()[-1] == "eikon: the session was stopped by SIGTERM; its files are kept (code interrupted)"
    assert "never retrieved" not in out
    assert "Traceback" not in out


def test_a_signal_interrupts_a_running_step(tmp_path: Path) -> None:
    """The step would take minutes; the session ends within two seconds, positioned before it."""
    with session(tmp_path, "--parked", "0", "--timeout", "3600") as running:
        running.run("step")
        running.run("branch", "insert", "click", "#never", "--name", "other")
        waiting = eikon_process("debug", "resume", "--sessions-dir", str(running.parent))
        wait_for(running.folder / "events.jsonl", "action_start", 2)
        asked_at = datetime.now(UTC)  # noqa: TID251 - compared with the stamps of the session
        running.process.terminate()
        status = running.process.wait(timeout=DEADLINE_S)
        waiting.communicate(timeout=DEADLINE_S)
        last = running.lines()[-1]

    listed = json.loads(run_eikon("debug", "sessions", "--json", "--sessions-dir", str(tmp_path)).out)[0]
    assert (status, waiting.returncode, last.event.type) == (143, 69, "run_end")
    assert (last.at - asked_at).total_seconds() < 2
    assert (listed["state"], listed["timeline"]["branches"][1]["iteration"]) == ("ended", 1)


def test_a_full_disk_ends_the_session_cleanly(tmp_path: Path) -> None:
    """The error is one line and names the file; earlier output stays readable."""
    with session(tmp_path, "--parked", "0") as running:
        running.run("step")
        full = (running.folder / "events.jsonl").stat().st_size + 1500
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (full, full))
        resumed = running("resume")
        status = running.process.wait(timeout=DEADLINE_S)

    listed = run_eikon("debug", "sessions", "--sessions-dir", str(tmp_path)).out
    assert (status, resumed.status) == (2, 2)
    assert f"eikon: cannot write {running.folder / 'events.jsonl'}: " in resumed.err
    assert f"cannot write {running.folder / 'events.jsonl'}: " in running.started[-1]
    assert "internal error" not in "".join(running.started)
    assert "s1  crashed, main at " in listed


def test_a_session_whose_files_are_removed_ends(tmp_path: Path) -> None:
    """It keeps no browser running, and reports why in one line."""
    with session(tmp_path, "--parked", "0") as running:
        running.run("step")
        shutil.rmtree(running.folder)
        status = running.process.wait(timeout=DEADLINE_S)

    assert status == 65
    assert running.started[-1].endswith(
        "commands.jsonl: the file was removed; keep the folder until the session ends (code session)\n"
    )
    assert "Traceback" not in "".join(running.started)


def test_a_session_whose_browser_dies_ends_at_once(tmp_path: Path) -> None:
    """It ends without waiting for a command, and is listed as crashed."""
    with session(tmp_path, "--parked", "0") as running:
        running.run("step", "2")
        _kill_browser_of(running.process.pid)
        status = running.process.wait(timeout=DEADLINE_S)
        end = running.events("run_end")[-1]

    assert status == 69
    assert running.started[-1].startswith("eikon: the browser crashed or was closed; all its pages are gone")
    assert (end.how, end.ended_early) == ("failed", "the browser crashed or was closed; all its pages are gone")
    assert run_eikon("debug", "sessions", "--sessions-dir", str(tmp_path)).out.startswith(
        "s1  crashed, main at 2 of 29"
    )


def _kill_browser_of(ancestor: int) -> None:
    """Kill all browser processes below a process."""
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
