"""Saves of pages: which ones a replay need not send."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.matching import Playback
from eikon_engine.network.saves import SentSave
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.unsent import AFTER_END, SentRequests, find_unsent_requests
from eikon_engine.trace.rules import PathSegmentRule, QueryKeyRule
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange

DRAFT = "http://shop.test/draft"
INTERVAL_MS = 1000
JSON = (("content-type", "application/json"),)
REPLACED, EQUAL = "a later save replaced it", "the same was saved later"
RULES = (QueryKeyRule(name="at", reason="a time"), PathSegmentRule(position=1, pattern="[0-9a-f]{16}", reason="an id"))


@dataclass(slots=True)
class Site:
    """What pages sent, one request a second, and the bodies."""

    folder: Path
    exchanges: list[Exchange] = field(default_factory=list)
    bodies: dict[BlobRef, bytes] = field(default_factory=dict)

    def send(  # noqa: PLR0913 - a factory names what it varies
        self,
        body: str = "",
        url: str = DRAFT,
        *,
        method: str = "PUT",
        headers: tuple[tuple[str, str], ...] = JSON,
        frame: str = "",
        is_navigation: bool = False,
        response: tuple[tuple[str, str], ...] = (),
    ) -> Site:
        """Add a request that was answered at once, and return the site."""
        data, ordinal = body.encode(), len(self.exchanges)
        ref = BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data)) if data else None
        if ref is not None:
            self.bodies[ref] = data
        made = make_exchange(url, ordinal=ordinal, method=method, headers=headers, sent=data or None, request_body=ref)
        assert made.response is not None
        at_ms = float(INTERVAL_MS * (ordinal + 1))
        self.exchanges.append(
            made.model_copy(
                update={
                    "occurrence": sum(each.key == made.key for each in self.exchanges),
                    "request": made.request.model_copy(update={"frame": frame, "is_navigation": is_navigation}),
                    "response": made.response.model_copy(update={"headers": response}),
                    "started_ms": at_ms,
                    "completed_ms": at_ms,
                    "completion": ordinal,
                    "started_phase": ordinal + 1,
                    "phase": ordinal + 1,
                }
            )
        )
        return self

    def explain(
        self,
        sent_ms: dict[int, float],
        *,
        by_action: frozenset[int] = frozenset(),
        other_ms: float | None = None,
        end_ms: float = 60_000.0,
        recorded_end_ms: float = math.inf,
        has_other_scripts: bool = False,
    ) -> dict[int, str]:
        """Return why each request that a replay did not send does not matter, by ordinal."""
        recording = NetworkRecording(exchanges=tuple(self.exchanges), truncation=None, blobs=BlobStore(self.folder))
        playback = Playback(recording.exchanges, read_body=self.bodies.__getitem__, rules=RULES)
        unused = [each for each in recording.exchanges if each.ordinal not in sent_ms]
        saves = [SentSave(ordinal=each, has_other_body=False, sent_ms=at_ms) for each, at_ms in sent_ms.items()]
        saves += [] if other_ms is None else [SentSave(ordinal=0, has_other_body=True, sent_ms=other_ms)]
        sent = SentRequests(
            end_ms=end_ms,
            recorded_end_ms=recorded_end_ms,
            sent_ms=sent_ms,
            by_timer=frozenset(sent_ms) - by_action,
            saves=tuple(sorted(saves, key=lambda each: each.sent_ms)),
            has_other_scripts=has_other_scripts,
        )
        places = {each.started_phase: each.ordinal for each in recording.exchanges}
        found = find_unsent_requests(recording, unused, playback, sent)
        return {places[each.phase]: each.explanation for each in found}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a site to which nothing was sent yet."""
    return Site(tmp_path)


def test_later_saves_of_a_timer_replace_earlier_ones(site: Site) -> None:
    """A page saves when nothing changed for a while; a PUT stores all of what it sends (RFC 9110, section 9.3.4)."""
    for number in range(4):
        site.send(f'{{"text": "{number}"}}', f"{DRAFT}?at={number}")

    assert site.explain({3: 4000.0}) == {0: REPLACED, 1: REPLACED, 2: REPLACED}
    assert site.explain({0: 1000.0, 2: 3000.0}) == {1: REPLACED, 3: ""}


def test_a_save_that_an_action_replaced_is_missed(site: Site) -> None:
    """Only timers save at other times than in the recording."""
    site.send('{"text": "0"}').send('{"text": "1"}').send('{"text": "2"}')

    assert site.explain({0: 1000.0, 2: 3000.0}, by_action=frozenset({2})) == {1: ""}


