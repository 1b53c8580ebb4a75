"""Databases of SQLite and PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
import pytest

from eikon_engine.history import HistoryPlace, find_history

if TYPE_CHECKING:
    from collections.abc import Iterator

_USER: Final = "postgres"
_NUMBERS: Final = count()


def _program(name: str) -> str:
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    assert found is not None, f"{name} is missing: run scripts/test, which installs PostgreSQL"
    return found


def _as_user(*command: str) -> None:
    """Run a program of PostgreSQL, which refuses to run as root."""
    prefix = ["runuser", "-u", _USER, "--"] if os.geteuid() == 0 else []
    subprocess.run([*prefix, *command], check=True, capture_output=True, timeout=120, cwd="/")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Start a server of its own for the tests; return the URL of its database."""
    folder = Path(tempfile.mkdtemp(prefix="eikon-postgresql-", dir="/tmp"))  # the path of a socket is short
    if os.geteuid() == 0:
        shutil.chown(folder, _USER)
    data = str(folder / "data")
    try:
        _as_user(_program("initdb"), "-D", data, "-U", _USER, "--auth=trust", "--no-sync", "--locale=C.UTF-8")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        _as_user(_program("pg_ctl"), "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql+psycopg://{_USER}:pass-word@/{{}}?host={folder}"
        finally:
            _as_user(_program("pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> HistoryPlace:
    """Return the place of a new history."""
    chosen = str(tmp_path / "a history's 100%?.db") if request.param == "sqlite" else _new_database(request)
    found = find_history(tmp_path, {"EIKON_HISTORY": chosen})
    assert found is not None
    return found


def _new_database(request: pytest.FixtureRequest) -> str:
    server: str = request.getfixturevalue("postgresql")
    name = f"history{next(_NUMBERS)}"
    with psycopg.connect(server.format("postgres").replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.format(name)
