"""The prompt of a session, driven through a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.debug_prompt import complete_line
from eikon_engine.debug.session_folder import SessionFolder
from tests.debug.conftest import DEADLINE_S, PASSING, run_eikon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.debug.conftest import Session

pytestmark = pytest.mark.browser

CONTROL = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\].*?\x07|[=>])")


@dataclass
class Terminal:
    """A pseudo-terminal with a program in it."""

    process: subprocess.Popen[bytes]
    file: int
    seen: str = ""

    def type(self, text: str) -> None:
        """Type a text, without an end of line."""
        os.write(self.file, text.encode())

    def wait(self, wanted: str) -> str:
        """Wait for a text, and return the output up to it; the next call continues after it."""
        deadline = time.monotonic() + DEADLINE_S
        while wanted not in self.seen:
            assert time.monotonic() < deadline, f"{wanted!r} did not come, found:\n{self.seen}"
            ready, _, _ = select.select([self.file], [], [], 0.1)
            if ready:
                try:
                    data = os.read(self.file, 1 << 16)
                except OSError:  # the program has ended
                    data = b""
                assert data, f"{wanted!r} did not come before the end, found:\n{self.seen}"
                if b"\x1b[6n" in data:  # it asks where the cursor is
                    os.write(self.file, b"\x1b[1;1R")
                self.seen += CONTROL.sub("", data.decode(errors="replace"))
        before, _, self.seen = self.seen.partition(wanted)
        return before

    def enter(self, line: str, wanted: str) -> str:
        """Type a line, and wait for a text."""
        self.type(f"{line}\r")
        return self.wait(wanted)


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    """Run `eikon` in a pseudo-terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "eikon_engine", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait(timeout=DEADLINE_S)
        os.close(ours)


def test_a_session_is_driven_from_the_prompt(at_start: Session) -> None:
    """It accepts the command-line words, shows events as they happen, and confirms rewinds."""
    with terminal("debug", "attach", "--sessions-dir", str(at_start.parent)) as prompt:
        prompt.wait("main 0/29>")
        prompt.enter("step 2", "main at 2 of 29, faithful so far (step)")
        prompt.enter("flep", "No such command 'flep'")
        prompt.enter("rewind --iteration 9", "expected an iteration from 0 to 2")
        prompt.enter("rewind --iteration 1", "This discards 1 step of main. Rewind? [y/N]")
        prompt.enter("y", "main at 1 of 29, faithful so far (rewind)")
        at_start.run("step")
        prompt.wait("skill         002 extract_table: faithful")
        prompt.enter("help rewind", "Restore a checkpoint")
        prompt.wait("main 2/29>")
        prompt.type("\x04")
        status = prompt.process.wait(timeout=DEADLINE_S)

    assert status == 0
    assert at_start.timeline()["branches"][0]["iteration"] == 2


def test_the_prompt_has_history_and_completion(at_start: Session) -> None:
    """The up arrow restores the last line, also in another prompt; Tab completes words."""
    with terminal("debug", "attach", "--sessions-dir", str(at_start.parent)) as prompt:
        prompt.wait("main 0/29>")
        prompt.type("breakp\t")
        prompt.wait("oint")
        prompt.enter(" clear", "no breakpoints")
        prompt.enter("checkpoint create before-all", "created cp_0_")
        prompt.enter("detach", "detach")
        prompt.process.wait(timeout=DEADLINE_S)
    with terminal("debug", "attach", "--sessions-dir", str(at_start.parent)) as prompt:
        prompt.wait("main 0/29>")
        prompt.type("\x1b[A\x1b[A")
        prompt.wait("checkpoint create before-all")

    history = at_start.parent / "prompt_history"
    assert "checkpoint create before-all" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600
    at_start.run("checkpoint", "delete", "before-all")


def test_lines_are_read_from_a_pipe(at_start: Session) -> None:
    """Without a terminal, lines run in order, and the last failure is the exit status."""
    script = "# as a script\nstep\nrewind --iteration 0\nbreakpoint add weather\ncheckpoint list\n'\n"
    done = subprocess.run(
        [sys.executable, "-m", "eikon_engine", "debug", "attach", "--sessions-dir", str(at_start.parent)],
        input=script,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert done.returncode == 2
    assert done.stdout.splitlines()[0].startswith("main at 1 of 29")
    first, second, third = done.stderr.splitlines()
    assert first.endswith("No terminal to ask on; add --force (code usage)")
    assert second.endswith("(code breakpoint)")
    assert "close the quotes" in third


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("re", {"resume", "rewind"}),
        ("breakpoint ", {"add", "list", "remove", "enable", "disable", "clear"}),
        ("breakpoint add it", {"iteration"}),
        ("inspect st", {"storage"}),
        ("rewind cp_", {"cp_0"}),
        ("rewind 'before", set()),
        ("switch m", {"main"}),
        ("timeline --format s", {"svg"}),
        ("rewind --f", {"--force"}),
        ("nonsense ", set()),
    ],
)
def test_words_are_completed(shop: Session, text: str, wanted: set[str]) -> None:
    """Commands, options and the names in the session are offered."""
    if not shop.json("checkpoint", "list"):
        shop.reset()
        shop.run("checkpoint", "create")

    found = {re.sub(r"_\d{8}T\d+$", "", word) for word in complete_line(SessionFolder(shop.folder), text)}

    assert found == wanted


def test_a_session_and_its_prompt_share_a_terminal(tmp_path: Path) -> None:
    """Ctrl-C goes to the prompt, and leaving the prompt ends the session."""
    words = ("debug", "start", "--trace", str(PASSING), "--attach", "--sessions-dir", str(tmp_path), "--session", "s1")
    with terminal(*words) as prompt:
        prompt.wait("main 0/29>")
        prompt.type("\x03")
        prompt.enter("step", "main at 1 of 29")
        prompt.wait("main 1/29>")
        prompt.type("\x04")
        status = prompt.process.wait(timeout=DEADLINE_S)

    assert status == 0
    assert "s1  ended, main at 1 of 29" in run_eikon("debug", "sessions", "--sessions-dir", str(tmp_path)).out
