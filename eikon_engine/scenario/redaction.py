"""Find and redact secrets in tool calls, fixtures and events (docs/redaction.md)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.limits import read_file
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.redact.secret_detector import SecretDetector
from eikon_engine.scenario.fixtures import (
    BLOBS_FOLDER,
    Fixture,
    args_hash,
    digested_text,
    fixture_name,
    parse_fixture_name,
    read_digested,
    restore_result,
    store_result,
)
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import RecordedStandIns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.scenario.fixtures import ToolResultValue
    from eikon_engine.secrets.redaction import FoundSecret
    from eikon_engine.secrets.search import RedactionRules


class SecretFinder:
    """Redact named secrets, and those found while a run is recorded."""

    def __init__(self, secrets: Mapping[str, str], rules: RedactionRules | None, key: bytes) -> None:
        """Find secrets by `rules`, none if None; `key` is random per recording and never stored."""
        self._found = None if rules is None else SecretDetector(rules, key)
        self.redactor = Redactor(secrets, None if self._found is None else self._found.stand_ins)

    @property
    def found(self) -> tuple[FoundSecret, ...]:
        """Return the found secrets, without their values."""
        return () if self._found is None else self._found.table

    def find_in(self, value: ToolResultValue | Mapping[str, JsonValue], *, made: bool) -> None:
        """Search all strings and bytes of a value."""
        if self._found is None:
            return
        discover = self._found.search
        texts, blobs = _split_bytes(value)
        self._found.add(discover.in_values("body", texts), by_page=made)
        self._found.add(discover.in_text(json.dumps(texts, ensure_ascii=False)), by_page=made)
        for blob in blobs:
            self._found.add(discover.in_body(blob, ""), by_page=made)


def _split_bytes(value: object) -> tuple[JsonValue, list[bytes]]:
    """Split a value into JSON without bytes, and the bytes."""
    blobs: list[bytes] = []

    def plain(each: Any) -> JsonValue:  # noqa: ANN401 - any argument or result of a tool
        match each:
            case bytes():
                blobs.append(each)
                return None
            case list():
                return [plain(one) for one in each]
            case dict():
                return {name: plain(one) for name, one in each.items()}
            case _:
                return cast("JsonValue", each)

    return plain(value), blobs


class KnownSecrets:
    """Redact the secrets of a recording in its replay: supplied ones, and found ones that recur."""

    def __init__(self, secrets: Mapping[str, str], known: Iterable[FoundSecret]) -> None:
        """Recognize the values that the recording replaced with stand-ins."""
        self.redactor = Redactor(secrets, RecordedStandIns(each.stand_in for each in known))

    def find_in(self, value: ToolResultValue | Mapping[str, JsonValue], *, made: bool) -> None:
        """Do nothing: a replay has no secrets beyond those of its recording."""


def redact_value(value: ToolResultValue, redactor: Redactor) -> ToolResultValue:
    """Redact secrets in the strings, keys and bytes of a value."""
    match value:
        case str():
            return redactor.redact_text(value)
        case bytes():
            return redactor.redact_bytes(value)
        case list():
            return [redact_value(each, redactor) for each in value]
        case dict():
            return {redactor.redact_text(name): redact_value(each, redactor) for name, each in value.items()}
        case _:
            return value


def restore_value(value: ToolResultValue, redactor: Redactor) -> ToolResultValue:
    """Restore the supplied values of secrets in a recorded value."""
    match value:
        case str():
            return redactor.restore_bytes(value.encode()).decode()
        case bytes():
            return redactor.restore_bytes(value)
        case list():
            return [restore_value(each, redactor) for each in value]
        case dict():
            return {name: restore_value(each, redactor) for name, each in value.items()}
        case _:
            return value


def redact_args(args: Mapping[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    """Redact secrets in arguments."""
    return cast("dict[str, JsonValue]", dict(args) if redactor.is_noop else redactor.redact_json(dict(args)))


def redact_fixtures_again(folder: Path, redactor: Redactor) -> None:
    """Rewrite the fixtures that hold a secret which was found later.

    Redacted arguments change their hash; calls that become equal are renumbered in call order.

    Raises:
        OutputError: the folder cannot be written.
    """
    if redactor.is_noop:
        return
    for tool in sorted(each for each in folder.iterdir() if each.is_dir()):
        files = sorted(each for each in tool.iterdir() if parse_fixture_name(each.name) is not None)
        blobs = BlobStore(tool / BLOBS_FOLDER)
        stale = [each for each in files if _has_secret(read_file(each, root=each.parent), redactor)]
        moved = [_redacted_fixture(read_digested(Fixture, each), redactor, blobs) for each in stale]
        hashes = {each.args_hash for each in moved}
        equal = [each for each in files if each not in stale and each.name[:64] in hashes]
        _renumber([*moved, *(read_digested(Fixture, each) for each in equal)], tool, {*stale, *equal})
        _redact_blobs(tool, blobs, redactor)


def _has_secret(data: bytes, redactor: Redactor) -> bool:
    return redactor.redact_bytes(data) != data


def _redacted_fixture(fixture: Fixture, redactor: Redactor, blobs: BlobStore) -> Fixture:
    args = redact_args(fixture.args, redactor)
    result = store_result(redact_value(restore_result(fixture.result, blobs), redactor), blobs.put)
    error = fixture.error
    if error is not None:
        error = error.model_copy(update={"message": redactor.redact_text(error.message)})
    return fixture.model_copy(update={"args": args, "args_hash": args_hash(args), "result": result, "error": error})


def _renumber(fixtures: list[Fixture], tool: Path, old: set[Path]) -> None:
    """Write fixtures under their hashes; number those with equal hashes in call order."""
    counts: dict[str, int] = {}
    written = set()
    for fixture in sorted(fixtures, key=lambda each: each.order):
        occurrence = counts[fixture.args_hash] = counts.get(fixture.args_hash, 0) + 1
        path = tool / fixture_name(fixture.args_hash, occurrence)
        write_atomically(path, digested_text(fixture.model_copy(update={"occurrence": occurrence})))
        written.add(path)
    for path in old - written:
        path.unlink()


def _redact_blobs(tool: Path, blobs: BlobStore, redactor: Redactor) -> None:
    """Rewrite blobs that hold a secret, and the fixtures that refer to them."""
    if not blobs.folder.is_dir():
        return
    stale = {
        ref.sha256 for ref in map(blobs.ref_of_file, blobs.folder.iterdir()) if _has_secret(blobs.get(ref), redactor)
    }
    for path in sorted(tool.iterdir()) if stale else ():
        if parse_fixture_name(path.name) is not None and any(
            each in path.read_text(encoding="utf-8") for each in stale
        ):
            write_atomically(path, digested_text(_redacted_fixture(read_digested(Fixture, path), redactor, blobs)))
    for digest in stale:
        (blobs.folder / f"{digest}.zst").unlink()


def redact_events_again(folder: Path, redactor: Redactor) -> None:
    """Rewrite `events.jsonl` and the files of its large values, which are named by their digest.

    Stand-ins have the length of their secret, so recorded sizes stay correct.

    Raises:
        OutputError: the folder cannot be written.
    """
    if redactor.is_noop:
        return
    events = folder / EVENTS_FILE
    text = old = read_file(events, root=events.parent)
    stale = []
    for value in sorted((folder / "values").glob("*.json")):
        content = read_file(value, root=value.parent)
        clean = redactor.redact_bytes(content)
        if clean != content:
            name = f"{hashlib.sha256(clean).hexdigest()}.json"
            write_atomically(value.with_name(name), clean)
            text = text.replace(f"values/{value.name}".encode(), f"values/{name}".encode())
            stale.append(value)
    text = redactor.redact_bytes(text)
    if text != old:
        write_atomically(events, text)
    for value in stale:
        value.unlink()
