"""Undeclared secrets are discovered."""

from __future__ import annotations

import json
import re

import pytest

from eikon_engine.errors import UsageError
from eikon_engine.redact.secret_detector import SecretDetector, SecretRestorer
from eikon_engine.secrets.search import RedactionRules, SecretSearch

VALUE = "kJ83hdPq0zLmWv7T"


def found_by(rules: RedactionRules | None = None) -> SecretDetector:
    """Return a registry with the key of the test."""
    return SecretDetector(rules or RedactionRules(), b"key of the test")


def same(text: str) -> str:
    """Return the text unchanged."""
    return text


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("application/json", f'{{"data": {{"accessToken": "{VALUE}"}}}}'),
        ("application/json", f'{{"tokens": ["{VALUE}"]}}'),
        ("application/json", f'{{"state": "{{\\"refresh_token\\": \\"{VALUE}\\"}}"}}'),
        ("application/x-www-form-urlencoded", f"name=Ada&csrf_token={VALUE}"),
        ("multipart/form-data; boundary=x", f'--x\r\nname="api_key"\r\n\r\n{VALUE}\r\n--x--'),
        ("text/html", f'<input type="hidden" name="authenticity_token" value="{VALUE}">'),
        ("text/html", f"<meta content='{VALUE}' name='csrf-token'>"),
        ("text/html", f"<script>window.x = {{apiKey: '{VALUE}'}}</script>"),
        ("text/html", f'<a href="/go?session={VALUE}">on</a>'),
        ("text/xml", f"<access_token>{VALUE}</access_token>"),
        ("text/javascript", f'const authToken = "{VALUE}";'),
        ("text/plain", f"see ghp_{VALUE}{VALUE}"),
    ],
)
def test_bodies_are_searched(content_type: str, text: str) -> None:
    """In a body of any format, a secret is replaced and nothing else is."""
    found = found_by()

    found.add(found.search.in_body(text.encode(), content_type))
    clean = found.stand_ins.replace_text(text)

    assert VALUE not in clean
    assert len(clean) == len(text)
    assert sum(a != b for a, b in zip(clean, text, strict=True)) <= 2 * len(VALUE)


@pytest.mark.parametrize(
    "url",
    [
        f"https://x.test/cb?code={VALUE}&state=1",
        f"https://x.test/#access_token={VALUE}",
        f"https://x.test/a;jsessionid={VALUE}?b=1",
        f"https://ada:{VALUE}@x.test/",
    ],
)
def test_addresses_are_searched(url: str) -> None:
    """Query, fragment, path parameters and user information are searched."""
    found = found_by()

    found.add(found.search.in_url(url))

    assert VALUE not in found.stand_ins.replace_text(url)


@pytest.mark.parametrize(
    "header",
    [("authorization", f"Bearer {VALUE}"), ("x-csrf-token", VALUE), ("cookie", f"a=1; sid={VALUE}")],
)
def test_headers_are_searched(header: tuple[str, str]) -> None:
    """The scheme of an authorization header is kept."""
    found = found_by()

    found.add(found.search.in_headers([header]))
    clean = found.redact_header(*header, found.stand_ins.replace_text)

    assert VALUE not in clean
    assert clean.partition(" ")[0] == header[1].partition(" ")[0] or " " not in header[1]


def test_a_short_value_is_replaced_only_where_no_page_reads_it() -> None:
    """A short value in an HttpOnly cookie is replaced there; the same text in a document is not."""
    found = found_by()
    line = "session_mark=x7q2; Path=/; HttpOnly"

    found.add(found.search.in_headers([("set-cookie", line)]))

    assert "x7q2" not in found.redact_header("set-cookie", line, same)
    assert found.redact_header("set-cookie", line.replace("; HttpOnly", ""), same) == "session_mark=x7q2; Path=/"
    assert found.stand_ins.replace_text("x7q2") == "x7q2"
    assert "hunter" not in found.redact_header("authorization", "Basic hunter", same)


