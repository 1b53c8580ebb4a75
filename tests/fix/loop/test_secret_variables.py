"""Which values of the environment are secrets, and where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.fix.secret_variables import is_secret_variable
from eikon_engine.fix.session import read_session
from tests.fix.loop.looping import bench
from tests.fix.loop.projects import make_project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "name",
    [
        *("PWD", "OLDPWD", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "SESSION_MANAGER"),
        *("DBUS_SESSION_BUS_ADDRESS", "TOKENIZERS_PARALLELISM", "PASSWORD_STORE_DIR", "PASSWD_FILE", "HOME"),
    ],
)
def test_places_and_desktops_are_no_secrets(name: str) -> None:
    """Their values stand in paths that everybody sees."""
    assert not is_secret_variable(name)


@pytest.mark.parametrize("name", ["DB_PASSWORD", "OPENAI_API_KEY", "MYSQL_PWD", "SESSION_SECRET", "GITHUB_TOKEN"])
def test_passwords_and_keys_are_secrets(name: str) -> None:
    """What has the name of a secret, and not that of a place, is one."""
    assert is_secret_variable(name)


def test_a_session_names_its_tree_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that was cut off is taken back by that name, whatever variable has it for a value."""
    project = make_project(tmp_path / "shop", {"a.py": "A = 1\n"})
    monkeypatch.setenv("PWD", str(project))
    monkeypatch.setenv("SHOP_TOKEN", str(project.parent))

    with bench(tmp_path) as seat:
        seat.loop(project, test_cmd=f"true {project.parent}")

    note = read_session(seat.session)
    assert (note.tree, note.command) == (str(project), "true <SHOP_TOKEN>")
    assert note.copy_root.startswith(str(seat.sessions))
