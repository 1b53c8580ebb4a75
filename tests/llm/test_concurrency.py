from __future__ import annotations

import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import NoReplayDataError
from eikon_engine.llm import ReplayClient
from eikon_engine.llm.response_folder import read_complete_folder
from tests.llm.asking import CountingClient, capture, files, never, opened, request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

THREADS = 16


def test_threads_with_one_prompt_get_each_answer_once(tmp_path: Path) -> None:
    """200 calls from 16 threads get the 200 answers, each exactly once, in any assignment."""
    prompts = ["a"] * 120 + ["b"] * 79 + ["c"]
    with opened(tmp_path, CountingClient) as used:
        captured = _at_once(lambda text: used.client.complete(request(text)).text, prompts)
    with opened(tmp_path, never) as used:
        replayed = _at_once(lambda text: used.client.complete(request(text)).text, prompts)
        assert used.close() == ()

    assert Counter(captured) == Counter(replayed)
    assert len(set(replayed)) == len(prompts)
    assert len(files(tmp_path)) == len(prompts)


def test_each_surplus_request_of_a_thread_fails(tmp_path: Path) -> None:
    """15 of 40 calls fail when only 25 answers were recorded."""
    capture(tmp_path, *["a"] * 25)
    executor = ReplayClient(read_complete_folder(tmp_path))

    def ask(text: str) -> str:
        try:
            return executor.complete(request(text)).text
        except NoReplayDataError:
            return "none"

    given = Counter(_at_once(ask, ["a"] * 40))

    assert given.pop("none") == executor.missed == 15
    assert set(given.values()) == {1}


def test_threads_append_each_missing_response_once(tmp_path: Path) -> None:
    """With 10 of 30 responses recorded, 20 are new, and the numbering has no gap."""
    capture(tmp_path, *["a"] * 10)
    live = CountingClient()
    with opened(tmp_path, lambda: live, append=True) as used:
        _at_once(lambda text: used.client.complete(request(text)).text, ["a"] * 30)

    assert live.asked == 20
    assert [each.sample_index for each in read_complete_folder(tmp_path)] == list(range(30))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=12), st.randoms(use_true_random=False))
def test_any_order_of_prompts_gets_the_answers_of_each_in_recorded_order(prompts: list[str], chance: object) -> None:
    """In any order of calls, the n-th call of a prompt gets its n-th answer, and no answer is left."""
    with TemporaryDirectory() as folder:
        recorded: dict[str, tuple[str, ...]] = dict.fromkeys(prompts, ())
        for text, answer in zip(prompts, capture(Path(folder), *prompts), strict=True):
            recorded[text] = (*recorded[text], answer)
        executor = ReplayClient(read_complete_folder(Path(folder)) if prompts else ())
        chance.shuffle(prompts)  # type: ignore[attr-defined] # hypothesis gives a Random
        replayed: dict[str, tuple[str, ...]] = dict.fromkeys(prompts, ())
        for text in prompts:
            replayed[text] = (*replayed[text], executor.complete(request(text)).text)

        assert replayed == recorded
        assert executor.unused == ()
        for text in {*prompts, "d"}:
            with pytest.raises(NoReplayDataError):
                executor.complete(request(text))


@pytest.fixture(autouse=True)
def _impatient() -> Iterator[None]:
    """Make threads switch as often as possible, to expose unguarded code."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _at_once(work: Callable[[str], str], texts: Sequence[str]) -> list[str]:
    """Run the work for all texts in threads that start together."""
    gate = threading.Barrier(THREADS)

    def begin(part: Sequence[str]) -> list[str]:
        gate.wait()
        return [work(text) for text in part]

    with ThreadPoolExecutor(THREADS) as pool:
        return [each for done in pool.map(begin, [texts[start::THREADS] for start in range(THREADS)]) for each in done]