def test_claims_of_a_jwt_are_kept() -> None:
    """A page may decode them; without its signature the token is worthless."""
    jwt = f"eyJhbGciOiJIUzI1NiJ9.eyJuYW1lIjoiQWRhIiwiaWQiOjEyMzQ1Njc4OTB9.{VALUE}{VALUE}"
    found = found_by()

    found.add(found.search.in_body(f'{{"id_token": "{jwt}"}}'.encode(), "application/json"))
    clean = found.stand_ins.replace_text(jwt)

    assert clean.rpartition(".")[0] == jwt.rpartition(".")[0]
    assert VALUE not in clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('{"pin": 4711, "id": 147110, "note": "PIN 4711"}', {"4711"}),
        ('{"otp": "required", "refresh": true, "refresh_interval": 3000, "shipping": "4711"}', set()),
        ('{"security_answer": "Rex", "text": "Rexford"}', {"Rex"}),
        ('<script>x = {"otp": "204916", password: "step2-of-3"}</script>', {"204916"}),
        ("see https://ada:plum-4711@shop.test/", {"plum-4711"}),
    ],
)
def test_a_plain_value_is_replaced_where_it_stands_alone(text: str, clean: set[str]) -> None:
    """Its name says that it is a secret; parts of words and numbers are kept, and JSON stays JSON."""
    found = found_by()

    found.add(found.search.in_body(text.encode(), "application/json"))
    redacted = found.stand_ins.replace_text(text)

    expected = text
    for each in clean:
        stand_in = next(one.stand_in for one in found.table)
        expected = re.sub(rf"(?<!\w){each}(?!\w)", stand_in, expected)
    assert redacted == expected
    assert (redacted != text) == bool(clean)
    assert text[0] != "{" or json.loads(redacted)


def test_a_found_code_is_restored_for_the_site_where_it_stands_alone() -> None:
    """A live server gets the real one, and numbers that contain the stand-in as they are."""
    found = found_by()
    found.add(found.search.in_body(b'{"pin": "4711"}', "application/json"))
    (stand_in,) = (each.stand_in for each in found.table)

    restored = SecretRestorer(found).restore_text(f"pin={stand_in}&id=1{stand_in}")

    assert restored == f"pin=4711&id=1{stand_in}"


def test_names_and_patterns_can_be_added_and_exempted() -> None:
    """Rules add names of secrets that a site uses, and exempt values that only look like one."""
    rules = RedactionRules(names=("Widget",), patterns=(r"tick-(\w{10,})",), keep=("csrf_token",))
    found = found_by(rules)
    text = f'{{"widget": "{VALUE}", "csrf_token": "abcDEF123456", "note": "tick-zzz999yyy888"}}'

    found.add(found.search.in_body(text.encode(), "application/json"))
    clean = found.stand_ins.replace_text(text)

    assert VALUE not in clean
    assert "abcDEF123456" in clean
    assert "zzz999yyy888" not in clean


def test_a_pattern_that_is_none_is_refused() -> None:
    """The message names the rule and the reason."""
    with pytest.raises(UsageError, match=r"malformed redaction pattern '\('"):
        RedactionRules(patterns=("(",))


def test_ordinary_documents_have_no_secrets() -> None:
    """Words, prices, dates, classes and scripts are unchanged."""
    found = found_by()
    text = """<html class="token-list session-2025"><form><label>Password <input name=password></label>
    <script>const session = "anonymous"; let token = 'password', auth = "required"; fetch('/a?page=2&sort=price');
    </script><p>author="Ada Lovelace" tokenizer: "word2vec-300" 1,234,567.00</p>"""

    found.add(found.search.in_body(text.encode(), "text/html"))

    assert found.stand_ins.replace_text(text) == text


def test_pictures_are_not_searched() -> None:
    """A binary body is not searched."""
    assert list(SecretSearch(RedactionRules()).in_body(b"\x89PNG\0token='abcDEF123456'", "image/png")) == []


def test_the_stand_in_of_a_hidden_cookie_is_no_secret() -> None:
    """Stand-ins that a page sends back, including short and partial ones, are not taken for secrets."""
    found = found_by()
    value = "s%3Af247bfcfc999fdd720eca69d9e9c7f44"
    found.add(found.search.in_cookie("connect.sid", value, is_hidden=True))
    long = found.redact_cookie("connect.sid", value, found.stand_ins.replace_text, is_http_only=True)
    short = found.redact_cookie("pin_session", "x7q2", found.stand_ins.replace_text, is_http_only=True)
    again = SecretDetector(RedactionRules(), b"another key", known=found.table)

    assert (long == value, short == "x7q2") == (False, False)
    for each in (found, again):
        known = each.table
        assert each.redact_cookie("connect.sid", long, each.stand_ins.replace_text, is_http_only=True) == long
        assert each.redact_cookie("pin_session", short, each.stand_ins.replace_text, is_http_only=True) == short
        assert each.table == known
