"""Move the actions of a bundle to the deployment, and to the values, of a recording that is made from it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.learn_recordings import learn_exchange
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.matching import Playback
from eikon_engine.network.response_values import DrawnValues
from eikon_engine.network.store import IndexReader, read_network
from eikon_engine.record.bundle_writer import NETWORK_FOLDER
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.secrets.stand_ins import RecordedStandIns, alone_pattern
from eikon_engine.trace.base_urls import map_action_urls
from eikon_engine.trace.rules import ResponseValueRule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.base_urls import BaseUrlMap
    from eikon_engine.trace.bundle import Bundle

_MIN_LONG_VALUE: Final = 8
"""Shorter values, and numbers, occur within words and other numbers by chance."""
_FIXED_FIELDS: Final = frozenset({"role", "tag", "type"})
"""Fields of actions with names of kinds."""
_SELECTOR_FIELDS: Final = frozenset({"alternatives", "frames", "selector"})
_AUTHORITY: Final = (
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:|(?<=[\"']))//[^\s/?#\"'<>\\]*"
    r"|[A-Za-z][A-Za-z0-9+.-]*%3[Aa]%2[Ff]%2[Ff][\w.-]*(?:%3[Aa]\d+)?"
)
"""The site of a URL, also percent-encoded."""
_ESCAPE: Final = r"%[0-9A-Fa-f]{2}|&#?\w{1,8};|\\u[0-9A-Fa-f]{4}"
_POSITION: Final = r":nth(?:-[\w-]+)?\([^()]*\)|\bnth=-?\d+|\[\d+\]|position\(\)\s*[<>=]+\s*\d+"
"""Parts of selectors that count elements."""


class MovedActions:
    """Moves the actions of a bundle; mutable, as it learns the values that the site draws now."""

    def __init__(self, bundle: Bundle, directory: Path, urls: BaseUrlMap) -> None:
        """Learn the values from what is recorded in `directory` by then; `urls` lead to another deployment."""
        self._urls = urls
        self._current = IndexReader(directory / NETWORK_FOLDER)
        self._values: dict[str, str] = {}
        """The values of the new recording by those of the bundle."""
        self._stand_ins = RecordedStandIns(each.stand_in for each in bundle.trace.redaction.found)
        self._recorded: tuple[NetworkRecording, Playback, DrawnValues] | None = None
        network = bundle.trace.network
        if network is not None and any(isinstance(rule, ResponseValueRule) for rule in network.rules):
            recording = read_network(resolve_inside(bundle.root, network.folder, "network.folder"))
            playback = Playback(recording.exchanges, read_body=recording.body, rules=network.rules)
            drawn = DrawnValues(network.rules, None, playback.rule_use, self._note, recording.exchanges)
            self._recorded = recording, playback, drawn

    def move(self, action: Action) -> Action:
        """Return an action as it is to be performed now."""
        self._learn()
        current = with_current_segments(with_current_values(action, self._values), self._stand_ins)
        return map_action_urls(current, self._urls)

    def _learn(self) -> None:
        if self._recorded is None:
            return
        recording, playback, drawn = self._recorded
        values = drawn, self._stand_ins
        for exchange in self._current.read_new():
            learn_exchange(exchange, (recording, self._current.recording), playback, values, self._urls)

    def _note(self, recorded: Mapping[str, str], urls: Collection[str]) -> None:
        """Note the recorded values by those that were drawn now; with `urls`, as those that stand after one only."""
        self._stand_ins.substitute(recorded, dict.fromkeys((*urls, *map(self._urls.to_new.replace_text, urls))))
        if not urls:
            self._values |= {old: new for new, old in recorded.items()}


def with_current_segments(action: Action, stand_ins: RecordedStandIns) -> Action:
    """Return an action with the current values of those that are replaced in URLs only."""
    return _map_texts(action, lambda text, _field: stand_ins.restore_segments(text))


def with_current_values(action: Action, values: Mapping[str, str]) -> Action:
    """Return an action with recorded values replaced by current ones, in every encoding.

    `values` has the current ones by the recorded ones. A short value, or a number, is replaced where it stands alone.
    None is replaced in the site of a URL, and in what counts elements in a selector.
    """
    written: dict[str, str] = {}
    for old, new in values.items():
        for _, encode in ENCODINGS:
            written.setdefault(encode(old), encode(new))
    if not written:
        return action
    return _map_texts(action, lambda text, field: _replace(text, written, is_selector=field in _SELECTOR_FIELDS))


def _map_texts(action: Action, change: Callable[[str, str], str]) -> Action:
    """Return an action with its texts changed; `change` gets each, and its field in the innermost object."""
    data: JsonValue = json.loads(action.model_dump_json())
    moved = _map_in(data, "", change)
    return action if moved == data else type(action).model_validate_json(json.dumps(moved))


def _map_in(value: JsonValue, field: str, change: Callable[[str, str], str]) -> JsonValue:
    match value:
        case str() if field not in _FIXED_FIELDS:
            return change(value, field)
        case list():
            return [_map_in(each, field, change) for each in value]
        case dict():
            return {name: _map_in(each, name, change) for name, each in value.items()}
        case _:
            return value


def _replace(text: str, written: Mapping[str, str], *, is_selector: bool) -> str:
    present = sorted((each for each in written if each in text), key=lambda each: (-len(each), each))
    if not present:
        return text
    kept = "|".join((_AUTHORITY, _ESCAPE, *([_POSITION] if is_selector else [])))
    wanted = "|".join(map(_pattern_of, present))
    return re.sub(f"{wanted}|{kept}", lambda found: written.get(found[0], found[0]), text)


def _pattern_of(value: str) -> str:
    if len(value) >= _MIN_LONG_VALUE and not value.isdecimal():
        return re.escape(value)
    return alone_pattern(value)
