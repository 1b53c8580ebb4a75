"""A folder of responses is captured once and answers from then on."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from eikon_engine.errors import (
    BrowserDiedError,
    CompletionLimitedError,
    InterruptedRunError,
    NoReplayDataError,
    OutputError,
    ResponseFolderError,
    ResponsesIncompleteError,
    SkillError,
    UsageError,
)
from eikon_engine.llm import CapturingClient, EchoClient, ReplayClient, ServedResponse
from tests.llm.asking import CountingClient, capture, files, fresh_ids, never, opened, request
from tests.llm.killed_capture import kill_capture

if TYPE_CHECKING:
    from eikon_engine.llm import Completion, CompletionRequest


def test_the_first_run_captures_and_the_second_replays(tmp_path: Path) -> None:
    """The same answers come in the same order, and no model is asked."""
    told: list[str] = []
    with opened(tmp_path / "d", CountingClient, told) as first:
        captured = [first.client.complete(request(text)).text for text in ("a", "b", "a")]
    with opened(tmp_path / "d", never, told) as second:
        replayed = [second.client.complete(request(text)).text for text in ("a", "a", "b")]

    assert (first.mode, second.mode) == ("capture", "replay")
    assert captured == ["a 0", "b 0", "a 1"]
    assert replayed == ["a 0", "a 1", "b 0"]
    assert told == [
        f"Capture mode: 0 responses recorded; new responses are saved to {tmp_path / 'd'}",
        f"Capture mode: 3 responses saved to {tmp_path / 'd'}",
        f"Replay mode: 3 responses from {tmp_path / 'd'}; no model is asked",
        "Replay mode: 3 of 3 responses used",
    ]


def test_what_is_replayed_is_all_that_the_model_said(tmp_path: Path) -> None:
    """Model, tokens and reason come back with the text."""
    with opened(tmp_path, CountingClient) as used:
        captured = used.client.complete(request())
    with opened(tmp_path, never) as used:
        assert used.client.complete(request()) == captured


def test_more_requests_than_were_recorded_fail(tmp_path: Path) -> None:
    """What is exhausted does not begin again."""
    capture(tmp_path, "a", "a")
    with opened(tmp_path, never) as used:
        assert [used.client.complete(request("a")).text for _ in range(2)] == ["a 0", "a 1"]
        with pytest.raises(NoReplayDataError, match="recorded 2 times and requested once more"):
            used.client.complete(request("a"))
        assert used.counts.missed == 1


def test_a_failure_is_captured_and_raised_again(tmp_path: Path) -> None:
    """The same error comes, in its place among the answers."""

    class Limited:
        def complete(self, request: CompletionRequest) -> NoReturn:  # noqa: ARG002 - the protocol
            raise CompletionLimitedError("too many")

    with opened(tmp_path, Limited) as used, pytest.raises(CompletionLimitedError):
        used.client.complete(request())
    with opened(tmp_path, never) as used, pytest.raises(CompletionLimitedError, match=r"^too many$"):
        used.client.complete(request())


def test_a_failure_of_another_tree_keeps_the_code_of_ours(tmp_path: Path) -> None:
    """A client may have errors of its own; what is recorded can be raised by anyone."""

    class OddError(CompletionLimitedError):
        code = "odd"

    class Odd:
        def complete(self, request: CompletionRequest) -> NoReturn:  # noqa: ARG002 - the protocol
            raise OddError("odd")

    with opened(tmp_path, Odd) as used, pytest.raises(OddError):
        used.client.complete(request())

    assert json.loads(files(tmp_path)[0].read_text())["error"] == {"code": "completion-limited", "message": "odd"}


def test_responses_that_nobody_asked_for_are_told_and_returned(tmp_path: Path) -> None:
    """A run that asks less than the recording says so."""
    told: list[str] = []
    capture(tmp_path, "a", "b", "a")
    used = opened(tmp_path, never, told)
    used.client.complete(request("a"))

    unused = used.close()

    assert sorted((each.prompt[0].content, each.sample_index) for each in unused) == [("a", 1), ("b", 0)]
    assert told[1] == "Replay mode: 1 of 3 responses used"
    assert told[2].startswith("Replay mode: 2 responses not used: ")
    assert all(each.file_name in told[2] for each in unused)
    assert used.close() == unused
    assert len(told) == 3


def test_a_killed_capture_reads_back_and_is_not_taken_for_whole(tmp_path: Path) -> None:
    """What was answered is there, the folder is refused, and --append goes on from it."""
    kill_capture(tmp_path)

    with pytest.raises(ResponsesIncompleteError, match=r"interrupted after 3 responses.*--append.*--refresh"):
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
def test_a_run_that_was_cut_off_is_marked(tmp_path: Path, stop: Exception, *, is_whole: bool) -> None:
    """A run that failed came to its end; one that was stopped did not."""
    used = opened(tmp_path)
    used.client.complete(request())
    used.__exit__(type(stop), stop, None)

    if is_whole:
        assert opened(tmp_path, never).mode == "replay"
    else:
        with pytest.raises(ResponsesIncompleteError):
            opened(tmp_path, never)


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path) -> None:
    """The second is told; when the first has ended it may."""
    first = opened(tmp_path)
    with pytest.raises(ResponseFolderError, match="another run is writing responses"):
        opened(tmp_path)
    first.close()

    assert opened(tmp_path).mode == "capture"


def test_a_run_that_asks_nothing_leaves_a_folder_to_capture_into(tmp_path: Path) -> None:
    """Neither key nor library is needed for it, and the next run captures."""
    with opened(tmp_path, never) as used:
        pass

    assert used.counts.captured == 0
    assert opened(tmp_path, never).mode == "capture"


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    """A file in the place of the folder, for example."""
    (tmp_path / "f").write_text("")

    with pytest.raises((OutputError, ResponseFolderError), match="f"):
        opened(tmp_path / "f", never)


def test_an_answer_after_the_end_is_refused(tmp_path: Path) -> None:
    """A recording that says it is whole does not grow."""
    used = opened(tmp_path)
    used.close()

    with pytest.raises(UsageError, match="a response arrived after the recording ended"):
        used.client.complete(request())
    assert files(tmp_path) == []


def test_an_end_before_an_answer_came_is_not_whole(tmp_path: Path) -> None:
    """A thread that still waits for its model is not forgotten: the recording says that it was stopped."""
    asked, released = threading.Event(), threading.Event()

    class Slow(EchoClient):
        def complete(self, request: CompletionRequest) -> Completion:
            asked.set()
            released.wait()
            return super().complete(request)

    told: list[str] = []
    used = opened(tmp_path, Slow, told)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(used.client.complete, request())
        asked.wait()
        used.close()
        released.set()
        with pytest.raises(UsageError, match="a response arrived after the recording ended"):
            answer.result()

    assert told[-1] == f"Capture mode: interrupted after 0 responses; {tmp_path} is marked as incomplete"


def test_secrets_are_neither_written_nor_needed(tmp_path: Path) -> None:
    """Texts are cleaned before they are written, and in the same way before they are looked for."""

    def clean(text: str) -> str:
        return text.replace("hunter2", "stand-in")

    with opened(tmp_path, clean=clean) as used:
        assert used.client.complete(_secret_request("hunter2")).text == "my hunter2"
        assert not any("hunter2" in path.read_text() + path.name for path in tmp_path.iterdir())
    with opened(tmp_path, never, clean=clean) as used:
        assert used.client.complete(_secret_request("hunter2")).text == "my stand-in"
    with opened(tmp_path, never) as used:
        assert used.client.complete(_secret_request("stand-in")).text == "my stand-in"

    assert not any("hunter2" in path.read_text() + path.name for path in tmp_path.iterdir())


def test_the_watcher_hears_of_each_response(tmp_path: Path) -> None:
    """Who writes events knows what came from where, and how long it took then and now."""
    heard: list[ServedResponse] = []
    with opened(tmp_path, watch=heard.append) as used:
        used.client.complete(request())
    with opened(tmp_path, never, watch=heard.append) as used:
        used.client.complete(request())

    assert [each.source for each in heard] == ["captured", "replayed"]
    assert heard[0].response == heard[1].response
    assert heard[1].latency_seconds < 0.05


def test_both_clients_do_without_a_folder_in_use(tmp_path: Path) -> None:
    """The parts can be put together by hand: what one writes the other gives."""
    from eikon_engine.llm.response_folder import ResponseWriter, read_complete_folder

    writer = ResponseWriter(tmp_path, fresh_ids()())
    asked = CapturingClient(EchoClient(), writer).complete(request())
    writer.end(finished=True)

    assert ReplayClient(read_complete_folder(tmp_path)).complete(request()) == asked


def _secret_request(secret: str) -> CompletionRequest:
    return request(f"my {secret}", metric=f"m {secret}", parameters={"user": [secret, {secret: 1}]}, file_path=secret)
