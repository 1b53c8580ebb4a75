"""Compare a recorded response with a live one, value by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.divergence.body_diff import body_changes, changed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.outcomes import ValueChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The compared parts of a response."""

    url: str
    """After all redirects."""
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    """None if there is no body or it could not be read."""


def compare_answers(recorded: Answer, live: Answer) -> Iterator[ValueChange]:
    """Yield every relevant difference: URL, status, selected headers, cookie names, and values inside the body."""
    yield from changed("url", recorded.url, live.url)
    yield from changed("status", str(recorded.status), str(live.status))
    yield from changed("header content-type", _content_type(recorded), _content_type(live))
    yield from changed("header location", _header(recorded, "location"), _header(live, "location"))
    yield from changed("cookies set", _cookies(recorded), _cookies(live))
    if recorded.body is not None and live.body is not None and recorded.body != live.body:
        media_types = {_media_type(recorded), _media_type(live)}
        yield from body_changes(recorded.body, live.body, media_types)


def _header(answer: Answer, name: str) -> str:
    return ", ".join(value for key, value in answer.headers if key.lower() == name)


def _content_type(answer: Answer) -> str:
    """Return the content type in lower case, without quotes and extra spaces."""
    return ";".join(part.strip() for part in _header(answer, "content-type").lower().replace('"', "").split(";"))


def _media_type(answer: Answer) -> str:
    return _content_type(answer).partition(";")[0]


def _cookies(answer: Answer) -> str:
    values = (value for key, value in answer.headers if key.lower() == "set-cookie")
    lines = (line for value in values for line in value.splitlines())
    return ", ".join(sorted({line.partition("=")[0].strip() for line in lines}))
