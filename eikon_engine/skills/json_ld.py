"""Strict parser for the JSON-LD of a page.

https://www.w3.org/TR/json-ld11/#embedding-json-ld-in-html-documents
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from eikon_engine.dom.html import OMITTED_LENGTH_ATTRIBUTE
from eikon_engine.files.json_text import JsonValue
from eikon_engine.files.limits import MAX_JSON_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.skills.document import Document

JSON_LD: Final = "application/ld+json"

JsonLdNode: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLd:
    """The JSON-LD of a page."""

    nodes: tuple[JsonLdNode, ...]
    """Nodes, with lists and `@graph` flattened; a node of a graph has no `@context` of its own."""
    errors: tuple[tuple[int, str], ...]
    """Number of each invalid block, from 1, with the error."""


def read_json_ld(document: Document) -> JsonLd:
    """Read all JSON-LD blocks of a page; an invalid block is reported in `faults`, the others are still read."""
    nodes: list[JsonLdNode] = []
    faults: list[tuple[int, str]] = []
    scripts = (each for each in document.tree.css("script[type]") if _is_json_ld(each.attributes.get("type")))
    for number, script in enumerate(scripts, start=1):
        length = script.attributes.get(OMITTED_LENGTH_ATTRIBUTE)
        if length is not None:
            faults.append((number, f"left out of the snapshot, which keeps no block of {length} characters"))
            continue
        try:
            nodes.extend(list(_flatten(_parsed(script.text()))))
        except (ValueError, RecursionError) as error:
            faults.append((number, " ".join(str(error).split())))
    return JsonLd(nodes=tuple(nodes), errors=tuple(faults))


def types_of(node: JsonLdNode) -> tuple[str, ...]:
    """Return the types of a node without the URL of their vocabulary."""
    found = node.get("@type")
    types = found if isinstance(found, list) else [found]
    return tuple(each.rsplit("/", 1)[-1] for each in types if isinstance(each, str))


def first_text(node: JsonLdNode, *names: str) -> str | None:
    """Return the first of these members that is a string, or an object with a string `name`."""
    for name in names:
        value = node.get(name)
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, dict):
            first = first.get("name")
        if isinstance(first, str) and first.strip():
            return first.strip()
    return None


def _is_json_ld(kind: str | None) -> bool:
    return (kind or "").partition(";")[0].strip().lower() == JSON_LD


def _parsed(text: str) -> JsonValue:
    value: JsonValue = json.loads(text.strip(), parse_constant=_reject_constant, parse_float=_parse_finite)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        message = "a text holds half of a character"
        raise ValueError(message) from error
    pending: list[tuple[int, JsonValue]] = [(0, value)]
    while pending:
        depth, item = pending.pop()
        if depth > MAX_JSON_DEPTH // 2:
            message = f"more than {MAX_JSON_DEPTH // 2} levels of lists and objects"
            raise ValueError(message)
        members = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        pending.extend((depth + 1, member) for member in members)
    return value


def _reject_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON"
    raise ValueError(message)


def _parse_finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        message = f"the number {text} is too great"
        raise ValueError(message)
    return number


def _flatten(value: JsonValue) -> Iterator[JsonLdNode]:
    match value:
        case list():
            for each in value:
                yield from _flatten(each)
        case dict() if isinstance(graph := value.get("@graph"), list):
            rest = {name: member for name, member in value.items() if name != "@graph"}
            if rest.keys() - {"@context"}:
                yield rest
            for each in graph:
                yield from _flatten(each)
        case dict():
            yield value
        case _:
            message = f"wanted an object or a list of objects, found {json.dumps(value)[:40]}"
            raise ValueError(message)
