"""Redact secrets in fixtures: named ones as references, found ones as stand-ins (docs/redaction.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.stand_ins import RecordedStandIns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.stored_result import ToolResultValue
    from eikon_engine.trace.found_secret import FoundSecret


class KnownSecrets:
    """Redact the secrets of a recording in its replay: supplied ones, and found ones that recur."""

    def __init__(self, secrets: Mapping[str, str], known: Iterable[FoundSecret]) -> None:
        """Recognize the values that the recording replaced with stand-ins."""
        self.redactor = Redactor(secrets, RecordedStandIns(each.stand_in for each in known))

    def find_in(self, value: ToolResultValue | Mapping[str, JsonValue], *, made: bool) -> None:
        """Do nothing: a replay has no secrets beyond those of its recording."""


def redact_value(value: ToolResultValue, redactor: Redactor) -> ToolResultValue:
    """Redact secrets in the strings, keys and bytes of a value."""
    match value:
        case str():
            return redactor.redact_text(value)
        case bytes():
            return redactor.redact_bytes(value)
        case list():
            return [redact_value(each, redactor) for each in value]
        case dict():
            return {redactor.redact_text(name): redact_value(each, redactor) for name, each in value.items()}
        case _:
            return value


def restore_value(value: ToolResultValue, redactor: Redactor) -> ToolResultValue:
    """Restore the supplied values of secrets in a recorded value."""
    match value:
        case str():
            return redactor.restore_bytes(value.encode()).decode()
        case bytes():
            return redactor.restore_bytes(value)
        case list():
            return [restore_value(each, redactor) for each in value]
        case dict():
            return {name: restore_value(each, redactor) for name, each in value.items()}
        case _:
            return value


def redact_args(args: Mapping[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    """Redact secrets in arguments."""
    return cast("dict[str, JsonValue]", dict(args) if redactor.is_noop else redactor.redact_json(dict(args)))
