"""What `eikon scan` reports and what it does not."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import UsageError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.redact.scan import AllowRule, parse_allow_rules, scan_folder

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJuYW1lIjoiQWRhIiwiaWQiOjEyMzQ1Njc4OTB9.kJ83hdPq0zLmWv7TnXy2kJ83hdPq0zLm"
TOKEN = "kJ83hdPq0zLmWv7TnXy2"
PLANTED = {
    "a token in a body": (f'{{"items": [], "note": "{JWT}"}}', "token", "JWT in a body"),
    "a key": ('const key = "AKIAIOSFODNN7EXAMPLE";', "token", "AWS access key in a body"),
    "a value by its name": (f'{{"refresh_token": "{TOKEN}"}}', "body", "refresh_token"),
    "an authorization": (f'{{"headers": [["authorization", "Bearer {TOKEN}"]]}}', "header", "authorization"),
    "a cookie": (f'{{"headers": [["set-cookie", "sid={TOKEN}; HttpOnly"]]}}', "cookie", "sid"),
    "a password": ("name=Ada&password=plum-4711", "password", "password"),
    "a code in an address": (f'{{"url": "https://x.test/cb?code={TOKEN}"}}', "body", "code"),
    "base64": (base64.b64encode(f"token: {JWT}".encode()).decode(), "token", "JWT in base64"),
}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Copy a bundle, to plant something in it."""
    return shutil.copytree(TRACES / "shop_passing", tmp_path / "b")


def scan(*arguments: str) -> int:
    """Run the command."""
    return run_command(eikon, ["scan", *arguments], "eikon")


@pytest.mark.parametrize("name", ["shop_passing", "shop_failing", "shop_diverging", "old_format"])
def test_the_stored_bundles_hold_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They were recorded in a shop whose only secret is a named password."""
    assert scan(str(TRACES / name)) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_secrets_are_found(planted: str, bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A secret in any file, also compressed, is reported with file, position and kind, without its value."""
    text, kind, name = PLANTED[planted]
    ref = BlobStore(bundle / "network" / "blobs").put(text.encode())

    status = scan(str(bundle))

    shown = capsys.readouterr().out
    assert status == 1
    assert f"network/blobs/{ref.sha256}.zst: " in shown
    assert f": {kind} {name}: " in shown
    assert "characters)" in shown
    assert TOKEN not in shown
    assert "plum-4711" not in shown


def test_allowed_values_are_not_reported(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of kinds and names excludes known false positives."""
    (bundle / "note.json").write_text(f'{{"widget_token": "{TOKEN}"}}', encoding="utf-8")
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("# of the shop\nbody widget_*  # says which picture\n", encoding="utf-8")

    assert scan(str(bundle)) == 1
    assert scan(str(bundle), "--allow", str(allowed)) == 0
    assert TOKEN not in capsys.readouterr().out


def test_an_invalid_line_of_the_list_is_rejected() -> None:
    """The message names the line."""
    assert parse_allow_rules("body a\n\n* b # c\n", "x") == (
        AllowRule(kind="body", name="a"),
        AllowRule(kind="*", name="b"),
    )
    with pytest.raises(UsageError, match="x, line 2: expected KIND NAME, got 'body'"):
        parse_allow_rules("# ok\nbody\n", "x")


@pytest.mark.parametrize("content", [b"no zstd", b"", b"\x28\xb5\x2f\xfd\x00"])
def test_a_blob_that_cannot_be_read_is_an_error(
    content: bytes, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bundle that was not searched completely is not reported as clean."""
    (bundle / "network" / "blobs" / "bad.zst").write_bytes(content)

    assert scan(str(bundle)) == 65
    assert "bad.zst: cannot read the file" in capsys.readouterr().err


def test_another_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing folder, or one that is not a bundle, is an error."""
    assert scan(str(tmp_path)) == 65
    assert scan(str(tmp_path / "none")) == 65
    assert "neither a bundle nor a run folder" in capsys.readouterr().err


def test_links_are_not_followed(bundle: Path, tmp_path: Path) -> None:
    """Files outside of the bundle are not scanned."""
    (tmp_path / "elsewhere.json").write_text(f'{{"api_key": "{TOKEN}"}}', encoding="utf-8")
    (bundle / "link.json").symlink_to(tmp_path / "elsewhere.json")

    assert scan_folder(bundle, allow_rules=()) == ()
