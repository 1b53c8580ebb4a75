"""docs/tutorial.md: each command of the page, in its order, with the real browser."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from eikon_engine.demo.agent import render_agent
from eikon_engine.demo.pages import DRIFTS
from tests.until import GENEROUS_S, wait_until

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT: Final = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATUS: Final = re.compile(r"# exit status (\d+)$")
MODULES: Final = {"eikon": "eikon_engine", "pytest": "pytest"}
LINES: Final = [line for block in BLOCK.findall(PAGE) for line in block.splitlines()]


def test_the_script_of_the_page_is_the_one_that_is_written() -> None:
    """The page shows what `eikon demo --agent` writes."""
    assert SCRIPT.findall(PAGE) == [render_agent("http://127.0.0.1:8000/")]


def test_each_change_of_the_shop_is_on_the_page() -> None:
    """The page names all kinds of `--drift`."""
    assert [kind for kind in DRIFTS if f"`{kind}`" not in PAGE] == []


@pytest.mark.browser
def test_each_command_of_the_page_runs(tmp_path: Path) -> None:
    """Each ends with the exit status that its comment names, or 0; the shop is replaced by the next one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    printed = {}
    with ExitStack() as shop:
        for line in LINES:
            words = shlex.split(line, comments=True)
            if words[:2] == ["eikon", "demo"]:
                words += ["--port", str(port)]
            if words[:2] == ["eikon", "demo"] and "--agent" not in words:
                shop.close()
                shop.enter_context(_served(words, tmp_path))
            else:
                printed[line] = _run(words, line, tmp_path)

    assert len(printed) == len(LINES) - 3
    outputs = "\n".join(printed.values())
    assert "bundles/order: recorded, 9 actions; certified" in outputs
    summary = (tmp_path / "runs/defect/replay_summary.txt").read_text(encoding="utf-8")
    shown = re.findall(r"^(?:Cause|Reason|Next) .*$", PAGE.replace(":8000", f":{port}"), re.MULTILINE)
    assert len(shown) == 3
    assert [line for line in shown if line not in summary] == []
    assert re.search(r"^Code +(?:response-failed|target-missing)$", summary, re.MULTILINE)  # as the page says
    assert "4.50 EUR" in (tmp_path / "runs/price/replay_summary.txt").read_text(encoding="utf-8")
    assert (tmp_path / "runs/defect/report.html").is_file()
    assert (tmp_path / "suite_artifacts/suite.html").is_file()
    assert "1 passed" in outputs


@pytest.mark.parametrize("drift", [(), ("--drift", "api-error")])
def test_a_port_in_use_is_one_line(drift: tuple[str, ...], tmp_path: Path) -> None:
    """The message says which port, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            _command(["eikon", "demo", "--port", str(port), *drift]),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=_environment(tmp_path),
            timeout=GENEROUS_S,
            check=False,
        )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"eikon: cannot listen on 127.0.0.1, port {port}: ")
    assert "--port" in done.stderr


def _run(words: list[str], line: str, folder: Path) -> str:
    found = STATUS.search(line)
    done = subprocess.run(
        _command(words),
        capture_output=True,
        text=True,
        cwd=folder,
        env=_environment(folder),
        timeout=GENEROUS_S * 2,
        check=False,
    )
    assert done.returncode == int(found[1] if found else 0), (line, done.stdout, done.stderr)
    return done.stdout


@contextmanager
def _served(words: list[str], folder: Path) -> Iterator[None]:
    """Run a shop for the block, and stop it as Ctrl-C does."""
    printed = folder / "shop.out"
    with (
        printed.open("wb") as out,
        subprocess.Popen(
            _command(words), stdout=out, stderr=subprocess.PIPE, cwd=folder, env=_environment(folder)
        ) as process,
    ):
        try:
            wait_until(lambda: "http://" in printed.read_text(encoding="utf-8"), "the shop", GENEROUS_S)
            yield
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=GENEROUS_S)
    assert (process.returncode, errors.decode()) == (130, "eikon: stopped by the user (code interrupted)\n")


def _command(words: list[str]) -> list[str]:
    return [sys.executable, "-m", MODULES[words[0]], *words[1:]]


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "HOME": str(folder)}
