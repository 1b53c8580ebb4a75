"""What models answered is redacted with the bundle in which it lies."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.completions import EchoClient
from eikon_engine.completions.folder import RESPONSES_FOLDER, read_folder
from eikon_engine.errors import ResponsesError
from eikon_engine.redact.responses import rewrite_responses
from eikon_engine.redact.scan import scan_folder
from eikon_engine.shell import run_command
from tests.completions.asking import files, never, opened, request

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
"""Of the shape of a token of GitHub."""


def _clean(text: str) -> str:
    return text.replace("hunter2", "standin")


def test_late_secrets_leave_prompt_answer_digest_and_name(tmp_path: Path) -> None:
    """A secret that is known when the recording ends is in no file, and a clean prompt finds its answer."""
    with opened(tmp_path, EchoClient) as used:
        for text in ("hunter2", "hunter2", "plain"):
            used.client.complete(request(text, metric=f"m {text}"))

    assert rewrite_responses(tmp_path, _clean)

    assert not any("hunter2" in path.name + path.read_text() for path in tmp_path.iterdir())
    assert not rewrite_responses(tmp_path, _clean)
    with opened(tmp_path, never) as used:
        texts = [
            used.client.complete(request(text, metric=f"m {text}")).text for text in ("standin", "standin", "plain")
        ]
    assert texts == ["standin", "standin", "plain"]


def test_prompts_that_become_equal_keep_all_their_answers(tmp_path: Path) -> None:
    """Two prompts that differed in a secret alone have their answers one after the other."""
    with opened(tmp_path, EchoClient) as used:
        for text in ("hunter2", "standin"):
            used.client.complete(request(text))

    rewrite_responses(tmp_path, _clean)

    assert [each.sample_index for each in read_folder(tmp_path).responses] == [0, 1]


def test_a_stopped_recording_is_cleaned_and_stays_stopped(tmp_path: Path) -> None:
    """Cleaning makes nothing whole."""
    used = opened(tmp_path, EchoClient)
    used.client.complete(request("hunter2"))
    used.close(whole=False)

    rewrite_responses(tmp_path, _clean)

    mark = read_folder(tmp_path).mark
    assert mark is not None
    assert mark.state == "stopped"


def test_responses_that_are_being_written_are_left_alone(tmp_path: Path) -> None:
    """Who cleans them meanwhile is told."""
    with opened(tmp_path, EchoClient) as used:
        used.client.complete(request("hunter2"))
        with pytest.raises(ResponsesError, match="another process"):
            rewrite_responses(tmp_path, _clean)


def test_an_exported_bundle_has_clean_responses(tmp_path: Path) -> None:
    """`eikon export bundle --redacted` finds a token that only a model was told, and `eikon scan` finds none after."""
    bundle = Path(shutil.copytree(TRACES / "shop_passing", tmp_path / "bundle"))
    with opened(bundle / RESPONSES_FOLDER, EchoClient) as used:
        used.client.complete(request(f"use {TOKEN}"))
    assert any(each.path.startswith(RESPONSES_FOLDER) for each in scan_folder(bundle, allowed=()))

    target = tmp_path / "b.zip"
    assert run_command(eikon, ["export", "bundle", str(bundle), "--redacted", "-o", str(target)], "eikon") == 0

    with zipfile.ZipFile(target) as archive:
        archive.extractall(tmp_path / "out")
    exported = tmp_path / "out" / "bundle"
    assert len(files(exported / RESPONSES_FOLDER)) == 1
    assert not any(each.path.startswith(RESPONSES_FOLDER) for each in scan_folder(exported, allowed=()))
