"""Gates on pages: console errors, failed requests, statuses of documents."""

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
    """No page has a console error or an uncaught exception."""

    gate: Literal["no_console_errors"] = "no_console_errors"
    limit: Literal[True] = True
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _ConsoleErrors:
        """Start measuring."""
        return _ConsoleErrors()


class NoFailedRequests(Record):
    """No request of a page fails or has a status of 400 or above."""

    gate: Literal["no_failed_requests"] = "no_failed_requests"
    limit: Literal[True] = True
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _FailedRequests:
        """Start measuring."""
        return _FailedRequests()


class ExpectStatus(Record):
    """Each document, or each document with a matching URL, has one of these statuses."""

    gate: Literal["expect_status"] = "expect_status"
    status: HttpStatus | tuple[HttpStatus, ...]
    url: str | None = Field(default=None, min_length=1)
    """Whole URL, with `*` for any text and `?` for any character; None for all documents."""
    shorthand: ClassVar[str] = "status"

    @property
    def limit(self) -> JsonValue:
        """The statuses as a list."""
        return list(self.statuses)

    @property
    def statuses(self) -> tuple[int, ...]:
        """The statuses as a tuple."""
        return self.status if isinstance(self.status, tuple) else (self.status,)

    def meter(self, _value_of: ValueOf) -> _Statuses:
        """Start measuring."""
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
            message = f"{counted(len(self.errors), 'error')}, first {self.errors[0]!r}; none are allowed"
            return Found(passed=False, observed=list(self.errors), message=message)
        return _nothing(self.unseen, "no errors")


@dataclass(slots=True)
class _FailedRequests:
    run: Run = field(default_factory=Run)
    unseen: Unseen = field(default_factory=Unseen)
    failed: list[FailedRequest] = field(default_factory=list)
    untold: int = 0
    """Observations without information about failed requests."""

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
            message = f"{counted(len(failed), 'request')} failed, first {failed[0]}; none are allowed"
            return Found(passed=False, observed=[str(each) for each in failed], message=message)
        if whole is None and (self.untold or self.unseen.count):
            return Found(passed=None, observed=None, message="failed requests were not recorded")
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
            message = f"{self.wrong[0]}, expected {wanted}"
            return Found(passed=False, observed=list(self.wrong), message=message)
        if not self.met:
            which = "" if self.gate.url is None else f" at {self.gate.url}"
            return Found(passed=None, observed=[], message=f"no document{which} was loaded")
        return _nothing(self.unseen, f"{counted(self.met, 'document')} with status {wanted}")

    def _is_meant(self, url: str) -> bool:
        return self.gate.url is None or fnmatchcase(url, self.gate.url.replace("[", "[[]"))


def _nothing(unseen: Unseen, message: str) -> Found:
    """Return a passing reading, unless some actions were not observed."""
    if unseen.count:
        return Found(passed=None, observed=[], message=str(unseen))
    return Found(passed=True, observed=[], message=message)
