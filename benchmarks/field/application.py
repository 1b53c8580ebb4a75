"""An application of the field: how to install and start it, and the missions that agents perform in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from playwright.async_api import Page as AsyncPage
from playwright.sync_api import Page

Mission: TypeAlias = Callable[[Page, str], None] | Callable[[AsyncPage, str], Awaitable[None]]
"""Gets a blank page and the URL of the application; its docstring is the text of the mission."""

PAGES = Path(__file__).with_name("pages")
"""Pages around widgets, and the scripts of applications that are frameworks; the packages they need are not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an application is installed, and where it runs."""

    installed: Path
    """Holds `venv` or `node_modules`."""
    home: Path
    """Fresh for every start: data, settings, and `HOME` of the server."""
    port: int

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def python(self) -> str:
        """The interpreter of the application's environment."""
        return str(self.installed / "venv" / "bin" / "python")

    @property
    def node_modules(self) -> Path:
        """Packages of npm."""
        return self.installed / "node_modules"

    def script(self, name: str) -> str:
        """Return a command of the application's environment."""
        return str(self.installed / "venv" / "bin" / name)

    def copy(self, name: str, to: str = "") -> Path:
        """Copy a file or folder of `pages` into the home."""
        source, target = PAGES / name, self.home / (to or name)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
        return target

    def write(self, name: str, text: str) -> Path:
        """Write a file into the home."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *command: str) -> None:
        """Run a command to completion in the home.

        Raises:
            subprocess.CalledProcessError: it failed; its output is in `prepare.log` of the home.
        """
        with (self.home / "prepare.log").open("ab") as log:
            subprocess.run(command, cwd=self.home, stdout=log, stderr=log, check=True)


Start: TypeAlias = Callable[[Place], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What one server or page of strangers needs, and its missions."""

    name: str
    kind: str
    start: Start
    """Prepares the home and returns the command that serves on the port until it is terminated."""
    missions: tuple[Mission, ...]
    python: tuple[str, ...] = ()
    """Requirements of pip, pinned."""
    npm: tuple[str, ...] = ()
    """Packages of npm, pinned."""
    ready: str = "/"
    """Path that is answered with less than 500 once the application can be used."""
    variables: Mapping[str, str] | None = None
    """Further environment variables of the server."""
    never_the_same: Mapping[str, str] = field(default_factory=dict)
    """Why missions, by name, differ whenever an agent performs them: they are not replayed live."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """What the missions type into password fields, by the name that the recorder gives it; live replays need it."""


def script(name: str) -> Start:
    """Return the start of an application that is a script of `pages`, which gets the port."""

    def start(place: Place) -> Sequence[str]:
        return [place.python, str(place.copy(name)), str(place.port)]

    return start


def widget(name: str, *npm: str, missions: tuple[Mission, ...], kind: str = "widget") -> Application:
    """Return the application that serves `pages/NAME.html` beside the packages it loads."""

    def start(place: Place) -> Sequence[str]:
        place.copy(f"{name}.html", "index.html")
        (place.home / "node_modules").symlink_to(place.node_modules)
        return [sys.executable, "-m", "http.server", str(place.port), "--bind", "127.0.0.1", "-d", str(place.home)]

    return Application(name=name, kind=kind, npm=npm, start=start, missions=missions)
