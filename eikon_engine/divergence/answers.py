"""Compare a recorded response with a live one, value by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.divergence.body_diff import compare_values, diff_bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.outcomes import ValueChange


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedResponse:
    """The compared parts of a response."""

    url: str
    """After all redirects."""
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    """None if there is no body or it could not be read."""


def compare_responses(recorded: ComparedResponse, live: ComparedResponse) -> Iterator[ValueChange]:
    """Yield every relevant difference: URL, status, selected headers, cookie names, and values inside the body."""
    yield from compare_values("url", recorded.url, live.url)
    yield from compare_values("status", str(recorded.status), str(live.status))
    yield from compare_values("header content-type", _content_type(recorded), _content_type(live))
    yield from compare_values("header location", _header(recorded, "location"), _header(live, "location"))
    yield from compare_values("cookies set", _cookies(recorded), _cookies(live))
    if recorded.body is not None and live.body is not None and recorded.body != live.body:
        media_types = {_media_type(recorded), _media_type(live)}
        yield from diff_bodies(recorded.body, live.body, media_types)


def _header(answer: ComparedResponse, name: str) -> str:
    return ", ".join(value for key, value in answer.headers if key.lower() == name)


def _content_type(answer: ComparedResponse) -> str:
    """Return the content type in lower case, without quotes and extra spaces."""
    return ";".join(part.strip() for part in _header(answer, "content-type").lower().replace('"', "").split(";"))


def _media_type(answer: ComparedResponse) -> str:
    return _content_type(answer).partition(";")[0]


def _cookies(answer: ComparedResponse) -> str:
    values = (value for key, value in answer.headers if key.lower() == "set-cookie")
    lines = (line for value in values for line in value.splitlines())
    return ", ".join(sorted({line.partition("=")[0].strip() for line in lines}))
