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

from eikon_engine.browser.executable import BrowserBinary, find_browser, install_browser
from eikon_engine.cli.command import command
from eikon_engine.errors import BrowserMissingError

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
    """Why there is no browser; empty when there is one."""
    fonts: int | None
    """Number of fonts known to fontconfig; None without fc-list."""
    extras: tuple[Extra, ...]

    @property
    def usable(self) -> bool:
        """Whether a replay can run."""
        return self.browser is not None and self.playwright is not None


@command("doctor")
@click.option("--install-browser", "install", is_flag=True, help="Install a headless browser if none is found.")
@click.option("--browser-path", type=click.Path(path_type=Path), help="Check this browser only.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor_command(*, install: bool, browser_path: Path | None, as_json: bool) -> int:
    """Check the installation: Python, Playwright, browser, fonts, extras. Exits with 69 without a browser."""
    diagnosis = diagnose(_browser_source(browser_path, install=install))
    click.echo(render_json(diagnosis) if as_json else render_text(diagnosis))
    return 0 if diagnosis.usable else BrowserMissingError.exit_status


def diagnose(find: Callable[[], BrowserBinary]) -> Diagnosis:
    """Check everything a replay needs; `find` locates the browser."""
    try:
        browser, problem = find(), ""
    except BrowserMissingError as error:
        browser, problem = None, error.message
    return Diagnosis(
        python=platform.python_version(),
        playwright=_version_of("playwright"),
        browser=browser,
        browser_problem=problem,
        fonts=count_fonts(os.environ),
        extras=list_extras("eikon-engine"),
    )


def render_text(diagnosis: Diagnosis) -> str:
    """Return one line per finding."""
    browser = diagnosis.browser
    lines = [
        ("Python", diagnosis.python),
        ("Playwright", diagnosis.playwright or "not installed: run `pip install playwright`"),
        ("Browser", str(browser.path) if browser else f"missing: {diagnosis.browser_problem}"),
        *([("", f"{browser.kind} {browser.version}, from {browser.source}")] if browser else ()),
        ("Fonts", "unknown (no fc-list)" if diagnosis.fonts is None else str(diagnosis.fonts)),
        *((f"Extra {extra.name}", _render_extra(extra)) for extra in diagnosis.extras),
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


def _browser_source(browser_path: Path | None, *, install: bool) -> Callable[[], BrowserBinary]:
    def find() -> BrowserBinary:
        return find_browser(browser_path, environ=os.environ)

    def find_or_install() -> BrowserBinary:
        return install_browser(lambda line: click.echo(line, err=True), find=find)

    return find_or_install if install and browser_path is None else find


def _render_extra(extra: Extra) -> str:
    if not extra.missing:
        return "installed"
    return f"not installed (missing: {', '.join(extra.missing)}): run `pip install 'eikon-engine[{extra.name}]'`"


def _version_of(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
