"""An error is known although what is drawn for each visit differs in its text."""

from __future__ import annotations

import pytest

from eikon_engine.replay.known_errors import KnownErrors

CSP = (
    "Refused to execute inline script because it violates the following Content Security Policy directive: "
    "\"script-src 'nonce-{}'\". Either the 'unsafe-inline' keyword or a hash is required."
)


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ("order 17 failed", "order 4 failed"),
        (CSP.format("q0Zk+3Jb/xXw=="), CSP.format("Aa9/+bQzTtEw==")),
        (
            "Sat Nov 28 2026 01:02:03 GMT+0000 (Coordinated Universal Time)",
            "Tue Dec 01 2026 11:12:13 GMT+0000 (Coordinated Universal Time)",
        ),
        ("failed at Sat, 28 Nov 2026 01:02:03 GMT", "failed at Tue, 01 Dec 2026 11:12:13 GMT"),
        ("failed at 11/28/2026, 1:02:03 AM", "failed at 12/1/2026, 11:12:13 PM"),
        ("failed at 2026-11-28T01:02:03.123Z", "failed at 2026-12-01T11:12:13.456Z"),
        ("failed on Saturday, November 28, 2026", "failed on Tuesday, December 1, 2026"),
        ("cannot load /parts/list?page=1&token=abc", "cannot load /parts/list?page=2&token=xyz"),
        ("request k3j9x2ab failed", "request p0qz71mm failed"),
        ("request 8f2c1d90-aaaa-bbbb-cccc-1234567890ab failed", "request 0f2c1d90-1111-bbbb-cccc-1234567890ab failed"),
        ("session V1StGXR8_Z5jdHi6B-myT is gone", "session aB3dEfG_hIjKlMnOp-QrS is gone"),
    ],
)
def test_an_error_with_other_ids_and_times_is_known(recorded: str, live: str) -> None:
    """A site that has not changed reports it on each visit."""
    assert live in KnownErrors([recorded])


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ("ReferenceError: undefinedName is not defined", "ReferenceError: missingName is not defined"),
        (
            "TypeError: Cannot read properties of undefined (reading 'name')",
            "TypeError: Cannot read properties of undefined (reading 'price')",
        ),
        ("TypeError: a.getElementsByName is not a function", "TypeError: a.querySelectorAll is not a function"),
        ("order 17 failed", "order undefined failed"),
        ("out of stock", "out of order"),
        (CSP.format("q0Zk+3Jb/xXw=="), CSP.format("Aa9/+bQzTtEw==").replace("script", "style")),
    ],
)
def test_another_error_is_not_known(recorded: str, live: str) -> None:
    """Words of programs are no ids, whatever case they have."""
    assert live not in KnownErrors([recorded])


def test_errors_are_added() -> None:
    """Those of the replay are known from then on."""
    known = KnownErrors()
    known.update(["order 17 failed"])

    assert "order 18 failed" in known
    assert "failed" not in known
