"""No file of a bundle, run or export holds a secret of any kind, and `eikon scan` finds each that is in clear."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import stat
import string
import zipfile
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, quote_plus

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.redact.scan import scan_folder, unpacked_files
from eikon_engine.trace.actions import Click, Fill, Navigate
from tests.browser.pages import Answer, Asked, PageSite, serve_pages
from tests.missions.shop import css
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

_ALPHABET: Final = string.ascii_letters + string.digits
_HEX: Final = "9f86d081884c7d659a2feaa0c55ad015"


def _drawn(length: int, number: int) -> str:
    """Return a random-looking text, another one for each number."""
    drawn = hashlib.shake_256(str(number).encode()).digest(length)
    return "".join(_ALPHABET[each % len(_ALPHABET)] for each in drawn)


TOKENS: Final = {
    "GitHub token in a page": ("ghp_", _drawn(36, 1)),
    "AWS access key in JSON": ("AKIA", "7QX2MZLR4T9KWB3C"),
    "Slack token on the console": ("xoxb-", "17653672481-" + _drawn(24, 3)),
    "Stripe key in local storage": ("sk_live_", _drawn(24, 4)),
    "Google API key in a URL": ("AIza", _drawn(35, 5)),
    "JWT in session storage": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.", _drawn(43, 6)),
    "OpenAI key in a script": ("sk-proj-", _drawn(44, 7)),
    "Anthropic key that a page puts together": ("sk-ant-api03-", _drawn(48, 8)),
    "npm token in a field": ("npm_", _drawn(36, 9)),
    "PyPI token in a page": ("pypi-AgE", "IcHlwaS5vcmc" + _drawn(64, 10)),
    "SendGrid key in a header": ("SG.", f"{_drawn(22, 11)}.{_drawn(43, 12)}"),
    "Twilio key in a cookie": ("SK", _HEX),
    "Azure key in a page": ("AccountKey=", _drawn(64, 13) + _drawn(22, 14)),
    "private key in JSON": ("-----BEGIN PRIVATE KEY-----\n", _drawn(64, 15)),
}
"""Prefix and secret part of each."""
PLAIN: Final = {
    "password in a URL": "plum-4711",
    "API key in a header of a request": _drawn(20, 21),
    "refresh token": _drawn(20, 22),
    "session cookie": _drawn(20, 23),
    "bearer token": _drawn(20, 24),
    "PIN in JSON": "8036",
    "answer to a security question": "Montmartre",
    "backup code": "x7q2-9kd1",
    "short typed password": "ab1",
    "typed PIN": "5279",
    "typed code": "204916",
}
"""Secrets without a format."""


def _token(kind: str) -> str:
    prefix, secret = TOKENS[kind]
    return prefix + secret


def put_secrets(site: PageSite) -> None:
    """Serve a page that shows, stores, logs and sends them; it echoes what is typed."""
    key = _token("private key in JSON") + "\n-----END PRIVATE KEY-----\n"
    data = {
        "aws": _token("AWS access key in JSON"),
        "pem": key,
        "refresh": PLAIN["refresh token"],
        "pin": int(PLAIN["PIN in JSON"]),
        "security_answer": PLAIN["answer to a security question"],
        "backup_codes": [{"backup_code": PLAIN["backup code"]}],
        "link": f"https://ada:{PLAIN['password in a URL']}@shop.test/",
    }
    prefix, secret = TOKENS["Anthropic key that a page puts together"]
    site.answers["/data"] = Answer(
        body=json.dumps(data),
        content_type="application/json",
        headers=(
            ("x-mail", _token("SendGrid key in a header")),
            ("Set-Cookie", f"sid={PLAIN['session cookie']}; HttpOnly"),
            ("Set-Cookie", f"phone={_token('Twilio key in a cookie')}"),
        ),
    )
    site.answers["/in"] = lambda asked: Answer(body=_echo(asked), content_type="text/plain")
    site.answers["/"] = Answer(
        body=f"""<!doctype html><title>Keys</title><p>Use {_token("GitHub token in a page")}</p>
<pre>DefaultEndpointsProtocol=https;{_token("Azure key in a page")}==</pre><i>{_token("PyPI token in a page")}</i>
<form id=form><input type=hidden name=ci value="{_token("npm token in a field")}">
<input id=word name=word type=password><input id=pin name=pin><input id=otp name=otp><button>Go</button></form>
<p id=table>A table of absolute values: tab1 cab10 15279 abx</p><ul id=out></ul>
<script>
  const model = "{_token("OpenAI key in a script")}";
  const show = text => {{ out.append(Object.assign(document.createElement('li'), {{ textContent: text }})); }};
  localStorage.cfg = "{_token("Stripe key in local storage")}";
  sessionStorage.who = "{_token("JWT in session storage")}";
  show("{prefix}" + "{secret[:20]}" + "{secret[20:]}");
  console.error("{_token("Slack token on the console")[:14]}" + "{_token("Slack token on the console")[14:]}");
  fetch('/data?key={_token("Google API key in a URL")}', {{
    headers: {{ 'X-Api-Key': '{PLAIN["API key in a header of a request"]}',
      Authorization: 'Bearer {PLAIN["bearer token"]}' }},
  }}).then(answer => answer.json()).then(data => Object.values(data).forEach(each => show(JSON.stringify(each))));
  form.onsubmit = async event => {{
    event.preventDefault();
    const answer = await fetch('/in', {{ method: 'POST', body: new URLSearchParams(new FormData(form)) }});
    show(await answer.text());
    show(`typed ${{word.value}}, ${{pin.value}}, ${{otp.value}}`);
  }};
