"""`eikon export bundle` writes one file that can be attached to a report."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.record import RecordOptions
from eikon_engine.redact.export_bundle import copy_without_links
from eikon_engine.redact.rewrite_bundle import redact_bundle
from eikon_engine.redact.scan import scan_folder
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import (
    CERTIFICATE_FILE,
    LAST_CERTIFICATION_FILE,
    LastCertification,
    read_last_certification,
    write_last_certification,
)
from tests.redact.test_login import left_in, record
from tests.replay.conftest import replay
from tests.sites.login import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.browser

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"


@pytest.fixture(scope="module")
def in_clear(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, str]]:
    """Record the login with redaction switched off, once."""
    folder = tmp_path_factory.mktemp("clear") / "b"
    return folder, record(folder, RecordOptions(redact=False))


def export(bundle: Path, target: Path, *options: str) -> Path:
    """Export a bundle and unpack it."""
    assert run_command(eikon, ["export", "bundle", str(bundle), "-o", str(target), *options], "eikon") == 0
    with zipfile.ZipFile(target) as archive:
        archive.extractall(target.with_suffix(""))
    return target.with_suffix("") / bundle.name


def test_redaction_can_be_switched_off(in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """Only the password is redacted, and the scan reports the other secrets."""
    folder, given = in_clear

    outcome = replay(folder, tmp_path / "run", secrets={"PASSWORD": PASSWORD})

    assert {"sid", "jwt", "code", "refresh"} <= left_in(folder, given)
    assert "password" not in left_in(folder, given)
    assert scan_folder(folder, allow_rules=()) != ()
    assert outcome.verdict == "faithful"


def test_a_recording_in_plain_text_is_exported_redacted(
    in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exported bundle has none of the values, opens, lists the redactions and passes the scan."""
    folder, given = in_clear

    bundle = export(folder, tmp_path / "out.zip", "--redacted")

    assert left_in(bundle, given) == set()
    assert left_in(folder, given) != set()
    assert scan_folder(bundle, allow_rules=()) == ()
    assert "certify the bundle before relying on" in " ".join(open_bundle(bundle).trace.warnings)
    assert "values replaced" in capsys.readouterr().out


def test_the_exported_bundle_replays(in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """It is as faithful as the original."""
    bundle = export(in_clear[0], tmp_path / "out.zip", "--redacted")

    outcome = replay(bundle, tmp_path / "run", secrets={"PASSWORD": PASSWORD}, on_divergence="continue")

    assert outcome.divergences == ()


def test_a_bundle_without_secrets_is_exported_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its certificate stays valid, and two exports are identical files."""
    source = TRACES / "shop_failing"

    bundle = export(source, tmp_path / "one.zip")
    export(source, tmp_path / "two.zip")

    names = {path.relative_to(bundle) for path in bundle.rglob("*") if path.is_file()}
    assert names == {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert "written, not redacted" in capsys.readouterr().out


def test_a_certificate_of_other_files_is_omitted(
    in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The certificate covers the plain-text bundle, and the command warns that it is omitted."""
    (in_clear[0] / CERTIFICATE_FILE).write_text("{}", encoding="utf-8")

    bundle = export(in_clear[0], tmp_path / "out.zip", "--redacted")

    (in_clear[0] / CERTIFICATE_FILE).unlink()
    assert not (bundle / CERTIFICATE_FILE).exists()
    assert "the certificate was omitted" in capsys.readouterr().err


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_redacted_export_has_no_note_of_a_certification(
    in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path, *, is_changed: bool
) -> None:
    """Its reason may quote what a page showed only then; an export that is not redacted is a copy."""
    source = tmp_path / "b"
    copy_without_links(in_clear[0], source)
    if not is_changed:
        source = export(source, tmp_path / "redacted.zip", "--redacted")
    note_certification(source, "a run showed 'Bearer kJ83hdPq0zLmWv7T'")

    assert (export(source, tmp_path / "plain.zip") / LAST_CERTIFICATION_FILE).is_file()
    assert not (export(source, tmp_path / "out.zip", "--redacted") / LAST_CERTIFICATION_FILE).exists()


def test_the_note_of_a_certification_is_rewritten(tmp_path: Path) -> None:
    """Only its texts: it still belongs to the trace that was certified."""
    source = tmp_path / "b"
    copy_without_links(TRACES / "shop_failing", source)
    note_certification(source, "a run showed 'Bearer kJ83hdPq0zLmWv7T'")

    assert redact_bundle(source, Redactor({"TOKEN": "kJ83hdPq0zLmWv7T"}), {})

    last = read_last_certification(source)
    assert last is not None
    assert (last.reason, last.trace_sha256) == ("a run showed 'Bearer {{eikon-secret:TOKEN}}'", "0" * 64)


def note_certification(bundle: Path, reason: str) -> None:
    """Note that a live certification of a bundle gave no certificate."""
    last = LastCertification(
        ended_at=datetime(2025, 3, 14, tzinfo=UTC),
        trace_sha256="0" * 64,
        network_mode="live",
        status="diverged",
        reason=reason,
        next_step="record again",
    )
    write_last_certification(bundle, last)


def test_symbolic_links_are_omitted(tmp_path: Path) -> None:
    """A foreign bundle cannot export a file of this machine."""
    source = tmp_path / "b"
    source.mkdir()
    (source / "trace.json").write_bytes((TRACES / "old_format" / "trace.json").read_bytes())
    (tmp_path / "private").write_text("mine", encoding="utf-8")
    (source / "link").symlink_to(tmp_path / "private")

    bundle = export(source, tmp_path / "out.zip")

    assert [path.name for path in bundle.iterdir()] == ["trace.json"]
