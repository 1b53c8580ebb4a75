from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eikon_engine.browser.executable import BrowserBinary, CommandRunner, install_browser, run_command_line
from eikon_engine.errors import BrowserMissingError

BROWSER = BrowserBinary(path=Path("/bin/shell"), kind="headless-shell", version="1.2", source="PATH")


class Machine:
    """A machine on which certain commands succeed and one of them installs a browser."""

    def __init__(self, *, works: tuple[str, ...] = (), brings_browser: str = "") -> None:
        """Configure commands by a word in them."""
        self.works = works
        self.brings_browser = brings_browser
        self.ran: list[str] = []
        self.said: list[str] = []

    def run(self, command: tuple[str, ...], /) -> str | None:
        """Log the command, and fail unless it is configured to succeed."""
        line = " ".join(command)
        self.ran.append(line)
        return None if any(word in line for word in self.works) else "no route to host"

    def find(self) -> BrowserBinary:
        """Find the browser once the installing command has run."""
        if self.brings_browser and any(self.brings_browser in line for line in self.ran):
            return BROWSER
        raise BrowserMissingError("libnss3.so is missing" if self.ran else "nothing here")

    def install(self, *, has_apt: bool) -> BrowserBinary:
        """Run the installation."""
        run: CommandRunner = self.run
        return install_browser(self.said.append, find=self.find, run=run, has_apt=has_apt)


def test_an_installed_browser_is_enough() -> None:
    """Nothing is run when a browser is found at once."""
    said: list[str] = []
    machine = Machine()

    browser = install_browser(said.append, find=lambda: BROWSER, run=machine.run, has_apt=True)

    assert (browser, machine.ran, said) == (BROWSER, [], [])


def test_playwrights_download_is_tried_first() -> None:
    """Where the download works, nothing else is tried, and it was announced."""
    machine = Machine(works=("--only-shell",), brings_browser="--only-shell")

    browser = machine.install(has_apt=True)

    assert browser == BROWSER
    assert len(machine.ran) == 1
    assert "playwright install --only-shell chromium" in machine.said[0]


def test_missing_libraries_are_added_after_a_download() -> None:
    """If the downloaded browser does not start, its system libraries are installed."""
    machine = Machine(works=("--only-shell", "install-deps"), brings_browser="install-deps")

    browser = machine.install(has_apt=True)

    assert browser == BROWSER
    assert [line.partition(" -m playwright ")[2] for line in machine.ran] == [
        "install --only-shell chromium",
        "install-deps chromium",
    ]


def test_debians_package_follows_a_failed_download() -> None:
    """Without a download, no libraries are installed; Debian's package is tried next."""
    machine = Machine(works=("apt-get",), brings_browser="chromium-headless-shell")

    browser = machine.install(has_apt=True)

    assert browser == BROWSER
    assert [line.split(" ")[0] for line in machine.ran[1:]] == ["apt-get", "apt-get"]
    assert "Playwright's download: no route to host" in machine.said


def test_without_root_the_system_is_not_touched() -> None:
    """Without root, apt-get is not run, and the message says why."""
    machine = Machine()

    with pytest.raises(BrowserMissingError, match="Debian's package: needs root and apt-get"):
        machine.install(has_apt=False)

    assert len(machine.ran) == 1


def test_every_failure_is_named() -> None:
    """When every attempt fails, one line gives each reason, including a downloaded browser that does not start."""
    machine = Machine(works=("--only-shell",))

    with pytest.raises(BrowserMissingError) as raised:
        machine.install(has_apt=True)

    message = raised.value.message
    assert "\n" not in message
    assert "Playwright's download: libnss3.so is missing" in message
    assert "Debian's package: no route to host" in message


def test_a_command_that_succeeds_has_no_reason() -> None:
    """Success is None, whatever was printed."""
    assert run_command_line((sys.executable, "-c", "print('Error: not really')")) is None


def test_the_error_line_of_a_failure_is_picked() -> None:
    """Of a long output, the first line that calls itself an error is kept."""
    code = "print('Downloading'); print('Error: ENOTFOUND'); print('Error: later'); raise SystemExit(3)"

    assert run_command_line((sys.executable, "-c", code)) == "Error: ENOTFOUND"


def test_a_missing_command_fails_with_the_message_of_the_system() -> None:
    """A program that cannot be started is a failed step, not an exception."""
    assert run_command_line(("/nowhere/apt-get",)) == "No such file or directory"
