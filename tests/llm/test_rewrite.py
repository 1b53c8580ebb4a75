"""Model responses are redacted with the bundle that contains them."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.llm import EchoClient
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, read_folder
from eikon_engine.llm.rewrite_responses import redact_responses
from eikon_engine.redact.scan import scan_folder
from tests.llm.asking import files, fresh_ids, never, opened, request

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
"""Has the format of a GitHub token."""


def _clean(text: str) -> str:
    return text.replace("hunter2", "standin")


def test_late_secrets_leave_prompt_answer_digest_and_name(tmp_path: Path) -> None:
    """A secret that becomes known at the end is removed from all files, and the redacted prompt still matches."""
    with opened(tmp_path, EchoClient) as used:
        for text in ("hunter2", "hunter2", "plain"):
            used.client.complete(request(text, metric=f"m {text}"))

    assert redact_responses(tmp_path, _clean)

    assert not any("hunter2" in path.name + path.read_text() for path in tmp_path.iterdir())
    assert not redact_responses(tmp_path, _clean)
    with opened(tmp_path, never) as used:
        texts = [
            used.client.complete(request(text, metric=f"m {text}")).text for text in ("standin", "standin", "plain")
        ]
    assert texts == ["standin", "standin", "plain"]


def test_prompts_that_become_equal_keep_all_their_answers(tmp_path: Path) -> None:
    """Prompts that differed only in a secret keep all their answers, in recorded order."""
    with opened(tmp_path, EchoClient) as used:
        for text in ("hunter2", "standin"):
            used.client.complete(request(text))

    redact_responses(tmp_path, _clean)

    assert [each.sample_index for each in read_folder(tmp_path).responses] == [0, 1]


def test_an_interrupted_recording_is_redacted_and_stays_incomplete(tmp_path: Path) -> None:
    """Redaction does not mark an interrupted recording as complete."""
    used = opened(tmp_path, EchoClient)
    used.client.complete(request("hunter2"))
    used.close(finished=False)

    redact_responses(tmp_path, _clean)

    mark = read_folder(tmp_path).state
    assert mark is not None
    assert mark.state == "stopped"


def test_an_open_recording_redacts_itself_at_its_end(tmp_path: Path) -> None:
    """Files written before a secret was known are rewritten when the run closes, and not earlier by another process."""
    known: list[str] = []

    def learning(text: str) -> str:
        return _clean(text) if known else text

    with opened(tmp_path, EchoClient, redact=learning) as used:
        used.client.complete(request("hunter2"))
        assert not redact_responses(tmp_path, _clean)
        assert "hunter2" in files(tmp_path)[0].read_text()
        known.append("hunter2")

    assert "hunter2" not in "".join(path.read_text() for path in tmp_path.iterdir())
    with opened(tmp_path, never, redact=learning) as used:
        assert used.client.complete(request("hunter2")).text == "standin"


def test_a_refresh_is_redacted_before_it_replaces_the_old_responses(tmp_path: Path) -> None:
    """New responses are redacted before they replace the old ones."""
    known: list[str] = []

    def learning(text: str) -> str:
        return _clean(text) if known else text

    new_id = fresh_ids()
    for refresh in (False, True):
        known.clear()
        used = opened(tmp_path, EchoClient, redact=learning, new_id=new_id, refresh=refresh)
        used.client.complete(request("hunter2"))
        known.append("hunter2")
        used.close()

        assert "hunter2" not in "".join(path.read_text() for path in tmp_path.iterdir())
    assert used.mode == "refresh"
    assert len(files(tmp_path)) == 1


def test_an_exported_bundle_has_redacted_responses(tmp_path: Path) -> None:
    """`eikon export bundle --redacted` replaces a token found only in a prompt, so `eikon scan` finds none."""
    bundle = Path(shutil.copytree(TRACES / "shop_passing", tmp_path / "bundle"))
    with opened(bundle / RESPONSES_FOLDER, EchoClient) as used:
        used.client.complete(request(f"use {TOKEN}"))
    assert any(each.path.startswith(RESPONSES_FOLDER) for each in scan_folder(bundle, allow_rules=()))

    target = tmp_path / "b.zip"
    assert run_command(eikon, ["export", "bundle", str(bundle), "--redacted", "-o", str(target)], "eikon") == 0

    with zipfile.ZipFile(target) as archive:
        archive.extractall(tmp_path / "out")
    exported = tmp_path / "out" / "bundle"
    assert len(files(exported / RESPONSES_FOLDER)) == 1
    assert not any(each.path.startswith(RESPONSES_FOLDER) for each in scan_folder(exported, allow_rules=()))
