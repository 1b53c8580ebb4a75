from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eikon_engine.errors import RequirementError
from eikon_engine.secrets.redaction import Redactor, placeholder
from eikon_engine.trace.actions import SecretRef
from eikon_engine.trace.variables import SecretValues
from tests.error_codes import has_code

if TYPE_CHECKING:
    from collections.abc import Callable

SECRETS = st.text(st.sampled_from("abZ09~!'()*/&<>\"\\+%=#? .-_é😀"), min_size=6, max_size=12).filter(
    lambda value: value not in placeholder("PASSWORD", "json-utf8")
)
AROUND = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=8)

WRITERS: dict[str, Callable[[str], str]] = {
    "plain": lambda value: value,
    "json": json.dumps,
    "json as utf-8": lambda value: json.dumps(value, ensure_ascii=False),
    "json of PHP": lambda value: json.dumps(value).replace("/", "\\/"),
    "html": html.escape,
    "html of Jinja": lambda value: html.escape(value).replace("&#x27;", "&#39;"),
    "html of Go": lambda value: html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "html text": lambda value: html.escape(value, quote=False),
    "form": lambda value: urlencode({"p": value}),
    "form of a browser": lambda value: "p=" + quote_plus(value, safe="*").replace("~", "%7E"),
    "url": lambda value: quote(value, safe=""),
    "encodeURIComponent": lambda value: quote(value, safe="!~*'()"),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
}


@given(SECRETS, AROUND, AROUND, st.sampled_from(sorted(WRITERS)))
def test_no_encoding_of_a_secret_survives(value: str, before: str, after: str, writer: str) -> None:
    """However the value is encoded, it is removed from text and bytes."""
    written = WRITERS[writer](value)
    core = written.strip('"') if writer.startswith("json") else written.removeprefix("p=")
    assume(core not in before + after)
    redactor = Redactor({"PASSWORD": value})

    text, data = (
        redactor.redact_text(before + written + after),
        redactor.redact_bytes((before + written + after).encode()),
    )

    assert core not in text
    assert core.encode() not in data
    assert text.encode() == data


@given(st.dictionaries(st.sampled_from(("A", "B", "PASSWORD")), st.text("secrtA:|\"'&<é ~!/", min_size=1)), st.data())
def test_restoring_undoes_redaction(secrets: dict[str, str], draw: st.DataObject) -> None:
    """Redacted bytes are restored unchanged with the same values, whatever these are."""
    pieces = draw.draw(st.lists(st.sampled_from(("", *secrets.values())) | AROUND))
    data = "".join(pieces).encode()
    redactor = Redactor(secrets)

    assert redactor.restore_bytes(redactor.redact_bytes(data)) == data


def test_a_value_that_occurs_in_a_placeholder_does_not_break_it() -> None:
    """Placeholders stay intact even if a secret's value is part of another one's name."""
    redactor = Redactor({"PASSWORD": "hunter2", "USER": "SWORD"})

    assert redactor.redact_text("hunter2 SWORD") == "{{eikon-secret:PASSWORD}} {{eikon-secret:USER}}"


def test_the_longer_secret_is_found_whole() -> None:
    """If a secret contains another one, no part of the longer one remains."""
    assert Redactor({"PIN": "1234", "CARD": "12345678"}).redact_text("12345678") == "{{eikon-secret:CARD}}"


def test_a_short_secret_is_replaced_where_it_stands_alone() -> None:
    """Three letters are in many words, and three digits in many numbers."""
    redactor = Redactor({"WORD": "ab1", "PIN": "903"})

    text = redactor.redact_text("tab1 ab1x ab1, <b>ab1</b> word=ab1&pin=903 1903 9030 9.903 903")

    assert text == (
        "tab1 ab1x {{eikon-secret:WORD}}, <b>{{eikon-secret:WORD}}</b> word={{eikon-secret:WORD}}&"
        "pin={{eikon-secret:PIN}} 1903 9030 9.903 {{eikon-secret:PIN}}"
    )
    assert redactor.redact_bytes(b"tab1 ab1").decode() == "tab1 {{eikon-secret:WORD}}"


def test_without_secrets_nothing_changes() -> None:
    """Without secrets, or with empty ones, nothing is replaced."""
    for redactor in (Redactor({}), Redactor({"EMPTY": ""})):
        assert redactor.redact_text("text") == "text"
        assert redactor.redact_bytes(b"data") == b"data"
        assert redactor.restore_bytes(b"{{eikon-secret:X}}") == b"{{eikon-secret:X}}"


def test_a_secret_reference_is_replaced_by_its_value() -> None:
    """A reference becomes the provided value; plain text stays."""
    secrets = SecretValues({"PASSWORD": "hunter2"})

    assert secrets.resolve(SecretRef(secret="PASSWORD")) == "hunter2"
    assert secrets.resolve("plain") == "plain"
    assert "hunter2" not in repr(secrets)


def test_a_missing_secret_is_named_with_the_options_that_set_it() -> None:
    """The message has the name and the three options."""
    with pytest.raises(RequirementError, check=has_code("secret-missing")) as raised:
        SecretValues().resolve(SecretRef(secret="PIN"))

    assert raised.value.message == (
        "secret PIN was not provided; use --secret PIN=…, --secret-file, or the variable EIKON_SECRET_PIN"
    )
