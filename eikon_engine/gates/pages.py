"""Gates about pages: errors of the console, requests that failed, statuses of documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from eikon_engine.gates.meter import Found, Run, Unseen
from eikon_engine.outcome.events import JournalLine, ObservationMade
from eikon_engine.trace.record import Record
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.gates.meter import ValueOf
    from eikon_engine.outcome.outcomes import FailedRequest

HttpStatus = Annotated[int, Field(ge=100, le=999)]


class NoConsoleErrors(Record):
    """No page writes an error to its console, or leaves one uncaught."""

    gate: Literal["no_console_errors"] = "no_console_errors"
    limit: Literal[True] = True
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _ConsoleErrors:
        """Begin to look."""
        return _ConsoleErrors()


class NoFailedRequests(Record):
    """No request of a page ends without an answer, or with a status from 400 on."""

    gate: Literal["no_failed_requests"] = "no_failed_requests"
    limit: Literal[True] = True
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _FailedRequests:
        """Begin to look."""
        return _FailedRequests()


class ExpectStatus(Record):
    """Each document of a page, or each of some, has one of these statuses."""

    gate: Literal["expect_status"] = "expect_status"
    status: HttpStatus | tuple[HttpStatus, ...]
    url: str | None = Field(default=None, min_length=1)
    """Whole address, where `*` stands for any text and `?` for any character; None for all documents."""
    shorthand: ClassVar[str] = "status"

    @property
    def limit(self) -> JsonValue:
        """Return the statuses."""
        return list(self.statuses)

    @property
    def statuses(self) -> tuple[int, ...]:
        """Return the statuses as a list."""
        return self.status if isinstance(self.status, tuple) else (self.status,)

    def meter(self, _value_of: ValueOf) -> _Statuses:
        """Begin to look."""
        return _Statuses(self)


@dataclass(slots=True)
class _ConsoleErrors:
    unseen: Unseen = field(default_factory=Unseen)
    errors: list[str] = field(default_factory=list)

    def note(self, line: JournalLine) -> None:
        self.unseen.note(line.event)
        if isinstance(line.event, ObservationMade):
            seen = line.event.observation
            self.errors.extend((*seen.console_errors, *seen.page_errors))

    def found(self) -> Found:
        if self.errors:
            message = f"{counted(len(self.errors), 'error')}, first {self.errors[0]!r}; none is allowed"
            return Found(passed=False, observed=list(self.errors), message=message)
        return _nothing(self.unseen, "no errors")


@dataclass(slots=True)
class _FailedRequests:
    run: Run = field(default_factory=Run)
    unseen: Unseen = field(default_factory=Unseen)
    failed: list[FailedRequest] = field(default_factory=list)
    untold: int = 0
    """Observations that do not say which requests failed."""

    def note(self, line: JournalLine) -> None:
        self.run.note(line.event)
        self.unseen.note(line.event)
        if isinstance(line.event, ObservationMade):
            self.failed.extend(line.event.failed or ())
            self.untold += line.event.failed is None

    def found(self) -> Found:
        whole = self.run.end.network.failed if self.run.end and self.run.end.network else None
        failed = list(whole) if whole is not None else self.failed
        if failed:
            message = f"{counted(len(failed), 'request')} failed, first {failed[0]}; none may"
            return Found(passed=False, observed=[str(each) for each in failed], message=message)
        if whole is None and (self.untold or self.unseen.count):
            return Found(passed=None, observed=None, message="which requests failed was not recorded")
        return Found(passed=True, observed=[], message="no request failed")


@dataclass(slots=True)
class _Statuses:
    gate: ExpectStatus
    unseen: Unseen = field(default_factory=Unseen)
    met: int = 0
    wrong: list[str] = field(default_factory=list)

    def note(self, line: JournalLine) -> None:
        self.unseen.note(line.event)
        if not isinstance(line.event, ObservationMade):
            return
        for document in line.event.observation.documents:
            if document.status is None or not self._is_meant(document.url):
                continue
            if document.status in self.gate.statuses:
                self.met += 1
            else:
                self.wrong.append(f"{document.url}: {document.status}")

    def found(self) -> Found:
        wanted = ", ".join(map(str, self.gate.statuses))
        if self.wrong:
            message = f"{self.wrong[0]}, wanted {wanted}"
            return Found(passed=False, observed=list(self.wrong), message=message)
        if not self.met:
            which = "" if self.gate.url is None else f" at {self.gate.url}"
            return Found(passed=None, observed=[], message=f"no document{which} was loaded")
        return _nothing(self.unseen, f"{counted(self.met, 'document')} with status {wanted}")

    def _is_meant(self, url: str) -> bool:
        return self.gate.url is None or fnmatchcase(url, self.gate.url.replace("[", "[[]"))


def _nothing(unseen: Unseen, message: str) -> Found:
    """Say that nothing was wrong, unless something was not seen."""
    if unseen.count:
        return Found(passed=None, observed=[], message=str(unseen))
    return Found(passed=True, observed=[], message=message)
