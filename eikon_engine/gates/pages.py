"""Gates on pages: console errors, failed requests, statuses of documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from eikon_engine.files.models import FileModel
from eikon_engine.files.text import pluralize
from eikon_engine.gates.meter import GateReading, RunState, UnobservedActions
from eikon_engine.outcome.events import EventLine, ObservationMade

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.gates.meter import ResolveValue
    from eikon_engine.outcome.outcomes import FailedRequest

HttpStatus = Annotated[int, Field(ge=100, le=999)]


class NoConsoleErrors(FileModel):
    """No page has a console error or an uncaught exception."""

    gate: Literal["no_console_errors"] = "no_console_errors"
    limit: Literal[True] = True
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _ConsoleErrorMeter:
        """Start measuring."""
        return _ConsoleErrorMeter()


class NoFailedRequests(FileModel):
    """No request of a page fails or has a status of 400 or above."""

    gate: Literal["no_failed_requests"] = "no_failed_requests"
    limit: Literal[True] = True
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _FailedRequestMeter:
        """Start measuring."""
        return _FailedRequestMeter()


class ExpectStatus(FileModel):
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

    def meter(self, _value_of: ResolveValue) -> _StatusMeter:
        """Start measuring."""
        return _StatusMeter(self)


@dataclass(slots=True)
class _ConsoleErrorMeter:
    unseen: UnobservedActions = field(default_factory=UnobservedActions)
    errors: list[str] = field(default_factory=list)

    def process(self, line: EventLine) -> None:
        self.unseen.process(line.event)
        if isinstance(line.event, ObservationMade):
            seen = line.event.observation
            self.errors.extend((*seen.console_errors, *seen.page_errors))

    def reading(self) -> GateReading:
        if self.errors:
            message = f"{pluralize(len(self.errors), 'error')}, first {self.errors[0]!r}; none are allowed"
            return GateReading(passed=False, observed=list(self.errors), message=message)
        return _passed_if_observed(self.unseen, "no errors")


@dataclass(slots=True)
class _FailedRequestMeter:
    run: RunState = field(default_factory=RunState)
    unseen: UnobservedActions = field(default_factory=UnobservedActions)
    failed: list[FailedRequest] = field(default_factory=list)
    unreported: int = 0
    """Observations without information about failed requests."""

    def process(self, line: EventLine) -> None:
        self.run.process(line.event)
        self.unseen.process(line.event)
        if isinstance(line.event, ObservationMade):
            self.failed.extend(line.event.failed or ())
            self.unreported += line.event.failed is None

    def reading(self) -> GateReading:
        whole = self.run.end.network.failed if self.run.end and self.run.end.network else None
        failed = list(whole) if whole is not None else self.failed
        if failed:
            message = f"{pluralize(len(failed), 'request')} failed, first {failed[0]}; none are allowed"
            return GateReading(passed=False, observed=[str(each) for each in failed], message=message)
        if whole is None and (self.unreported or self.unseen.count):
            return GateReading(passed=None, observed=None, message="failed requests were not recorded")
        return GateReading(passed=True, observed=[], message="no request failed")


@dataclass(slots=True)
class _StatusMeter:
    gate: ExpectStatus
    unseen: UnobservedActions = field(default_factory=UnobservedActions)
    matching: int = 0
    wrong: list[str] = field(default_factory=list)

    def process(self, line: EventLine) -> None:
        self.unseen.process(line.event)
        if not isinstance(line.event, ObservationMade):
            return
        for document in line.event.observation.documents:
            if document.status is None or not self._applies_to(document.url):
                continue
            if document.status in self.gate.statuses:
                self.matching += 1
            else:
                self.wrong.append(f"{document.url}: {document.status}")

    def reading(self) -> GateReading:
        expected = ", ".join(map(str, self.gate.statuses))
        if self.wrong:
            message = f"{self.wrong[0]}, expected {expected}"
            return GateReading(passed=False, observed=list(self.wrong), message=message)
        if not self.matching:
            which = "" if self.gate.url is None else f" at {self.gate.url}"
            return GateReading(passed=None, observed=[], message=f"no document{which} was loaded")
        return _passed_if_observed(self.unseen, f"{pluralize(self.matching, 'document')} with status {expected}")

    def _applies_to(self, url: str) -> bool:
        return self.gate.url is None or fnmatchcase(url, self.gate.url.replace("[", "[[]"))


def _passed_if_observed(unseen: UnobservedActions, message: str) -> GateReading:
    """Return a passing reading, unless some actions were not observed."""
    if unseen.count:
        return GateReading(passed=None, observed=[], message=str(unseen))
    return GateReading(passed=True, observed=[], message=message)
