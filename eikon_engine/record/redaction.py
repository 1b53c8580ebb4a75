"""Redact recorded actions and finished recordings, and choose the stand-ins that replays type."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ResponseFolderError, TraceError
from eikon_engine.record.mission_id import redact_mission_id
from eikon_engine.redact.rewrite_bundle import redact_bundle, redact_values, validate_redacted
from eikon_engine.redact.scan import find_in_files, unpacked_files
from eikon_engine.secrets.detection import MIN_PASSWORD_LENGTH
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.secrets.redaction import Redaction, TypedSecret
from eikon_engine.secrets.stand_ins import character_classes, make_password_stand_in
from eikon_engine.trace.actions import Drop, Fill, InsertText, SecretRef, SetValue, TypeText
from eikon_engine.trace.bundle import DOM_FOLDER
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE, read_trace, write_trace

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.browser.session import Session
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.trace.actions import Action, DropData, Text


def redact_action(session: Session, action: Action, resolved: Action | None = None) -> Action:
    """Replace secret texts by references and redact everything else; `resolved` has variables substituted."""
    typed = getattr(resolved or action, "text", None)
    if isinstance(action, Fill | TypeText | SetValue | InsertText) and isinstance(typed, str):
        name = session.secret_name(typed)
        if name is not None:
            action = action.model_copy(update={"text": SecretRef(secret=name)})
    if isinstance(action, Drop):
        dropped = resolved.data if isinstance(resolved, Drop) else action.data
        data = [_refer_to_secret(session, each, plain.value) for each, plain in zip(action.data, dropped, strict=True)]
        action = action.model_copy(update={"data": tuple(data)})
    plain = action.model_dump(mode="json")
    redacted = redact_values(plain, session.redactor.redact_text)
    return action if redacted == plain else validate_redacted(type(action), plain, redacted)


def _refer_to_secret(session: Session, data: DropData, value: Text) -> DropData:
    """Replace dropped data that is a secret by a reference."""
    name = session.secret_name(value) if isinstance(value, str) else None
    return data if name is None else data.model_copy(update={"value": SecretRef(secret=name)})


STAND_IN_CANDIDATES: Final = 12
"""Stand-ins tried for a secret; only a very short secret can have all of them taken."""
DECLARE_ADVICE: Final = "declare it in RecordOptions.secrets, do not use it in ids, and record again"
SHORT_PASSWORD: Final = (
    f"a password of fewer than {MIN_PASSWORD_LENGTH} characters was typed and is recorded as it is; "
    "declare it in the secrets of the options to replace it"
)
_DIGEST_ALGORITHMS: Final = ("md5", "sha1", "sha256", "sha384", "sha512")


def redact_recording(directory: Path, session: Session) -> None:
    """Rewrite the bundle without the secrets known by now and write the redaction table.

    A secret gets no stand-in if a page sent or stored its digest: the digest of the stand-in would differ.

    Raises:
        OutputError: the bundle cannot be written.
    """
    values = {name: session.secrets.values[name] for name in sorted(session.redacted_names)}
    warnings = [SHORT_PASSWORD] if session.has_short_password else []
    try:
        session.digest_memory.late_bodies = session.request_bodies.late
        if session.secret_detector is not None:
            _find_in_pages(directory, session.secret_detector)
        if session.secret_detector is not None or session.request_bodies.late or values:
            redact_bundle(directory, session.redactor, session.digest_memory.changed_digests(session.redactor))
    except (ResponseFolderError, TraceError) as error:
        warnings.append(f"the bundle could not be searched for secrets: {error.message}")
    found = session.secret_detector.table if session.secret_detector is not None else ()
    candidates = {name: _stand_in_candidates(value) for name, value in values.items()}
    needles = {value.encode() for value in values.values()}
    needles |= {each for options in candidates.values() for option in options for each in _encodings_of(option)}
    needles |= {each for value in values.values() for each in _digests_of(value)}
    present = find_in_files(directory, needles)
    typed = []
    for name, value in values.items():
        if value.encode() in present:
            warnings.append(f"secret {name} is in the recording in plain text; {DECLARE_ADVICE}")
        if any(each in present for each in _digests_of(value)):
            warnings.append(
                f"the recording contains a digest of secret {name}; every replay needs its value: pass --secret"
            )
            continue
        free = (each for each in candidates[name] if present.isdisjoint(_encodings_of(each)))
        chosen = next(free, None)
        if chosen is not None:
            typed.append(TypedSecret(name=name, stand_in=chosen))
    _write_redaction(directory, Redaction(found=found, typed=tuple(typed)), tuple(warnings), session)


def _find_in_pages(directory: Path, detector: SecretDetector) -> None:
    """Search pages, console messages and texts of agents for tokens, such as those that a page put together."""
    for path, content in unpacked_files(directory):
        if path.parent.name == DOM_FOLDER or path.name in {TRACE_FILE, JOURNAL_FILE}:
            detector.add(detector.search.by_format(content.decode("utf-8", "replace")), by_page=True)


def _write_redaction(directory: Path, redaction: Redaction, warnings: tuple[str, ...], session: Session) -> None:
    trace = read_trace(directory)
    start = trace.start.model_copy(update={"secrets": tuple(sorted({*trace.start.secrets, *session.redacted_names}))})
    update = {
        "mission_id": redact_mission_id(trace, session.redactor.redact_text),
        "redaction": redaction,
        "start": start,
        "warnings": (*trace.warnings, *warnings),
    }
    noted = trace.model_copy(update=update)
    if noted != trace:
        write_trace(noted, directory)


def _stand_in_candidates(value: str) -> tuple[str, ...]:
    drawn = (
        make_password_stand_in(len(value), character_classes(value), number) for number in range(STAND_IN_CANDIDATES)
    )
    return tuple(each for each in dict.fromkeys(drawn) if each != value)


def _encodings_of(value: str) -> set[bytes]:
    return {encode(value).encode() for _, encode in ENCODINGS}


def _digests_of(value: str) -> tuple[bytes, ...]:
    """Return the digests of a value in the encodings pages use."""
    digests = [hashlib.new(name, value.encode(), usedforsecurity=False).digest() for name in _DIGEST_ALGORITHMS]
    return (
        *(digest.hex().encode() for digest in digests),
        *(digest.hex().upper().encode() for digest in digests),
        *(base64.b64encode(digest) for digest in digests),
    )