</script>"""
    )


def _echo(asked: Asked) -> str:
    return "; ".join(part.partition("=")[2] for part in asked.body.decode().split("&"))


def record(folder: Path, options: RecordOptions) -> Path:
    """Record a mission that types a short password, a PIN and a code."""
    with serve_pages() as site:
        put_secrets(site)

        async def drive() -> None:
            async with (
                open_recorder(folder, mission_text="Show keys", options=options) as mission,
                mission.subgoal("Show"),
            ):
                await mission.perform(Navigate(url=f"{site.url}/"))
                await mission.perform(Fill(target=css("#word"), text=PLAIN["short typed password"]))
                await mission.perform(Fill(target=css("#pin"), text=PLAIN["typed PIN"]))
                await mission.perform(Fill(target=css("#otp"), text=PLAIN["typed code"]))
                await mission.perform(Click(target=css("button")))

        SHARED.run(drive())
    return folder


class Files(NamedTuple):
    """Where everything is that was written about one recording."""

    bundle: Path
    run: Path
    exports: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Record, replay with a report, and export."""
    root = tmp_path_factory.mktemp("kinds")
    before = os.umask(0)
    try:
        return _write_files(root)
    finally:
        os.umask(before)


def _write_files(root: Path) -> Files:
    found = Files(record(root / "b", RecordOptions()), root / "run", root / "exports")
    outcome = replay(found.bundle, found.run, secrets={})
    assert (outcome.verdict, outcome.divergences, outcome.reasons) == ("faithful", (), ())
    page = ["report", str(found.run), "--format", "html", "-o", str(found.exports / "report.html")]
    assert run_command(eikon, page, "eikon") == 0
    for kind in ("har", "trace", "bundle"):
        target = found.exports / f"export.{kind}"
        assert run_command(eikon, ["export", kind, str(found.bundle), "-o", str(target)], "eikon") == 0
    return found


def contents(root: Path) -> Iterator[bytes]:
    """Yield every file below a folder, with what is compressed, archived or encoded within it."""
    for _, content in unpacked_files(root):
        yield from _unpack(content)


def _unpack(content: bytes) -> Iterator[bytes]:
    yield content
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from _unpack(archive.read(name))
    elif content.startswith(b"\x1f\x8b"):
        yield from _unpack(gzip.decompress(content))
    elif not content.startswith(b"\x89PNG"):
        for run in re.findall(rb"(?<![\w+/])(?:[\w+/-]{4}){10,}={0,2}", content):
            plain = base64.b64decode(run.translate(bytes.maketrans(b"-_", b"+/")) + b"=" * (-len(run) % 4))
            if plain[:32].isascii():
                yield plain


def left_in(root: Path) -> set[str]:
    """Return the kinds of secrets that are in a file; short ones count where they stand alone."""
    secrets = {**{kind: secret for kind, (_, secret) in TOKENS.items()}, **PLAIN}
    written = list(contents(root))
    return {kind for kind, secret in secrets.items() if any(_has(each, secret) for each in written)}


def _has(content: bytes, secret: str) -> bool:
    spellings = {secret, quote(secret, safe=""), quote_plus(secret), base64.b64encode(secret.encode()).decode()}
    if len(secret) >= 8:
        return any(each.encode() in content for each in spellings)
    patterns = (rf"(?<![A-Za-z0-9.]){re.escape(each)}(?![A-Za-z0-9])" for each in spellings)
    return not content.startswith(b"\x89PNG") and any(re.search(each.encode(), content) for each in patterns)


def test_no_file_holds_a_secret(files: Files) -> None:
    """Neither the bundle, nor the artifacts and the report of a sealed replay, nor HAR, trace and zip."""
    assert left_in(files.bundle) == set()
    assert left_in(files.run) == set()
    assert left_in(files.exports) == set()


def test_all_files_are_for_the_user_only(files: Files) -> None:
    """They were written under a umask that lets everyone read and write."""
    written = [path for root in files for path in (root, *root.rglob("*"))]

    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in written}

    assert modes == {(True, 0o700), (False, 0o600)}


def test_a_scan_of_the_recording_finds_nothing(files: Files) -> None:
    """What redaction replaces is what a scan looks for."""
    assert scan_folder(files.bundle, allow_rules=()) == ()
    assert scan_folder(files.run, allow_rules=()) == ()


def test_other_words_and_numbers_are_kept(files: Files) -> None:
    """A short password and a PIN are parts of the words of the page, which it still has."""
    kept = b"A table of absolute values: tab1 cab10 15279 abx"

    assert any(kept in each for each in contents(files.bundle))


def test_a_scan_finds_each_secret_that_was_not_redacted(tmp_path: Path) -> None:
    """Of the same page recorded without redaction; what was typed into fields for secrets is replaced there, too."""
    bundle = record(tmp_path / "clear", RecordOptions(redact=False))

    found = {each.excerpt for each in scan_folder(bundle, allow_rules=())}

    secrets = {**{kind: secret for kind, (_, secret) in TOKENS.items()}, **PLAIN}
    typed = {"short typed password", "typed PIN", "typed code"}
    missed = {kind for kind, secret in secrets.items() if f"{secret[:2]}… ({len(secret)} characters)" not in found}
    assert missed == typed
    assert left_in(bundle) == secrets.keys() - typed
