"""Find the browser executable in a fixed order, or install one; without importing Playwright."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Protocol

from eikon_engine.errors import BrowserError, BrowserMissingError, UsageError
from eikon_engine.files.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

BrowserKind = Literal["headless-shell", "chromium", "chrome"]

BROWSER_PATH = "EIKON_BROWSER_PATH"
VERSION_TIMEOUT_S = 10.0
START_TIMEOUT_S: Final = 30.0
MIN_OPEN_FILES: Final = 256
"""Files that a process may have open at least: the default of macOS. A replay hangs with 96, and works with 128."""
_PRODUCTS: Final = re.compile(r"Chrom(?:e|ium)|Microsoft Edge|Brave|Vivaldi|Opera|Yandex")
"""Names with which browsers of Chromium's engine begin the output of `--version`."""
_START_PAGE: Final = "data:text/html,<p>started"
_START_TEXT: Final = "<p>started"

HEADLESS_SHELL_NAMES = ("chromium-headless-shell", "chrome-headless-shell", "headless_shell")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
HEADLESS_SHELL_FILES = (
    "usr/bin/chromium-headless-shell",
    "usr/lib/chromium/chromium-headless-shell",
    "usr/lib/chromium/headless_shell",
)
CHROMIUM_FILES = (
    "usr/bin/chromium",
    "usr/bin/google-chrome-stable",
    "Applications/Chromium.app/Contents/MacOS/Chromium",
    "Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
REGISTRY_HEADLESS_SHELLS = (
    "chromium_headless_shell-*/*/chrome-headless-shell",
    "chromium_headless_shell-*/*/headless_shell",
)
REGISTRY_CHROMIUMS = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserBinary:
    """A browser executable that exists and reports its version."""

    path: Path
    kind: BrowserKind
    version: str
    """Output of `--version` without the name: "156.0.8078.79"."""
    source: str
    """Where it was found: "--browser-path", "EIKON_BROWSER_PATH", "PATH", "system" or "playwright"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    path: Path
    source: str


def find_browser(
    explicit: Path | None,
    *,
    environ: Mapping[str, str],
    which: Callable[[str], str | None] | None = None,
    headless: bool = True,
    root: Path = Path("/"),
) -> BrowserBinary:
    """Return the first browser that exists and reports its version.

    An explicitly named path is used or rejected, never replaced. Other candidates that do not start are skipped and
    listed in the error. `root` is the folder that system paths are resolved against.

    Raises:
        BrowserMissingError: nothing was found, or the named path cannot be used.
        BrowserError: a browser could not open its files.
    """
    require_open_files()
    if explicit is not None:
        return _examine_named(explicit, "--browser-path")
    if environ.get(BROWSER_PATH):
        return _examine_named(Path(environ[BROWSER_PATH]), BROWSER_PATH)
    look_up = which or partial(shutil.which, path=environ.get("PATH", os.defpath))
    broken: dict[Path, str] = {}
    for candidate in _candidates(environ, look_up, root, headless=headless):
        if candidate.path in broken or not _is_executable(candidate.path):
            continue
        try:
            return _read_version(candidate)
        except BrowserMissingError as error:
            broken[candidate.path] = error.message
    raise BrowserMissingError(_not_found_message(tuple(broken.values()), headless=headless))


CHANNELS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "chromium": ("chromium", "chromium-browser"),
        "chromium-headless-shell": HEADLESS_SHELL_NAMES,
        "chrome": ("google-chrome-stable", "google-chrome", "chrome", "/opt/google/chrome/chrome"),
        "msedge": ("microsoft-edge-stable", "microsoft-edge", "/opt/microsoft/msedge/msedge"),
    }
)
"""Programs of Playwright's channels: https://playwright.dev/python/docs/browsers#google-chrome--microsoft-edge."""


def find_channel(channel: str) -> Path:
    """Return the program of a channel of Playwright that is on the path.

    Raises:
        UsageError: the channel is unknown.
        BrowserMissingError: it is not installed.
    """
    if channel not in CHANNELS:
        message = f"expected a channel of {', '.join(CHANNELS)}, got {channel!r}"
        raise UsageError(message)
    for name in CHANNELS[channel]:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    message = f"the channel {channel} is not installed: found none of {', '.join(CHANNELS[channel])}. Install it."
    raise BrowserMissingError(message)


def _candidates(
    environ: Mapping[str, str], which: Callable[[str], str | None], root: Path, *, headless: bool
) -> Iterator[_Candidate]:
    if headless:
        yield from _path_candidates(HEADLESS_SHELL_NAMES, which)
        yield from _system_candidates(HEADLESS_SHELL_FILES, root)
        yield from _playwright_candidates(REGISTRY_HEADLESS_SHELLS, environ)
    yield from _path_candidates(CHROMIUM_NAMES, which)
    yield from _system_candidates(CHROMIUM_FILES, root)
    yield from _playwright_candidates(REGISTRY_CHROMIUMS, environ)


def _path_candidates(names: tuple[str, ...], which: Callable[[str], str | None]) -> Iterator[_Candidate]:
    for name in names:
        found = which(name)
        if found is not None:
            yield _Candidate(path=Path(found), source="PATH")


def _system_candidates(files: tuple[str, ...], root: Path) -> Iterator[_Candidate]:
    for file in files:
        yield _Candidate(path=root / file, source="system")


def _playwright_candidates(patterns: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[_Candidate]:
    """Yield Playwright's complete downloads, newest revision first."""
    found = [
        path
        for folder in _registry_folders(environ)
        for pattern in patterns
        for path in folder.glob(pattern)
        if (folder / path.relative_to(folder).parts[0] / "INSTALLATION_COMPLETE").exists()
    ]
    for path in sorted(found, key=lambda path: (_revision(path), str(path)), reverse=True):
        yield _Candidate(path=path, source="playwright")


def _registry_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """List the folders of https://playwright.dev/python/docs/browsers#managing-browser-binaries."""
    named = environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    if named == "0":
        spec = find_spec("playwright")
        places = tuple(spec.submodule_search_locations or ()) if spec is not None else ()
        return tuple(Path(place, "driver", "package", ".local-browsers") for place in places)
    if named:
        return (Path(named),)
    home = Path(environ["HOME"]) if environ.get("HOME") else None
    cache = Path(environ["XDG_CACHE_HOME"]) if environ.get("XDG_CACHE_HOME") else home and home / ".cache"
    folders = (cache and cache / "ms-playwright", home and home / "Library" / "Caches" / "ms-playwright")
    return tuple(folder for folder in folders if folder is not None)


def _revision(path: Path) -> int:
    revisions = [int(match[1]) for part in path.parts if (match := re.fullmatch(r"chromium(?:_\w+)?-(\d+)", part))]
    return revisions[-1] if revisions else 0


def _examine_named(path: Path, source: str) -> BrowserBinary:
    if not path.exists():
        raise BrowserMissingError(f"{source}: {path} does not exist. Pass the path of the browser executable.")
    if not _is_executable(path):
        raise BrowserMissingError(f"{source}: {path} is not executable. Pass the path of the browser executable.")
    return _read_version(_Candidate(path=path, source=source))


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _read_version(candidate: _Candidate) -> BrowserBinary:
    """Run an executable with `--version`; one that does not report a version is no browser."""
    path = candidate.path
    try:
        done = subprocess.run(  # noqa: S603 - the path was given by the user or is a known location
            [str(path), "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise BrowserMissingError(f"{path} did not report its version within {VERSION_TIMEOUT_S:.0f} s") from error
    except OSError as error:
        raise BrowserMissingError(f"{path} cannot be started: {error.strerror or error}") from error
    version = re.search(r"\d+(?:\.\d+){1,3}", done.stdout)
    if done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise BrowserMissingError(f"{path} --version exited with status {done.returncode}: {output}")
    if version is None or not _PRODUCTS.search(done.stdout):
        output = (done.stdout.strip() or "nothing").splitlines()[0]
        raise BrowserMissingError(
            f"{path} is another program: expected the version of Chromium or Chrome from --version, got {output!r}"
        )
    return BrowserBinary(path=path, kind=_browser_kind(path, done.stdout), version=version[0], source=candidate.source)


def require_open_files() -> None:
    """Check how many files a process may have open: with too few, a browser starts, and hangs.

    Raises:
        BrowserError: fewer than a browser needs.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < MIN_OPEN_FILES:
        raise BrowserError(
            f"the limit of open files is too low for a browser: expected at least {MIN_OPEN_FILES}, got {limit}. "
            "Run `ulimit -n 1024` first."
        )


def find_start_problem(binary: BrowserBinary) -> str | None:
    """Start a browser without a window and open a page; return why that failed, or None."""
    sandbox = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with temporary_folder("doctor") as profile:
        try:
            done = subprocess.run(  # noqa: S603 - a browser that was found
                [
                    *(str(binary.path), "--headless", *sandbox, f"--user-data-dir={profile}"),
                    *("--disable-gpu", "--no-first-run", "--dump-dom", _START_PAGE),
                ],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=START_TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return f"opened no page within {START_TIMEOUT_S:.0f} s"
        except OSError as error:
            return error.strerror or str(error)
    if _START_TEXT in done.stdout:
        return None
    output = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
    return f"opened no page and exited with status {done.returncode}: {output}"


def find_display_problem(environ: Mapping[str, str], platform: str | None = None) -> str | None:
    """Return why no window can be shown, or None."""
    if (platform or sys.platform).startswith("linux") and not (
        environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    ):
        return "neither DISPLAY nor WAYLAND_DISPLAY is set"
    return None


def _browser_kind(path: Path, answer: str) -> BrowserKind:
    if "headless" in path.name.lower():
        return "headless-shell"
    return "chrome" if "Google Chrome" in answer else "chromium"


def _not_found_message(broken: tuple[str, ...], *, headless: bool) -> str:
    expected = "chromium-headless-shell, Chromium or Chrome" if headless else "Chromium or Chrome with a window"
    beside = f"; skipped: {'; '.join(broken)}" if broken else ""
    advice = "run `eikon doctor --install-browser`" if headless else "install Chrome or Chromium, or omit --headed"
    return (
        f"no browser found: searched PATH, system folders and Playwright's downloads for {expected}{beside}; "
        f"{advice}, or pass one with --browser-path or {BROWSER_PATH}"
    )


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
    for method in INSTALL_METHODS:
        if browser is not None:
            break
        if method.completes_previous and not previous_ran:
            continue
        if method.needs_apt and not apt:
            failures.append(f"{method.name}: needs root and apt-get")
            continue
        failed = _run_commands(method, run or run_command_line, report)
        browser, reason = _try_find(look)
        previous_ran = failed is None
        if browser is None:
            failures.append(f"{method.name}: {failed or reason}")
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
