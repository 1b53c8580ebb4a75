"""Base URLs in texts: matched as a whole, in every encoding, and mapped back unchanged."""

from __future__ import annotations

import json
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import UsageError
from eikon_engine.trace.actions import Drop, DropData, Fill, Navigate, TypeText
from eikon_engine.trace.base_urls import BaseUrlMap, build_url_map, map_action_urls, parse_base_url_rules
from eikon_engine.trace.target import Target

URLS = build_url_map({"http://old.example": "http://127.0.0.1:8001"})
PATHS = build_url_map({"http://h:8000/app": "https://stage.example/next/app"})

HOSTS = st.from_regex(r"[a-z][a-z0-9]{0,6}(\.[a-z]{2,4})?", fullmatch=True)
PORTS = st.just("") | st.integers(1, 65_535).map(lambda port: f":{port}")
PREFIXES = st.just("") | st.from_regex(r"/[a-z]{1,5}(/[a-z0-9]{1,3})?", fullmatch=True)
BASES = st.builds(lambda *parts: "".join(parts), st.sampled_from(["http://", "https://"]), HOSTS, PORTS, PREFIXES)
TAILS = st.sampled_from(["", "/", "/x", "?a=1", "#top", '"', " and more", "</a>", "'", ")", ". So", "/x?b=2#c"])
LEADS = st.sampled_from(["", "see ", "(", '"', "url(", "?next=", ">", "\n"])


@pytest.mark.parametrize(
    "text",
    [
        "http://old.example:8080/x",  # another port is another site
        "http://old.example.evil.com/",
        "http://old.examples/",
        "http://old.example-2/",
        "http://old.example:secret@evil.com/",  # what looks like the host is a user
        "http://old.example,x@evil.com/",
        "https://old.example/",  # another scheme is another origin
        "xhttp://old.example/",
        "http%3A%2F%2Fold.example%3A8080%2F",
        "http:\\/\\/old.example:8080\\/",
        "https://old.example//old.example",  # a path that looks like a link
        "old.example",
    ],
)
def test_another_address_is_left_alone(text: str) -> None:
    """A URL that only begins with the characters of the base URL is not part of the deployment."""
    assert URLS.to_new.replace_text(text) == text


@pytest.mark.parametrize(
    ("text", "mapped"),
    [
        ("http://old.example", "http://127.0.0.1:8001"),
        ("http://old.example:80/x", "http://127.0.0.1:8001/x"),  # the default port is the same site
        ("Go to http://old.example.", "Go to http://127.0.0.1:8001."),
        ("ws://old.example/socket", "ws://127.0.0.1:8001/socket"),
        ('<img src="//old.example/a.png">', '<img src="//127.0.0.1:8001/a.png">'),
        ("http://other/?next=http://old.example/a", "http://other/?next=http://127.0.0.1:8001/a"),
        ("blob:http://old.example/1-2", "blob:http://127.0.0.1:8001/1-2"),
        ("http://old.example/*", "http://127.0.0.1:8001/*"),
        ('{"u":"http:\\/\\/old.example\\/a"}', '{"u":"http:\\/\\/127.0.0.1:8001\\/a"}'),
    ],
)
def test_an_address_is_found_in_any_form(text: str, mapped: str) -> None:
    """Base URLs are mapped as whole URLs, in sentences, in queries and escaped."""
    assert URLS.to_new.replace_text(text) == mapped


@pytest.mark.parametrize("escape", [quote, quote_plus, lambda url: urlencode({"next": url}), json.dumps])
def test_an_escaped_address_is_found(escape: object) -> None:
    """Escaping before mapping gives the same as escaping after it."""
    assert callable(escape)
    before, after = escape("http://old.example/a?b=1"), escape("http://127.0.0.1:8001/a?b=1")

    assert (URLS.to_new.replace_text(before), URLS.to_old.replace_text(after)) == (after, before)


@pytest.mark.parametrize(
    "text", ["http://h:8000/application", "http://h:8000/app-2/x", "http://h:8000/app%20x", "http://h:8000/", "/app/x"]
)
def test_a_path_is_found_as_a_whole(text: str) -> None:
    """Another path with the same beginning is not part of the deployment."""
    assert PATHS.to_new.replace_text(text) == text


