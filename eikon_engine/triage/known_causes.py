"""Known causes: a TOML file in which a team names the causes that it knows, and who deals with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from eikon_engine.errors import UsageError
from eikon_engine.files.limits import MAX_SETTINGS_BYTES, parse_toml, read_file
from eikon_engine.files.models import FileModel
from eikon_engine.outcome.triage import CauseSignature, KnownCause

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class KnownCauseRule(FileModel):
    """A cause by its signature: each part is a pattern with `*` and `?`, and one that is missing fits all."""

    name: str
    id: str = "*"
    cause: str = "*"
    subject: str = "*"
    change: str = "*"
    owner: str = ""
    ticket: str = ""
    until: date | None = None
    """Last day on which the cause is known."""

    def fits(self, signature: CauseSignature) -> bool:
        """Return whether a signature has this cause."""
        parts = (
            (signature.id, self.id),
            (signature.cause, self.cause),
            (signature.subject, self.subject),
            (signature.change, self.change),
        )
        return all(fnmatchcase(value, pattern.replace("[", "[[]")) for value, pattern in parts)  # as in `$.items[*]`

    def to_known_cause(self) -> KnownCause:
        """Return what reports show of it."""
        until = "" if self.until is None else self.until.isoformat()
        return KnownCause(name=self.name, owner=self.owner, ticket=self.ticket, until=until)


@dataclass(frozen=True, slots=True)
class KnownCauses:
    """The rules of a file on one day."""

    rules: Sequence[KnownCauseRule] = ()
    today: date = date.max

    def find(self, signature: CauseSignature) -> KnownCauseRule | None:
        """Return the first rule that a signature fits; rules that are over come last."""
        fitting = [rule for rule in self.rules if rule.fits(signature)]
        return next((rule for rule in fitting if not self.is_over(rule)), next(iter(fitting), None))

    def is_over(self, rule: KnownCauseRule) -> bool:
        """Return whether the last day of a rule has passed."""
        return rule.until is not None and rule.until < self.today


def read_known_causes(path: Path, today: date) -> KnownCauses:
    """Read a file of `[[cause]]` tables.

    Raises:
        UsageError: the file cannot be read, or a table is no known cause.
    """
    try:
        data: dict[str, Any] = parse_toml(read_file(path, limit=MAX_SETTINGS_BYTES))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: expected a TOML file of [[cause]] tables, got: {error}") from error
    tables = data.pop("cause", [])
    if data or not isinstance(tables, list):
        found = ", ".join(sorted(data)) or "another type of cause"
        raise UsageError(f"{path}: expected only [[cause]] tables, got {found}")
    rules = []
    for number, table in enumerate(tables, start=1):
        try:
            rules.append(KnownCauseRule.model_validate(table))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the table"
            raise UsageError(f"{path}, cause {number}: {where}: {first['msg']}") from error
    return KnownCauses(tuple(rules), today)
