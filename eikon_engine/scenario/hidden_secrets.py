"""Keep secrets out of fixtures: named ones as placeholders, found ones as stand-ins (docs/redaction.md)."""

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
    """Replace the secrets of a recording: those that are given again, and those that the agent makes again."""

    def __init__(self, secrets: Mapping[str, str], known: Iterable[FoundSecret]) -> None:
        """Recognize the values behind the stand-ins of a recording."""
        self.redactor = Redactor(secrets, KnownStandIns(each.stand_in for each in known))

    def learn(self, value: Result | Mapping[str, JsonValue], *, made: bool) -> None:
        """Find nothing: what is no secret of the recording is none."""


def hidden(value: Result, redactor: Redactor) -> Result:
    """Return a value without secrets, in its texts, names and bytes."""
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
    """Return a recorded value with the secrets of today, where they are given."""
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
    """Return arguments without secrets."""
    return cast("dict[str, JsonValue]", dict(args) if redactor.is_idle else redactor.redact_texts(dict(args)))
