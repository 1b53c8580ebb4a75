from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import ResponseCorruptError, ResponseFolderError
from eikon_engine.llm import EchoClient
from eikon_engine.llm.response_folder import STATE_FILE, read_folder
from tests.error_codes import has_code
from tests.llm.asking import capture, files, never, opened, request

if TYPE_CHECKING:
    from pathlib import Path


def _change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize("half", ["", "{", '{"format_version": 1', "[]", "null", "\x00\x01"])
def test_a_file_that_is_no_whole_object_is_named(tmp_path: Path, half: str) -> None:
    """One bad file makes the folder invalid; it is never silently captured again."""
    capture(tmp_path, "a", "b")
    bad = files(tmp_path)[1]
    bad.write_text(half)

    with pytest.raises(ResponseCorruptError, match=bad.name):
        opened(tmp_path, never)
    assert bad.read_text() == half


@pytest.mark.parametrize("field", ["metric_id", "prompt", "response", "duration_seconds", "usage", "format_version"])
def test_a_file_without_a_field_is_named_with_it(tmp_path: Path, field: str) -> None:
    """A missing field is an error; no default replaces it."""
    capture(tmp_path, "a")
    (bad,) = files(tmp_path)
    bad.write_text(json.dumps({name: value for name, value in json.loads(bad.read_text()).items() if name != field}))

    with pytest.raises(ResponseCorruptError, match=rf"{bad.name}: {field}: this field is missing"):
        opened(tmp_path, never)


@pytest.mark.parametrize(
    "edit",
    [
        {"prompt": [{"role": "user", "content": "A"}]},
        {"prompt": [{"role": "system", "content": "a"}]},
        {"model": "m"},
        {"parameters": {"temperature": 1}},
        {"prompt_digest": "0" * 64},
    ],
    ids=["text", "role", "model", "parameters", "digest"],
)
def test_an_edited_prompt_is_found_by_its_digest(tmp_path: Path, edit: dict[str, object]) -> None:
    """A file with another prompt than the request is not served."""
    capture(tmp_path, "a")
    (bad,) = files(tmp_path)
    _change(bad, **edit)

    with pytest.raises(ResponseCorruptError, match=rf"{bad.name}.*edited after recording"):
        opened(tmp_path, never)


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        ({"format_version": 2}, "expected format_version 1, got 2; update Eikon"),
        ({"format_version": "1"}, "expected format_version 1, got the string"),
        ({"error": {"code": "odd", "message": ""}, "response": None}, "expected the code of a failed completion"),
        ({"error": {"code": "completion-failed", "message": ""}}, "either a response or an error"),
        ({"response": None}, "either a response or an error"),
        ({"sample_index": -1}, "sample_index"),
        ({"duration_seconds": "1"}, "expected a number"),
        ({"extra": 1}, "this field is unknown"),
        ({"metric_id": "other"}, "expected other-"),
    ],
)
def test_a_file_of_another_format_is_reported_with_its_fault(
    tmp_path: Path, edit: dict[str, object], fault: str
) -> None:
    """Unknown versions, codes, types and names are errors that name the file and the fault."""
    capture(tmp_path, "a")
    (bad,) = files(tmp_path)
    _change(bad, **edit)

    with pytest.raises(ResponseCorruptError, match=f"{bad.name}.*{fault}"):
        opened(tmp_path, never)


def test_two_files_for_one_place_are_both_named(tmp_path: Path) -> None:
    """Two files with the same position are an error, even if one is a copy."""
    capture(tmp_path, "a")
    (first,) = files(tmp_path)
    copy = first.with_name(first.name.replace("-0000", "-0001"))
    shutil.copy(first, copy)

    with pytest.raises(ResponseCorruptError, match=f"{copy.name}.*{first.name}"):
        opened(tmp_path, never)