BETWEEN = [
    pytest.param({"url": "http://shop.test/total", "method": "GET", "is_navigation": True}, id="a page was loaded"),
    pytest.param(
        {"url": "http://shop.test/ad", "method": "GET", "is_navigation": True, "frame": "0"}, id="a frame was"
    ),
    pytest.param({"url": f"{DRAFT}?part=total", "method": "GET"}, id="it was read"),
    pytest.param({"url": f"{DRAFT}/publish", "method": "POST"}, id="it was published"),
    pytest.param({"method": "DELETE"}, id="it was deleted"),
]


@pytest.mark.parametrize("between", BETWEEN)
def test_a_save_whose_effect_was_seen_is_missed(site: Site, between: dict[str, object]) -> None:
    """What came between two saves depends on the first one."""
    site.send('{"text": "0"}').send(**between).send('{"text": "1"}')  # type: ignore[arg-type]

    assert site.explain({1: 2000.0, 2: 3000.0}) == {0: ""}


@pytest.mark.parametrize("between", BETWEEN)
def test_the_same_save_after_its_effect_was_seen_is_missed(site: Site, between: dict[str, object]) -> None:
    """What was deleted and saved again is there again."""
    site.send('{"text": "0"}').send(**between).send('{"text": "0"}')  # type: ignore[arg-type]

    assert site.explain({0: 2500.0, 1: 2600.0}) == {2: ""}


def test_a_save_long_before_another_one_is_missed(site: Site) -> None:
    """A page that computes puts a save off by seconds at most."""
    site.send('{"text": "0"}')
    for number in range(6):
        site.send(url=f"http://shop.test/news/{number}", method="GET")
    site.send('{"text": "1"}')

    assert site.explain({**dict.fromkeys(range(1, 7), 1000.0), 7: 8000.0}) == {0: ""}


@pytest.mark.parametrize(
    ("other_ms", "end_ms", "found"),
    [
        pytest.param(3500.0, 60_000.0, {1: "", 2: ""}, id="something else last"),
        pytest.param(2500.0, 60_000.0, {1: REPLACED}, id="something else before the last one"),
        pytest.param(3500.0, 4000.0, {1: REPLACED}, id="something else just before the end"),
    ],
)
def test_what_was_saved_last_was_recorded(site: Site, other_ms: float, end_ms: float, found: dict[int, str]) -> None:
    """A replay that saves something else last did not come to the same state, unless the recording ended before."""
    site.send('{"text": "a"}').send('{"text": "b"}').send('{"text": "c"}')

    assert site.explain({0: 1000.0, 2: 3000.0}, other_ms=other_ms, end_ms=end_ms) == found


@pytest.mark.parametrize(
    ("end_ms", "by_action", "explanation"),
    [
        pytest.param(3900.0, frozenset(), AFTER_END, id="just before the end"),
        pytest.param(4100.0, frozenset(), "", id="before the end"),
        pytest.param(3900.0, frozenset({1}), "", id="an action caused the one before"),
    ],
)
def test_a_save_that_is_put_off_past_the_end_is_not_missed(
    site: Site, end_ms: float, by_action: frozenset[int], explanation: str
) -> None:
    """A page that saves at most once a second saves a little later if its scripts took less time before."""
    for text in "abc":
        site.send(f'{{"text": "{text}"}}', response=(("etag", f'"{text}"'),))

    sent_ms = {0: 1000.0, 1: 2200.0}
    assert site.explain(sent_ms, by_action=by_action, end_ms=end_ms) == {2: explanation}
    assert site.explain(sent_ms, by_action=by_action, end_ms=end_ms, has_other_scripts=True) == {2: ""}


@pytest.mark.parametrize(("recorded_end_ms", "found"), [(3900.0, {2: AFTER_END}), (4100.0, {2: ""})])
def test_what_the_page_saved_just_before_the_recording_ended_may_differ(
    site: Site, recorded_end_ms: float, found: dict[int, str]
) -> None:
    """A replay that waits for idle pages goes on, so that one save holds what the recording had not saved yet."""
    for text in "abc":
        site.send(f'{{"text": "{text}"}}')
    sent_ms = {0: 1000.0, 1: 2200.0}

    assert site.explain(sent_ms, other_ms=3400.0, recorded_end_ms=recorded_end_ms) == found
    assert site.explain(sent_ms, recorded_end_ms=recorded_end_ms) == {2: ""}  # nothing was saved later
    assert site.explain(sent_ms, other_ms=3400.0, recorded_end_ms=recorded_end_ms, has_other_scripts=True) == {2: ""}


