"""The certificate of a bundle: proof that its replays agreed, bound to the very files they replayed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import EikonError, OutputError
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.record import Record
from eikon_engine.trace.serializer import trace_file
from eikon_engine.trace.whole_file import write_whole
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.execution import ExecutionTrace

CERTIFICATE_FILE: Final = "certificate.json"
CERTIFICATE_VERSION: Final = 1

CertificateStatus: TypeAlias = Literal["certified", "stale", "none"]


class CertifiedAction(Record):
    """What every run showed after one action."""

    subgoal: str
    """Id of the subgoal attempt."""
    sequence: int
    digest: str
    """SHA-256 of the observation without what is masked, and without the page time it took."""


class Certificate(Record):
    """How often a bundle was replayed with one and the same result, and where."""

    certificate_version: Literal[1] = CERTIFICATE_VERSION
    certified_at: AwareDatetime
    trace_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Of the file that holds the trace: another trace makes the certificate stale."""
    network_sha256: str = ""
    """Over the files of the network part; empty where there is none."""
    runs: int = Field(ge=1)
    stress: bool
    """Whether other processes kept the machine busy during the runs."""
    network_mode: Literal["sealed", "live"]
    actions: tuple[CertifiedAction, ...] = ()
    masks: tuple[str, ...] = ()
    """What is not compared: the masks of the trace, described."""
    rules: tuple[str, ...] = ()
    """What may differ in requests: the rules of the network part, described."""
    notes: tuple[str, ...] = ()
    """What equal replays do not prove, as of an action that an agent did before an answer which replays wait for."""
    browser: str
    playwright_version: str
    eikon_version: str
    environment_sha256: str
    """Of the environment the runs were in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateState:
    """Whether a bundle is certified, and why (not)."""

    status: CertificateStatus
    why: str


def read_certificate(root: Path) -> Certificate | None:
    """Read the certificate beside a trace; None if there is none that can be read."""
    try:
        return Certificate.model_validate_json((root / CERTIFICATE_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def write_certificate(root: Path, certificate: Certificate) -> None:
    """Write the certificate of the bundle in a folder, whole.

    Raises:
        OutputError: the folder cannot be written.
    """
    write_whole(root / CERTIFICATE_FILE, certificate.model_dump_json(indent=1).encode() + b"\n")


def certificate_state(root: Path, trace: ExecutionTrace) -> CertificateState:
    """Say whether the bundle in a folder is certified as it lies there; never fails."""
    if not (root / CERTIFICATE_FILE).is_file():
        return CertificateState(status="none", why="`eikon certify` has not been run on it")
    certificate = read_certificate(root)
    if certificate is None:
        return CertificateState(status="stale", why=f"{CERTIFICATE_FILE} cannot be read; certify the bundle again")
    try:
        changed = [
            name
            for name, then, now in (
                ("the trace", certificate.trace_sha256, file_sha256(trace_file(root))),
                ("the recorded network", certificate.network_sha256, network_sha256(root, trace)),
            )
            if then != now
        ]
    except EikonError as error:
        return CertificateState(status="stale", why=error.message)
    if changed:
        why = f"{' and '.join(changed)} changed since the certificate was made; certify the bundle again"
        return CertificateState(status="stale", why=why)
    runs = f"{certificate.runs} equal runs{' under load' if certificate.stress else ''}, {certificate.network_mode}"
    when = certificate.certified_at.date().isoformat()
    lost = f", {counted(len(certificate.masks), 'mask')}" if certificate.masks else ""
    return CertificateState(status="certified", why=f"{runs}, on {when} with {certificate.browser}{lost}")


def file_sha256(path: Path) -> str:
    """Digest a file.

    Raises:
        OutputError: it cannot be read.
    """
    return hashlib.sha256(_content(path)).hexdigest()


def network_sha256(root: Path, trace: ExecutionTrace) -> str:
    """Digest the index files of the network part; bodies are named in them by their own digests."""
    if trace.network is None:
        return ""
    folder = inside(root, trace.network.folder, "network.folder")
    whole = hashlib.sha256()
    for path in sorted(folder.glob("*.jsonl")):
        whole.update(f"{path.name}\0".encode() + hashlib.sha256(_content(path)).digest())
    return whole.hexdigest()


def environment_sha256(environment: Environment) -> str:
    """Digest everything a context is created with, and the browser it runs in."""
    return hashlib.sha256(environment.model_dump_json().encode()).hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: the file cannot be read ({error.strerror}); check its permissions"
        raise OutputError(message) from error