@pytest.mark.parametrize("name", ["notes.txt", "x.json", "sub/file"])
def test_a_folder_with_something_else_is_refused_in_every_mode(tmp_path: Path, name: str) -> None:
    """Nothing is written to, or deleted from, a folder with foreign files."""
    capture(tmp_path / "full", "a")
    for folder in (tmp_path / "full", tmp_path / "empty"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
        for mode in ({}, {"refresh": True}, {"append": True}):
            with pytest.raises(ResponseFolderError, match=rf"got {name.partition('/')[0]}"):
                opened(folder, never, **mode)
        assert (folder / name).read_text() == "mine"


def test_a_link_is_no_response(tmp_path: Path) -> None:
    """A symbolic link in a folder cannot make us read files outside of it."""
    capture(tmp_path / "d", "a")
    (first,) = files(tmp_path / "d")
    first.rename(tmp_path / "outside")
    first.symlink_to(tmp_path / "outside")

    with pytest.raises(ResponseFolderError, match=first.name):
        opened(tmp_path / "d", never)


def test_hidden_files_are_no_part_of_a_folder(tmp_path: Path) -> None:
    """Files left by version control or a killed write are ignored."""
    capture(tmp_path, "a")
    (tmp_path / ".gitignore").write_text("*")
    (tmp_path / ".x.json.abc.tmp").write_text("{")

    assert opened(tmp_path, never).counts.recorded == 1


def test_responses_of_two_recordings_do_not_mix(tmp_path: Path) -> None:
    """A file from another run is an error that names it."""
    capture(tmp_path / "one", "a")
    with opened(tmp_path / "two", EchoClient, new_id=lambda: "other") as used:
        used.client.complete(request("b"))
    (stranger,) = files(tmp_path / "two")
    shutil.copy(stranger, tmp_path / "one")

    with pytest.raises(ResponseFolderError, match=rf"{stranger.name}.*expected a response of recording"):
        opened(tmp_path / "one", never)


def test_a_response_that_is_gone_is_missed(tmp_path: Path) -> None:
    """A deleted file is reported when the folder is opened, and requested again with --append."""
    capture(tmp_path, "a", "b")
    gone = files(tmp_path)[0]
    text = json.loads(gone.read_text())["prompt"][0]["content"]
    gone.unlink()

    with pytest.raises(
        ResponseFolderError, match=r"expected 2 responses.*got 1; restore", check=has_code("responses-incomplete")
    ):
        opened(tmp_path, never)
    with opened(tmp_path, EchoClient, append=True) as used:
        used.client.complete(request(text))
    assert gone.exists()


def test_all_responses_gone_is_no_empty_folder(tmp_path: Path) -> None:
    """A recording whose files were deleted is not silently captured again."""
    capture(tmp_path, "a")
    files(tmp_path)[0].unlink()

    with pytest.raises(
        ResponseFolderError, match=r"expected 1 response.*got 0", check=has_code("responses-incomplete")
    ):
        opened(tmp_path, never)


@pytest.mark.parametrize("mode", [{}, {"append": True}], ids=["replay", "append"])
def test_an_earlier_answer_that_is_gone_is_named(tmp_path: Path, mode: dict[str, bool]) -> None:
    """A missing first answer is an error; the second one is not served in its place."""
    capture(tmp_path, "a", "a")
    gone = files(tmp_path)[0]
    gone.unlink()

    with pytest.raises(ResponseFolderError, match=rf"{gone.name}: sample 0", check=has_code("responses-incomplete")):
        opened(tmp_path, never, **mode)


def test_responses_without_a_state_file_are_incomplete(tmp_path: Path) -> None:
    """Without a state file it is unknown whether all responses are there."""
    capture(tmp_path, "a")
    (tmp_path / STATE_FILE).unlink()

    with pytest.raises(ResponseFolderError, match=f"without {STATE_FILE}", check=has_code("responses-incomplete")):
        opened(tmp_path, never)


@pytest.mark.parametrize("text", ["", "{}", '{"format_version":1,"recording":"r","state":"odd","responses":1}'])
def test_a_mark_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    """An unreadable state file is an error that names it."""
    capture(tmp_path, "a")
    (tmp_path / STATE_FILE).write_text(text)

    with pytest.raises(ResponseCorruptError, match=STATE_FILE):
        opened(tmp_path, never)


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    """A bundle without responses has no such folder."""
    assert read_folder(tmp_path / "none").is_empty