def test_links_without_a_host_follow_the_path_of_their_own_site() -> None:
    """A link without a host is mapped in a document of the deployment, but not in one of another site."""
    assert PATHS.to_old_path("/next/app/x?y", "https://stage.example/next/app/") == "/app/x?y"
    assert PATHS.to_old_path("/next/apple", "https://stage.example/next/app/") == "/next/apple"
    assert PATHS.to_old_path("/next/app/x", "https://other.example/") == "/next/app/x"
    assert PATHS.to_old_path("//cdn.example/next/app", "https://stage.example/") == "//cdn.example/next/app"
    assert PATHS.to_new_path("/app/x?y") == "/next/app/x?y"
    assert PATHS.to_new_path("/apple") == "/apple"


@given(BASES, BASES, LEADS, TAILS)
def test_what_is_mapped_is_mapped_back(old: str, new: str, lead: str, tail: str) -> None:
    """A recorded URL in any context is restored from the new deployment unchanged."""
    urls = build_url_map({old: new})
    text = f"{lead}{urls.rules[0].old.url}{tail}"

    mapped = urls.to_new.replace_text(text)

    assert mapped == f"{lead}{urls.rules[0].new.url}{tail}"
    assert urls.to_old.replace_text(mapped) == text


@given(BASES, BASES, st.text(max_size=12))
def test_no_text_is_dropped(old: str, new: str, tail: str) -> None:
    """Whatever follows the base URL is preserved, and a URL is mapped completely or not at all."""
    urls = build_url_map({old: new})
    rule = urls.rules[0]

    assert urls.to_new.replace_text(rule.old.url + tail) in {
        rule.new.url + tail,
        rule.old.url + tail,
    } or tail.startswith(":")


@given(st.binary())
def test_bytes_without_an_address_stay(data: bytes) -> None:
    """Bytes that are not text are returned unchanged."""
    assert URLS.to_new.replace_bytes(data) == data
    assert URLS.to_old.replace_bytes(b"\xff http://127.0.0.1:8001/ \xfe") == b"\xff http://old.example/ \xfe"


def test_two_base_urls_can_be_swapped() -> None:
    """Both are replaced in one pass."""
    urls = build_url_map({"http://a": "http://b", "http://b": "http://a"})

    assert urls.to_new.replace_text("http://a/1 http://b/2") == "http://b/1 http://a/2"


def test_the_longer_address_counts() -> None:
    """The longest matching base URL takes precedence."""
    urls = build_url_map({"http://h": "http://n", "http://h/shop": "http://shop"})

    assert urls.to_new.replace_text("http://h/shop/1 http://h/x") == "http://shop/1 http://n/x"


def test_a_request_to_the_recorded_deployment_is_reported() -> None:
    """A URL is one of the recorded deployment only if it begins with a replaced base URL."""
    assert URLS.is_recorded_url("http://old.example/x")
    assert not URLS.is_recorded_url("http://127.0.0.1:8001/?from=http://old.example/")
    assert not BaseUrlMap().is_recorded_url("http://old.example/x")


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (["http://a"], "expected OLD=NEW"),
        (["a=http://b"], "expected an absolute http or https URL"),
        (["http://a=b"], "expected OLD=NEW"),
        (["ftp://a=http://b"], "expected an absolute http or https URL"),
        (["http://a?x=1=http://b"], "without user, query and fragment"),
        (["http://user@a=http://b"], "without user, query and fragment"),
        (["http://a:x=http://b"], "expected an absolute http or https URL"),
        (["http://a=http://c", "http://b=http://c/"], "http://c is the new URL of two rules"),
        (["http://a=http://c", "http://a:80/=http://d"], "http://a is the old URL of two rules"),
        (["http://a=http://c", "http://a=http://d"], "http://a has two new URLs"),
    ],
)
def test_a_wrong_rule_is_refused(rules: list[str], reason: str) -> None:
    """An invalid rule is rejected before a replay starts."""
    with pytest.raises(UsageError, match=r"^--base-url: ") as caught:
        build_url_map(parse_base_url_rules(rules))

    assert reason in caught.value.message


def test_user_input_keeps_its_urls() -> None:
    """What is typed and what is dropped are as the user gave them; the address to open is of the current deployment."""
    urls = build_url_map({"http://a": "http://b"})
    target, text = Target(selector="#field"), "http://a/x"
    data = (DropData(mime_type="text/uri-list", value=text),)

    for action in (Fill(target=target, text=text), TypeText(target=target, text=text), Drop(target=target, data=data)):
        assert map_action_urls(action, urls) == action
    assert map_action_urls(Navigate(url=text), urls) == Navigate(url="http://b/x")
