"""Which names and values are secrets."""

from __future__ import annotations

import pytest

from eikon_engine.secrets.detection import (
    find_tokens,
    has_high_entropy,
    is_password_name,
    is_secret_name,
    is_secret_parameter,
    looks_random,
    random_segments,
)

SECRET_NAMES = (
    "access_token accessToken id-token X-Api-Key apiKey csrfmiddlewaretoken authenticity_token connect.sid PHPSESSID "
    "JSESSIONID XSRF-TOKEN clientSecret sessionid X-Auth-Token code_verifier __Secure-next-auth.session-token pwd"
)
PLAIN_NAMES = "author keyboard passenger design side tokyo etag id name csv email monkey x-request-id state_of_mind"
RANDOM = ("9f86d081", "kJ83hdPq0zLm", "3f2b8c1e-9d4a-4e6f-8a7b-0c1d2e3f4a5b", "AbCdEfGhIjKlMnOpQr", "123456789012345")
PLAIN = ("", "short1", "en-US-2024", "version2", "2025-03-14T09", "dark-mode-v2", "undefined", "20250314", "aaaaaaaa1")
FORM_NAMES = (
    "__VIEWSTATE __VIEWSTATE1 __EVENTVALIDATION javax.faces.ViewState _wpnonce _ajax_nonce form_build_id form_key "
    "formhash"
)
SIMILAR_NAMES = (
    "announcement view stateful form_id viewport preview_state review_state overviewState platform_key transformKey"
)


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_these_names_are_of_secrets(name: str) -> None:
    """Names of secrets are detected in any notation."""
    assert is_secret_name(name)


@pytest.mark.parametrize("name", PLAIN_NAMES.split())
def test_these_names_are_not_of_secrets(name: str) -> None:
    """A word inside another word does not make a name secret."""
    assert not is_secret_name(name)


def test_some_names_count_in_addresses_only() -> None:
    """`code` is an OAuth code in a URL, but an error or country code elsewhere."""
    assert is_secret_parameter("code")
    assert not is_secret_name("code")
    assert not is_secret_parameter("page")


@pytest.mark.parametrize("name", FORM_NAMES.split())
def test_fields_of_form_tokens_are_known(name: str) -> None:
    """Frameworks recognize their own forms by them; as a name of other data, these words mean nothing."""
    assert is_secret_parameter(name)


@pytest.mark.parametrize("name", SIMILAR_NAMES.split())
def test_similar_fields_are_no_form_tokens(name: str) -> None:
    """A part of a word is no such name."""
    assert not is_secret_parameter(name)


@pytest.mark.parametrize("name", ["password", "userPasswd", "#login-pwd", "[name='PIN']", "otp"])
def test_password_fields_are_known_by_their_names(name: str) -> None:
    """A target is matched like a name."""
    assert is_password_name(name)


@pytest.mark.parametrize("text", RANDOM)
def test_these_values_look_random(text: str) -> None:
    """They are redacted wherever they occur."""
    assert looks_random(text)


@pytest.mark.parametrize("text", PLAIN)
def test_these_may_be_words_of_a_document(text: str) -> None:
    """Replacing these everywhere would corrupt documents."""
    assert not looks_random(text)


def test_a_value_is_matched_in_parts() -> None:
    """A page may split a value, or join its parts."""
    assert random_segments("s:kJ83hdPq0zLm.9f86d081/admin") == ("kJ83hdPq0zLm", "9f86d081")


def test_a_value_with_enough_entropy_is_strong() -> None:
    """128 bits cannot be guessed by trial; 32 can."""
    assert has_high_entropy("9f86d081884c7d659a2feaa0c55ad015")
    assert not has_high_entropy("9f86d081")


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("Bearer eyJhbGciOiJub25l.eyJzdWIiOjF9.aB3dE5fG7hI9jK1lM3n", "JWT", "aB3dE5fG7hI9jK1lM3n"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "GitHub token", "16C7e42F292c6912E7710c838347Ae178B4a"),
        ("=xoxb-17653672481-19874698323", "Slack token", "17653672481-19874698323"),
        ('"AKIAIOSFODNN7EXAMPLE"', "AWS access key", "IOSFODNN7EXAMPLE"),
        ("?key=AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "Google API key", "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"),
        ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "Stripe key", "4eC39HqLyjWDarjtT1zdp7dc"),
        ("sk-proj-4eC39HqLyjWDarjtT1zdp7dc", "API key", "4eC39HqLyjWDarjtT1zdp7dc"),
    ],
)
def test_tokens_are_known_by_their_shapes(text: str, kind: str, secret: str) -> None:
    """Only the part of a token that grants access is its secret."""
    (found,) = find_tokens(f"before {text} after")

    assert (found.kind, found.secret) == (kind, secret)


def test_words_are_not_tokens() -> None:
    """A common token prefix alone is not a token."""
    assert list(find_tokens("task-force risk-averse eyJ ghp_ AKIA xoxb- AIza desk-lamp-and-everything-on-it")) == []
