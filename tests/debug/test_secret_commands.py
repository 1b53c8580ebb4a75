"""Secrets in commands: no file of a session contains them, the log of commands included."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.debug.client import request_redacted_text
from eikon_engine.debug.session_folder import SessionFolder
from tests.debug.conftest import Session, session
from tests.debug.test_command_server import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

GIVEN = "hush-hush"
SHORT = "4711x"
ESCAPED = 'p"w\\d é&1'
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Run a session with three secrets."""
    options = (
        "--secret",
        f"TOKEN={GIVEN}",
        "--secret",
        f"PIN={SHORT}",
        "--secret",
        f"ESC={ESCAPED}",
        "--parked",
        "0",
        "--timeout",
        "1",
    )
    with session(tmp_path_factory.mktemp("sessions"), *options) as running:
        running.run("step")
        yield running


def commands(of: Session) -> list[Any]:
    """Return the commands stored in the file."""
    return [json.loads(line)["command"] for line in (of.folder / "commands.jsonl").read_text().splitlines()]


def test_a_known_secret_is_stored_as_its_name(running: Session) -> None:
    """The page receives the value, the files its name; a text that is only a secret becomes a reference."""
    output = running.run("eval", f"'{GIVEN}'.length")
    evaluated = commands(running)[-1]
    running.run("branch", "insert", "type", "body", GIVEN, "--name", "typed")
    inserted = commands(running)[-1]
    running.run("switch", "main")

    assert output.splitlines()[0] == str(len(GIVEN))
    assert evaluated["expression"] == "'{{eikon-secret:TOKEN}}'.length"
    assert inserted["action"]["text"] == {"secret": "TOKEN"}


@pytest.mark.parametrize("value", [GIVEN, SHORT])
def test_no_file_contains_a_secret_embedded_in_other_text(running: Session, value: str) -> None:
    """Includes JavaScript, addresses and selectors with secrets that were never typed."""
    output = [
        running.run("eval", f"document.title = '{value}'"),
        running.run("eval", f"localStorage.given = document.body.dataset.given = '{value}'; console.log('{value}')"),
        running.run("inspect"),
        running.run("checkpoint", "create", f"kept-{len(value)}"),
        running.run("branch", "insert", "click", f"#{value}", "--name", f"clicked-{len(value)}"),
        running("step").out,
        running.run("switch", "main"),
        running.run(
            "branch", "insert", "navigate", f"http://127.0.0.1:8642/?q={value}", "--name", f"gone-{len(value)}"
        ),
        running("step").out,
        running.run("switch", "main"),
    ]
    written = [each for each in running.folder.rglob("*") if each.is_file() and value.encode() in each.read_bytes()]

    assert not [each for each in output if value in each]
    assert (len(list(running.folder.rglob("cp_*"))) > 0, written) == (True, [])


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param("'p\"w\\\\d é&1'", id="single"),
        pytest.param('"p\\"w\\\\d é&1"', id="double"),
        pytest.param('`p"w\\\\d é&1`', id="template"),
        pytest.param("'p\"w\\\\d \\u00e9&1'", id="ascii"),
    ],
)
def test_a_secret_is_recognized_in_javascript_spellings(running: Session, typed: str) -> None:
    """Backslash escapes and Unicode escapes are recognized."""
    output = running.run("eval", typed)

    assert commands(running)[-1]["expression"].startswith(typed[0] + "{{eikon-secret:ESC")
    assert output.splitlines()[0] == '"{{eikon-secret:ESC}}"'


def test_a_secret_assembled_by_javascript_is_redacted_in_the_result(running: Session) -> None:
    """The spelling of the expression does not matter."""
    output = running.run("eval", f"'{GIVEN[:4]}' + '{GIVEN[4:]}'")

    assert output.splitlines()[0] == '"{{eikon-secret:TOKEN}}"'


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("branch", "insert", "fill", "#password", "tulips"), "the password field #password, got its text"),
        (("eval", f"send('{TOKEN}')"), "got what looks like a token (GitHub token)"),
        (("breakpoint", "add", "pattern", TOKEN), "got what looks like a token"),
    ],
)
def test_probable_secrets_are_rejected(running: Session, words: tuple[str, ...], found: str) -> None:
    """The message says how to pass them, and nothing is written to the file."""
    before = commands(running)

    output = running(*words)

    assert (output.status, output.err.count("\n")) == (2, 1)
    assert found in output.err
    assert "--secret NAME=VALUE" in output.err
    assert commands(running) == before


