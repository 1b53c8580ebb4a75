"""A folder of responses is captured once and replayed from then on."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from eikon_engine.errors import (
    BrowserDiedError,
    CompletionError,
    InterruptedRunError,
    NoReplayDataError,
    OutputError,
    ResponseFolderError,
    SkillError,
    UsageError,
)
from eikon_engine.llm import CapturingClient, EchoClient, ReplayClient, ServedResponse, open_debug_dir
from tests.error_codes import has_code
from tests.llm.asking import CountingClient, capture, files, fresh_ids, never, opened, request
from tests.llm.killed_capture import kill_capture

if TYPE_CHECKING:
    from eikon_engine.llm import Completion, CompletionRequest


def test_the_first_run_captures_and_the_second_replays(tmp_path: Path) -> None:
    """Responses arrive in the same order, and no model is requested."""
    lines: list[str] = []
    with opened(tmp_path / "d", CountingClient, lines) as first:
        captured = [first.client.complete(request(text)).text for text in ("a", "b", "a")]
    with opened(tmp_path / "d", never, lines) as second:
        replayed = [second.client.complete(request(text)).text for text in ("a", "a", "b")]

    assert (first.mode, second.mode) == ("capture", "replay")
    assert captured == ["a 0", "b 0", "a 1"]
    assert replayed == ["a 0", "a 1", "b 0"]
    assert lines == [
        f"Capture mode: 0 responses recorded; new responses are saved to {tmp_path / 'd'}",
        f"Capture mode: 3 responses saved to {tmp_path / 'd'}",
        f"Replay mode: 3 responses from {tmp_path / 'd'}; no model is asked",
        "Replay mode: 3 of 3 responses used",
    ]


def test_a_replayed_completion_equals_the_captured_one(tmp_path: Path) -> None:
    """Model, tokens and finish reason are replayed with the text."""
    with opened(tmp_path, CountingClient) as used:
        captured = used.client.complete(request())
    with opened(tmp_path, never) as used:
        assert used.client.complete(request()) == captured


def test_more_requests_than_were_recorded_fail(tmp_path: Path) -> None:
    """Exhausted responses do not start again from the first."""
    capture(tmp_path, "a", "a")
    with opened(tmp_path, never) as used:
        assert [used.client.complete(request("a")).text for _ in range(2)] == ["a 0", "a 1"]
        with pytest.raises(NoReplayDataError, match="recorded 2 times and requested once more"):
            used.client.complete(request("a"))
        assert used.counts.missed == 1


def test_a_failure_is_captured_and_raised_again(tmp_path: Path) -> None:
    """The same error is raised, at its position among the responses."""

    class Limited:
        def complete(self, request: CompletionRequest) -> NoReturn:  # noqa: ARG002 - the protocol
            raise CompletionError("too many", code="completion-limited")

    with opened(tmp_path, Limited) as used, pytest.raises(CompletionError, check=has_code("completion-limited")):
        used.client.complete(request())
    with (
        opened(tmp_path, never) as used,
        pytest.raises(CompletionError, match=r"^too many$", check=has_code("completion-limited")),
    ):
        used.client.complete(request())


def test_a_subclass_of_another_library_is_recorded_under_our_code(tmp_path: Path) -> None:
    """A client's own error subclass is recorded as a class that any program can raise."""

    class OddError(CompletionError):
        code = "odd"

    class Odd:
        def complete(self, request: CompletionRequest) -> NoReturn:  # noqa: ARG002 - the protocol
            raise OddError("odd")

    with opened(tmp_path, Odd) as used, pytest.raises(OddError):
        used.client.complete(request())

    assert json.loads(files(tmp_path)[0].read_text())["error"] == {"code": "completion-failed", "message": "odd"}


def test_unused_responses_are_reported_and_returned(tmp_path: Path) -> None:
    """A run that requests less than the recording reports the rest."""
    lines: list[str] = []
    capture(tmp_path, "a", "b", "a")
    used = opened(tmp_path, never, lines)
    used.client.complete(request("a"))

    unused = used.close()

    assert sorted((each.prompt[0].content, each.sample_index) for each in unused) == [("a", 1), ("b", 0)]
    assert lines[1] == "Replay mode: 1 of 3 responses used"
    assert lines[2].startswith("Replay mode: 2 responses not used: ")
    assert all(each.file_name in lines[2] for each in unused)
    assert used.close() == unused
    assert len(lines) == 3


def test_a_killed_capture_is_readable_and_incomplete(tmp_path: Path) -> None:
    """The received answers are in the folder, which is refused until --append completes it."""
    kill_capture(tmp_path)

    with pytest.raises(
        ResponseFolderError,
        match=r"interrupted after 3 responses.*--append.*--refresh",
        check=has_code("responses-incomplete"),
    ):
        opened(tmp_path, never)
    with opened(tmp_path, append=True) as used:
        texts = [used.client.complete(request(f"prompt {number}")).text for number in range(4)]
        assert (used.counts.replayed, used.counts.captured) == (3, 1)
    assert texts == [f"prompt {number}" for number in range(4)]
    with opened(tmp_path, never) as used:
        assert used.counts.recorded == 4


