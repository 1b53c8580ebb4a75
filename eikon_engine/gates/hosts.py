"""The gate on hosts: which may be contacted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from eikon_engine.files.models import FileModel
from eikon_engine.gates.meter import GateReading, UnobservedActions
from eikon_engine.outcome.events import EventLine, ObservationMade, RunEnd, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.gates.meter import ResolveValue
    from eikon_engine.outcome.outcomes import NetworkOutcome

_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_URL: Final = re.compile(r"(?:https?|wss?)://[^\s]*", re.IGNORECASE)
_PATTERN: Final = re.compile(r"(\*\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(\d{1,5}))?", re.IGNORECASE)


def _host_pattern(text: str) -> str:
    if _PATTERN.fullmatch(text) is None:
        raise ValueError(f"expected HOST, HOST:PORT or *.HOST, got {text!r}; omit scheme and path")
    return text


class AllowedHosts(FileModel):
    """Only these hosts are contacted by pages or named in the arguments of tools."""

    gate: Literal["allowed_hosts"] = "allowed_hosts"
    hosts: tuple[Annotated[str, AfterValidator(_host_pattern)], ...] = Field(min_length=1)
    """`HOST`, on any port; `HOST:PORT`; `*.HOST` for its subdomains, at any depth, without itself."""
    shorthand: ClassVar[str] = "hosts"

    @property
    def limit(self) -> JsonValue:
        """The allowed hosts."""
        return list(self.hosts)

    def meter(self, value_of: ResolveValue) -> _HostMeter:
        """Start measuring."""
        return _HostMeter(self, value_of)

    def allows(self, url: str) -> bool:
        """Return whether the host of an HTTP or WebSocket URL is allowed."""
        place = _host_and_port(url)
        return place is not None and any(_matches_pattern(pattern, *place) for pattern in self.hosts)


@dataclass(slots=True)
class _HostMeter:
    gate: AllowedHosts
    value_of: ResolveValue
    unseen: UnobservedActions = field(default_factory=UnobservedActions)
    disallowed: dict[str, None] = field(default_factory=dict)
    """Contacted hosts that are not allowed, in order."""
    contacted: int = 0

    def process(self, line: EventLine) -> None:
        self.unseen.process(line.event)
        for url in self._urls(line):
            self.contacted += 1
            if not self.gate.allows(url):
                self.disallowed[_display_host(url)] = None

    def reading(self) -> GateReading:
        disallowed_hosts: JsonValue = list(self.disallowed)
        if self.disallowed:
            message = f"contacted {', '.join(self.disallowed)}; allowed: {', '.join(self.gate.hosts)}"
            return GateReading(passed=False, observed=disallowed_hosts, message=message)
        if self.unseen.count:
            return GateReading(passed=None, observed=disallowed_hosts, message=str(self.unseen))
        return GateReading(
            passed=True, observed=disallowed_hosts, message=f"{self.contacted} URLs, all on allowed hosts"
        )

    def _urls(self, line: EventLine) -> Iterator[str]:
        match line.event:
            case ObservationMade(observation=seen):
                yield from (url for key in (*seen.requests, *(seen.writes or ())) for url in _url_in_key(key))
                for document in seen.documents:
                    yield from _url_in_key(document.url)
                    yield from (url for hop in document.hops for url in _url_in_key(hop.url))
            case ToolCall(args=args):
                yield from _urls_in_arguments(self.value_of(args))
            case RunEnd(network=network) if network is not None:
                yield from _urls_at_end(network)
            case _:
                pass


def _urls_at_end(network: NetworkOutcome) -> Iterator[str]:
    """Yield URLs that no action observed, and requests that bypassed the routes."""
    for key in (*(miss.key for miss in network.misses), *network.unmatched):
        yield from _url_in_key(key)
    for each in network.failed or ():
        yield from _url_in_key(each.url)
    for violation in network.page_violations:
        target = violation.target
        yield target if "://" in target else f"https://{target}"


def _url_in_key(text: str) -> Iterator[str]:
    """Find the URL in the key of a request: the first one, since later ones are part of its query."""
    found = _URL.search(text)
    if found is not None:
        yield found[0]


def _urls_in_arguments(value: JsonValue) -> Iterator[str]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
        elif isinstance(each, str) and _URL.fullmatch(each.strip()):
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


def _matches_pattern(pattern: str, host: str, port: int) -> bool:
    found = _PATTERN.fullmatch(pattern)
    assert found is not None  # noqa: S101 - checked by the validator
    below, name, expected = found[1], found[2].strip("[]").lower(), found[3]
    fits = host.endswith(f".{name}") if below else host == name
    return fits and (expected is None or int(expected) == port)


def _display_host(url: str) -> str:
    place = _host_and_port(url)
    if place is None:
        return url
    host, port = place
    return host if port in (80, 443) else f"{host}:{port}"
