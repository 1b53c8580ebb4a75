"""Secrets in what is told to a session: no file of it has them, not even the one in which commands are given."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.debug.conftest import Session, session

if TYPE_CHECKING:
    from collections.abc import Iterator

GIVEN = "hush-hush"
SHORT = "4711x"
ESCAPED = 'p"w\\d é&1'
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Tell a session everything, and let it do it."""
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
        running.good("step")
        yield running


def commands(of: Session) -> list[Any]:
    """Return what was given, as the file has it."""
    return [json.loads(line)["command"] for line in (of.folder / "commands.jsonl").read_text().splitlines()]


def test_a_secret_that_was_given_is_named(told: Session) -> None:
    """The page is told the value, the files its name; a text that is all secret is typed as one."""
    said = told.good("eval", f"'{GIVEN}'.length")
    evaluated = commands(told)[-1]
    told.good("branch", "insert", "type", "body", GIVEN, "--name", "typed")
    inserted = commands(told)[-1]
    told.good("switch", "main")

    assert said.splitlines()[0] == str(len(GIVEN))
    assert evaluated["expression"] == "'{{eikon-secret:TOKEN}}'.length"
    assert inserted["action"]["text"] == {"secret": "TOKEN"}


@pytest.mark.parametrize("value", [GIVEN, SHORT])
def test_no_file_has_what_pages_were_given_inside_of_something(told: Session, value: str) -> None:
    """JavaScript, an address, a selector: nothing of it was typed into a field before."""
    said = [
        told.good("eval", f"document.title = '{value}'"),
        told.good("eval", f"localStorage.given = document.body.dataset.given = '{value}'; console.log('{value}')"),
        told.good("inspect"),
        told.good("checkpoint", "create", f"kept-{len(value)}"),
        told.good("branch", "insert", "click", f"#{value}", "--name", f"clicked-{len(value)}"),
        told("step").out,
        told.good("switch", "main"),
        told.good("branch", "insert", "navigate", f"http://127.0.0.1:8642/?q={value}", "--name", f"gone-{len(value)}"),
        told("step").out,
        told.good("switch", "main"),
    ]
    written = [each for each in told.folder.rglob("*") if each.is_file() and value.encode() in each.read_bytes()]

    assert not [each for each in said if value in each]
    assert (len(list(told.folder.rglob("cp_*"))) > 0, written) == (True, [])


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param("'p\"w\\\\d é&1'", id="single"),
        pytest.param('"p\\"w\\\\d é&1"', id="double"),
        pytest.param('`p"w\\\\d é&1`', id="template"),
        pytest.param("'p\"w\\\\d \\u00e9&1'", id="ascii"),
    ],
)
def test_a_secret_is_known_as_javascript_spells_it(told: Session, typed: str) -> None:
    """With backslashes before what would end a text, and for what is not ASCII."""
    said = told.good("eval", typed)

    assert commands(told)[-1]["expression"].startswith(typed[0] + "{{eikon-secret:ESC")
    assert said.splitlines()[0] == '"{{eikon-secret:ESC}}"'


def test_what_was_spelt_otherwise_is_hidden_in_what_it_comes_to(told: Session) -> None:
    """Whatever JavaScript makes of it."""
    said = told.good("eval", f"'{GIVEN[:4]}' + '{GIVEN[4:]}'")

    assert said.splitlines()[0] == '"{{eikon-secret:TOKEN}}"'


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("branch", "insert", "fill", "#password", "tulips"), "the password field #password, got its text"),
        (("eval", f"send('{TOKEN}')"), "got what looks like a token (GitHub token)"),
        (("breakpoint", "add", "pattern", TOKEN), "got what looks like a token"),
    ],
)
def test_what_can_only_be_a_secret_is_refused(told: Session, words: tuple[str, ...], found: str) -> None:
    """With the way out, and without a line in the file."""
    before = commands(told)

    said = told(*words)

    assert (said.status, said.err.count("\n")) == (2, 1)
    assert found in said.err
    assert "--secret NAME=VALUE" in said.err
    assert commands(told) == before


def test_a_secret_in_a_selector_is_put_back_before_it_is_looked_for(told: Session) -> None:
    """By `locate` and breakpoints; and that it is a secret makes no password of the field."""
    told.good("eval", f"document.body.insertAdjacentHTML('beforeend', '<input id=in-{SHORT}>')")

    said = [
        told.good("locate", f"#in-{SHORT}"),
        told("locate", f"#in-{SHORT}[").err,
        told.good("breakpoint", "add", "selector", f"#in-{SHORT}"),
        told.good("branch", "insert", "fill", f"#in-{SHORT}", "roses", "--name", "searched"),
        told.good("switch", "main"),
        told.good("breakpoint", "clear"),
    ]

    assert "1 element" in said[0]
    assert "#in-{{eikon-secret:PIN}}[" in said[1]
    assert not [each for each in said if SHORT in each]


def test_a_field_that_a_page_shows_as_one_for_passwords_is_known(told: Session) -> None:
    """Whatever its selector says."""
    told.good("eval", "document.body.insertAdjacentHTML('beforeend', '<input type=password id=odd>')")

    said = told("branch", "insert", "fill", "#odd", "tulips", "--name", "odd")

    assert (said.status, "the password field #odd" in said.err) == (2, True)


def test_what_is_appended_by_other_means_is_carried_out_by_the_same_rules(told: Session) -> None:
    """Who writes to the file answers for the line; what comes of it has no secret. Here everything was tried before."""
    path = told.folder / "commands.jsonl"
    own = path.read_bytes()
    insert = {"type": "branch_insert", "action": {"type": "fill", "target": {"selector": "#pin"}, "text": TOKEN}}
    line = {"id": "raw", "at": datetime.now(UTC).isoformat(), "command": insert}  # noqa: TID251 - of a client
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    told.good("breakpoint", "list")

    kept = [own, *(each.read_bytes() for each in told.folder.rglob("*") if each.is_file() and each != path)]
    assert [each.code for each in told.events("command_failed") if each.command_id == "raw"] == ["secret-given"]
    assert len(kept) > 4
    assert not [text for text in (GIVEN, TOKEN, "tulips") for data in kept if text.encode() in data]


def test_a_session_that_cannot_be_asked_is_told_nothing(told: Session) -> None:
    """What could be a secret is not written where nobody knows; words alone are."""
    link = told.folder / "vetting"
    where = link.readlink()
    link.unlink()
    try:
        asked, plain = told("eval", "1 + 1"), told("breakpoint", "list")
    finally:
        link.symlink_to(where)

    assert (asked.status, plain.status) == (69, 0)
    assert "nothing was written" in asked.err


def test_the_link_goes_with_its_session(told: Session) -> None:
    """And the socket with it."""
    where = (told.folder / "vetting").readlink()

    told.end()

    assert not (told.folder / "vetting").is_symlink()
    assert not where.parent.exists()