@pytest.mark.parametrize(
    ("stop", "is_whole"),
    [(SkillError("no"), True), (BrowserDiedError("gone"), False), (InterruptedRunError("stopped"), False)],
    ids=["failed", "cut off", "interrupted"],
)
def test_an_interrupted_run_is_marked_incomplete(tmp_path: Path, stop: Exception, *, is_whole: bool) -> None:
    """A failed run is complete, an interrupted one is not."""
    used = opened(tmp_path)
    used.client.complete(request())
    used.__exit__(type(stop), stop, None)

    if is_whole:
        assert opened(tmp_path, never).mode == "replay"
    else:
        with pytest.raises(ResponseFolderError, check=has_code("responses-incomplete")):
            opened(tmp_path, never)


def test_the_folder_may_be_given_as_text(tmp_path: Path) -> None:
    """Text and path name the same folder."""
    with open_debug_dir(str(tmp_path / "d"), EchoClient) as first:
        first.client.complete(request())

    with open_debug_dir(tmp_path / "d", never) as second:
        assert second.client.complete(request()).text == request().messages[-1].content
    assert first.root == second.root == tmp_path / "d"


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path) -> None:
    """The second run is rejected until the first has ended."""
    first = opened(tmp_path)
    with pytest.raises(ResponseFolderError, match="another run is writing responses"):
        opened(tmp_path)
    first.close()

    assert opened(tmp_path).mode == "capture"


def test_a_run_without_requests_leaves_an_empty_folder(tmp_path: Path) -> None:
    """Neither key nor library is needed, and the next run captures."""
    with opened(tmp_path, never) as used:
        pass

    assert used.counts.captured == 0
    assert opened(tmp_path, never).mode == "capture"


def test_an_unwritable_folder_is_reported_before_any_request(tmp_path: Path) -> None:
    """An output path that is a file, for example, is an error before any request."""
    (tmp_path / "f").write_text("")

    with pytest.raises((OutputError, ResponseFolderError), match="f"):
        opened(tmp_path / "f", never)


def test_a_response_after_the_end_is_rejected(tmp_path: Path) -> None:
    """A complete recording does not grow."""
    used = opened(tmp_path)
    used.close()

    with pytest.raises(UsageError, match="a response arrived after the recording ended"):
        used.client.complete(request())
    assert files(tmp_path) == []


def test_closing_before_a_response_arrives_is_incomplete(tmp_path: Path) -> None:
    """A response still pending in another thread makes the recording incomplete."""
    asked, released = threading.Event(), threading.Event()

    class Slow(EchoClient):
        def complete(self, request: CompletionRequest) -> Completion:
            asked.set()
            released.wait()
            return super().complete(request)

    lines: list[str] = []
    used = opened(tmp_path, Slow, lines)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(used.client.complete, request())
        asked.wait()
        used.close()
        released.set()
        with pytest.raises(UsageError, match="a response arrived after the recording ended"):
            answer.result()

    assert lines[-1] == f"Capture mode: interrupted after 0 responses; {tmp_path} is marked as incomplete"


def test_secrets_are_neither_written_nor_needed(tmp_path: Path) -> None:
    """Texts are redacted before they are written and, likewise, before they are matched."""

    def redact(text: str) -> str:
        return text.replace("hunter2", "stand-in")

    with opened(tmp_path, redact=redact) as used:
        assert used.client.complete(_secret_request("hunter2")).text == "my hunter2"
        assert not any("hunter2" in path.read_text() + path.name for path in tmp_path.iterdir())
    with opened(tmp_path, never, redact=redact) as used:
        assert used.client.complete(_secret_request("hunter2")).text == "my stand-in"
    with opened(tmp_path, never) as used:
        assert used.client.complete(_secret_request("stand-in")).text == "my stand-in"

    assert not any("hunter2" in path.read_text() + path.name for path in tmp_path.iterdir())


def test_the_callback_receives_each_response(tmp_path: Path) -> None:
    """It gets the source of each response and its latency, recorded and current."""
    heard: list[ServedResponse] = []
    with opened(tmp_path, on_response=heard.append) as used:
        used.client.complete(request())
    with opened(tmp_path, never, on_response=heard.append) as used:
        used.client.complete(request())

    assert [each.source for each in heard] == ["captured", "replayed"]
    assert heard[0].response == heard[1].response
    assert heard[1].latency_seconds < 0.05


def test_both_clients_work_without_an_open_folder(tmp_path: Path) -> None:
    """The clients can be combined directly: one serves what the other wrote."""
    from eikon_engine.llm.response_folder import ResponseWriter, read_complete_folder

    writer = ResponseWriter(tmp_path, fresh_ids()())
    asked = CapturingClient(EchoClient(), writer).complete(request())
    writer.end(finished=True)

    assert ReplayClient(read_complete_folder(tmp_path)).complete(request()) == asked


def _secret_request(secret: str) -> CompletionRequest:
    return request(f"my {secret}", metric=f"m {secret}", parameters={"user": [secret, {secret: 1}]}, file_path=secret)
