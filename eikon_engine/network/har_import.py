"""Read a HAR file of any program as recorded exchanges."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import ValidationError

from eikon_engine.network.exchange import Exchange, Hop, RecordedRequest, RecordedResponse
from eikon_engine.network.har_entry import EIKON_FIELD, HarEntry, entry_error, read_entry
from eikon_engine.network.har_file import open_har
from eikon_engine.network.har_ours import group_own_entries, read_own_exchange
from eikon_engine.network.keys import request_key
from eikon_engine.network.places import UsedNumbers
from eikon_engine.network.store import NetworkRecording, NetworkWriter, read_network
from eikon_engine.trace.redaction import Redactor, strip_encodings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from eikon_engine.network.exchange import HeaderPairs
    from eikon_engine.network.har_file import HarFile
    from eikon_engine.network.har_node import HarNode
    from eikon_engine.trace.blobs import BlobRef

LOCAL_SCHEMES: Final = ("data:", "blob:", "about:", "chrome-extension:")
WEBSOCKET_SCHEMES: Final = ("ws:", "wss:")
PREFLIGHT_TYPE: Final = "preflight"
"""Requests that the browser sends itself, and answers itself in a sealed replay."""
NOT_MODIFIED: Final = 304
MomentConverter: TypeAlias = "Callable[[float], tuple[int, float]]"
"""Return phase and page time, see `Moment`, of a time in milliseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarImport:
    """A recording created from a HAR, with warnings about what could not be imported."""

    recording: NetworkRecording
    warnings: tuple[str, ...]


def import_har(
    path: Path, folder: Path, redactor: Redactor | None = None, *, moment_of: MomentConverter | None = None
) -> HarImport:
    """Write the exchanges of a HAR to a new network part in `folder`, and read it.

    `path` is a `.har` file, with or without attached bodies, or a `.zip` with both. `redactor` replaces secret values,
    as in recordings. A HAR exported by Eikon contains none and is read unchanged, with its moments. For any other HAR,
    `moment_of` converts times; without it, only the order of responses is known.

    Raises:
        TraceMissingError: the file does not exist.
        TraceSyntaxError: the file is not JSON or not a complete archive.
        TraceFieldError: the file is not a HAR; the message has the index of the entry, from 0.
        BundlePathError: an attached file is outside the folder of the HAR.
        OutputError: `folder` cannot be written.
    """
    with open_har(path) as har, NetworkWriter(folder) as writer:
        ours = group_own_entries(har.entries)
        if ours is not None:
            places = UsedNumbers()  # the writer's errors would name its own file, which is deleted on failure
            for nodes in ours:
                entries = tuple(read_entry(node, har.read_attachment) for node in nodes)
                exchange = read_own_exchange(entries, writer)
                places.claim_exchange(exchange, f"{nodes[0].source}: {nodes[0].path}.{EIKON_FIELD}")
                writer.append(exchange)
            warnings: tuple[str, ...] = ()
        else:
            warnings = _write_foreign(har, writer, redactor, moment_of)
    return HarImport(recording=read_network(folder), warnings=warnings)


def import_entries(
    har: HarFile, folder: Path, redactor: Redactor | None = None, *, moment_of: MomentConverter | None = None
) -> HarImport:
    """Write the exchanges of a HAR of another program to a new network part in `folder`, and read it.

    `moment_of`: see `import_har`.

    Raises:
        TraceFieldError: an entry is invalid; the message has its index.
        OutputError: `folder` cannot be written.
    """
    with NetworkWriter(folder) as writer:
        warnings = _write_foreign(har, writer, redactor, moment_of)
    return HarImport(recording=read_network(folder), warnings=warnings)


def _write_foreign(
    har: HarFile, writer: NetworkWriter, redactor: Redactor | None, moment_of: MomentConverter | None
) -> tuple[str, ...]:
    reading = _ForeignHarWriter(writer=writer, redactor=redactor or Redactor({}), moment_of=moment_of)
    kept = [read_entry(node, har.read_attachment) for node in har.entries if reading.should_import(node)]
    reading.write(group_redirects(kept))
    return tuple(reading.warnings)


def group_redirects(entries: Iterable[HarEntry]) -> tuple[tuple[HarEntry, ...], ...]:
    """Group redirects with the requests that they led to, in the order of the file."""
    ordered = tuple(entries)
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for place in reversed(range(len(ordered))):
        waiting[_without_fragment(ordered[place].url)].append(place)
    taken: set[int] = set()
    found = []
    for place, first in enumerate(ordered):
        if place in taken:
            continue
        chain, last, at = [first], first, place
        while last.redirect is not None:
            later = [each for each in waiting[_without_fragment(last.redirect)] if each > at and each not in taken]
            if not later:
                break
            at = later[-1]
            last = ordered[at]
            taken.add(at)
            chain.append(last)
        found.append(tuple(chain))
    return tuple(found)


