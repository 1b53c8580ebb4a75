"""Install applications of the field into a cache folder, each on its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.field.application import Application

INSTALL_S = 900.0
"""Wall time of one command."""
DONE = "installed.txt"


class InstallError(Exception):
    """An application could not be installed; the message is one line."""


def default_cache() -> Path:
    """Return the folder outside of the repository that keeps what was installed."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eikon-field"


def install(application: Application, cache: Path) -> Path:
    """Return the folder of the application, installed now unless these versions are there already.

    Raises:
        InstallError: pip or npm failed.
    """
    folder = cache / application.name
    wanted = "\n".join((*application.python, *application.npm))
    done = folder / DONE
    if done.is_file() and done.read_text() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if application.python:
        _run(folder, sys.executable, "-m", "venv", "venv")
        python = str(folder / "venv" / "bin" / "python")
        _run(folder, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *application.python)
    if application.npm:
        _run(folder, "npm", "install", "--prefix", ".", "--no-audit", "--no-fund", "--loglevel=error", *application.npm)
    done.write_text(wanted)
    return folder


def _run(folder: Path, *command: str) -> None:
    """Run a command whose output goes to a log beside what it installs."""
    with (folder / "install.log").open("ab") as log:
        try:
            status = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=INSTALL_S, check=False
            ).returncode
        except (subprocess.TimeoutExpired, OSError) as error:
            raise InstallError(f"not installed: {error}") from error
    if status:
        lines = [line for line in (folder / "install.log").read_text(errors="replace").splitlines() if line.strip()]
        raise InstallError(f"not installed: {command[0]} exited with {status}: {(lines or [''])[-1]}")
