"""The cost of searching a recording for secrets: `python -m benchmarks.redaction`."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from typing import TYPE_CHECKING, Final

from benchmarks.table import table
from eikon_engine.redact.secret_detector import SecretDetector
from eikon_engine.secrets.search import RedactionRules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGES: Final = 25
SECRETS: Final = 60


def main() -> None:
    """Print how long documents, scripts and data take, by kind."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    bodies = {"HTML": _html, "script": _script, "JSON": _json, "minified": _minified}
    rows = [_measured(name, [make(number).encode() for number in range(PAGES)]) for name, make in bodies.items()]
    print(table(("body", "kB", "find, ms", "replace, ms", "found"), rows))  # noqa: T201 - a benchmark says what it found


def _measured(name: str, bodies: Sequence[bytes]) -> tuple[str, ...]:
    found = SecretDetector(RedactionRules(), b"benchmark")
    for number in range(SECRETS):
        line = f"sid={_secret(-number - 1)}; HttpOnly"
        found.add(found.search.in_headers([("set-cookie", line)]))
    finding = _timed(lambda body: found.add(found.search.in_body(body, _TYPES[name])), bodies)
    replacing = _timed(found.stand_ins.replace_bytes, bodies)
    size = sum(map(len, bodies)) / len(bodies) / 1000
    return name, f"{size:.0f}", f"{finding:.1f}", f"{replacing:.1f}", str(len(found.table))


_TYPES: Final = {
    "HTML": "text/html",
    "script": "text/javascript",
    "JSON": "application/json",
    "minified": "text/javascript",
}


def _timed(work: Callable[[bytes], object], bodies: Sequence[bytes]) -> float:
    """Return milliseconds of processor time for each body."""
    start = time.process_time()
    for body in bodies:
        work(body)
    return (time.process_time() - start) * 1000 / len(bodies)


def _secret(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:40]


def _html(number: int) -> str:
    row = "<tr class='item odd'><td><a href='/items?page=2&sort=price'>A thing</a></td><td>12.50</td></tr>\n"
    return f"<!doctype html><input name=csrf_token value='{_secret(number)}'><table>{row * 6_000}</table>"


def _script(number: int) -> str:
    line = "export function renderSession(author, tokens) { return tokens.map(token => author[token.type]); }\n"
    return f"const apiKey = '{_secret(number)}';\n" + line * 6_000


def _minified(number: int) -> str:
    part = 'a.b=function(c,d){var e=c.auth||{},f="session";return e.token?d(f+e.token):null},'
    return f'var k={{apiKey:"{_secret(number)}"}};' + part * 7_000


def _json(number: int) -> str:
    items = [{"id": place, "name": f"thing {place}", "author": "Ada", "price": 12.5} for place in range(9_000)]
    return json.dumps({"access_token": _secret(number), "items": items})


if __name__ == "__main__":
    main()
