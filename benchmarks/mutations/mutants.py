"""Every mutant of a recorded mission, with the verdict, the action, the layer and the cause that are right for it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from selectolax.lexbor import LexborHTMLParser

from benchmarks.mutations.elements import ELEMENT_OPERATORS, NEUTRAL_ELEMENT_OPERATORS, Element
from benchmarks.mutations.source import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from benchmarks.mutations.elements import ElementOperator
    from benchmarks.mutations.source import Place, Source
    from eikon_engine.network.exchange import Exchange

T = TypeVar("T")
HTML = "text/html"
SCRIPTS = ("text/javascript", "application/javascript")
JSON = "application/json"
LOGIN_PAGE = b"<!doctype html><title>Log in</title><form action=/login method=post><input name=user></form>"
ERROR_PAGE = b"<!doctype html><title>Error</title><h1>Something went wrong</h1>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a replay of a mutant must come to."""

    verdict: str
    place: Place | None = None
    """The first action that diverges."""
    layers: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mission whose answers, or whose trace, were changed in one respect."""

    operator: str
    what: str
    """What was changed, for whoever looks at a miss."""
    truth: Truth
    answers: Mapping[int, Answer] | None = None
    """What is answered otherwise, by ordinal of the exchange."""
    trace: str | None = None
    """The changed `trace.json`."""


FAITHFUL = Truth(verdict="faithful")


def diverges(place: Place, layers: str, causes: str) -> Truth:
    """Say where a mutant diverges; layers and causes are words."""
    return Truth(verdict="diverged", place=place, layers=frozenset(layers.split()), causes=frozenset(causes.split()))


def spread(items: Sequence[T], count: int) -> list[T]:
    """Take so many items, spread over all of them."""
    if len(items) <= count:
        return list(items)
    return [items[place * len(items) // count] for place in range(count)]


def mutants(source: Source, per_document: int) -> Iterator[Mutant]:
    """Yield all mutants of a mission: of each operator at most `per_document` in each document that it fits."""
    yield from _of_elements(source, per_document)
    yield from _of_documents(source)
    yield from _of_statuses(source)
    yield from _of_json(source, per_document)
    yield from _of_scripts(source)
    yield from _of_downloads(source)
    yield from _of_traces(source)


def _documents(source: Source) -> Iterator[tuple[Exchange, str]]:
    return ((exchange, text) for exchange, text in source.answered(HTML) if exchange.request.is_navigation)


def _of_elements(source: Source, per_document: int) -> Iterator[Mutant]:
    for exchange, text in _documents(source):
        tree = LexborHTMLParser(text)
        page = tree.html or ""
        place = source.place(exchange)
        alive = source.elements(place, exchange.request.url)
        nodes = [node for node in tree.css("[id]") if (node.attributes.get("id") or "") in alive]
        elements = [each for each in map(Element.of, nodes) if page.count(each.markup) == 1]
        for operator, neutral in (
            *((each, False) for each in ELEMENT_OPERATORS),
            *((each, True) for each in NEUTRAL_ELEMENT_OPERATORS),
        ):
            fitting = [each for each in elements if operator.fits(each)]
            for element in spread(fitting, per_document):
                changed = page.replace(element.markup, operator.change(element))
                if changed != page:
                    yield _of_element(operator, exchange, place, (element, changed), neutral=neutral)


def _of_element(
    operator: ElementOperator, exchange: Exchange, place: Place, change: tuple[Element, str], *, neutral: bool
) -> Mutant:
    element, text = change
    truth = (
        FAITHFUL if neutral else Truth(verdict="diverged", place=place, layers=operator.layers, causes=operator.causes)
    )
    return Mutant(
        operator=operator.name,
        what=f"{exchange.key}: <{element.tag} id={element.attributes.get('id')}>",
        truth=truth,
        answers={exchange.ordinal: Answer(body=text.encode(), content_type="text/html; charset=utf-8")},
    )


def _of_documents(source: Source) -> Iterator[Mutant]:
    for exchange, text in _documents(source):
        place = source.place(exchange)
        tree = LexborHTMLParser(text)
        page = tree.html or ""

        def mutant(
            operator: str, body: str, truth: Truth, exchange: Exchange = exchange, headers: dict[str, str] | None = None
        ) -> Mutant:
            answer = Answer(
                body=body.encode(), content_type="text/html; charset=utf-8", headers=tuple((headers or {}).items())
            )
            return Mutant(operator=operator, what=exchange.key, truth=truth, answers={exchange.ordinal: answer})

        yield mutant("written anew", page, FAITHFUL)
        yield mutant("headers without effect", text, FAITHFUL, headers={"server": "another/2", "x-request-id": "77"})
        advertisement = "<aside id=advertisement>Buy shoes</aside></body>"
        yield mutant(
            "advertisement at the end",
            page.replace("</body>", advertisement),
            diverges(place, "dom", "site-changed"),
        )
        if exchange.request.frame == "" and re.search(r"<title>[^<]+</title>", page):
            changed = re.sub(r"<title>([^<]+)</title>", r"<title>\1 now</title>", page, count=1)
            yield mutant("title changed", changed, diverges(place, "lifecycle dom", "site-changed"))
        without = re.sub(r"<script[^>]*\bsrc=[^>]*></script>", "", page, count=1)
        if without != page:
            yield mutant("script gone", without, diverges(place, "dom lifecycle network", "site-changed"))


def _of_statuses(source: Source) -> Iterator[Mutant]:
    for exchange, _ in _documents(source):
        place = source.place(exchange)
        if exchange.request.frame:
            continue

        def mutant(operator: str, truth: Truth, answer: Answer, exchange: Exchange = exchange) -> Mutant:
            return Mutant(operator=operator, what=exchange.key, truth=truth, answers={exchange.ordinal: answer})

        yield mutant("404 that looks well", diverges(place, "lifecycle", "site-error"), Answer(status=404))
        error, login = Answer(status=500, body=ERROR_PAGE), Answer(status=401, body=LOGIN_PAGE)
        yield mutant("500 page", diverges(place, "lifecycle network", "site-error"), error)
        yield mutant("401 page", diverges(place, "lifecycle network", "session-expired"), login)
        origin = "/".join(exchange.request.url.split("/")[:3])
        yield mutant(
            "led to the login",
            diverges(place, "lifecycle network", "session-expired"),
            Answer(body=LOGIN_PAGE, led_from=f"{origin}/login?next=/"),
        )
        yield mutant(
            "led elsewhere", diverges(place, "lifecycle network", "site-changed"), Answer(led_from=f"{origin}/moved")
        )
        yield mutant(
            "connection reset",
            diverges(place, "result lifecycle network", "network"),
            Answer(failure="net::ERR_CONNECTION_RESET"),
        )


def _leaves(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], JsonValue]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*path, place))
    else:
        yield path, value


def _with_leaf(value: JsonValue, path: tuple[str | int, ...], leaf: JsonValue) -> JsonValue:
    if not path:
        return leaf
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: _with_leaf(inner, rest, leaf) if key == step else inner for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_leaf(inner, rest, leaf) if place == step else inner for place, inner in enumerate(value)]
    return value


def _of_json(source: Source, per_document: int) -> Iterator[Mutant]:
    """Change values that a page shows; whether it shows one is told by what was observed."""
    for exchange, text in source.answered(JSON):
        place = source.place(exchange)
        shown = _shown_texts(source, place)
        value = json.loads(text)

        def mutant(operator: str, what: str, truth: Truth, answer: Answer, exchange: Exchange = exchange) -> Mutant:
            return Mutant(
                operator=operator, what=f"{exchange.key} {what}", truth=truth, answers={exchange.ordinal: answer}
            )

        visible = [
            (path, leaf)
            for path, leaf in _leaves(value)
            if isinstance(leaf, str) and len(leaf) > 2 and any(leaf in each for each in shown)
        ]
        for path, leaf in spread(visible, per_document):
            body = json.dumps(_with_leaf(value, path, f"{leaf} now")).encode()
            yield mutant("text of an answer changed", f"{path}", diverges(place, "dom", "test-data"), Answer(body=body))
        yield mutant(
            "answer written anew", "", FAITHFUL, Answer(body=json.dumps(value, indent=3, sort_keys=True).encode())
        )
        yield mutant(
            "500 of a request",
            "",
            diverges(place, "dom lifecycle network", "site-error"),
            Answer(status=500, body=b'{"error": "no"}'),
        )
        yield mutant(
            "session of a request gone",
            "",
            diverges(place, "dom lifecycle network", "session-expired"),
            Answer(status=401, body=b'{"error": "log in"}'),
        )
        yield mutant(
            "request reset",
            "",
            diverges(place, "dom lifecycle network", "network"),
            Answer(failure="net::ERR_CONNECTION_RESET"),
        )


def _shown_texts(source: Source, place: Place) -> set[str]:
    nodes = (node for frame in source.frames(place) for node in frame.root.walk())
    return {node.text for node in nodes if node.text is not None}


def _of_scripts(source: Source) -> Iterator[Mutant]:
    for exchange, text in source.answered(*SCRIPTS):
        place = source.place(exchange)
        found = re.search(r"\b(?:confirm|prompt|alert)\(\s*([`\"'])", text)

        def mutant(operator: str, truth: Truth, body: str, exchange: Exchange = exchange) -> Mutant:
            answers = {exchange.ordinal: Answer(body=body.encode())}
            return Mutant(operator=operator, what=exchange.key, truth=truth, answers=answers)

        yield mutant("comment in a script", FAITHFUL, f"// build 4711\n{text}")
        yield mutant(
            "script fails",
            diverges(place, "dom lifecycle network", "site-changed"),
            f"throw new Error('broken build');\n{text}",
        )
        if found is not None:
            dialog = next((each for each in _places_after(source, place) if _has_dialog(source, each)), None)
            if dialog is not None:
                changed = text[: found.end()] + "Really: " + text[found.end() :]
                yield mutant("dialog text changed", diverges(dialog, "lifecycle", "site-changed"), changed)


def _places_after(source: Source, place: Place) -> Iterator[Place]:
    places = [(subgoal.id, action.sequence) for subgoal, action in source.actions]
    yield from places[places.index(place) :]


def _has_dialog(source: Source, place: Place) -> bool:
    observation = source.observation(place)
    return observation is not None and bool(observation.dialogs)


def _of_downloads(source: Source) -> Iterator[Mutant]:
    for exchange, text in source.answered("application/octet-stream", "text/csv", "text/plain"):
        place = source.place(exchange)
        observation = source.observation(place)
        if observation is not None and observation.downloads:
            yield Mutant(
                operator="download changed",
                what=exchange.key,
                truth=diverges(place, "lifecycle", "test-data site-changed"),
                answers={exchange.ordinal: Answer(body=f"{text}\nchanged".encode())},
            )


def _of_traces(source: Source) -> Iterator[Mutant]:
    """Make the trace contradict the pages it was recorded with."""
    raw = (source.root / "trace.json").read_text(encoding="utf-8")
    for subgoal, action in source.actions:
        target = getattr(action.action, "target", None)
        if target is None or target.identity is None or target.frames:
            continue
        place = (subgoal.id, action.sequence)
        for operator, part, value in TRACE_EDITS:
            yield Mutant(
                operator=operator,
                what=f"{place}: {target.selector}",
                truth=diverges(place, "target", "trace-invalid"),
                trace=_edited(raw, place, part, value),
            )


TRACE_EDITS = (
    ("selector of nothing", ("selector",), "#no-such-element"),
    ("selector of another element", ("selector",), "body"),
    ("selector of many", ("selector",), "*"),
    ("another name recorded", ("identity", "name"), "Another name"),
    ("another tag recorded", ("identity", "tag"), "blink"),
)
"""Parts of a target, and what they are set to."""


def _edited(raw: str, place: Place, part: tuple[str, ...], value: str) -> str:
    """Set one part of the target of an action."""
    trace = json.loads(raw)
    for subgoal in trace["subgoal_traces"]:
        for action in subgoal["actions_taken"]:
            if (subgoal["id"], action["sequence"]) == place:
                place_of_it = action["action"]["target"]
                for name in part[:-1]:
                    place_of_it = place_of_it[name]
                place_of_it[part[-1]] = value
    return json.dumps(trace)
