"""Extract the named values of a request body, to describe how two bodies differ."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qsl

from eikon_engine.network.keys import is_json

MAX_PARSED_BYTES: Final = 64 * 1024
"""Larger bodies, in bytes, are not parsed."""
MAX_FIELDS: Final = 200
"""Maximum number of fields that are extracted."""


def body_fields(body: bytes | None, media_type: str) -> dict[str, str]:
    """Return the values of a JSON body by path (`$.items[0].id`), or of a form by field; empty for other bodies."""
    if body is None or len(body) > MAX_PARSED_BYTES:
        return {}
    try:
        if is_json(media_type):
            return _json_leaves(json.loads(body))
        if media_type == "application/x-www-form-urlencoded":
            return pair_fields(parse_qsl(body.decode(), keep_blank_values=True)[:MAX_FIELDS])
    except (ValueError, RecursionError):
        return {}
    return {}


def pair_fields(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return the values of pairs by name; repeated names get an index (`name[1]`)."""
    fields: dict[str, str] = {}
    seen: dict[str, int] = {}
    for name, value in pairs:
        count = seen.get(name, 0)
        seen[name] = count + 1
        fields[f"{name}[{count}]" if count else name] = value
    return fields


def _json_leaves(document: object) -> dict[str, str]:
    leaves: dict[str, str] = {}
    waiting: list[tuple[str, object]] = [("$", document)]
    while waiting and len(leaves) < MAX_FIELDS:
        path, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting.extend((f"{path}.{name}", member) for name, member in sorted(value.items(), reverse=True))
        elif isinstance(value, list) and value:
            waiting.extend((f"{path}[{place}]", value[place]) for place in reversed(range(len(value))))
        else:
            leaves[path] = json.dumps(value, ensure_ascii=False)
    return leaves
