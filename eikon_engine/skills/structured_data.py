"""Strict parser for the JSON-LD of a page.

https://www.w3.org/TR/json-ld11/#embedding-json-ld-in-html-documents
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from eikon_engine.trace.dom.data_blocks import LEFT_OUT
from eikon_engine.trace.json_value import JsonValue
from eikon_engine.trace.record import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.skills.document import Document

JSON_LD: Final = "application/ld+json"

Node: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredData:
    """The JSON-LD of a page."""

    nodes: tuple[Node, ...]
    """Nodes, with lists and `@graph` flattened; a node of a graph has no `@context` of its own."""
    faults: tuple[tuple[int, str], ...]
    """Number of each invalid block, from 1, with the error."""


def read_json_ld(document: Document) -> StructuredData:
    """Read all JSON-LD blocks of a page; an invalid block is reported in `faults`, the others are still read."""
    nodes: list[Node] = []
    faults: list[tuple[int, str]] = []
    scripts = (each for each in document.tree.css("script[type]") if _is_json_ld(each.attributes.get("type")))
    for number, script in enumerate(scripts, start=1):
        length = script.attributes.get(LEFT_OUT)
        if length is not None:
            faults.append((number, f"left out of the snapshot, which keeps no block of {length} characters"))
            continue
        try:
            nodes.extend(list(_nodes(_parsed(script.text()))))
        except (ValueError, RecursionError) as error:
            faults.append((number, " ".join(str(error).split())))
    return StructuredData(nodes=tuple(nodes), faults=tuple(faults))


def types_of(node: Node) -> tuple[str, ...]:
    """Return the types of a node without the URL of their vocabulary."""
    found = node.get("@type")
    types = found if isinstance(found, list) else [found]
    return tuple(each.rsplit("/", 1)[-1] for each in types if isinstance(each, str))


def text_member(node: Node, *names: str) -> str | None:
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
    value: JsonValue = json.loads(text.strip(), parse_constant=_refuse, parse_float=_finite)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        message = "a text holds half of a character"
        raise ValueError(message) from error
    pending: list[tuple[int, JsonValue]] = [(0, value)]
    while pending:
        depth, item = pending.pop()
        if depth > MAX_DEPTH // 2:
            message = f"more than {MAX_DEPTH // 2} levels of lists and objects"
            raise ValueError(message)
        members = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        pending.extend((depth + 1, member) for member in members)
    return value


def _refuse(name: str) -> NoReturn:
    message = f"{name} is no JSON"
    raise ValueError(message)


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        message = f"the number {text} is too great"
        raise ValueError(message)
    return number


def _nodes(value: JsonValue) -> Iterator[Node]:
    match value:
        case list():
            for each in value:
                yield from _nodes(each)
        case dict() if isinstance(graph := value.get("@graph"), list):
            rest = {name: member for name, member in value.items() if name != "@graph"}
            if rest.keys() - {"@context"}:
                yield rest
            for each in graph:
                yield from _nodes(each)
        case dict():
            yield value
        case _:
            message = f"wanted an object or a list of objects, found {json.dumps(value)[:40]}"
            raise ValueError(message)
