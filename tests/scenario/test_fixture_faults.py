"""Changed, mixed and missing fixtures are refused with an error that names them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pydantic import JsonValue

from eikon_engine.errors import FixtureFolderError
from eikon_engine.scenario.fixtures import Fixture, FixtureFolder, args_hash, digested_text, read_digested
from eikon_engine.scenario.recorded_calls import RecordingCalls
from eikon_engine.scenario.redaction import SecretFinder
from eikon_engine.scenario.replayed_calls import ReplayingCalls
from eikon_engine.scenario.tool_box import ToolBox
from tests.error_codes import has_code
from tests.scenario.fixture_calls import NOON, echo, files, record, replayed


def edit(path: Path, **fields: JsonValue) -> None:
    """Edit a fixture without updating its digest."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def reseal(path: Path, **fields: object) -> None:
    """Change a fixture and update its digest."""
    path.write_bytes(digested_text(read_digested(Fixture, path).model_copy(update=fields)))


def test_a_fixture_that_was_edited_is_named(tmp_path: Path) -> None:
    """An edited fixture is an error that names its file."""
    path = files(record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo", {"value": 1})))[0]
    edit(path, result=2)

    with pytest.raises(
        FixtureFolderError,
        match=rf"{path}: expected digest .* as in the file.*was edited",
        check=has_code("fixture-corrupt"),
    ):
        replayed(tmp_path)[0].call("echo", {"value": 1})


@pytest.mark.parametrize(
    "fields", [{"args": {"value": 2}}, {"tool": "ecko"}, {"occurrence": 2}, {"args_hash": args_hash({})}]
)
def test_a_fixture_in_the_place_of_another_is_named(tmp_path: Path, fields: dict[str, object]) -> None:
    """A fixture at another call's path is an error that names its file."""
    path = files(record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo", {"value": 1})))[0]
    reseal(path, **fields)

    with pytest.raises(
        FixtureFolderError, match=rf"{path}: expected .* to match the path", check=has_code("fixture-corrupt")
    ):
        replayed(tmp_path)[0].call("echo", {"value": 1})


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"digest":"x"}', b"\xff", b"1" * 9])
def test_a_damaged_fixture_is_named(tmp_path: Path, content: bytes) -> None:
    """A damaged fixture is an error that names its file."""
    path = files(record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo")))[0]
    path.write_bytes(content)

    with pytest.raises(FixtureFolderError, match=str(path), check=has_code("fixture-corrupt")) as caught:
        replayed(tmp_path)[0].call("echo")
    assert "\n" not in caught.value.message


def test_a_folder_of_two_recordings_is_refused_whether_the_stranger_is_used_or_not(tmp_path: Path) -> None:
    """A folder with fixtures of two recordings is refused, even if the foreign fixture is unused."""
    ours = record(tmp_path / "ours", ToolBox.of(echo), lambda box: box.call("echo", {"value": 1}))
    theirs = record(tmp_path / "theirs", ToolBox.of(echo), lambda box: box.call("echo", {"value": 2}), run_id="run_2")
    shutil.copytree(theirs / "echo", ours / "echo", dirs_exist_ok=True)
    box, calls = replayed(ours)
    box.call("echo", {"value": 1})

    with pytest.raises(
        FixtureFolderError,
        match=r"expected a fixture of run run_1, got one of run run_2",
        check=has_code("fixtures-mixed"),
    ):
        box.call("echo", {"value": 2})
    with pytest.raises(FixtureFolderError, check=has_code("fixtures-mixed")):
        ReplayingCalls(FixtureFolder(ours), {}).close()
    assert calls is not None


def test_a_recording_that_was_killed_is_refused(tmp_path: Path) -> None:
    """A killed recording is refused."""
    calls = RecordingCalls(tmp_path, "run_1", SecretFinder({}, None, b""), lambda: NOON)
    ToolBox.of(echo).with_calls(calls).call("echo")

    with pytest.raises(
        FixtureFolderError,
        match="got run run_1, which was killed or is still running",
        check=has_code("fixtures-incomplete"),
    ):
        FixtureFolder(tmp_path)


def test_a_folder_without_a_recording_is_refused(tmp_path: Path) -> None:
    """A folder without a recording is refused."""
    with pytest.raises(FixtureFolderError, match=r"got a folder without recording.json"):
        FixtureFolder(tmp_path)
    with pytest.raises(FixtureFolderError, match="got no folder"):
        FixtureFolder(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["notes.txt", "echo/notes.json", f"echo/{'0' * 64}.1.json", f"echo/{'0' * 63}.json"])
def test_what_is_no_fixture_is_named(tmp_path: Path, name: str) -> None:
    """A file that is not a fixture is an error that names it."""
    record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo"))
    (tmp_path / name).write_text("{}")

    with pytest.raises(FixtureFolderError, match="expected only <tool>"):
        FixtureFolder(tmp_path)
