"""Get a headless browser onto this machine: what is here, else Playwright's download, else Debian's package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from eikon_engine.browser.find import find_browser
from eikon_engine.errors import BrowserMissingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.browser.find import BrowserBinary

STEP_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Name one way to a browser and the commands it takes."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    needs_apt: bool = False
    """Only for root on a system with apt-get."""
    completes_previous: bool = False
    """Only when the way before it ran without failure and its browser still does not start."""


WAYS = (
    Way(
        name="Playwright's download",
        commands=((sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"),),
    ),
    Way(
        name="the system libraries Playwright's download needs",
        commands=((sys.executable, "-m", "playwright", "install-deps", "chromium"),),
        needs_apt=True,
        completes_previous=True,
    ),
    Way(
        name="Debian's package",
        commands=(
            ("apt-get", "update"),
            # A machine without any font draws no text, and a box without text has no size to click on.
            ("apt-get", "install", "-y", "--no-install-recommends", "chromium-headless-shell", "fonts-liberation"),
        ),
        needs_apt=True,
    ),
)


class CommandRunner(Protocol):
    """Run one command to its end."""

    def __call__(self, command: tuple[str, ...], /) -> str | None:
        """Return why it failed, in one line, or None when it did not; never raise for a failure."""
        ...


def install_browser(
    report: Callable[[str], None],
    *,
    find: Callable[[], BrowserBinary] | None = None,
    run: CommandRunner | None = None,
    has_apt: bool | None = None,
) -> BrowserBinary:
    """Return the browser that is here, or get one; `report` is told each step and how it ended.

    Raises:
        BrowserMissingError: every way failed; the message names each with its reason.
    """
    look = find or (lambda: find_browser(None, environ=os.environ))
    apt = _may_use_apt() if has_apt is None else has_apt
    browser, reason = _look(look)
    failures: list[str] = []
    previous_ran = False
    for way in WAYS:
        if browser is not None:
            break
        if way.completes_previous and not previous_ran:
            continue
        if way.needs_apt and not apt:
            failures.append(f"{way.name}: needs root and apt-get")
            continue
        failed = _walk(way, run or run_command_line, report)
        browser, reason = _look(look)
        previous_ran = failed is None
        if browser is None:
            failures.append(f"{way.name}: {failed or reason}")
            report(failures[-1])
    if browser is None:
        raise BrowserMissingError(
            f"no browser could be installed, tried {'; '.join(failures)}; "
            "install Chrome or Chromium by hand, or name one with EIKON_BROWSER_PATH"
        )
    return browser


def run_command_line(command: tuple[str, ...], /) -> str | None:
    """Run a command without a terminal, for ten minutes at most, and return why it failed."""
    try:
        done = subprocess.run(  # noqa: S603 - the commands of WAYS
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # one stream, so that the first error stands first
            text=True,
            errors="replace",
            timeout=STEP_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "NO_COLOR": "1"},
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {STEP_TIMEOUT_S:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return None
    return _telling_line(done.stdout) or f"ended with {done.returncode}"


def _walk(way: Way, run: CommandRunner, report: Callable[[str], None]) -> str | None:
    for command in way.commands:
        report(f"{way.name}: {' '.join(command)}")
        failed = run(command)
        if failed is not None:
            return failed
    return None


def _look(find: Callable[[], BrowserBinary]) -> tuple[BrowserBinary | None, str]:
    try:
        return find(), ""
    except BrowserMissingError as error:
        return None, error.message


def _may_use_apt() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _telling_line(output: str) -> str:
    """Pick the first line that calls itself an error, else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("Error:", "E:"))]
    return (errors or lines[-1:] or [""])[0]
