"""Passwords and tokens of foreign recordings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import zstandard

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.trace.actions import Fill, Navigate, Read, SecretRef
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.read_values import LONG_VALUE
from tests.importers.playwright_zips import URL, call, head, opened, read_zip, write_zip
from tests.importers.reading import read_content
from tests.importers.test_side import command, project

if TYPE_CHECKING:
    from pathlib import Path

    from tests.importers.playwright_zips import Line

TOKEN = "kJ83hdPq0zLmWv7T"
BEGINNING = (head(), opened(), *call(1, "Frame.goto", url=URL, waitUntil="load"))


@pytest.mark.parametrize("target", ["id=password", "css=input[type=password]", "name=user_pwd", "id=pin"])
def test_a_typed_password_becomes_a_secret(target: str) -> None:
    """The import contains its value nowhere, and a note explains how to pass it."""
    mission = read_content(project(command("type", "id=name", "Ada"), command("type", target, "plum-4711")))

    name, password = mission.subgoals[0].actions
    assert isinstance(name, Fill)
    assert isinstance(password, Fill)
    assert (name.text, password.text) == ("Ada", SecretRef(secret="PASSWORD"))
    assert "--secret PASSWORD=" in " ".join(mission.notes)
    assert "plum-4711" not in repr(mission)


def test_each_password_has_its_name() -> None:
    """Different values become two secrets; equal values become one."""
    typed = [command("type", f"id=password{place}", text) for place, text in enumerate(("one-1", "two-2", "one-1"))]

    actions = read_content(project(*typed)).subgoals[0].actions

    assert [json.loads(each.model_dump_json())["text"] for each in actions] == [
        {"secret": "PASSWORD"},
        {"secret": "PASSWORD_2"},
        {"secret": "PASSWORD"},
    ]


def test_a_token_in_an_address_becomes_a_secret() -> None:
    """It is named after its query parameter, and resolved when the mission is recorded."""
    mission = read_content(project(command("open", f"/go?page=2&access_token={TOKEN}")))

    (action,) = mission.subgoals[0].actions
    assert isinstance(action, Navigate)
    assert action.url.endswith("/go?page=2&access_token={{eikon-secret:ACCESS_TOKEN}}")
    assert TOKEN not in repr(mission)


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
SIGNATURE = JWT.rpartition(".")[2]


@pytest.mark.parametrize(
    "result",
    [{"s": JWT}, {"o": [{"k": "token", "v": {"s": JWT}}]}, {"s": "x" * LONG_VALUE + " " + JWT}],
    ids=["text", "member", "long"],
)
def test_a_token_that_a_script_returned_becomes_a_secret(tmp_path: Path, result: Line) -> None:
    """The bundle contains it in no file, also not in that of a long value, and a warning names the secret."""
    lines = call(
        2,
        "Frame.evaluateExpression",
        expression="localStorage.token",
        isFunction=False,
        arg={"value": {"v": "undefined"}},
        result={"value": result},
    )
    trace = write_zip(tmp_path / "trace.zip", [*BEGINNING, *lines])

    assert run_command(eikon, ["import", str(trace), "-o", str(tmp_path / "b")], "eikon") == 0

    bundle = open_bundle(tmp_path / "b")
    assert "--secret TOKEN=" in " ".join(bundle.trace.warnings)
    files = [each for each in bundle.root.rglob("*") if each.is_file()]
    contents = [each.read_bytes() for each in files if each.suffix != ".zst"]
    contents += [zstandard.ZstdDecompressor().decompress(each.read_bytes()) for each in files if each.suffix == ".zst"]
    assert not any(SIGNATURE.encode() in each for each in contents)
    assert any(b"{{eikon-secret:TOKEN}}" in each for each in contents)


@pytest.mark.parametrize(
    "read",
    [
        call(2, "Frame.inputValue", selector="#password", strict=True, result={"value": "plum-4711"}),
        call(2, "Frame.getAttribute", selector="#password", name="value", result={"value": "plum-4711"}),
        call(
            2,
            "Frame.evalOnSelector",
            selector="#password",
            expression="e => e.value",
            isFunction=True,
            arg={"value": {"v": "undefined"}},
            result={"value": {"s": "plum-4711"}},
        ),
    ],
    ids=["input_value", "get_attribute", "script"],
)
def test_a_password_that_was_read_becomes_a_secret(tmp_path: Path, read: list[Line]) -> None:
    """The browser may have filled the field without any typing; the import contains its value nowhere."""
    mission = read_zip(write_zip(tmp_path / "trace.zip", [*BEGINNING, *read]))

    _, action = (json.loads(each.model_dump_json()) for each in mission.subgoals[0].actions)
    assert action["value"]["value"] == "{{eikon-secret:PASSWORD}}"
    assert "--secret PASSWORD=" in " ".join(mission.notes)
    assert "plum-4711" not in repr(mission)


def test_other_reads_of_a_password_field_are_kept(tmp_path: Path) -> None:
    """Its type and label are no secrets."""
    reads = (
        call(2, "Frame.getAttribute", selector="#password", name="type", result={"value": "password"}),
        call(3, "Frame.innerText", selector="#password-hint", result={"value": "At least 8 characters"}),
    )

    mission = read_zip(write_zip(tmp_path / "trace.zip", [*BEGINNING, *reads[0], *reads[1]]))

    assert [each.value.value for each in mission.subgoals[0].actions if isinstance(each, Read) and each.value] == [
        "password",
        "At least 8 characters",
    ]
    assert "--secret" not in " ".join(mission.notes)
