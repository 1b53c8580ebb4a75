"""`eikon export bundle`: one file that can be attached to a report."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.record import RecordOptions
from eikon_engine.redact.scan import scan_folder
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from tests.redact.test_login import left_in, record
from tests.replay.conftest import replay
from tests.sites.login import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Without it everything but the password is kept, and the scan says so."""
    folder, given = in_clear

    outcome = replay(folder, tmp_path / "run", secrets={"PASSWORD": PASSWORD})

    assert {"sid", "jwt", "code", "refresh"} <= left_in(folder, given)
    assert "password" not in left_in(folder, given)
    assert scan_folder(folder, allow_rules=()) != ()
    assert outcome.verdict == "faithful"


def test_what_was_recorded_in_clear_is_exported_redacted(
    in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of the values is in the exported bundle, which opens, says what was done, and is clean."""
    folder, given = in_clear

    bundle = export(folder, tmp_path / "out.zip", "--redacted")

    assert left_in(bundle, given) == set()
    assert left_in(folder, given) != set()
    assert scan_folder(bundle, allow_rules=()) == ()
    assert "certify the bundle before relying on" in " ".join(open_bundle(bundle).trace.warnings)
    assert "values replaced" in capsys.readouterr().out


def test_the_exported_bundle_replays(in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """It is as faithful as the one it was made from."""
    bundle = export(in_clear[0], tmp_path / "out.zip", "--redacted")

    outcome = replay(bundle, tmp_path / "run", secrets={"PASSWORD": PASSWORD}, on_divergence="continue")

    assert outcome.divergences == ()


def test_a_clean_bundle_is_exported_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is changed, so that its certificate holds; twice the same bundle is twice the same file."""
    source = TRACES / "shop_failing"

    bundle = export(source, tmp_path / "one.zip")
    export(source, tmp_path / "two.zip")

    names = {path.relative_to(bundle) for path in bundle.rglob("*") if path.is_file()}
    assert names == {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert "as it is" in capsys.readouterr().out


def test_a_certificate_of_other_files_is_left_out(
    in_clear: tuple[Path, Mapping[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It speaks of the bundle in clear, and the command says so."""
    (in_clear[0] / CERTIFICATE_FILE).write_text("{}", encoding="utf-8")

    bundle = export(in_clear[0], tmp_path / "out.zip", "--redacted")

    (in_clear[0] / CERTIFICATE_FILE).unlink()
    assert not (bundle / CERTIFICATE_FILE).exists()
    assert "the certificate was left out" in capsys.readouterr().err


def test_links_are_left_out(tmp_path: Path) -> None:
    """A bundle from somebody else hands out no file of this machine."""
    source = tmp_path / "b"
    source.mkdir()
    (source / "trace.json").write_bytes((TRACES / "old_format" / "trace.json").read_bytes())
    (tmp_path / "private").write_text("mine", encoding="utf-8")
    (source / "link").symlink_to(tmp_path / "private")

    bundle = export(source, tmp_path / "out.zip")

    assert [path.name for path in bundle.iterdir()] == ["trace.json"]