def test_a_secret_in_a_selector_is_resolved_before_use(running: Session) -> None:
    """It holds for `locate` and breakpoints; such a field does not count as a password field."""
    running.run("eval", f"document.body.insertAdjacentHTML('beforeend', '<input id=in-{SHORT}>')")

    output = [
        running.run("locate", f"#in-{SHORT}"),
        running("locate", f"#in-{SHORT}[").err,
        running.run("breakpoint", "add", "selector", f"#in-{SHORT}"),
        running.run("branch", "insert", "fill", f"#in-{SHORT}", "roses", "--name", "searched"),
        running.run("switch", "main"),
        running.run("breakpoint", "clear"),
    ]

    assert "1 element" in output[0]
    assert "#in-{{eikon-secret:PIN}}[" in output[1]
    assert not [each for each in output if SHORT in each]


def test_password_fields_are_detected_in_the_page(running: Session) -> None:
    """Their selectors may look ordinary."""
    running.run("eval", "document.body.insertAdjacentHTML('beforeend', '<input type=password id=odd>')")

    output = running("branch", "insert", "fill", "#odd", "tulips", "--name", "odd")

    assert (output.status, "the password field #odd" in output.err) == (2, True)


def test_other_programs_follow_the_same_rules(running: Session) -> None:
    """A token is refused, a known secret is named, and no file contains either."""
    insert = {"type": "branch_insert", "action": {"type": "fill", "target": {"selector": "#pin"}, "text": TOKEN}}
    named = {"type": "locate", "selector": f"[title={GIVEN}]"}
    lines = [{"id": "raw", "command": insert}, {"id": "named", "command": named}, {"id": "bad", "command": GIVEN}]

    messages = exchange(running.folder, "".join(f"{json.dumps(line)}\n" for line in lines).encode())

    stored = [each.read_bytes() for each in running.folder.rglob("*") if each.is_file()]
    assert {each["id"]: each["code"] for each in messages if each["type"] == "error"} == {
        "raw": "secret-given",
        None: "usage",
    }
    assert commands(running)[-1]["selector"] == "[title={{eikon-secret:TOKEN}}]"
    assert [each.code for each in running.events("command_failed") if each.command_id == "raw"] == ["secret-given"]
    assert len(stored) > 4
    assert not [text for text in (GIVEN, TOKEN) for data in stored if text.encode() in data]


def test_password_fields_of_earlier_commands_are_detected(running: Session) -> None:
    """A text is checked on the page that it will be typed into: after the commands before it."""
    create = "document.body.insertAdjacentHTML('beforeend', '<input type=password id=late>')"
    insert = {"type": "branch_insert", "action": {"type": "fill", "target": {"selector": "#late"}, "text": "daisies"}}
    lines = [{"id": "a", "command": {"type": "evaluate", "expression": create}}, {"id": "b", "command": insert}]

    messages = exchange(running.folder, "".join(f"{json.dumps(line)}\n" for line in lines).encode())

    assert [each["code"] for each in messages if each["type"] == "error"] == ["secret-given"]
    assert b"daisies" not in (running.folder / "commands.jsonl").read_bytes()


def test_a_text_given_while_steps_run_is_not_logged(running: Session) -> None:
    """Whether it is for a password field is unknown until the session is paused."""
    insert = {"type": "branch_insert", "action": {"type": "fill", "target": {"selector": "#odd"}, "text": "orchids"}}
    lines = [{"id": "a", "command": {"type": "step", "count": 5}}, {"id": "b", "command": insert}]

    messages = exchange(running.folder, "".join(f"{json.dumps(line)}\n" for line in lines).encode())

    assert [each["code"] for each in messages if each["type"] == "error"] == ["session-busy"]
    assert b"orchids" not in (running.folder / "commands.jsonl").read_bytes()


def test_a_prompt_line_is_redacted_for_the_history(running: Session) -> None:
    """It is not kept if it contains an unknown secret."""
    folder = SessionFolder(running.folder)

    kept, dropped = (request_redacted_text(folder, f"eval {text}") for text in (GIVEN, TOKEN))

    assert (kept, dropped) == ("eval {{eikon-secret:TOKEN}}", None)


def test_the_socket_is_removed_with_its_session(running: Session) -> None:
    """Its folder and the link to it as well."""
    where = (running.folder / "socket").readlink()

    running.end()

    assert not (running.folder / "socket").is_symlink()
    assert not where.parent.exists()
