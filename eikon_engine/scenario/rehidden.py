"""Redact fixtures again, for secrets that were found after they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.scenario.args_hash import args_hash
from eikon_engine.scenario.fixture import BLOBS_FOLDER, Fixture, fixture_name, parse_fixture_name
from eikon_engine.scenario.hidden_secrets import redact_args, redact_value
from eikon_engine.scenario.sealed import digested_text, read_digested
from eikon_engine.scenario.stored_result import restore_result, store_result
from eikon_engine.trace.blobs import BlobStore
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.redaction import Redactor


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
        stale = [each for each in files if _has_secret(each.read_bytes(), redactor)]
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
