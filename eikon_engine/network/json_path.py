"""Replace the values at a JSON path with null."""

from __future__ import annotations

import json
import re
from enum import Enum, auto
from functools import cache
from typing import Final, TypeAlias

_PATH_STEP: Final = re.compile(r'\.([^.\[\]"]+)|\[([0-9]+)\]|(\[\*\])|\[("[^"\\]+")\]')


class Wildcard(Enum):
    """Wildcard steps of a path."""

    KEY = auto()
    INDEX = auto()


PathStep: TypeAlias = str | int | Wildcard


@cache
def parse_json_path(path: str) -> tuple[PathStep, ...]:
    """Parse a path in the syntax of `JsonPathRule.path`."""
    steps: list[PathStep] = []
    for found in _PATH_STEP.finditer(path):
        name, index, any_index, quoted = found.groups()
        if any_index:
            steps.append(Wildcard.INDEX)
        elif index:
            steps.append(int(index))
        elif quoted:
            steps.append(json.loads(quoted))
        else:
            steps.append(Wildcard.KEY if name == "*" else name)
    return tuple(steps)


def set_null(document: object, path: str) -> bool:
    """Set every value at the path to null, in place; return whether there was one."""
    *way, last = parse_json_path(path)
    places = [document]
    for step in way:
        places = [place[key] for place in places for key in _matching_keys(place, step)]  # type: ignore[index] # has the key
    found = False
    for place in places:
        for key in _matching_keys(place, last):
            place[key] = None  # type: ignore[index] # as above
            found = True
    return found


def _matching_keys(place: object, step: PathStep) -> tuple[str | int, ...]:
    """Return the keys or indices of a value that a step matches."""
    if isinstance(place, dict):
        if step is Wildcard.KEY:
            return tuple(place)
        return (step,) if isinstance(step, str) and step in place else ()
    if isinstance(place, list):
        if step is Wildcard.INDEX:
            return tuple(range(len(place)))
        return (step,) if isinstance(step, int) and step < len(place) else ()
    return ()
