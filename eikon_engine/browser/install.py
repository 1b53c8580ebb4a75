"""Install a headless browser: an existing one, Playwright's download, or Debian's package, in this order."""

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

COMMAND_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallMethod:
    """One method of installing a browser and its commands."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    needs_apt: bool = False
    """Requires root on a system with apt-get."""
    completes_previous: bool = False
    """Runs only if the previous method succeeded and its browser still does not start."""


INSTALL_METHODS = (
    InstallMethod(
        name="Playwright's download",
        commands=((sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"),),
    ),
    InstallMethod(
        name="the system libraries Playwright's download needs",
        commands=((sys.executable, "-m", "playwright", "install-deps", "chromium"),),
        needs_apt=True,
        completes_previous=True,
    ),
    InstallMethod(
        name="Debian's package",
        commands=(
            ("apt-get", "update"),
            # Without any font, text has no size, and a box without size cannot be clicked.
            ("apt-get", "install", "-y", "--no-install-recommends", "chromium-headless-shell", "fonts-liberation"),
        ),
        needs_apt=True,
    ),
)


class CommandRunner(Protocol):
    """Runs one command to completion."""

    def __call__(self, command: tuple[str, ...], /) -> str | None:
        """Return why the command failed, in one line, or None; never raises for a failure."""
        ...


def install_browser(
    report: Callable[[str], None],
    *,
    find: Callable[[], BrowserBinary] | None = None,
    run: CommandRunner | None = None,
    has_apt: bool | None = None,
) -> BrowserBinary:
    """Return an existing browser or install one; `report` receives each command and each failure.

    Raises:
        BrowserMissingError: every method failed; the message lists each with its reason.
    """
    look = find or (lambda: find_browser(None, environ=os.environ))
    apt = _can_use_apt() if has_apt is None else has_apt
    browser, reason = _try_find(look)
    failures: list[str] = []
    previous_ran = False
    for way in INSTALL_METHODS:
        if browser is not None:
            break
        if way.completes_previous and not previous_ran:
            continue
        if way.needs_apt and not apt:
            failures.append(f"{way.name}: needs root and apt-get")
            continue
        failed = _run_commands(way, run or run_command_line, report)
        browser, reason = _try_find(look)
        previous_ran = failed is None
        if browser is None:
            failures.append(f"{way.name}: {failed or reason}")
            report(failures[-1])
    if browser is None:
        raise BrowserMissingError(
            f"could not install a browser ({'; '.join(failures)}). "
            "Install Chrome or Chromium manually, or set EIKON_BROWSER_PATH."
        )
    return browser


def run_command_line(command: tuple[str, ...], /) -> str | None:
    """Run a command without a terminal, for at most ten minutes; return why it failed, or None."""
    try:
        done = subprocess.run(  # noqa: S603 - the fixed commands above
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # one stream, so that the first error comes first
            text=True,
            errors="replace",
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "NO_COLOR": "1"},
        )
    except subprocess.TimeoutExpired:
        return f"timed out after {COMMAND_TIMEOUT_S:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return None
    return _error_line(done.stdout) or f"exited with status {done.returncode}"


def _run_commands(method: InstallMethod, run: CommandRunner, report: Callable[[str], None]) -> str | None:
    for command in method.commands:
        report(f"{method.name}: {' '.join(command)}")
        failed = run(command)
        if failed is not None:
            return failed
    return None


def _try_find(find: Callable[[], BrowserBinary]) -> tuple[BrowserBinary | None, str]:
    try:
        return find(), ""
    except BrowserMissingError as error:
        return None, error.message


def _can_use_apt() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _error_line(output: str) -> str:
    """Return the first line that starts with an error marker, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("Error:", "E:"))]
    return (errors or lines[-1:] or [""])[0]
