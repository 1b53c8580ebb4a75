"""Which names and values are secrets."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec

import pytest

from eikon_engine.secrets.detection import has_high_entropy, looks_random, random_segments
from eikon_engine.secrets.names import (
    is_password_name,
    is_plain_secret,
    is_secret_field,
    is_secret_name,
    is_secret_parameter,
)
from eikon_engine.secrets.token_formats import TOKEN_FORMATS, find_private_keys, find_tokens, find_url_passwords

SECRET_NAMES = (
    "access_token accessToken id-token X-Api-Key apiKey csrfmiddlewaretoken authenticity_token connect.sid PHPSESSID "
    "JSESSIONID XSRF-TOKEN clientSecret sessionid X-Auth-Token code_verifier __Secure-next-auth.session-token pwd "
    "refresh mfa_challenge totpSeed storage_account_key recoveryCode"
)
PLAIN_NAMES = (
    "author keyboard passenger design side tokyo etag id name csv email monkey x-request-id state_of_mind "
    "refresh_interval refreshRate"
)
LONG = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9dE1fG3hI5jK7lM9nO1pQ3r"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
OF_DETECT_SECRETS = [
    ("artifactory", f'"AKCp{LONG}a"'),
    ("aws", f"AKIA{HEX[:16].upper()}"),
    ("azure_storage_key", f"AccountKey={LONG}{LONG[:22]}=="),
    ("github_token", f"ghp_{LONG[:36]}"),
    ("gitlab_token", f"glpat-{LONG[:20]}"),
    ("jwt", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.{LONG[:43]}"),
    ("openai", f"sk-proj-{LONG[:20]}T3BlbkFJ{LONG[:20]}"),
    ("pypi_token", f"pypi-AgEIcHlwaS5vcmc{LONG}{LONG}"),
    ("sendgrid", f"SG.{LONG[:22]}.{LONG[:43]}"),
    ("slack", "xoxb-17653672481-19874698323-a1b2c3d4e5f6"),
    ("slack", f"https://hooks.slack.com/services/T01/B02/{LONG[:24]}"),
    ("square_oauth", f"sq0csp-{LONG[:43]}"),
    ("stripe", f"sk_live_{LONG[:24]}"),
    ("telegram_token", f"110201543:AA{LONG[:33]}"),
    ("twilio", f"SK{HEX}"),
]
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pin", "4711"),
        ("user[pin]", "4711"),
        ("X-OTP", "204916"),
        ("totpCode", "204916"),
        ("two_factor_code", "204916"),
        ("one-time-password", "204916"),
        ("cvv2", "9041"),
        ("backup_code_1", "x7q2-9kd1"),
        ("password", "plum-4711"),
        ("new_password_confirmation", "hunter2"),
        ("secret_answer", "Rex"),
        ("securityAnswer2", "Springfield Elementary"),
    ],
)
def test_these_values_are_secrets_whatever_they_look_like(name: str, value: str) -> None:
    """Codes, passwords and answers are short, or words."""
    assert is_plain_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "4711") for name in ("shipping", "pinned", "opinion", "pin_count", "pins", "pincode", "zip", "code")),
        ("otp", "required"),
        ("otp", "2026"),
        ("cvc", "123"),
        ("verification_code", "2026-01-31"),
        ("password", "password"),
        ("password", "https://shop.test/reset/4711"),
        ("password", "/account/password2"),
        ("password_hint", "plum-4711"),
        ("secret_answer", "required"),
        ("secret_answer", "1984"),
        ("secret_answer", "{{eikon-secret:ANSWER}}"),
        ("refresh", "true"),
        ("refresh_interval", "3000"),
    ],
)
def test_these_values_are_no_secrets(name: str, value: str) -> None:
    """Neither other names with such letters, nor states, years, dates, addresses and numbers of three digits."""
    assert not is_plain_secret(name, value)


def test_fields_for_secrets_are_known_by_type_and_name() -> None:
    """Whatever is typed into them is a secret."""
    assert is_secret_field((("id", "a"), ("type", "password")))
    assert is_secret_field((("name", "otp"), ("type", "text")))
    assert is_secret_field((("id", "cardCvv"),))
    assert not is_secret_field((("name", "shipping"), ("type", "text")))


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
        (f"sk-ant-api03-{LONG}", "Anthropic API key", LONG),
        (f"glpat-{LONG[:20]}", "GitLab token", LONG[:20]),
        (f"https://hooks.slack.com/services/T01/B02/{LONG[:24]}", "Slack webhook", LONG[:24]),
        (f"GOCSPX-{LONG[:28]}", "Google client secret", LONG[:28]),
        (f"AccountKey={LONG}{LONG[:22]}==", "Azure storage key", LONG + LONG[:22]),
        (f"pypi-AgEIcHlwaS5vcmc{LONG}", "PyPI token", f"IcHlwaS5vcmc{LONG}"),
        (f"SG.{LONG[:22]}.{LONG[:43]}", "SendGrid key", f"{LONG[:22]}.{LONG[:43]}"),
        (f"SK{HEX}", "Twilio key", HEX),
        (f"key-{HEX}", "Mailgun key", HEX),
        (f"110201543:AA{LONG[:33]}", "Telegram token", LONG[:33]),
        (f"shpat_{HEX}", "Shopify token", HEX),
        (f"dop_v1_{HEX}{HEX}", "DigitalOcean token", HEX + HEX),
        (f"dapi{HEX}", "Databricks token", HEX),
        (f"hf_{LONG[:34]}", "Hugging Face token", LONG[:34]),
        (f"npm_{LONG[:36]}", "npm token", LONG[:36]),
    ],
)
def test_tokens_are_known_by_their_shapes(text: str, kind: str, secret: str) -> None:
    """Only the part of a token that grants access is its secret."""
    (found,) = find_tokens(f"before {text} after")

    assert (found.kind, found.secret) == (kind, secret)


def test_words_are_not_tokens() -> None:
    """A common token prefix alone is not a token."""
    assert list(find_tokens("task-force risk-averse eyJ ghp_ AKIA xoxb- AIza desk-lamp-and-everything-on-it")) == []


@pytest.mark.parametrize(
    "head",
    [
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,9F86D081\n\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n",
        "-----BEGIN EC PRIVATE KEY-----\\r\\n",
    ],
)
def test_private_keys_are_found_with_their_headers(head: str) -> None:
    """As files, and within JSON."""
    (found,) = find_private_keys(f"x {head}{LONG}\n{LONG}\n-----END")

    assert LONG in found[1]
    assert "Version" not in found[1]


def test_passwords_in_urls_are_found_in_any_text() -> None:
    """A port and an address of mail are none."""
    text = "see https://ada:plum-4711@shop.test/a, http://shop.test:8080/@ada and mailto:ada@shop.test"

    assert list(find_url_passwords(text)) == ["plum-4711"]


@pytest.mark.skipif(find_spec("detect_secrets") is None, reason="detect-secrets is not installed")
@pytest.mark.parametrize(("module", "sample"), OF_DETECT_SECRETS)
def test_what_detect_secrets_knows_by_its_format_is_found(module: str, sample: str) -> None:
    """The formats of that package are a subset: each sample is one for it, and for us."""
    plugins = vars(import_module(f"detect_secrets.plugins.{module}")).values()
    known = [each for each in plugins if isinstance(each, type) and each.__module__.endswith(module)]

    assert any(list(each().analyze_string(sample)) for each in known if hasattr(each, "denylist"))
    assert any(map(looks_random, _secrets_in(sample))), sample


def _secrets_in(text: str) -> list[str]:
    return [each.secret for each in find_tokens(text)]


def test_each_format_has_prefixes_and_one_secret_part() -> None:
    """The prefixes are searched first, so a pattern without one would find nothing."""
    assert all(each.prefixes and re.compile(each.pattern).groups == 1 for each in TOKEN_FORMATS)
