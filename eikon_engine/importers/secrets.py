"""Replace passwords and tokens in imported missions by references to named secrets."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from eikon_engine.files.blobs import BlobRef, blob_ref
from eikon_engine.secrets.detection import MIN_PASSWORD_LENGTH, looks_random, random_segments
from eikon_engine.secrets.names import is_password_name, is_secret_parameter
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.token_formats import find_tokens
from eikon_engine.trace.actions import Evaluate, Fill, Navigate, Read, SecretRef, SetValue, TypeText
from eikon_engine.trace.playwright_calls import build_action
from eikon_engine.trace.read_values import to_read_value, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.importers.imported_mission import ImportedMission
    from eikon_engine.trace.actions import Action

_URL_PARAMETER: Final = re.compile(r"[?&#;]([\w.$-]{1,64})=([^&#;\s]+)")
_NON_NAME: Final = re.compile(r"\W+")
_SECRET_PLACEHOLDER: Final = re.compile(r"\{\{eikon-secret:")
_VALUE_NAME: Final = re.compile(r"\bvalue\b")


def replace_secrets(mission: ImportedMission) -> ImportedMission:
    """Replace passwords that were typed or read, and tokens in URLs and in what was read, by references.

    The notes list each secret and how to provide its value when the mission is recorded.
    """
    named: dict[str, str] = {}
    files = {blob_ref(content): content for content in mission.files}
    for subgoal in mission.subgoals:
        for action in subgoal.actions:
            for expected, value in _secrets(action, files):
                if value not in named.values():
                    named[_unused_name(expected, named)] = value
    if not named:
        return mission
    redactor = Redactor(named)
    names = {value: name for name, value in named.items()}
    values = _LongValues(files, redactor)

    subgoals = tuple(
        replace(
            subgoal,
            description=redactor.redact_text(subgoal.description),
            actions=tuple(_with_references(values.redact(action), names, redactor) for action in subgoal.actions),
            errors={place: redactor.redact_text(error) for place, error in subgoal.errors.items()},
        )
        for subgoal in mission.subgoals
    )
    return replace(
        mission,
        text=redactor.redact_text(mission.text),
        subgoals=subgoals,
        files=values.files,
        unsupported=tuple(map(redactor.redact_text, mission.unsupported)),
        notes=(*map(redactor.redact_text, mission.notes), *map(_secret_note, named)),
    )


class _LongValues:
    """The files of a mission, in which long values of reads are redacted (mutable)."""

    def __init__(self, files: Mapping[BlobRef, bytes], redactor: Redactor) -> None:
        self._contents = files
        self._replaced: set[BlobRef] = set()
        self._redacted: dict[BlobRef, bytes] = {}
        self._redactor = redactor

    @property
    def files(self) -> tuple[bytes, ...]:
        """The files that the redacted actions refer to."""
        kept = (content for ref, content in self._contents.items() if ref not in self._replaced)
        return tuple(dict.fromkeys((*kept, *self._redacted.values())))

    def redact(self, action: Action) -> Action:
        """Return an action whose long value contains no secrets."""
        long = action.value.long if isinstance(action, Read | Evaluate) and action.value is not None else None
        content = None if long is None else self._contents.get(long)
        if long is None or content is None:
            return action

        def store(text: bytes) -> BlobRef:
            self._redacted[blob_ref(text)] = text
            return blob_ref(text)

        self._replaced.add(long)
        return action.model_copy(
            update={"value": to_read_value(json.loads(content), store, self._redactor.redact_json)}
        )


def _secrets(action: Action, files: Mapping[BlobRef, bytes]) -> Iterator[tuple[str, str]]:
    """Yield the secrets of an action with suggested names; `files` are those of the mission."""
    match action:
        case Fill() | TypeText() | SetValue() if isinstance(action.text, str) and _is_for_password(action):
            if action.text and not _SECRET_PLACEHOLDER.search(action.text):
                yield "PASSWORD", action.text
        case Navigate():
            for name, value in _URL_PARAMETER.findall(action.url):
                if is_secret_parameter(name) and random_segments(unquote_plus(value)):
                    yield _NON_NAME.sub("_", name).upper(), unquote_plus(value)
            yield from _tokens(action.url)
        case Read() | Evaluate() if action.value is not None:
            content = None if action.value.long is None else files.get(action.value.long)
            found: JsonValue = action.value.value if content is None else json.loads(content)
            if isinstance(found, str) and len(found) >= MIN_PASSWORD_LENGTH and _reads_password(action):
                yield "PASSWORD", found
            yield from _tokens(value_text(found))
        case _:
            return


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    return (("TOKEN", token.secret) for token in find_tokens(text) if looks_random(token.secret))


def _reads_password(action: Read | Evaluate) -> bool:
    """Whether an action reads the value of a password field, and not its type or label."""
    if action.target is None or not is_password_name(action.target.model_dump_json()):
        return False
    if isinstance(action, Evaluate):
        return _VALUE_NAME.search(action.expression) is not None
    return action.what == "input_value" or (action.what == "attribute" and action.name == "value")


def _is_for_password(action: Fill | TypeText | SetValue) -> bool:
    """Whether any part of the target suggests a password field."""
    return is_password_name(action.target.model_dump_json())


def _unused_name(expected: str, taken: dict[str, str]) -> str:
    names = (expected, *(f"{expected}_{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _with_references(action: Action, names: dict[str, str], redactor: Redactor) -> Action:
    if isinstance(action, Fill | TypeText | SetValue) and isinstance(action.text, str) and action.text in names:
        action = action.model_copy(update={"text": SecretRef(secret=names[action.text])})
    plain = action.model_dump(mode="json")
    clean = {name: value if name == "target" else redactor.redact_json(value) for name, value in plain.items()}
    if clean == plain:
        return action
    del clean["type"]
    return build_action(action.type, **clean)


def _secret_note(name: str) -> str:
    return f"a password or a token became the secret {name}. Pass --secret {name}=… to eikon record."
