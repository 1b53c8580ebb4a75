"""Mutants with changed data: values of JSON, downloads, messages, and late responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.mutations.json_edits import edit_part, leaves, lists
from benchmarks.mutations.source import Answer
from benchmarks.mutations.truth import FAITHFUL, Mutant, Truth, diverges, spread
from eikon_engine.network.websocket import SocketMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import JsonValue

    from benchmarks.mutations.json_edits import Path
    from benchmarks.mutations.source import Place, Source
    from eikon_engine.network.exchange import Exchange

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
SHORTEST = 3
"""Minimum length of a text that is searched for on a page."""
LATE_MS = 300.0
NOWHERE = "dom lifecycle network result target"
"""Where a response without data is noticed: by what a script then does, or cannot do."""


def of_answers(source: Source, per_document: int) -> Iterator[Mutant]:
    """Yield all mutants of responses with data."""
    for exchange, text in source.answered(JSON):
        yield from _of_values(source, exchange, json.loads(text), per_document)
        yield from _of_endings(source, exchange)
    yield from _of_downloads(source)
    yield from _of_streams(source)
    yield from _of_sockets(source)
    yield from _of_delays(source, per_document)


def _mutant(operator: str, what: str, truth: Truth, exchange: Exchange, answer: Answer) -> Mutant:
    return Mutant(operator=operator, what=f"{exchange.key} {what}", truth=truth, answers={exchange.ordinal: answer})


def _of_values(source: Source, exchange: Exchange, value: JsonValue, per_document: int) -> Iterator[Mutant]:
    """Change values that a page shows, according to its observations."""
    place = source.place(exchange)
    shown = source.lasting_texts(place)
    truth = diverges(place, "dom", "test-data")

    def changed(operator: str, path: Path, change: Callable[[Any], JsonValue]) -> Mutant:
        return _mutant(operator, f"{path}", truth, exchange, Answer(edit=edit_part(path, change)))

    told = [str(leaf) for _, leaf in leaves(value)]
    found = [
        (path, leaf)
        for path, leaf in leaves(value)
        if _is_shown(leaf, shown) and sum(str(leaf) in each for each in told) == 1
    ]
    for path, _ in spread([each for each in found if isinstance(each[1], str)], per_document):
        yield changed("text of an answer changed", path, lambda leaf: f"{leaf} now")
    for path, _ in spread([each for each in found if isinstance(each[1], int | float)], per_document):
        yield changed("number of an answer changed", path, lambda leaf: leaf + 1)
    for path, items in lists(value):
        if len(items) > 1 and all(any(_is_shown(leaf, shown) for _, leaf in leaves(each)) for each in items):
            yield changed("list of an answer reversed", path, lambda items: items[::-1])
            yield changed("item of an answer gone", path, lambda items: items[:-1])
            yield changed("item of an answer twice", path, lambda items: [*items, items[-1]])
    neutral = Answer(edit=lambda text: json.dumps(json.loads(text), indent=3, sort_keys=True))
    yield _mutant("answer written anew", "", FAITHFUL, exchange, neutral)


def _is_shown(leaf: JsonValue, shown: set[str]) -> bool:
    """Return whether a page certainly shows a value; a number must be a complete text."""
    if isinstance(leaf, bool) or leaf is None:
        return False
    if isinstance(leaf, int | float):
        return str(leaf) in shown
    return isinstance(leaf, str) and len(leaf) >= SHORTEST and any(leaf in each for each in shown)


def _of_endings(source: Source, exchange: Exchange) -> Iterator[Mutant]:
    place = source.place(exchange)
    if not source.texts(place) or not any(
        _is_shown(leaf, source.texts(place)) for _, leaf in _recorded(source, exchange)
    ):
        return  # it is unknown whether the page uses it
    refused = Answer(status=401, body=b'{"error": "log in"}')
    for operator, cause, answer in (
        ("500 of a request", "site-error", Answer(status=500, body=b'{"error": "no"}')),
        ("cookie expired: 401 of a request", "session-expired site-error", refused),
        ("request reset", "network", Answer(failure="net::ERR_CONNECTION_RESET")),
    ):
        yield _mutant(operator, "", diverges(place, NOWHERE, cause), exchange, answer)


def _recorded(source: Source, exchange: Exchange) -> Iterator[tuple[Path, JsonValue]]:
    assert exchange.response is not None
    assert exchange.response.body is not None
    return leaves(json.loads(source.recording.body(exchange.response.body)))


def _of_downloads(source: Source) -> Iterator[Mutant]:
    for exchange, _ in source.answered("application/octet-stream", "text/csv", "text/plain"):
        place = source.place(exchange)
        observation = source.observation(place)
        if observation is not None and observation.downloads:
            truth = diverges(place, "lifecycle", "test-data site-changed")
            answer = Answer(edit=lambda text: f"{text}\nchanged")
            yield _mutant("download changed", "", truth, exchange, answer)


def _of_streams(source: Source) -> Iterator[Mutant]:
    """Change events of streams without changing their length, so that they arrive in the recorded pieces."""
    for exchange, body in source.streamed(EVENT_STREAM):
        end = 0
        for event in body.split(b"\n\n")[:-1]:
            begin, end = end, end + len(event) + 2
            place = source.place_of_byte(exchange, end)
            found = [leaf for leaf in _texts_of(event) if any(leaf in each for each in source.texts(place))]
            if not found:
                continue
            truth = diverges(place, NOWHERE, "test-data")
            other = event.replace(found[0].encode(), found[0][::-1].encode())
            gone = b":" + event[1:].replace(b"\n", b" ")
            for operator, instead in (("event of a stream changed", other), ("event of a stream gone", gone)):
                changed = body[:begin] + instead + body[begin + len(event) :]
                yield _mutant(operator, f"{found[0]}", truth, exchange, Answer(body=changed))


def _texts_of(message: bytes) -> list[str]:
    """Return the texts in a JSON message, with or without a preceding event field."""
    try:
        value = json.loads(message.removeprefix(b"data:"))
    except ValueError:
        return []
    return [leaf for _, leaf in leaves(value) if isinstance(leaf, str) and len(leaf) >= SHORTEST]


def _of_sockets(source: Source) -> Iterator[Mutant]:
    for event in source.recording.sockets:
        if not isinstance(event, SocketMessage) or event.sender != "server" or event.text is None:
            continue
        place = source.place_of(event.moment.phase)
        found = [leaf for leaf in _texts_of(event.text.encode()) if any(leaf in each for each in source.texts(place))]
        if not found:
            continue
        truth = diverges(place, NOWHERE, "test-data")
        changed = event.text.replace(found[0], f"{found[0]} now")
        for operator, instead in (("message of a socket changed", changed), ("message of a socket gone", None)):
            order = event.moment.order
            yield Mutant(operator=operator, what=event.text, truth=truth, messages={order: instead})


def _of_delays(source: Source, per_document: int) -> Iterator[Mutant]:
    """Delay responses, which must not be noticeable."""
    found = [each for each in source.recording.exchanges if each.moment is not None and not each.pieces]
    for kind in ("document", "fetch", "script", "stylesheet"):
        some: list[tuple[Exchange, Place]]
        some = [(each, source.place(each)) for each in found if each.request.resource_type == kind]
        for exchange, _ in spread(some, per_document):
            yield _mutant(f"{kind} comes late", "", FAITHFUL, exchange, Answer(delay_ms=LATE_MS))
