"""`eikon record --url`, as a user runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eikon_engine.browser.interactive.window import Window
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import NavigationError
from eikon_engine.record.record_interactive import InteractiveOptions, record_interactive
from eikon_engine.trace.trace_file import read_trace
from tests.sites.shop import serve_shop

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]


def start(*options: str, **variables: str) -> subprocess.Popen[str]:
    """Run the command without a display."""
    environ = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    return subprocess.Popen(
        [sys.executable, "-m", "eikon_engine", "record", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environ, "PYTHONPATH": str(ROOT), **variables},
    )


@pytest.mark.parametrize(("number", "status", "wanted"), [(signal.SIGINT, 0, "next:"), (signal.SIGTERM, 0, "next:")])
def test_a_signal_ends_the_recording_and_leaves_it_complete(
    tmp_path: Path, number: signal.Signals, status: int, wanted: str
) -> None:
    """The bundle is complete, and the command summarizes the recording."""
    with serve_shop() as shop:
        command = start("--url", f"{shop.url}/prices", "-o", str(tmp_path / "b"), "--headless", "--no-certify")
        assert command.stderr is not None
        said = [next(command.stderr) for _ in range(3)]
        command.send_signal(number)
        printed, _ = command.communicate(timeout=60)

    assert (command.returncode, wanted in printed, "1 action" in printed) == (status, True, True)
    assert "chrome://inspect" in said[0]
    assert read_trace(tmp_path / "b").status == "complete"


@pytest.mark.parametrize(
    ("options", "wanted", "status"),
    [
        (("--url", "http://127.0.0.1:9/x"), "no display", 2),
        (("--url", "shop"), "expected a URL", 2),
        (("--url", "http://x/", "--trace", "y"), "got --trace and --url", 2),
        (("--url", "http://x/", "--headless", "--viewport", "0x3"), "expected WIDTHxHEIGHT", 2),
        ((), "got none", 2),
    ],
)
def test_invalid_usage_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    wanted: str,
    status: int,
) -> None:
    """The exit status identifies the kind of error, and no files are left behind."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)

    ended = run_command(eikon, ["record", "-o", str(tmp_path / "b"), *options], "eikon")

    said = capsys.readouterr().err
    assert (ended, wanted in said, said.count("\n")) == (status, True, 1), said
    assert not (tmp_path / "b").exists()


def test_an_unreachable_page_is_one_line(tmp_path: Path) -> None:
    """An unreachable server is reported after the browser has tried it, and no files are left behind."""
    command = start("-o", str(tmp_path / "b"), "--url", "http://127.0.0.1:9/x", "--headless")
    _, said = command.communicate(timeout=60)

    wanted = "cannot open"
    assert (command.returncode, wanted in said, said.count("\n")) == (1, True, 1), said
    assert not (tmp_path / "b").exists()


def test_a_recording_that_could_not_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No files are left behind, even if the browser takes longer to close than the first action's timeout."""
    stop = Window.stop

    async def stop_late(window: Window) -> None:
        await asyncio.sleep(0.8)
        await stop(window)

    monkeypatch.setattr(Window, "stop", stop_late)
    options = InteractiveOptions(url="http://127.0.0.1:9/x", mission_text="x", headless=True)

    with pytest.raises(NavigationError, match="cannot open"):
        asyncio.run(record_interactive(tmp_path / "b", options))

    assert not caplog.records
    assert not (tmp_path / "b").exists()
