"""Passwords and tokens of foreign recordings."""

from __future__ import annotations

import json

import pytest

from eikon_engine.trace.actions import Fill, Navigate, SecretRef
from tests.importers.reading import read_content
from tests.importers.test_side import command, project

TOKEN = "kJ83hdPq0zLmWv7T"


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
