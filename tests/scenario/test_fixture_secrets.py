"""Fixtures contain no secret, and no replay needs one."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from eikon_engine.files.blobs import BlobStore
from eikon_engine.scenario.tool_box import ToolBox
from tests.scenario.fixture_calls import echo, record, replayed

TOKEN = "ghp_Kd83hs92Jdk3Lq0Zx7Vb5Nm1Ty6Ue4Wc8Ra"


def log_in() -> dict[str, str]:
    """Return a token."""
    return {"access_token": TOKEN}


def all_bytes(folder: Path) -> bytes:
    """Return the content of all files in a folder, with decompressed blobs."""
    stores = [(BlobStore(each.parent), each) for each in folder.rglob("*.zst")]
    plain = [each.read_bytes() for each in folder.rglob("*.json")]
    return b"".join([*plain, *(store.get(store.ref_of_file(path)) for store, path in stores)])


def test_a_named_secret_is_written_nowhere_and_needed_by_no_replay(tmp_path: Path) -> None:
    """A named secret is in no file, and a replay does not need it."""

    def work(box: ToolBox, secret: str) -> JsonValue:
        answer: JsonValue = box.call("echo", {"value": f"Bearer {secret}"})
        both: JsonValue = box.call("echo", {"value": [answer]})
        return both

    folder = record(
        tmp_path, ToolBox.of(echo), lambda box: work(box, "hunter-2-hunter"), secrets={"KEY": "hunter-2-hunter"}
    )

    assert b"hunter" not in all_bytes(folder)
    assert work(replayed(folder, {"KEY": "another-value"})[0], "another-value") == ["Bearer another-value"]
    assert work(replayed(folder)[0], "{{eikon-secret:KEY}}") == ["Bearer {{eikon-secret:KEY}}"]


def test_a_token_from_a_tool_has_one_stand_in_in_later_calls(tmp_path: Path) -> None:
    """A token from a tool result has the same stand-in in later calls."""

    def work(box: ToolBox) -> JsonValue:
        token = box.call("log_in")["access_token"]
        answer: JsonValue = box.call("echo", {"value": f"token {token}"})
        return answer

    folder = record(tmp_path, ToolBox.of(log_in, echo), work)
    box, calls = replayed(folder)

    assert str(work(box)).startswith("token ghp_eikonredacted")
    calls.close()
    assert TOKEN.removeprefix("ghp_").encode() not in all_bytes(folder)


def test_a_secret_that_is_found_late_is_taken_out_of_what_was_written_before(tmp_path: Path) -> None:
    """A secret that is discovered late is also removed from earlier files."""
    value = "Kd83hs92Jdk3Lq0Zx7Vb5Nm1Ty6Ue4Wc8Ra"

    def work(box: ToolBox) -> None:
        box.call("echo", {"value": {"note": value}})
        box.call("echo", {"value": {"session_token": value}})
        box.call("echo", {"value": {"note": value}})

    folder = record(tmp_path, ToolBox.of(echo), work)
    box, calls = replayed(folder)

    assert value.encode() not in all_bytes(folder)
    work(box)
    calls.close()
