"""`eikon export har` writes what the bundle holds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.network.har_import import import_har
from eikon_engine.network.store import read_network
from eikon_engine.shell import run_command

BUNDLE = Path(__file__).parents[2] / "data" / "traces" / "shop_failing"


def test_the_network_of_a_bundle_is_exported(tmp_path: Path) -> None:
    """The file reads back as the bundle's own network part, its placeholders for secrets included."""
    status = run_command(eikon, ["export", "har", str(BUNDLE), "--output", str(tmp_path / "a.har")], "eikon")

    imported = import_har(tmp_path / "a.har", tmp_path / "network")
    assert status == 0
    assert imported.recording.exchanges == read_network(BUNDLE / "network").exchanges


def test_a_har_goes_to_standard_output_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --output, or with `-`, the HAR is what is printed."""
    for arguments in ([], ["--output", "-"]):
        status = run_command(eikon, ["export", "har", str(BUNDLE / "trace.json"), *arguments], "eikon")

        assert status == 0
        assert json.loads(capsys.readouterr().out)["log"]["version"] == "1.2"


def test_a_bundle_without_network_has_nothing_to_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not in the bundle is not made up: 78."""
    shutil.copytree(BUNDLE, tmp_path / "b")
    plain: dict[str, Any] = json.loads((tmp_path / "b" / "trace.json").read_text())
    (tmp_path / "b" / "trace.json").write_text(json.dumps(plain | {"network": None}))

    status = run_command(eikon, ["export", "har", str(tmp_path / "b")], "eikon")

    assert status == 78
    assert "wanted a recorded network to export" in capsys.readouterr().err
