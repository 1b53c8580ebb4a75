"""A folder of responses is refreshed, or extended by missing ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from eikon_engine.errors import CompletionError, CompletionUnreachableError, ResponseFolderError, UsageError
from eikon_engine.llm import EchoClient
from eikon_engine.llm.response_folder import STATE_FILE
from eikon_engine.llm.rewrite_responses import READY_FOLDER, STAGING_FOLDER
from tests.error_codes import has_code
from tests.llm.asking import CountingClient, capture, files, never, opened, request
from tests.llm.killed_capture import kill_capture

if TYPE_CHECKING:
    from eikon_engine.llm import Completion, CompletionRequest


@pytest.mark.parametrize(
    "outage", [CompletionUnreachableError("away"), CompletionError("away", code="completion-timeout")]
)
def test_a_server_that_is_away_spoils_no_folder(tmp_path: Path, outage: CompletionError) -> None:
    """A refresh keeps the old answers, and a capture can be resumed later."""

    class Away:
        def complete(self, request: CompletionRequest) -> NoReturn:  # noqa: ARG002 - the protocol
            raise outage

    capture(tmp_path / "old", "one")
    lines: list[str] = []
    for folder, refresh in ((tmp_path / "old", True), (tmp_path / "new", False)):
        with (
            opened(folder, Away, lines, refresh=refresh) as used,
            pytest.raises(CompletionError, check=has_code(outage.code)),
        ):
            used.client.complete(request("one"))

    with opened(tmp_path / "old", never) as used:
        assert used.client.complete(request("one")).text == "one 0"
    assert "are unchanged" in lines[1]
    assert capture(tmp_path / "new", "one") == ["one 0"]


def test_append_requests_a_response_that_never_arrived(tmp_path: Path) -> None:
    """Answers received before the server stopped are kept; the folder is refused until it is complete."""

    class LeavesAfterOne(CountingClient):
        def complete(self, request: CompletionRequest) -> Completion:
            if self.asked:
                raise CompletionUnreachableError("away")
            return super().complete(request)

    with opened(tmp_path, LeavesAfterOne) as used:
        used.client.complete(request("one"))
        with pytest.raises(CompletionUnreachableError):
            used.client.complete(request("two"))

    with pytest.raises(ResponseFolderError, check=has_code("responses-incomplete")):
        opened(tmp_path, never)
    with opened(tmp_path, CountingClient, append=True) as used:
        assert [used.client.complete(request(text)).text for text in ("one", "two")] == ["one 0", "two 0"]
    assert opened(tmp_path, never).counts.recorded == 2


def test_refresh_replaces_everything_at_the_end(tmp_path: Path) -> None:
    """The old responses stay until the run is complete, and are then replaced by the new ones."""
    capture(tmp_path, "a", "b")
    old = files(tmp_path)
    with opened(tmp_path, EchoClient, refresh=True, new_id=lambda: "anew") as used:
        assert used.client.complete(request("b")).text == "b"
        assert files(tmp_path) == old

    with opened(tmp_path, never) as used:
        assert used.client.complete(request("b")).text == "b"
        assert used.counts.recorded == 1
    assert not (tmp_path / STAGING_FOLDER).exists()


def test_a_refresh_that_was_stopped_changes_nothing(tmp_path: Path) -> None:
    """The old responses stay; the leftovers are reported and not used."""
    lines: list[str] = []
    capture(tmp_path, "prompt 0")
    kill_capture(tmp_path, "refresh")

    with opened(tmp_path, never, lines) as used:
        assert used.client.complete(request("prompt 0")).text == "prompt 0 0"
    assert "3 responses of an interrupted refresh" in lines[1]
    with opened(tmp_path, EchoClient, refresh=True) as used:
        used.client.complete(request("prompt 0"))
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("moved", range(4), ids=["nothing", "one response", "all responses", "everything"])
def test_a_refresh_that_is_killed_at_its_very_end_is_finished_by_the_next_run(tmp_path: Path, moved: int) -> None:
    """Once all new responses are stored, no old one returns, at whatever point the process was killed."""
    capture(tmp_path, "a", "c")
    old = files(tmp_path)
    staging = tmp_path / READY_FOLDER
    with opened(staging, EchoClient, new_id=lambda: "anew") as used:
        for text in ("a", "b"):
            used.client.complete(request(text))
    for path in old if moved else ():
        path.unlink()
    for path in (*files(staging), staging / STATE_FILE)[:moved]:
        path.replace(tmp_path / path.name)

    with opened(tmp_path, never) as used:
        assert [used.client.complete(request(text)).text for text in ("a", "b")] == ["a", "b"]
        assert used.counts.recorded == 2
    assert not staging.exists()


def test_refresh_takes_corrupt_responses_away(tmp_path: Path) -> None:
    """A refresh repairs a folder that cannot be read."""
    capture(tmp_path, "a")
    files(tmp_path)[0].write_text("{")

    with opened(tmp_path, EchoClient, refresh=True, new_id=lambda: "anew") as used:
        used.client.complete(request("b"))

    assert opened(tmp_path, never).counts.recorded == 1


def test_append_requests_only_missing_responses(tmp_path: Path) -> None:
    """Recorded answers are served first; repeated prompts continue after their last recorded answer."""
    lines: list[str] = []
    capture(tmp_path, "a", "b")
    live = CountingClient()
    with opened(tmp_path, lambda: live, lines, append=True) as used:
        texts = [used.client.complete(request(text)).text for text in ("a", "a", "c")]

    assert texts == ["a 0", "a 0", "c 0"]
    assert live.asked == 2
    assert lines[-1] == f"Capture mode: 2 responses saved to {tmp_path}"
    with opened(tmp_path, never) as used:
        assert used.counts.recorded == 4
        assert [used.client.complete(request("a")).text for _ in range(2)] == ["a 0", "a 0"]


def test_append_with_nothing_missing_needs_no_model_and_writes_nothing(tmp_path: Path) -> None:
    """A complete folder stays complete, even if this run is killed."""
    capture(tmp_path, "a")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    used = opened(tmp_path, never, append=True)
    used.client.complete(request("a"))

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    used.close(finished=False)
    assert opened(tmp_path, never).mode == "replay"


def test_append_without_a_server_leaves_a_whole_folder_whole(tmp_path: Path) -> None:
    """The missing response is still missing, everything else is unchanged, and the report states it."""

    class Away:
        def complete(self, request: CompletionRequest) -> NoReturn:  # noqa: ARG002 - the protocol
            raise CompletionUnreachableError("away")

    lines: list[str] = []
    capture(tmp_path, "a")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with opened(tmp_path, Away, lines, append=True) as used, pytest.raises(CompletionUnreachableError):
        used.client.complete(request("b"))

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert lines[-1] == f"Capture mode: interrupted after 0 responses; {tmp_path} is unchanged"


def test_refresh_and_append_exclude_each_other(tmp_path: Path) -> None:
    """Both options at once are a usage error."""
    with pytest.raises(UsageError, match="use one of them"):
        opened(tmp_path, never, refresh=True, append=True)
