"""Keep the sources of digests, so that digests can be recomputed when a secret is found later."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.network.keys import request_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.secrets.redaction import Redactor


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    body: bytes | None = field(repr=False)
    content_type: str | None


class DigestSources:
    """Texts behind the digests of a recording; in memory only."""

    def __init__(self) -> None:
        """Start empty."""
        self._requests: dict[str, _Request] = {}
        self._stored_values: dict[str, str] = {}
        self.late_bodies: Mapping[bytes, bytes | None] = {}
        """Bodies by the tokens that stood for them in keys; None if they are lost."""

    def note_request(self, key: str, method: str, url: str, body: bytes | None, content_type: str | None) -> None:
        """Keep the source of a request key; without a body, the key itself contains the source."""
        if body:
            self._requests[key] = _Request(method, url, body, content_type)

    def note_stored(self, digest: str, value: str) -> None:
        """Keep the source of the digest of a stored item."""
        self._stored_values[digest] = value

    def changed_digests(self, redactor: Redactor) -> dict[str, str]:
        """Return new digests and keys by the written ones, given everything known now."""
        keys = {key: _redacted_key(each, redactor, self.late_bodies) for key, each in self._requests.items()}
        digests = {digest: storage_digest(redactor.redact_text(value)) for digest, value in self._stored_values.items()}
        return {old: new for old, new in {**keys, **digests}.items() if old != new}


def storage_digest(value: str) -> str:
    """Return the digest of a redacted storage value."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def _redacted_key(request: _Request, redactor: Redactor, late_bodies: Mapping[bytes, bytes | None]) -> str:
    sent = None if request.body is None else late_bodies.get(request.body, request.body)
    body = None if sent is None else redactor.redact_key_bytes(sent)
    return request_key(request.method, redactor.redact_text(request.url), body, request.content_type)
