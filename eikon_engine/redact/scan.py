"""Scan the files of a bundle or run for missed secrets."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import zstandard

from eikon_engine.errors import EikonError, TraceError, UsageError
from eikon_engine.files.limits import MAX_BLOB_BYTES, parse_json, read_document, read_file, require_size
from eikon_engine.redact.secret_detector import secret_parts
from eikon_engine.secrets.detection import MIN_PASSWORD_LENGTH, MIN_SECRET_LENGTH, is_short
from eikon_engine.secrets.names import is_password_name, is_secret_field
from eikon_engine.secrets.search import AUTHORIZATION_HEADERS, RedactionRules, SecretMatch, SecretSearch
from eikon_engine.secrets.stand_ins import alone_pattern, looks_like_stand_in
from eikon_engine.secrets.token_formats import find_tokens
from eikon_engine.trace.trace_file import find_trace_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue


def unpacked_files(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield each file below a folder with its decompressed content, sorted by path; symbolic links are skipped.

    Raises:
        TraceError: a file cannot be read, or is too large.
    """
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            content = read_file(path, root=root, limit=MAX_BLOB_BYTES)
            if path.suffix == ".zst":
                content = _decompress(content, str(path))
        except (OSError, ValueError, zstandard.ZstdError) as error:
            reason = (str(error).splitlines() or ["unknown reason"])[0]
            message = f"{path}: cannot read the file: {reason}; restore it"
            raise TraceError(message, code="attachment-corrupt") from error
        yield path, content


def find_in_files(root: Path, needles: set[bytes]) -> set[bytes]:
    """Return the needles that occur in a file below a folder, blobs decompressed; short ones where they stand alone."""
    left, present = {each for each in needles if each}, set()
    for _, content in unpacked_files(root):
        found = {each for each in left if _occurs(each, content)}
        present |= found
        left -= found
    return present


def _occurs(needle: bytes, content: bytes) -> bool:
    text = needle.decode("utf-8", "replace")
    return needle in content and (not is_short(text) or re.search(alone_pattern(text).encode(), content) is not None)


def _decompress(content: bytes, source: str) -> bytes:
    require_size(zstandard.frame_content_size(content), MAX_BLOB_BYTES, source)
    return zstandard.ZstdDecompressor().decompress(content, max_output_size=MAX_BLOB_BYTES)


_OUTCOME_FILE: Final = "outcome.json"
MARKER_FILES: Final = ("trace.json", "journal.jsonl", _OUTCOME_FILE, "events.jsonl")
"""Every bundle and every run folder has one of these."""
BINARY_SIGNATURES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"wOFF", b"wOF2", b"PK\x03\x04", b"\x1f\x8b")
_EXCERPT_LENGTH: Final = 2
_BASE64: Final = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{40,65536}={0,2}")
_PLACEHOLDER: Final = re.compile(r"\{\{eikon-secret:[^{}]*\}\}")
_DEFAULT_RULES: Final = RedactionRules()
_HEADER: Final = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectedSecret:
    """A value that may be a secret."""

    path: str
    """Path of the file relative to the folder, with forward slashes."""
    position: str
    """Position in the decompressed file: line and character, from 1."""
    kind: str
    name: str
    excerpt: str
    """First characters and length, never the value."""

    def __str__(self) -> str:
        """Return the report line."""
        return f"{self.path}: {self.position}: {self.kind} {self.name}: {self.excerpt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowRule:
    """A kind of finding that is known to be harmless."""

    kind: str
    name: str
    """`*` matches any text."""

    def matches(self, suspicion: SuspectedSecret) -> bool:
        """Return whether the rule applies to a finding."""
        pattern = ".*".join(map(re.escape, self.name.split("*")))
        return self.kind in {"*", suspicion.kind} and re.fullmatch(pattern, suspicion.name) is not None


def parse_allow_rules(text: str, source: str) -> tuple[AllowRule, ...]:
    """Parse allow rules: `KIND NAME` per line; lines that start with `#` are comments.

    Raises:
        UsageError: a line is malformed.
    """
    allowed = []
    for number, line in enumerate(text.splitlines(), start=1):
        kind, _, name = line.split(" #", 1)[0].strip().partition(" ")
        if not kind or kind.startswith("#"):
            continue
        if not name.strip():
            message = f"{source}, line {number}: expected KIND NAME, got {line.strip()!r}; see docs/redaction.md"
            raise UsageError(message)
        allowed.append(AllowRule(kind=kind, name=name.strip()))
    return tuple(allowed)


def scan_folder(root: Path, allow_rules: tuple[AllowRule, ...]) -> tuple[SuspectedSecret, ...]:
    """Scan all files of a bundle or run, blobs decompressed; images are not scanned.

    Raises:
        TraceError: the folder is neither a bundle nor a run; a file cannot be read.
    """
    if not any((root / name).is_file() for name in MARKER_FILES):
        message = f"{root}: neither a bundle nor a run folder; pass the folder that contains trace.json"
        raise TraceError(message, code="trace-missing")
    files = [(path.relative_to(root).as_posix(), content) for path, content in unpacked_files(root)]
    known = frozenset(
        each for content in (*dict(files).values(), _replayed_trace(root)) for each in _stand_ins(content)
    )
    found = (each for path, content in files for each in _scan_file(path, content, known))
    return tuple(each for each in dict.fromkeys(found) if not any(one.matches(each) for one in allow_rules))


