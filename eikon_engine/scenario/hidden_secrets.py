"""Redact secrets in fixtures: named ones as references, found ones as stand-ins (docs/redaction.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.stand_ins import KnownStandIns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.stored_result import Result
    from eikon_engine.trace.found_secret import FoundSecret


class KnownSecrets:
    """Redact the secrets of a recording in its replay: supplied ones, and found ones that recur."""

    def __init__(self, secrets: Mapping[str, str], known: Iterable[FoundSecret]) -> None:
        """Recognize the values that the recording replaced with stand-ins."""
        self.redactor = Redactor(secrets, KnownStandIns(each.stand_in for each in known))

    def learn(self, value: Result | Mapping[str, JsonValue], *, made: bool) -> None:
        """Do nothing: a replay has no secrets beyond those of its recording."""


def hidden(value: Result, redactor: Redactor) -> Result:
    """Redact secrets in the strings, keys and bytes of a value."""
    match value:
        case str():
            return redactor.text(value)
        case bytes():
            return redactor.data(value)
        case list():
            return [hidden(each, redactor) for each in value]
        case dict():
            return {redactor.text(name): hidden(each, redactor) for name, each in value.items()}
        case _:
            return value


def shown(value: Result, redactor: Redactor) -> Result:
    """Restore the supplied values of secrets in a recorded value."""
    match value:
        case str():
            return redactor.restore(value.encode()).decode()
        case bytes():
            return redactor.restore(value)
        case list():
            return [shown(each, redactor) for each in value]
        case dict():
            return {name: shown(each, redactor) for name, each in value.items()}
        case _:
            return value


def hidden_args(args: Mapping[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    """Redact secrets in arguments."""
    return cast("dict[str, JsonValue]", dict(args) if redactor.is_idle else redactor.redact_texts(dict(args)))
