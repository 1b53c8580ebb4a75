"""The certificate of a bundle: evidence that its replays agreed, bound to the files they replayed."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import EikonError, OutputError
from eikon_engine.files.limits import read_document, read_file
from eikon_engine.files.models import FileModel
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import pluralize
from eikon_engine.files.writing import write_atomically, write_error_message
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import ExecutionTrace, MissionStatus
from eikon_engine.trace.trace_file import find_trace_file

CERTIFICATE_FILE: Final = "certificate.json"
CERTIFICATE_VERSION: Final = 1
LAST_CERTIFICATION_FILE: Final = "last_certification.json"

CertificateStatus: TypeAlias = Literal["certified", "stale", "none"]


class CertifiedAction(FileModel):
    """What every run observed after one action."""

    subgoal: str
    """Id of the subgoal attempt."""
    sequence: int
    digest: str
    """SHA-256 of the observation, without masked parts and without the page time used."""


class Certificate(FileModel):
    """How often a bundle was replayed with the same result, and in which environment."""

    certificate_version: Literal[1] = CERTIFICATE_VERSION
    certified_at: AwareDatetime
    trace_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of the trace file; a changed trace makes the certificate stale."""
    network_sha256: str = ""
    """Digest of the files of the recorded network; empty if there is none."""
    runs: int = Field(ge=1)
    stress: bool
    """Whether the machine was under load during the runs."""
    network_mode: Literal["sealed", "live"]
    other_runs: int = 0
    """Number of equal runs in the other network mode, by the certificate of the same files that this one replaced."""
    is_reset: bool = False
    """Whether the site was reset before each run."""
    mission_status: MissionStatus = "complete"
    """How the recorded mission ended; runs that repeat a failure are equal, too."""
    actions: tuple[CertifiedAction, ...] = ()
    masks: tuple[str, ...] = ()
    """What is not compared on pages: descriptions of the masks of the trace."""
    rules: tuple[str, ...] = ()
    """What may differ in requests: descriptions of the rules of the recorded network."""
    notes: tuple[str, ...] = ()
    """What equal replays do not show, such as an action the agent did before a response that replays wait for, and the
    warnings of the recording."""
    browser: str
    playwright_version: str
    eikon_version: str
    environment_sha256: str
    """Digest of the environment of the runs."""


class LastCertification(FileModel):
    """The last certification of a bundle, if it ended without a certificate."""

    last_certification_version: Literal[1] = 1
    ended_at: AwareDatetime
    trace_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of the trace file; of a changed trace, nothing is known."""
    network_sha256: str = ""
    """Digest of the files of the recorded network; empty if there is none."""
    network_mode: Literal["sealed", "live"]
    status: Literal["proposed", "unstable", "diverged", "unverifiable"]
    reason: str
    """The first finding, or the number of proposed changes."""
    next_step: str
    """What to do to get a certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateState:
    """Whether a bundle is certified, and why or why not."""

    status: CertificateStatus
    reason: str
    is_reset: bool = False
    """Whether the site was reset before each run of a live certification."""
    last_certification: LastCertification | None = None
    """The last certification of the bundle as it is now, if it gave no certificate."""


def read_certificate(root: Path) -> Certificate | None:
    """Read the certificate next to a trace; None if it is missing or unreadable."""
    try:
        return Certificate.model_validate_json(read_document(root / CERTIFICATE_FILE, root=root))
    except (OSError, ValidationError):
        return None


def write_certificate(root: Path, certificate: Certificate) -> None:
    """Write the certificate of a bundle atomically; it replaces the note of a certification of this kind without one.

    A certificate of sealed replays leaves the note of live ones, and vice versa.

    Raises:
        OutputError: the folder cannot be written; there is no new certificate then.
    """
    last = read_last_certification(root)
    if last is None or last.network_mode == certificate.network_mode:
        path = root / LAST_CERTIFICATION_FILE
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
    write_atomically(root / CERTIFICATE_FILE, certificate.model_dump_json(indent=1).encode() + b"\n")


def read_last_certification(root: Path) -> LastCertification | None:
    """Read how the last certification ended without a certificate; None if there is no readable note of one."""
    try:
        return LastCertification.model_validate_json(read_document(root / LAST_CERTIFICATION_FILE, root=root))
    except (OSError, ValidationError):
        return None


def write_last_certification(root: Path, last: LastCertification) -> None:
    """Note a certification that ended without a certificate; one that the bundle has stays valid.

    Raises:
        OutputError: the folder cannot be written.
    """
    write_atomically(root / LAST_CERTIFICATION_FILE, last.model_dump_json(indent=1).encode() + b"\n")