def _replayed_trace(root: Path) -> bytes:
    """Return the trace that a run replayed, whose stand-ins its files have; nothing if there is none."""
    try:
        outcome = parse_json(read_document(root / _OUTCOME_FILE, root=root))
        bundle = Path(str(outcome.get("trace_path"))) if isinstance(outcome, dict) else root
        file = find_trace_file(bundle)
        return read_document(file, root=file.parent)
    except (OSError, ValueError, EikonError):
        return b""


def _stand_ins(content: bytes) -> Iterator[str]:
    """Yield the stand-ins listed in a trace: short ones cannot be recognized by their shape."""
    if b'"stand_in"' in content:
        yield from re.findall(r'"stand_in":\s*"([^"\\]+)"', content.decode("utf-8", "replace"))


def _scan_file(path: str, content: bytes, known: frozenset[str]) -> Iterator[SuspectedSecret]:
    if content.startswith(BINARY_SIGNATURES):
        return
    text = _PLACEHOLDER.sub("", content.decode("utf-8", "replace"))
    seen: set[str] = set()
    for finding in _matches_in_file(path, text):
        for segment in _suspicious_segments(finding, known):
            if segment in seen:
                continue
            seen.add(segment)
            yield _describe(path, text, finding, segment)


def _describe(path: str, text: str, match: SecretMatch, segment: str) -> SuspectedSecret:
    kind = match.kind
    if is_password_name(match.name):
        kind = "password"  # type: ignore[assignment] # a kind of suspicions, not of findings
    offset = text.find(segment)
    line = text.count("\n", 0, max(0, offset)) + 1
    place = f"line {line}, character {offset - text.rfind(chr(10), 0, offset)}" if offset >= 0 else "inside base64"
    excerpt = f"{segment[:_EXCERPT_LENGTH]}… ({len(segment)} characters)"
    return SuspectedSecret(path=path, position=place, kind=kind, name=match.name, excerpt=excerpt)


def _suspicious_segments(match: SecretMatch, known: frozenset[str]) -> Iterator[str]:
    """Yield what redaction replaces and no stand-in is."""
    long = tuple(each for each in known if len(each) >= MIN_SECRET_LENGTH)
    for part in secret_parts(match, _DEFAULT_RULES):
        each = part.text
        if not looks_like_stand_in(each) and each not in known and not any(one in each for one in long):
            yield each


def _matches_in_file(path: str, text: str) -> Iterator[SecretMatch]:
    discover = SecretSearch(_DEFAULT_RULES)
    yield from discover.in_text(text)
    if "=" in text and "\n" not in text.strip() and len(text) < 1 << 16:
        yield from discover.in_url(f"?{text}")  # form data
    for line in text.splitlines() if path.endswith(".jsonl") else (text,):
        if line[:1] in {"{", "["}:
            yield from _in_json(discover, line)
    yield from _in_base64(text)


def _in_json(discover: SecretSearch, text: str) -> Iterator[SecretMatch]:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            if len(each) == 2 and all(isinstance(part, str) for part in each):  # noqa: PLR2004 - a pair
                yield from _in_header(discover, str(each[0]), str(each[1]))
            waiting.extend(each)
        elif isinstance(each, dict):
            yield from _in_object(discover, each)
            waiting.extend(each.values())
        elif isinstance(each, str) and "://" in each:
            yield from discover.in_url(each)


def _in_header(discover: SecretSearch, name: str, value: str) -> Iterator[SecretMatch]:
    if name.lower() in AUTHORIZATION_HEADERS:
        credentials = value.partition(" ")[2] or value
        yield SecretMatch(kind="header", name=name, value=credentials, is_unreadable_by_pages=True)
    elif _HEADER.fullmatch(name):
        yield from discover.in_headers([(name, value)])


def _in_object(discover: SecretSearch, value: dict[str, JsonValue]) -> Iterator[SecretMatch]:
    """Search storage state cookies, storage items, and text typed into password fields."""
    name, stored, text = value.get("name"), value.get("value"), value.get("text")
    if isinstance(name, str) and isinstance(stored, str):
        if "httpOnly" in value:
            yield from discover.in_cookie(name, stored, is_hidden=bool(value["httpOnly"]))
        else:
            yield from discover.in_storage(name, stored)
    if isinstance(text, str) and len(text) >= MIN_PASSWORD_LENGTH and _types_secret(value):
        yield SecretMatch(kind="body", name="typed password", value=text, is_typed_secret=True)


def _types_secret(action: dict[str, JsonValue]) -> bool:
    """Return whether an action types into a field for secrets."""
    target = action.get("target")
    if action.get("type") not in {"fill", "type", "set_value"}:
        return False
    identity = target.get("identity") if isinstance(target, dict) else None
    pairs = identity.get("attributes") if isinstance(identity, dict) else None
    if not isinstance(pairs, list):
        return is_password_name(json.dumps(target))
    return is_secret_field((str(each[0]), str(each[1])) for each in pairs if isinstance(each, list) and len(each) == 2)  # noqa: PLR2004 - a pair


def _in_base64(text: str) -> Iterator[SecretMatch]:
    for run in _BASE64.findall(text):
        try:
            inner = base64.b64decode(run.replace("-", "+").replace("_", "/") + "=" * (-len(run) % 4))
        except (binascii.Error, ValueError):
            continue
        if inner[:64].isascii():
            for token in find_tokens(inner.decode("utf-8", "replace")):
                yield SecretMatch(kind="token", name=f"{token.kind} in base64", value=token.secret, is_token=True)