@dataclass(slots=True, kw_only=True)
class _ForeignHarWriter:
    """Convert chains of entries to exchanges, and collect warnings."""

    writer: NetworkWriter
    redactor: Redactor
    moment_of: MomentConverter | None = None
    warnings: list[str] = field(default_factory=list)
    occurrences: Counter[str] = field(default_factory=Counter)

    def should_import(self, node: HarNode) -> bool:
        """Return whether an entry is an HTTP exchange; add a warning for WebSockets."""
        url = node.node("request").text("url")
        kind = (node.optional_text("_resourceType") or "").lower()
        if "_webSocketMessages" in node.value or kind == "websocket" or url.lower().startswith(WEBSOCKET_SCHEMES):
            shown = self.redactor.redact_text(url)
            self.warnings.append(f"{node.source}: {node.path} is the WebSocket {shown}; its messages are not imported")
            return False
        return kind != PREFLIGHT_TYPE and not url.lower().startswith(LOCAL_SCHEMES)

    def write(self, found: Iterable[tuple[HarEntry, ...]]) -> None:
        """Write the chains, numbered in the order of their start and of their end."""
        ordered = sorted(found, key=lambda chain: chain[0].started_ms)
        begin = ordered[0][0].started_ms if ordered else 0.0
        moment_of = self.moment_of or (lambda at_ms: (0, at_ms - begin))
        ended = [chain for chain in ordered if not _is_pending(chain[-1])]
        ended.sort(key=_end_ms)
        completions = {id(chain): place for place, chain in enumerate(ended)}
        for ordinal, chain in enumerate(ordered):
            completion = completions.get(id(chain))
            try:
                self.writer.append(self._exchange(chain, ordinal, completion, moment_of))
            except ValidationError as error:
                raise entry_error(chain[0].node, error) from error

    def _exchange(
        self, chain: tuple[HarEntry, ...], ordinal: int, completion: int | None, moment_of: MomentConverter
    ) -> Exchange:
        first, last = chain[0], chain[-1]
        redact = self.redactor.redact_text
        given = first.read_request_body()
        sent = None if not given.data else self.redactor.redact_bytes(given.data)
        if given.missing is not None:
            self._warn(first, f"{given.missing}, so no request with a body can match it")
        key_body = strip_encodings(sent) if sent is not None else None
        key = request_key(first.method, redact(first.url), key_body, first.content_type)
        self.occurrences[key] += 1
        _, started = moment_of(first.started_ms)
        phase, ended = moment_of(_end_ms(chain))
        hops = tuple(
            Hop(url=redact(hop.url), status=hop.status or 0, headers=self._headers(hop.response_headers))
            for hop in chain[:-1]
        )
        return Exchange(
            ordinal=ordinal,
            key=key,
            occurrence=self.occurrences[key] - 1,
            request=RecordedRequest(
                method=first.method,
                url=redact(first.url),
                headers=self._headers(first.headers),
                body=self._blob(sent),
                resource_type=first.resource_type,
                is_navigation=first.is_navigation,
            ),
            hops=hops,
            response=self._response(last),
            failure=last.error,
            started_ms=started,
            completed_ms=None if completion is None else max(ended, started),
            completion=completion,
            phase=phase,
        )

    def _response(self, last: HarEntry) -> RecordedResponse | None:
        if last.status is None:
            return None
        content = last.read_response_body()
        missing = content.missing
        if last.became_download:
            self._warn(last, "its download is not in the HAR; an empty file is used instead")
        if last.redirect is not None:
            missing = f"the HAR has no entry for the redirect target {self.redactor.redact_text(last.redirect)}"
        if missing is not None:
            self._warn(last, missing)
        if last.status == NOT_MODIFIED:
            self._warn(last, "it was served from the browser's cache, which a replay does not have")
        data = content.data if missing is None else None
        return RecordedResponse(
            url=self.redactor.redact_text(last.url),
            status=last.status,
            status_text=last.status_text,
            headers=self._headers(last.response_headers),
            body=self._blob(None if data is None else self.redactor.redact_bytes(data)),
            body_missing=missing,
        )

    def _headers(self, headers: HeaderPairs) -> HeaderPairs:
        return tuple((name.lower(), self.redactor.redact_text(value)) for name, value in headers)

    def _blob(self, data: bytes | None) -> BlobRef | None:
        return self.writer.write_blob(data) if data is not None else None

    def _warn(self, entry: HarEntry, what: str) -> None:
        node = entry.node
        self.warnings.append(
            f"{node.source}: {node.path} ({entry.method} {self.redactor.redact_text(entry.url)}): {what}"
        )


def _is_pending(last: HarEntry) -> bool:
    return last.status is None and last.error is None


def _end_ms(chain: tuple[HarEntry, ...]) -> float:
    return chain[-1].started_ms + chain[-1].time_ms


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]