def certificate_state(root: Path, trace: ExecutionTrace) -> CertificateState:
    """Return whether the bundle in a folder is certified as it is now; never raises."""
    try:
        last = _valid_last_certification(root, trace)
        state = _certificate_state(root, trace)
    except EikonError as error:
        status: CertificateStatus = "stale" if (root / CERTIFICATE_FILE).is_file() else "none"
        return CertificateState(status=status, reason=error.message)
    if last is None:
        is_damaged = (root / LAST_CERTIFICATION_FILE).is_file() and read_last_certification(root) is None
        damage = f"; {LAST_CERTIFICATION_FILE} cannot be read: delete it" if is_damaged else ""
        return replace(state, reason=state.reason + _ADVICE[state.status] + damage)
    live = " live" if last.network_mode == "live" else ""
    gave_none = f"the last{live} certification, on {last.ended_at.date().isoformat()}, gave none"
    return replace(
        state, reason=f"{state.reason}; {gave_none}: {last.reason}. Next: {last.next_step}", last_certification=last
    )


_ADVICE: Final[dict[CertificateStatus, str]] = {
    "certified": "",
    "stale": "; certify the bundle again",
    "none": ". Run `eikon certify`",
}
"""What to do about a state if no certification was tried in it."""


def _certificate_state(root: Path, trace: ExecutionTrace) -> CertificateState:
    """Return the state without advice.

    Raises:
        EikonError: a file cannot be read.
    """
    if not (root / CERTIFICATE_FILE).is_file():
        last = read_last_certification(root)
        changed = [] if last is None else _changed_parts(root, trace, last)
        since = f"; {' and '.join(changed)} changed since the last certification, which gave none" if changed else ""
        return CertificateState(status="none", reason=f"it has no certificate{since}")
    certificate = read_certificate(root)
    if certificate is None:
        return CertificateState(status="stale", reason=f"{CERTIFICATE_FILE} cannot be read")
    changed = _changed_parts(root, trace, certificate)
    if changed:
        why = f"{' and '.join(changed)} changed since the certificate was made"
        return CertificateState(status="stale", reason=why)
    runs = f"{certificate.runs} equal runs{' under load' if certificate.stress else ''}, {certificate.network_mode}"
    runs += ", each after a reset of the site" if certificate.is_reset else ""
    if certificate.other_runs:
        runs += f", and {certificate.other_runs} {'sealed' if certificate.network_mode == 'live' else 'live'} before"
    when = certificate.certified_at.date().isoformat()
    lost = f", {pluralize(len(certificate.masks), 'mask')}" if certificate.masks else ""
    reason = f"{runs}, on {when} with {certificate.browser}{lost}{_ending(certificate.mission_status)}"
    return CertificateState(status="certified", reason=reason, is_reset=certificate.is_reset)


def _valid_last_certification(root: Path, trace: ExecutionTrace) -> LastCertification | None:
    """Return the last certification without a certificate, if the bundle is as it was then.

    Raises:
        EikonError: a file cannot be read.
    """
    last = read_last_certification(root)
    return None if last is None or _changed_parts(root, trace, last) else last


def _changed_parts(root: Path, trace: ExecutionTrace, then: Certificate | LastCertification) -> list[str]:
    """Return which of the replayed files have changed since.

    Raises:
        EikonError: a file cannot be read.
    """
    parts = (
        ("the trace", then.trace_sha256, file_sha256(find_trace_file(root))),
        ("the recorded network", then.network_sha256, network_sha256(root, trace)),
    )
    return [name for name, before, now in parts if before != now]


def _ending(status: MissionStatus) -> str:
    return "" if status == "complete" else f"; the recorded mission did not complete: {status}"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        OutputError: the file cannot be read.
    """
    return hashlib.sha256(_read_file(path)).hexdigest()


def network_sha256(root: Path, trace: ExecutionTrace) -> str:
    """Return the digest of the index files of the recorded network; they name the bodies by digest."""
    if trace.network is None:
        return ""
    folder = resolve_inside(root, trace.network.folder, "network.folder")
    whole = hashlib.sha256()
    for path in sorted(folder.glob("*.jsonl")):
        whole.update(f"{path.name}\0".encode() + hashlib.sha256(_read_file(path)).digest())
    return whole.hexdigest()


def environment_sha256(environment: Environment) -> str:
    """Return the digest of the options and the browser a context is created with."""
    return hashlib.sha256(environment.model_dump_json().encode()).hexdigest()


def _read_file(path: Path) -> bytes:
    try:
        return read_file(path, root=path.parent)
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        advice = "restore the file from a copy of the bundle" if is_missing else "check its permissions"
        message = f"{path}: cannot read the file ({error.strerror}); {advice}"
        raise OutputError(message) from error
