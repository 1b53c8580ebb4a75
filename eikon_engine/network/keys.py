"""Keys of requests: two requests with the same key are the same request.

The key is `METHOD URL`, followed by ` sha256:<digest>` of the canonical body if there is one. Only differences that
cannot affect the response are normalized: the order of JSON keys, the boundary of a multipart body, the fragment.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import dataclass
from typing import Final

BODY_MARK: Final = " sha256:"
BOUNDARY: Final = b"eikon-boundary"
CANONICAL_JSON_LIMIT: Final = 1024 * 1024
"""Larger JSON bodies, in bytes, are not normalized: pages do not reorder such bodies, and it would be slow."""
MAX_UNPACKED_BYTES: Final = 10_000_000
"""Size above which a compressed body is kept as it is."""
_ANY_FORMAT: Final = zlib.MAX_WBITS | 32
"""Parameter of zlib that detects the formats of RFC 1950 and RFC 1952."""

_NORMALIZED_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"})
"""https://fetch.spec.whatwg.org/#concept-method-normalize: `patch` and `PATCH` are different methods."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?", re.DOTALL)
"""RFC 3986, appendix B, for URLs with an authority and without the fragment."""
_AUTHORITY: Final = re.compile(r"((?:.*@)?)(\[[^\]]*\]|[^:@]*)(?::([0-9]*))?", re.DOTALL)

_BOUNDARY_PARAMETER: Final = re.compile(r";\s*boundary=(?:\"([^\"]*)\"|([^;\s\"]*))", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalRequest:
    """The parts of a request that determine its key, in canonical form."""

    method: str
    url: str
    body: bytes | None
    """Canonical body; None if there is none or it is empty."""
    media_type: str
    """Lower-case media type of the body, without parameters. Needed to parse the body; not part of the key."""

    @property
    def key(self) -> str:
        """Return the key under which the request is recorded and looked up."""
        digest = "" if self.body is None else BODY_MARK + hashlib.sha256(self.body).hexdigest()
        return f"{self.method} {self.url}{digest}"


class _Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


class _NotCanonicalError(ValueError):
    """The JSON is ambiguous."""


def request_key(method: str, url: str, body: bytes | None, content_type: str | None) -> str:
    """Return the key of a request; `content_type` is the whole header value."""
    return canonical_request(method, url, body, content_type).key


def readable_key(key: str) -> str:
    """Return a key for people: method and URL, without the digest of the body."""
    return key.partition(BODY_MARK)[0]


def unpack_body(body: bytes | None) -> bytes | None:
    """Return a body that a script compressed (gzip or zlib) as it was before, so that it is compared and redacted."""
    if body is None or not body.startswith((b"\x1f\x8b", b"\x78")):
        return body
    unpacker = zlib.decompressobj(_ANY_FORMAT)
    try:
        plain = unpacker.decompress(body, MAX_UNPACKED_BYTES)
    except zlib.error:
        return body
    return plain if unpacker.eof and not unpacker.unused_data else body


def canonical_request(method: str, url: str, body: bytes | None, content_type: str | None) -> CanonicalRequest:
    """Return the canonical form of a request."""
    media_type, boundary = _read_content_type(content_type)
    return CanonicalRequest(
        method=canonical_method(method),
        url=canonical_url(url),
        body=_canonical_body(body, media_type, boundary) if body else None,
        media_type=media_type,
    )


def canonical_method(method: str) -> str:
    """Return the method as a browser sends it."""
    upper = method.upper()
    return upper if upper in _NORMALIZED_METHODS else method


def canonical_url(url: str) -> str:
    """Remove the fragment and the default port, lower-case scheme and host, and replace an empty path with `/`."""
    plain = url.partition("#")[0].replace(" ", "%20")
    parts = _URL.fullmatch(plain)
    if parts is None:
        return plain
    scheme, authority, path, query = parts[1].lower(), parts[2], parts[3], parts[4] or ""
    return f"{scheme}://{_canonical_authority(scheme, authority)}{path or '/'}{query}"


def is_json(media_type: str) -> bool:
    """Return whether a media type (lower-case, no parameters) is JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


def read_json(body: bytes) -> object:
    """Parse JSON for `write_json`, keeping numbers as they were written.

    Raises:
        ValueError: the body is not JSON in UTF-8, or has a duplicate key.
        RecursionError: the JSON is nested too deeply.
    """
    value: object = json.loads(
        body.decode("utf-8"),
        parse_int=_Number,
        parse_float=_Number,
        parse_constant=_refuse_constant,
        object_pairs_hook=_unique_pairs,
    )
    return value


def write_json(value: object) -> bytes:
    """Serialize a value of `read_json` with sorted keys, without spaces, in ASCII."""
    return _write_json(value).encode("ascii")


def _canonical_authority(scheme: str, authority: str) -> str:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        return authority
    user, host, port = parts[1], parts[2].lower(), parts[3] or ""
    return f"{user}{host}:{port}" if port not in {"", _DEFAULT_PORTS.get(scheme)} else f"{user}{host}"


def _read_content_type(content_type: str | None) -> tuple[str, str]:
    """Return the media type and the boundary of a header value, empty if absent."""
    if not content_type:
        return "", ""
    media_type = content_type.partition(";")[0].strip().lower()
    found = _BOUNDARY_PARAMETER.search(content_type) if media_type.startswith("multipart/") else None
    return media_type, (found[1] or found[2] or "") if found else ""


def _canonical_body(body: bytes, media_type: str, boundary: str) -> bytes:
    if boundary:
        return _rename_boundary(body, boundary)
    if is_json(media_type) and len(body) <= CANONICAL_JSON_LIMIT:
        return _canonical_json(body)
    return body


def _rename_boundary(body: bytes, boundary: str) -> bytes:
    delimiter = re.escape(b"--" + boundary.encode("utf-8", "surrogateescape"))
    return re.sub(rb"(\A|\r\n)" + delimiter + rb"(?=--|[ \t]*\r\n)", rb"\1--" + BOUNDARY, body)


def _canonical_json(body: bytes) -> bytes:
    """Sort keys and remove spaces; invalid JSON and JSON with duplicate keys are returned unchanged."""
    try:
        return write_json(read_json(body))
    except (ValueError, RecursionError):
        return body


def _refuse_constant(constant: str) -> object:
    raise _NotCanonicalError(constant)


def _unique_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NotCanonicalError
    return members


def _write_json(value: object) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{_write_json(value[name])}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write_json, value)) + "]"
    return json.dumps(value)
