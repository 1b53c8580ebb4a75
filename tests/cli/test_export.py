"""`eikon export` writes the content of the bundle, and reports what it omits."""

from __future__ import annotations

import compileall
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.importers.har_network import import_har
from eikon_engine.network.store import read_network

BUNDLE = Path(__file__).parents[1] / "data" / "traces" / "shop_failing"


def test_the_network_of_a_bundle_is_exported(tmp_path: Path) -> None:
    """The HAR can be read back as the network part of the bundle, including placeholders for secrets."""
    status = run_command(eikon, ["export", "har", str(BUNDLE), "--output", str(tmp_path / "a.har")], "eikon")

    imported = import_har(tmp_path / "a.har", tmp_path / "network")
    assert status == 0
    assert imported.recording.exchanges == read_network(BUNDLE / "network").exchanges


def test_a_har_is_printed_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --output, or with `-`, the HAR is printed."""
    for arguments in ([], ["--output", "-"]):
        status = run_command(eikon, ["export", "har", str(BUNDLE / "trace.json"), *arguments], "eikon")

        assert status == 0
        assert json.loads(capsys.readouterr().out)["log"]["version"] == "1.2"


def test_a_bundle_without_network_has_nothing_to_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bundle without a network part is a one-line error with status 78."""
    shutil.copytree(BUNDLE, tmp_path / "b")
    plain: dict[str, Any] = json.loads((tmp_path / "b" / "trace.json").read_text())
    (tmp_path / "b" / "trace.json").write_text(json.dumps(plain | {"network": None}))

    status = run_command(eikon, ["export", "har", str(tmp_path / "b")], "eikon")

    assert status == 78
    assert "no recorded network to export" in capsys.readouterr().err


def test_a_mission_is_exported_as_a_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The test compiles and starts at the mission's URL; omitted parts are printed and listed in its header."""
    file = tmp_path / "test_voucher.py"

    status = run_command(eikon, ["export", "playwright", str(BUNDLE), "-o", str(file)], "eikon")

    printed = capsys.readouterr()
    messages = [line.removeprefix("not exported: ") for line in printed.err.splitlines()]
    source = file.read_text(encoding="utf-8")
    assert status == 0
    assert compileall.compile_file(file, quiet=2)
    assert 'BASE_URL = "http://127.0.0.1:8642"' in source
    assert [line.partition(":")[0] for line in messages] == ["clock", "randomness", "machine", "network"]
    assert all(line in source for line in messages)
    assert printed.out.endswith(f" actions; next: pip install pytest-playwright; pytest {file}\n")


def test_a_test_is_exported_for_another_deployment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--base-url` writes the new address; an old one that does not occur is a warning."""
    file = tmp_path / "test_voucher.py"
    rules = [
        "--base-url",
        "http://127.0.0.1:8642=https://staging.example",
        "--base-url",
        "http://a.example=http://b.example",
    ]

    status = run_command(eikon, ["export", "playwright", str(BUNDLE), "-o", str(file), *rules], "eikon")

    assert status == 0
    assert 'BASE_URL = "https://staging.example"' in file.read_text(encoding="utf-8")
    assert "8642" not in file.read_text(encoding="utf-8")
    assert "http://a.example does not occur in the recording" in capsys.readouterr().err


def test_an_old_trace_is_exported_as_it_was_recorded(tmp_path: Path) -> None:
    """Without identities and snapshots, recorded selectors are used; its secret comes from the environment."""
    file = tmp_path / "test_old.py"

    status = run_command(eikon, ["export", "playwright", str(BUNDLE.with_name("old_format")), "-o", str(file)], "eikon")

    source = file.read_text(encoding="utf-8")
    assert status == 0
    assert 'page.locator("#sign-in").click()' in source
    assert 'fill(os.environ["EIKON_SECRET_PASSWORD"])' in source


def test_a_storage_state_is_written_next_to_the_test(tmp_path: Path) -> None:
    """Its cookies expire with the test session, on any date."""
    shutil.copytree(BUNDLE, tmp_path / "b")
    cookie = {"name": "sid", "value": "1", "domain": "127.0.0.1", "path": "/", "expires": 1.0}
    (tmp_path / "b" / "storage_state.json").write_text(json.dumps({"cookies": [cookie], "origins": []}))

    status = run_command(
        eikon, ["export", "playwright", str(tmp_path / "b"), "-o", str(tmp_path / "test_v.py")], "eikon"
    )

    state = json.loads((tmp_path / "test_v_files" / "storage_state.json").read_text())
    assert status == 0
    assert state["cookies"] == [cookie | {"expires": -1}]
    assert '"storage_state": FILES / "storage_state.json"' in (tmp_path / "test_v.py").read_text()


@pytest.mark.parametrize("state", ["[]", "{", '{"cookies": [1], "origins": [2]}'], ids=["list", "cut off", "numbers"])
def test_a_broken_storage_state_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str) -> None:
    """A broken storage state is an error with status 65 and a position, or is copied as it is; never a traceback."""
    shutil.copytree(BUNDLE, tmp_path / "b")
    (tmp_path / "b" / "storage_state.json").write_text(state)

    status = run_command(
        eikon, ["export", "playwright", str(tmp_path / "b"), "-o", str(tmp_path / "test_v.py")], "eikon"
    )

    messages = capsys.readouterr().err
    assert status in {0, 65}
    assert status == 0 or (
        messages.count("\n") == 1 and "storage_state.json: expected a Playwright storage state" in messages
    )


@pytest.mark.parametrize("name", ["mission", "mission.txt"])
def test_a_test_is_a_python_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Another suffix is a usage error with status 2, and nothing is written."""
    status = run_command(eikon, ["export", "playwright", str(BUNDLE), "-o", str(tmp_path / name)], "eikon")

    assert status == 2
    assert "expected a Python file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
