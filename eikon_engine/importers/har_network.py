"""Read a HAR file of any program as recorded exchanges; files exported by Eikon are restored exactly."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import ValidationError

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.models import field_error
from eikon_engine.importers.har_entry import EIKON_FIELD, HarEntry, entry_error, read_entry
from eikon_engine.importers.har_file import open_har
from eikon_engine.network.exchange import Exchange, Hop, Piece, RecordedRequest, RecordedResponse
from eikon_engine.network.keys import request_key, unpack_body
from eikon_engine.network.store import NetworkRecording, NetworkWriter, UsedNumbers, read_network
from eikon_engine.secrets.redaction import Redactor, strip_encodings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.importers.har_file import HarFile, HarNode
    from eikon_engine.network.exchange import HeaderPairs


def group_own_entries(entries: tuple[HarNode, ...]) -> tuple[tuple[HarNode, ...], ...] | None:
    """Group the entries by exchange; None if Eikon did not write all of them."""
    if any(EIKON_FIELD not in node.value for node in entries):
        return None
    groups: dict[int, list[HarNode]] = {}
    for node in entries:
        ours = node.node(EIKON_FIELD)
        ordinal = _integer(ours, "ordinal")
        group = groups.setdefault(ordinal, [])
        if group and "key" in ours.value:
            message = (
                f"{ours.source}: {ours.path}.ordinal: {ordinal} is already used by {group[0].path}. "
                f"Make it unique, or remove {EIKON_FIELD} from every entry to read the file as any other HAR."
            )
            raise TraceFieldError(message)
        group.append(node)
    return tuple(tuple(groups[ordinal]) for ordinal in sorted(groups))


def read_own_exchange(entries: tuple[HarEntry, ...], writer: NetworkWriter) -> Exchange:
    """Rebuild the exported exchange, and write its bodies.

    Raises:
        TraceFieldError: the entries were edited and no longer form a valid exchange.
    """
    first, last = entries[0], entries[-1]
    ours = first.node.node(EIKON_FIELD)
    is_navigation = ours.value.get("is_navigation")
    if not isinstance(is_navigation, bool):
        raise field_error(ours.source, f"{ours.path}.is_navigation", "true or false", is_navigation)
    try:
        pieces = tuple(Piece.model_validate_json(json.dumps(each.value)) for each in ours.nodes("pieces"))
        return Exchange(
            ordinal=_integer(ours, "ordinal"),
            key=ours.text("key"),
            occurrence=_integer(ours, "occurrence"),
            request=RecordedRequest(
                method=first.method,
                url=first.url,
                headers=first.headers,
                body=_write_blob(writer, first.read_request_body().data),
                resource_type=first.node.text("_resourceType"),
                is_navigation=is_navigation,
                frame=ours.text("frame"),
            ),
            hops=tuple(_read_hop(entry, then) for entry, then in pairwise(entries)),
            response=_read_response(last, ours, writer) if last.status is not None else None,
            failure=last.error or (ours.optional_text("broke_off") if pieces else None),
            started_ms=ours.number("started_ms"),
            started_phase=_integer(ours, "started_phase") if ours.value.get("started_phase") is not None else 0,
            completed_ms=ours.optional_number("completed_ms"),
            completion=_integer(ours, "completion") if ours.value.get("completion") is not None else None,
            phase=_integer(ours, "phase"),
            pieces=pieces,
        )
    except ValidationError as error:
        raise entry_error(first.node, error) from error


def _read_hop(entry: HarEntry, then: HarEntry) -> Hop:
    try:
        return Hop(url=entry.url, status=entry.status or 0, headers=entry.response_headers)
    except ValidationError as error:
        expected = f"a redirect (300 to 399), since {then.node.path} continues it with the same {EIKON_FIELD}.ordinal"
        raise field_error(entry.node.source, f"{entry.node.path}.response.status", expected, entry.status) from error


def _read_response(last: HarEntry, ours: HarNode, writer: NetworkWriter) -> RecordedResponse:
    missing = ours.optional_text("body_missing")
    return RecordedResponse(
        url=last.url,
        status=last.status or 0,
        status_text=last.status_text,
        headers=last.response_headers,
        body=_write_blob(writer, last.read_response_body().data) if missing is None else None,
        body_missing=missing,
    )


def _write_blob(writer: NetworkWriter, data: bytes | None) -> BlobRef | None:
    return writer.write_blob(data) if data is not None else None


def _integer(node: HarNode, name: str) -> int:
    number = node.number(name)
    if number != int(number):
        raise field_error(node.source, f"{node.path}.{name}", "a whole number", number)
    return int(number)


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
        TraceError: the file does not exist.
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
        sent = None if not given.data else self.redactor.redact_bytes(unpack_body(given.data) or b"")
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
