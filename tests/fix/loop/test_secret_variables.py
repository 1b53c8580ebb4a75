"""Which environment variables are secrets, and where their values are redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.fix.session import read_session
from eikon_engine.secrets.environment import EnvironmentSecrets, assignments_in, is_secret_variable
from tests.fix.loop.looping import loop_runner
from tests.fix.loop.projects import PYTEST, make_project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "name",
    [
        *("PWD", "OLDPWD", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "SESSION_MANAGER"),
        *("DBUS_SESSION_BUS_ADDRESS", "TOKENIZERS_PARALLELISM", "PASSWORD_STORE_DIR", "PASSWD_FILE", "HOME"),
    ],
)
def test_paths_and_desktop_variables_are_not_secrets(name: str) -> None:
    """Their values are parts of ordinary paths."""
    assert not is_secret_variable(name)


@pytest.mark.parametrize("name", ["DB_PASSWORD", "OPENAI_API_KEY", "MYSQL_PWD", "SESSION_SECRET", "GITHUB_TOKEN"])
def test_passwords_and_keys_are_secrets(name: str) -> None:
    """A variable is a secret if its name is that of a secret, and not that of a path."""
    assert is_secret_variable(name)


def test_a_session_records_its_tree_unredacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recovery needs the path of the tree, even if it equals the value of a secret variable."""
    project = make_project(tmp_path / "shop", {"a.py": "A = 1\n"})
    monkeypatch.setenv("PWD", str(project))
    monkeypatch.setenv("SHOP_TOKEN", str(project.parent))

    with loop_runner(tmp_path) as runner:
        runner.loop(project, test_cmd=f"true {project.parent}")

    note = read_session(runner.session)
    assert (note.tree, note.command) == (str(project), "true <SHOP_TOKEN>")
    assert note.copy_root.startswith(str(runner.sessions))


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("API_KEY=sk-1 LANG=C python -m pytest", [("API_KEY", "sk-1"), ("LANG", "C")]),
        ("export A='x y';pytest", [("A", "x y")]),
        ('(cd a&&env B="q=r" pytest --k=v)', [("B", "q=r")]),
        ("A=$B C=${D} E=$(cat f) F=`g` pytest", [("E", "$")]),
        ("A='open pytest", [("A", "'open")]),
        ("pytest", []),
    ],
)
def test_variables_set_in_a_command_are_found(command: str, settings: list[tuple[str, str]]) -> None:
    """Assignments in a shell command are found, except those with shell expansions."""
    assert list(assignments_in(command)) == settings


@pytest.mark.parametrize(
    ("value", "printed", "reported"),
    [
        (
            "postgres://u:s3cr3tpassw0rd@h/db",
            "s3cr3tpassw0rd of postgres://u:s3cr3tpassw0rd@h",
            "<V> of postgres://u:<V>@h",
        ),
        ("postgres://postgres:postgres@h", "postgres://postgres:postgres@h", "postgres://postgres:<V>@h"),
        ("redis://:a%40b@h", "redis://:a%40b@h is :a@b@", "redis://:<V>@h is :<V>@"),
        ("mongodb://u:one@h:1,u:two@i:2/db", "u:one@h", "u:<V>@h"),
        ("http://localhost:8080/a@b", "http://localhost:8080/a@b", "http://localhost:8080/a@b"),
    ],
)
def test_a_password_in_an_address_is_a_secret(value: str, printed: str, reported: str) -> None:
    """The name of the variable does not matter; a password that is a common word is only redacted inside URLs."""
    assert EnvironmentSecrets({"V": value}).redact(printed) == reported


def test_a_secret_is_found_in_the_spelling_of_addresses() -> None:
    """Percent-encoded values are redacted, including those that are not UTF-8."""
    known = EnvironmentSecrets({"DB_PASSWORD": "it is/12", "A_TOKEN": "\udcff1234567"})

    assert known.redact("it%20is%2F12 it+is%2F12 %FF1234567") == "<DB_PASSWORD> <DB_PASSWORD> <A_TOKEN>"


def test_secrets_in_the_command_reach_neither_model_nor_session(tmp_path: Path) -> None:
    """Session and prompt contain the command with the name instead of the value."""
    test = "import os\n\n\ndef test_it():\n    assert os.environ['API_KEY'] == ''\n"
    project = make_project(tmp_path / "shop", {"test_env.py": test})

    with loop_runner(tmp_path, "NO FIX FOUND: none") as runner:
        runner.loop(project, test_cmd=f"API_KEY=sk-livesecret99887766 {PYTEST}")

    files = {each.name: each.read_text(encoding="utf-8") for each in runner.session.rglob("*") if each.is_file()}
    asked = str(runner.model.asked[0].body)
    assert [name for name, text in files.items() if "livesecret99887766" in text] == []
    assert "API_KEY=<API_KEY> python" in files["session.json"]
    assert "API_KEY=<API_KEY> python" in asked
    assert "livesecret" not in asked
