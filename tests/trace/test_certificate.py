"""Certificates are bound to exactly the files that they certify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given, settings

from eikon_engine.errors import OutputError
from eikon_engine.trace.certificate import (
    CERTIFICATE_FILE,
    LAST_CERTIFICATION_FILE,
    Certificate,
    LastCertification,
    certificate_state,
    file_sha256,
    network_sha256,
    read_certificate,
    write_certificate,
    write_last_certification,
)
from eikon_engine.trace.execution import NetworkPart
from eikon_engine.trace.trace_file import TRACE_FILE, write_trace
from tests.trace.trace_values import START, trace, values_of

if TYPE_CHECKING:
    from pathlib import Path

TRACE = trace(network=NetworkPart())


def certified(root: Path) -> Path:
    """Make a bundle with a certificate."""
    (root / "network").mkdir()
    (root / "network" / "index.jsonl").write_text("{}\n")
    write_trace(TRACE, root)
    certificate = Certificate(
        certified_at=START,
        trace_sha256=file_sha256(root / TRACE_FILE),
        network_sha256=network_sha256(root, TRACE),
        runs=5,
        stress=True,
        network_mode="sealed",
        masks=("clock: the title",),
        browser="chromium 1",
        playwright_version="1",
        eikon_version="1",
        environment_sha256="",
    )
    write_certificate(root, certificate)
    return root


def test_a_certificate_is_valid_for_the_certified_files(tmp_path: Path) -> None:
    """The state is "certified", with the masks that the certificate lists."""
    state = certificate_state(certified(tmp_path), TRACE)

    assert state.status == "certified"
    assert state.reason == "5 equal runs under load, sealed, on 2025-03-14 with chromium 1, 1 mask"


def test_a_live_certificate_tells_of_resets_and_of_the_sealed_runs_before(tmp_path: Path) -> None:
    """A replay needs the reset, too; the sealed runs hold as long as the files are the same."""
    found = read_certificate(certified(tmp_path))
    assert found is not None
    update = {"runs": 2, "network_mode": "live", "stress": False, "other_runs": 5, "is_reset": True}
    write_certificate(tmp_path, found.model_copy(update=update))

    state = certificate_state(tmp_path, TRACE)
    assert state.reason.startswith("2 equal runs, live, each after a reset of the site, and 5 sealed before, on 2025-")
    assert state.is_reset


def test_a_changed_bundle_makes_the_certificate_stale(tmp_path: Path) -> None:
    """One additional byte in the trace or in the network index makes the certificate stale."""
    root = certified(tmp_path)
    for name, changed_part in (
        ("network/index.jsonl", "the recorded network"),
        (TRACE_FILE, "the trace and the recorded"),
    ):
        with (root / name).open("a") as file:
            file.write("\n")
        state = certificate_state(root, TRACE)
        assert (state.status, state.reason.startswith(changed_part)) == ("stale", True)


def test_an_invalid_certificate_is_not_an_error(tmp_path: Path) -> None:
    """A missing file means no certificate; one that is broken, of another version or without its trace is stale."""
    assert certificate_state(tmp_path, TRACE).status == "none"

    root = certified(tmp_path)
    text = (root / CERTIFICATE_FILE).read_text()
    for broken in ("", "{", text.replace('"certificate_version": 1', '"certificate_version": 2')):
        (root / CERTIFICATE_FILE).write_text(broken)
        assert certificate_state(root, TRACE).status == "stale"
    (root / CERTIFICATE_FILE).write_text(text)
    (root / TRACE_FILE).unlink()
    assert certificate_state(root, TRACE).status == "stale"


def test_the_error_for_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    """A file that is gone is to be restored; one that cannot be read needs other permissions."""
    with pytest.raises(OutputError, match=r"trace\.json: cannot .* restore the file from a copy of the bundle"):
        file_sha256(tmp_path / TRACE_FILE)
    with pytest.raises(OutputError, match="check its permissions"):
        file_sha256(tmp_path)


def certify_in_vain(root: Path, network_mode: Literal["sealed", "live"] = "sealed") -> None:
    """Note that the bundle, as it is now, was not certified."""
    last = LastCertification(
        ended_at=START,
        trace_sha256=file_sha256(root / TRACE_FILE),
        network_sha256=network_sha256(root, TRACE),
        network_mode=network_mode,
        status="diverged",
        reason="diverged at the click",
        next_step="record again",
    )
    write_last_certification(root, last)


def test_a_failed_certification_is_known_until_the_bundle_changes(tmp_path: Path) -> None:
    """The reason gives what was found and what to do instead of advice to certify."""
    root = certified(tmp_path)
    (root / CERTIFICATE_FILE).unlink()
    before = certificate_state(root, TRACE).reason
    certify_in_vain(root)
    failed = certificate_state(root, TRACE)
    with (root / TRACE_FILE).open("a") as file:
        file.write("\n")
    changed = certificate_state(root, TRACE).reason
    (root / LAST_CERTIFICATION_FILE).write_text("{")

    assert before == "it has no certificate. Run `eikon certify`"
    assert certificate_state(root, TRACE).reason == f"{before}; last_certification.json cannot be read: delete it"
    assert failed.status == "none"
    assert failed.reason == (
        "it has no certificate; the last certification, on 2025-03-14, gave none: diverged at the click. "
        "Next: record again"
    )
    assert changed == (
        "it has no certificate; the trace changed since the last certification, which gave none. Run `eikon certify`"
    )


def test_a_failed_certification_does_not_invalidate_a_certificate(tmp_path: Path) -> None:
    """Both are reported; a new certificate replaces the note if it is one of the same network mode."""
    root = certified(tmp_path)
    certificate = read_certificate(root)
    assert certificate is not None
    certify_in_vain(root, "live")

    state = certificate_state(root, TRACE)
    assert state.status == "certified"
    assert state.reason.startswith("5 equal runs under load, sealed, on 2025-03-14 with chromium 1, 1 mask; ")
    assert state.reason.endswith(
        "; the last live certification, on 2025-03-14, gave none: diverged at the click. Next: record again"
    )
    write_certificate(root, certificate)
    assert certificate_state(root, TRACE) == state
    write_certificate(root, certificate.model_copy(update={"network_mode": "live"}))
    assert not (root / LAST_CERTIFICATION_FILE).exists()


def test_a_damaged_note_is_named(tmp_path: Path) -> None:
    """It changes no state, and is not passed over in silence."""
    root = certified(tmp_path)
    before = certificate_state(root, TRACE)
    (root / "last_certification.json").write_text('{"last_certification_version": 1, "ended', encoding="utf-8")

    state = certificate_state(root, TRACE)

    assert (state.status, state.last_certification) == (before.status, None)
    assert state.reason == f"{before.reason}; last_certification.json cannot be read: delete it"


def test_a_note_that_cannot_be_removed_is_an_error(tmp_path: Path) -> None:
    """No certificate is written then: the bundle would have both."""
    root = certified(tmp_path)
    certificate = read_certificate(root)
    assert certificate is not None
    (root / CERTIFICATE_FILE).unlink()
    (root / LAST_CERTIFICATION_FILE).mkdir()

    with pytest.raises(OutputError, match=rf"cannot write .*{LAST_CERTIFICATION_FILE}: .*; choose a writable folder"):
        write_certificate(root, certificate)
    assert not (root / CERTIFICATE_FILE).exists()


def test_a_stale_certificate_has_the_reason_of_the_failed_one(tmp_path: Path) -> None:
    """A changed bundle that was certified again in vain need not be certified again."""
    root = certified(tmp_path)
    with (root / TRACE_FILE).open("a") as file:
        file.write("\n")
    certify_in_vain(root)

    state = certificate_state(root, TRACE)
    assert state.status == "stale"
    assert state.reason.startswith("the trace changed since the certificate was made; the last certification, on 2025")


@settings(max_examples=20, deadline=None)
@given(values_of(Certificate))
def test_a_certificate_reads_back_as_it_was_written(certificate: Certificate) -> None:
    """The certificate survives a JSON round trip."""
    assert Certificate.model_validate_json(certificate.model_dump_json()) == certificate


def test_a_written_certificate_is_read(tmp_path: Path) -> None:
    """The file next to the trace is read as its certificate."""
    found = read_certificate(certified(tmp_path))

    assert found is not None
    assert found.runs == 5
