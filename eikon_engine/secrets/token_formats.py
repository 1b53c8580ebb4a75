"""Tokens of known formats in a text: API keys, access tokens, private keys, and passwords in URLs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token in a text and its secret part."""

    kind: str
    secret: str = field(repr=False)
    token_start: int
    """Start of the token."""
    secret_start: int
    end: int
    """Start and end of its secret part."""


@dataclass(frozen=True, slots=True)
class _TokenFormat:
    kind: str
    prefixes: tuple[str, ...]
    """Fixed prefixes, searched first because that is fast."""
    pattern: str
    """A regular expression; its only group is the secret part."""


def _token_format(kind: str, begins: str, pattern: str) -> _TokenFormat:
    return _TokenFormat(kind, tuple(begins.split()), pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern once a prefix was found: all of them would delay each start of a replay."""
    return re.compile(pattern)


_FREE: Final = r"(?<![A-Za-z0-9])"
"""Before formats that could be the end of another text."""
_END: Final = r"(?![A-Za-z0-9])"

TOKEN_FORMATS: Final = (
    _token_format("JWT", "eyJ", r"eyJ[\w-]{5,2048}\.[\w-]{2,65536}\.([\w-]{16,2048})(?:\.[\w-]{1,65536}){0,2}"),
    _token_format("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_([A-Za-z0-9]{20,255})"),
    _token_format("GitHub token", "github_pat_", r"github_pat_(\w{22,255})"),
    _token_format(
        "GitLab token", "glpat- gldt- glrt- glft- glsoat- gloas-", r"gl(?:pat|dt|rt|ft|soat|oas)-([\w-]{20,})"
    ),
    _token_format("Slack token", "xox", r"xox[abeoprs](?:\.xox[bp])?-([\w-]{10,})"),
    _token_format("Slack token", "xapp-", r"xapp-([\w-]{20,})"),
    _token_format(
        "Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|triggers)/\w+/\w+/([A-Za-z0-9]{16,})"
    ),
    _token_format("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[rs]k_(?:live|test)_([A-Za-z0-9]{16,})"),
    _token_format("Stripe key", "whsec_", r"whsec_([A-Za-z0-9]{24,})"),
    _token_format("Anthropic API key", "sk-ant-", r"(?<![\w-])sk-ant-(?:[a-z]+\d\d-)?([\w-]{20,})"),
    _token_format("API key", "sk-", r"(?<![\w-])sk-(?!ant-)(?:[a-z]+\d*-)*(?=[\w-]*[A-Za-z0-9_]{20})([\w-]{20,})"),
    _token_format("Google API key", "AIza", r"AIza([\w-]{35})"),
    _token_format("Google access token", "ya29.", r"ya29\.([\w-]{20,})"),
    _token_format("Google client secret", "GOCSPX-", r"GOCSPX-([\w-]{28})"),
    _token_format("Google refresh token", "1//0", rf"{_FREE}1//0([\w-]{{40,}})"),
    _token_format("AWS access key", "AKIA ASIA ABIA ACCA", r"(?<![A-Z0-9])A(?:KI|SI|BI|CC)A([A-Z0-9]{16})(?![A-Z0-9])"),
    _token_format("Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86})=="),
    _token_format("Azure client secret", "8Q~", r"8Q~([\w.~-]{31,34})"),
    _token_format("npm token", "npm_", r"npm_([A-Za-z0-9]{36})"),
    _token_format("PyPI token", "pypi-AgE", r"pypi-AgE([\w-]{50,})"),
    _token_format("RubyGems key", "rubygems_", r"rubygems_([0-9a-f]{48})"),
    _token_format("Docker token", "dckr_", r"dckr_[a-z]{3}_([\w-]{20,})"),
    _token_format("SendGrid key", "SG.", rf"{_FREE}SG\.([\w-]{{16,32}}\.[\w-]{{16,64}})"),
    _token_format("Twilio key", "SK AC", rf"{_FREE}(?:SK|AC)([0-9a-f]{{32}}){_END}"),
    _token_format("Mailgun key", "key-", rf"{_FREE}key-([0-9a-f]{{32}}){_END}"),
    _token_format("Telegram token", ":AA", r"(?<=\d):AA([\w-]{33})(?![\w-])"),
    _token_format("Discord webhook", "/api/webhooks/", r"/api/webhooks/\d+/([\w-]{60,})"),
    _token_format("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_([0-9a-fA-F]{32})"),
    _token_format("Square token", "sq0", r"sq0[a-z]{3}-([\w-]{22,43})"),
    _token_format("DigitalOcean token", "dop_v1_ dor_v1_ doo_v1_", r"do[opr]_v1_([0-9a-f]{64})"),
    _token_format("Databricks token", "dapi", rf"{_FREE}dapi([0-9a-f]{{32}}){_END}"),
    _token_format("Atlassian token", "ATATT3", r"ATATT3([\w=-]{100,})"),
    _token_format("Artifactory key", "AKCp", rf"{_FREE}AKCp([A-Za-z0-9]{{60,80}}){_END}"),
    _token_format("Grafana token", "glsa_", r"glsa_([A-Za-z0-9]{32}_[0-9a-fA-F]{8})"),
    _token_format("Postman key", "PMAK-", r"PMAK-([0-9a-f]{24}-[0-9a-f]{34})"),
    _token_format("New Relic key", "NRAK-", r"NRAK-([A-Z0-9]{27})"),
    _token_format("Linear key", "lin_api_", r"lin_api_([A-Za-z0-9]{32,})"),
    _token_format("Notion token", "ntn_", rf"{_FREE}ntn_([A-Za-z0-9]{{40,}})"),
    _token_format("Vault token", "hvs. hvb.", rf"{_FREE}hv[bs]\.([\w-]{{24,}})"),
    _token_format("Hugging Face token", "hf_", rf"{_FREE}hf_([A-Za-z0-9]{{30,}})"),
    _token_format("Groq key", "gsk_", rf"{_FREE}gsk_([A-Za-z0-9]{{40,}})"),
    _token_format("xAI key", "xai-", rf"{_FREE}xai-([A-Za-z0-9]{{60,}})"),
    _token_format("Supabase key", "sbp_ sb_secret_", r"sb(?:p|_secret)_([A-Za-z0-9_]{20,})"),
    _token_format("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1([A-Z0-9]{58})"),
)
"""Written from what the issuers publish about their formats; why from no package: docs/adr/0040."""
_PREFIXES: Final = "|".join(re.escape(begin) for shape in TOKEN_FORMATS for begin in shape.prefixes)
_LINE_END: Final = r"(?:\\r|\\n|\s)"
_PRIVATE_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_LINE_END}{{1,4}}[A-Za-z-]{{3,32}}: ?[\w ,./()-]{{1,200}}(?={_LINE_END})){{0,8}}"
    r"((?:[A-Za-z0-9+/=\s]|\\[nr]){64,16384}?)-----END"
)
"""Of PEM (RFC 7468, RFC 1421 with headers) and OpenPGP (RFC 9580, 6.2)."""
_URL_PASSWORD: Final = re.compile(r"(?<=\w)://[^\s/?#@:\"'<>\\]{0,256}:([^\s/?#@\"'<>\\]{3,256})@[\w\[]")
"""Source: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1"""


def find_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of known formats in a text."""
    for shape in TOKEN_FORMATS:
        yield from _find_format(shape, text)


def may_have_token(text: str) -> bool:
    """Return whether a text has the prefix of a token; for short texts, which are many."""
    return _compiled(_PREFIXES).search(text) is not None


def find_private_keys(text: str) -> Iterator[re.Match[str]]:
    """Find private keys; the first group is their text. The substring test is faster than the pattern."""
    return _compiled(_PRIVATE_KEY).finditer(text) if "PRIVATE KEY" in text else iter(())


def find_url_passwords(text: str) -> Iterator[str]:
    """Yield the passwords of `user:password@host` in the URLs of a text."""
    if "://" in text and "@" in text:
        yield from _URL_PASSWORD.findall(text)


def _find_format(shape: _TokenFormat, text: str) -> Iterator[Token]:
    """Search for the prefixes first: searching a fixed text is much faster than searching a pattern."""
    for begin in shape.prefixes:
        place = text.find(begin)
        while place >= 0:
            pattern = _compiled(shape.pattern)
            found = pattern.match(text, place)
            if found is not None:
                yield Token(
                    kind=shape.kind,
                    secret=found[1],
                    token_start=found.start(),
                    secret_start=found.start(1),
                    end=found.end(1),
                )
            place = text.find(begin, max(place + len(begin), found.end() if found is not None else 0))