def test_what_an_action_saved_last_was_recorded(site: Site) -> None:
    """However soon the recording ended, another state was saved then."""
    site.send('{"text": "a"}').send('{"text": "b"}')

    sent_ms = {0: 3000.0, 1: 2000.0}
    assert site.explain(sent_ms, recorded_end_ms=2500.0) == {}
    assert site.explain(sent_ms, by_action=frozenset({0}), recorded_end_ms=2500.0) == {1: ""}


def test_other_requests_between_two_saves_do_not_matter(site: Site) -> None:
    """They do not read what was saved."""
    site.send('{"text": "0"}').send(url="http://shop.test/news", method="GET").send('{"text": "1"}')

    assert site.explain({1: 2000.0, 2: 3000.0}) == {0: REPLACED}


def test_a_save_of_other_parts_replaces_nothing(site: Site) -> None:
    """Many services take a PUT of some fields."""
    site.send('{"title": "a"}').send('{"tags": ["b"]}').send('{"title": "c", "tags": []}')

    assert site.explain({1: 2000.0}) == {0: "", 2: ""}
    assert site.explain({2: 3000.0}) == {0: REPLACED, 1: REPLACED}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"frame": "0"}, id="of another frame"),
        pytest.param({"url": "http://shop.test/notes/9b1c77fe3f2a9c1b"}, id="of another URL"),
        pytest.param({"headers": (*JSON, ("content-range", "bytes 4-7/8"))}, id="of a part"),
        pytest.param({"response": (("etag", "1"),)}, id="whose response tells something"),
        pytest.param({"method": "POST"}, id="that may have another effect each time"),
    ],
)
def test_a_request_that_is_no_save_of_the_same_replaces_nothing(site: Site, change: dict[str, object]) -> None:
    """A save is replaced by one of the same whole, at the same URL, whatever rules say about its path."""
    url = "http://shop.test/notes/3f2a9c1b9b1c77fe" if "url" in change else DRAFT
    site.send('{"text": "0"}', url).send('{"text": "1"}', **change)  # type: ignore[arg-type]

    assert site.explain({1: 2000.0}) == {0: ""}


def test_a_replay_that_saves_an_earlier_state_last_did_not_repeat_the_mission(site: Site) -> None:
    """It comes to another state, though every save was recorded."""
    site.send('{"text": "A"}').send('{"text": "B"}')

    assert site.explain({0: 8000.0, 1: 2000.0}) == {1: ""}
    assert site.explain({0: 8000.0, 1: 2000.0}, end_ms=8500.0) == {}


def test_a_save_that_was_put_off_past_its_use_is_missed(site: Site) -> None:
    """The replay published neither the first nor the second draft."""
    site.send('{"text": "a"}').send('{"text": "b"}').send(url=f"{DRAFT}/publish", method="POST")

    assert site.explain({1: 3400.0, 2: 3000.0}) == {0: ""}
    assert site.explain({1: 2900.0, 2: 3000.0}) == {0: REPLACED}


@pytest.mark.parametrize(
    ("sent_ms", "found"),
    [
        (3000.0, {1: REPLACED, 2: EQUAL}),
        (2500.0, {1: REPLACED, 2: EQUAL}),
        (900.0, {1: "", 2: ""}),
    ],
)
def test_the_same_may_be_saved_once(site: Site, sent_ms: float, found: dict[int, str]) -> None:
    """A page that saves A, then B, then A again, may save A once: not before B was."""
    site.send('{"text": "A"}').send('{"text": "B"}').send('{"text": "A"}')

    assert site.explain({0: sent_ms}) == found


def test_a_save_that_got_no_response_does_not_matter_for_others(site: Site) -> None:
    """A page that leaves cancels its requests."""
    site.send('{"text": "0"}').send('{"text": "1"}').send('{"text": "2"}')
    site.exchanges[0] = site.exchanges[0].model_copy(update={"response": None, "failure": ABORTED_ERROR})

    assert site.explain({2: 3000.0})[1] == REPLACED


def test_a_cancelled_save_that_a_later_one_replaced_does_not_matter(site: Site) -> None:
    """A page cancels a save when it sends the next one; without a next one, the site may have what was sent."""
    for text in ("one", "two", "three", "four"):
        site.send(f'{{"text": "{text}"}}')
    for place in (1, 3):
        site.exchanges[place] = site.exchanges[place].model_copy(update={"response": None, "failure": ABORTED_ERROR})

    assert site.explain({0: 1000.0, 2: 3000.0}) == {1: REPLACED, 3: ""}
