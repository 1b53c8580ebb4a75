"""`eikon doctor`: check the installation, and install a browser."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eikon_engine.browser.executable import (
    BrowserBinary,
    find_browser,
    find_display_problem,
    find_start_problem,
    install_browser,
)
from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import headless_option
from eikon_engine.errors import BrowserError, BrowserMissingError
from eikon_engine.files.extras import EXTRAS, install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FONT_LIST_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """An optional part of the installation."""

    name: str
    missing: tuple[str, ...]
    """Required distributions that are not installed; empty when it is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The result of a check."""

    python: str
    playwright: str | None
    browser: BrowserBinary | None
    browser_problem: str
    """Why there is no browser, or why it does not start; empty when it can be used."""
    display_problem: str
    """Why no window can be shown; empty when one can, or none is needed."""
    fonts: int | None
    """Number of fonts known to fontconfig; None without fc-list."""
    extras: tuple[Extra, ...]

    @property
    def usable(self) -> bool:
        """Whether a replay can run."""
        return self.browser is not None and not self.problems and self.playwright is not None

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the browser and the display."""
        return tuple(filter(None, (self.browser_problem, self.display_problem)))


@command("doctor")
@click.option("--install-browser", "install", is_flag=True, help="Install a headless browser if none is found.")
@click.option("--browser-path", type=click.Path(path_type=Path), help="Check this browser only.")
@headless_option
@click.option("--extras", "shows_extras", is_flag=True, help="List the optional parts, and what is missing for each.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor_command(
    *, install: bool, browser_path: Path | None, headless: bool, shows_extras: bool, as_json: bool
) -> int:
    """Check what a replay needs: Python, Playwright, and a browser that starts; with --headed, a display as well.

    Exit status: 0 a replay can run; 69 it cannot.
    """
    find = _browser_source(browser_path, install=install, headless=headless)
    diagnosis = diagnose(find, find_start_problem, "" if headless else find_display_problem(os.environ) or "")
    click.echo(render_json(diagnosis) if as_json else render_text(diagnosis, shows_extras=shows_extras))
    return 0 if diagnosis.usable else BrowserMissingError.exit_status


def diagnose(
    find: Callable[[], BrowserBinary], start: Callable[[BrowserBinary], str | None], display_problem: str = ""
) -> Diagnosis:
    """Check everything a replay needs; `find` locates the browser, `start` returns why it does not start."""
    try:
        browser: BrowserBinary | None = find()
        problem = "" if browser is None else start(browser) or ""
    except BrowserError as error:
        browser, problem = None, error.message
    return Diagnosis(
        python=platform.python_version(),
        playwright=_version_of("playwright"),
        browser=browser,
        browser_problem=problem,
        display_problem=display_problem,
        fonts=count_fonts(os.environ),
        extras=tuple(extra for extra in list_extras("eikon-engine") if extra.name in EXTRAS),
    )


def render_text(diagnosis: Diagnosis, *, shows_extras: bool = False) -> str:
    """Return one line per finding."""
    browser = diagnosis.browser
    broken = f"does not start: {diagnosis.browser_problem}"
    lines = [
        ("Python", diagnosis.python),
        ("Playwright", diagnosis.playwright or "not installed: run `pip install playwright`"),
        ("Browser", str(browser.path) if browser else f"missing: {diagnosis.browser_problem}"),
        *([("", f"{browser.kind} {browser.version}, from {browser.source}")] if browser else ()),
        *([("", broken)] if browser and diagnosis.browser_problem else ()),
        *([("Display", f"missing: {diagnosis.display_problem}")] if diagnosis.display_problem else ()),
        ("Fonts", "unknown (no fc-list)" if diagnosis.fonts is None else str(diagnosis.fonts)),
        *((f"Extra {extra.name}", _render_extra(extra)) for extra in diagnosis.extras if shows_extras),
        ("Usable", "yes" if diagnosis.usable else "no"),
    ]
    return "\n".join(f"{label:<12} {value}" for label, value in lines)


def render_json(diagnosis: Diagnosis) -> str:
    """Return the findings as one JSON object."""
    return json.dumps({**asdict(diagnosis), "usable": diagnosis.usable}, default=str, indent=2)


def count_fonts(environ: Mapping[str, str]) -> int | None:
    """Count the fonts known to fontconfig; None if it cannot be run."""
    try:
        done = subprocess.run(
            ["fc-list", ":", "file"],  # noqa: S607 - found on PATH
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FONT_LIST_TIMEOUT_S,
            check=True,
            env=dict(environ),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return len(done.stdout.splitlines())


def list_extras(distribution: str) -> tuple[Extra, ...]:
    """List the extras of an installed distribution with their missing requirements; none if it is not installed."""
    try:
        requirements = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return ()
    expected: dict[str, list[str]] = {}
    for requirement in requirements:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"""extra == ["']([\w-]+)["']""", requirement)
        if name is not None and extra is not None:
            expected.setdefault(extra[1], []).append(name[0])
    return tuple(
        Extra(name=extra, missing=tuple(name for name in sorted(names) if _version_of(name) is None))
        for extra, names in sorted(expected.items())
    )


def _browser_source(browser_path: Path | None, *, install: bool, headless: bool) -> Callable[[], BrowserBinary]:
    def find() -> BrowserBinary:
        return find_browser(browser_path, environ=os.environ, headless=headless)

    def find_or_install() -> BrowserBinary:
        return install_browser(lambda line: click.echo(line, err=True), find=find)

    return find_or_install if install and browser_path is None else find


def _render_extra(extra: Extra) -> str:
    if not extra.missing:
        return "installed"
    return f"not installed (missing: {', '.join(extra.missing)}): run `{install_command(extra.name)}`"


def _version_of(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
