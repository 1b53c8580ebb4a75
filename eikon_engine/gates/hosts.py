"""The gate on hosts: which may be contacted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from eikon_engine.gates.meter import Found, Unseen
from eikon_engine.outcome.events import JournalLine, ObservationMade, RunEnd, ToolCall
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.gates.meter import ValueOf
    from eikon_engine.outcome.outcomes import NetworkOutcome

_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_ADDRESS: Final = re.compile(r"(?:https?|wss?)://[^\s]*", re.IGNORECASE)
_PATTERN: Final = re.compile(r"(\*\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(\d{1,5}))?", re.IGNORECASE)


def _host_pattern(text: str) -> str:
    if _PATTERN.fullmatch(text) is None:
        raise ValueError(f"expected HOST, HOST:PORT or *.HOST, got {text!r}; omit scheme and path")
    return text


class AllowedHosts(Record):
    """Only these hosts are contacted by pages or named in the arguments of tools."""

    gate: Literal["allowed_hosts"] = "allowed_hosts"
    hosts: tuple[Annotated[str, AfterValidator(_host_pattern)], ...] = Field(min_length=1)
    """`HOST`, on any port; `HOST:PORT`; `*.HOST` for its subdomains, at any depth, without itself."""
    shorthand: ClassVar[str] = "hosts"

    @property
    def limit(self) -> JsonValue:
        """The allowed hosts."""
        return list(self.hosts)

    def meter(self, value_of: ValueOf) -> _Hosts:
        """Start measuring."""
        return _Hosts(self, value_of)

    def allows(self, url: str) -> bool:
        """Return whether the host of an HTTP or WebSocket URL is allowed."""
        place = _host_and_port(url)
        return place is not None and any(_fits(pattern, *place) for pattern in self.hosts)


@dataclass(slots=True)
class _Hosts:
    gate: AllowedHosts
    value_of: ValueOf
    unseen: Unseen = field(default_factory=Unseen)
    strangers: dict[str, None] = field(default_factory=dict)
    """Contacted hosts that are not allowed, in order."""
    asked: int = 0

    def note(self, line: JournalLine) -> None:
        self.unseen.note(line.event)
        for url in self._addresses(line):
            self.asked += 1
            if not self.gate.allows(url):
                self.strangers[_shown(url)] = None

    def found(self) -> Found:
        strangers: JsonValue = list(self.strangers)
        if self.strangers:
            message = f"contacted {', '.join(self.strangers)}; allowed: {', '.join(self.gate.hosts)}"
            return Found(passed=False, observed=strangers, message=message)
        if self.unseen.count:
            return Found(passed=None, observed=strangers, message=str(self.unseen))
        return Found(passed=True, observed=strangers, message=f"{self.asked} URLs, all on allowed hosts")

    def _addresses(self, line: JournalLine) -> Iterator[str]:
        match line.event:
            case ObservationMade(observation=seen):
                yield from (url for key in (*seen.requests, *(seen.writes or ())) for url in _of_key(key))
                for document in seen.documents:
                    yield from _of_key(document.url)
                    yield from (url for hop in document.hops for url in _of_key(hop.url))
            case ToolCall(args=args):
                yield from _in_arguments(self.value_of(args))
            case RunEnd(network=network) if network is not None:
                yield from _at_the_end(network)
            case _:
                pass


def _at_the_end(network: NetworkOutcome) -> Iterator[str]:
    """Yield URLs that no action observed, and requests that bypassed the routes."""
    for key in (*(miss.key for miss in network.misses), *network.unmatched):
        yield from _of_key(key)
    for each in network.failed or ():
        yield from _of_key(each.url)
    for violation in network.escapes:
        target = violation.target
        yield target if "://" in target else f"https://{target}"


def _of_key(text: str) -> Iterator[str]:
    """Find the URL in the key of a request: the first one, since later ones are part of its query."""
    found = _ADDRESS.search(text)
    if found is not None:
        yield found[0]


def _in_arguments(value: JsonValue) -> Iterator[str]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
        elif isinstance(each, str) and _ADDRESS.fullmatch(each.strip()):
            yield each.strip()


def _host_and_port(url: str) -> tuple[str, int] | None:
    """Return host and port of a URL; None if programs may parse it differently."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = (parts.hostname or "").rstrip(".")
    if not host or "\\" in parts.netloc or not parts.netloc.isprintable():
        return None
    return host.lower(), port if port is not None else _PORTS[parts.scheme.lower()]


def _fits(pattern: str, host: str, port: int) -> bool:
    found = _PATTERN.fullmatch(pattern)
    assert found is not None  # noqa: S101 - checked by the validator
    below, name, wanted = found[1], found[2].strip("[]").lower(), found[3]
    fits = host.endswith(f".{name}") if below else host == name
    return fits and (wanted is None or int(wanted) == port)


def _shown(url: str) -> str:
    place = _host_and_port(url)
    if place is None:
        return url
    host, port = place
    return host if port in (80, 443) else f"{host}:{port}"
