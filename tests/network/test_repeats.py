"""A request that a timer repeats gets what the recording had at that page time; any other gets its own or none."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from eikon_engine.files.blobs import BlobRef
from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.keys import canonical_request, request_key
from eikon_engine.network.long_polls import find_poll_loops
from eikon_engine.network.matching import Hit, Miss, Playback
from eikon_engine.network.unsent import SentRequests, find_unsent_requests
from eikon_engine.trace.rules import QueryKeyRule
from tests.network.factories import make_exchange
from tests.network.test_retiming import recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.matching import Match

STATUS = "http://shop.test/status"
INTERVAL_MS = 500.0
LATENCY_MS = 20.0


def poll(
    answers: Iterable[str], *, method: str = "GET", latency_ms: float = LATENCY_MS, url: str = STATUS
) -> tuple[Exchange, ...]:
    """Make a poll each half second with these answers."""
    made = []
    for number, answer in enumerate(answers):
        body = BlobRef(sha256=hashlib.sha256(answer.encode()).hexdigest(), size=len(answer))
        started = INTERVAL_MS * (number + 1)
        exchange = make_exchange(url.format(number), ordinal=number, method=method, response_body=body)
        made.append(
            exchange.model_copy(
                update={
                    "occurrence": 0 if "{" in url else number,
                    "started_ms": started,
                    "completed_ms": started + latency_ms,
                    "phase": 2,
                }
            )
        )
    return tuple(made)


def ask(playback: Playback, at_ms: float | None, *, method: str = "GET", url: str = STATUS) -> Match:
    """Ask once, at this page time if a timer does."""
    return playback.match(method, url, None, None, (), at_ms)


def ordinals(matches: Sequence[Match]) -> list[int | None]:
    """Return the ordinals of the exchanges that were served; None for a miss."""
    return [match.exchange.ordinal if isinstance(match, Hit) else None for match in matches]


def test_a_repeat_beyond_the_recording_gets_the_last_answer() -> None:
    """Three polls were recorded, and the page sends five."""
    playback = Playback(poll(("pending", "pending", "approved")))

    matches = [ask(playback, 490.0 * number) for number in range(1, 6)]

    assert ordinals(matches) == [0, 1, 2, 2, 2]
    assert [isinstance(match, Hit) and match.is_repeat for match in matches] == [False] * 3 + [True] * 2
    assert (playback.misses, playback.unused()) == ((), ())


def test_a_repeat_gets_no_answer_before_its_recorded_time() -> None:
    """All three were requested early; the fourth does not see the change that comes later."""
    playback = Playback(poll(("pending", "pending", "approved")))

    matches = [ask(playback, at_ms) for at_ms in (300.0, 600.0, 900.0, 1200.0)]

    assert ordinals(matches) == [0, 1, 2, 1]


def test_a_replay_that_polls_less_sees_the_change_at_its_time() -> None:
    """Polls that are past and brought nothing new are skipped, so that the change is not late."""
    playback = Playback(poll(("pending", "pending", "pending", "pending", "approved", "approved")))

    matches = [ask(playback, at_ms) for at_ms in (500.0, 1600.0, 2700.0)]

    assert ordinals(matches) == [0, 2, 4]
    assert [exchange.ordinal for exchange in playback.unused()] == [1, 3, 5]


def test_no_change_is_skipped() -> None:
    """Each answer is a change: a replay that is late gets them all, in order."""
    playback = Playback(poll(("one", "two", "three", "four")))

    matches = [ask(playback, at_ms) for at_ms in (2000.0, 2500.0, 3000.0, 3500.0)]

    assert ordinals(matches) == [0, 1, 2, 3]


@pytest.mark.parametrize(("method", "recorded"), [("GET", 1), ("GET", 2), ("POST", 1), ("POST", 2)])
def test_what_an_action_repeats_is_a_miss(method: str, recorded: int) -> None:
    """A second submit, or a second load, is something that the recording does not have."""
    playback = Playback(poll(["ok"] * recorded, method=method))

    matches = [ask(playback, None, method=method) for _ in range(recorded + 1)]

    assert isinstance(matches[-1], Miss)


@pytest.mark.parametrize(("recorded", "is_served"), [(1, False), (2, True)])
def test_a_timer_repeats_an_unsafe_request_only_if_the_recording_does(recorded: int, *, is_served: bool) -> None:
    """A heartbeat is known by its second occurrence; a form that a timer submits again is not."""
    playback = Playback(poll(["ok"] * recorded, method="POST"))

    matches = [ask(playback, 5000.0, method="POST") for _ in range(recorded + 1)]

    assert isinstance(matches[-1], Hit) is is_served


def test_a_put_that_a_timer_repeats_is_served() -> None:
    """Saving the same once more has the same effect and response."""
    playback = Playback(poll(("saved",), method="PUT"))

    matches = [ask(playback, at_ms, method="PUT") for at_ms in (600.0, 1600.0)]

    assert ordinals(matches) == [0, 0]


SAVE = "http://shop.test/draft?at={}"
SAVED_AT = (QueryKeyRule(name="at", reason="a time"),)


def save(playback: Playback, body: bytes, at_ms: float | None, *, method: str = "PUT") -> Match:
    """Save a draft, at this page time if a timer does."""
    return playback.match(method, SAVE.format(at_ms), body, "text/plain", (), at_ms)


def saves(*answers: str, method: str = "PUT", latency_ms: float = LATENCY_MS) -> tuple[Exchange, ...]:
    """Make recorded saves, each with its number as the body and one of these answers."""
    made = []
    for number, exchange in enumerate(poll(answers, method=method, url=SAVE, latency_ms=latency_ms)):
        key = request_key(method, SAVE.format(number), str(number).encode(), "text/plain")
        made.append(exchange.model_copy(update={"key": key, "occurrence": 0}))
    return tuple(made)


@pytest.mark.parametrize(
    ("answers", "sent_before", "at_ms", "is_served"),
    [
        pytest.param(("", ""), 2, 5000.0, True, id="once more"),
        pytest.param(("", ""), 1, 900.0, True, id="before the next one"),
        pytest.param(("", ""), 1, 5000.0, True, id="instead of a recorded one"),
        pytest.param(("", ""), 0, 100.0, False, id="before any"),
        pytest.param(("", ""), 2, None, False, id="by an action"),
        pytest.param(("saved 0", "saved 1"), 2, 5000.0, False, id="with answers"),
    ],
)
def test_a_page_may_save_something_else_once_more(
    answers: tuple[str, ...], sent_before: int, at_ms: float | None, *, is_served: bool
) -> None:
    """A timer saves at other times than in the recording: each change puts it off."""
    playback = Playback(saves(*answers), rules=SAVED_AT)
    before = [save(playback, str(number).encode(), INTERVAL_MS * (number + 1)) for number in range(sent_before)]

    match = save(playback, b"other", at_ms)

    assert ordinals(before) == list(range(sent_before))
    assert isinstance(match, Hit) is is_served
    assert not isinstance(match, Hit) or match.is_repeat


@pytest.mark.parametrize(
    ("body", "may_follow", "repeated"), [(b"0", True, 0), (b"1", True, 1), (b"other", True, None), (b"1", False, None)]
)
def test_a_live_page_may_save_the_same_once_more(body: bytes, repeated: int | None, *, may_follow: bool) -> None:
    """Another content is a difference."""
    playback = Playback(saves("", ""), rules=SAVED_AT)
    for number in range(2):
        save(playback, str(number).encode(), None)
    sent = canonical_request("PUT", SAVE.format(5000), body, "text/plain")
    miss = playback.match("PUT", sent.url, body, "text/plain", (), None)
    assert isinstance(miss, Miss)

    found = playback.continued_poll(miss, sent, 5000.0, may_follow=lambda _each: may_follow)

    assert (None if found is None else found.ordinal) == repeated


def test_a_save_that_was_not_sent_stays_unsent_whatever_else_is_saved() -> None:
    """Something else is answered as the one before it."""
    playback = Playback(saves("", "", latency_ms=800.0), rules=SAVED_AT)
    save(playback, b"0", 500.0)

    match = save(playback, b"other", 900.0)

    assert ordinals([match]) == [0]
    assert [exchange.ordinal for exchange in playback.unused()] == [1]


@pytest.mark.parametrize(
    ("recorded", "sent"), [({"headers": (("etag", "1"),)}, ()), ({"status": 500}, ()), ({}, (("range", "bytes=0-9"),))]
)
def test_a_save_whose_answer_tells_something_is_not_repeated(
    recorded: dict[str, object], sent: tuple[tuple[str, str], ...]
) -> None:
    """A page may send an entity tag again; a failed save, or one of another part, is another one."""
    (exchange,) = saves("")
    assert exchange.response is not None
    response = exchange.response.model_copy(update=recorded)
    playback = Playback((exchange.model_copy(update={"response": response}),), rules=SAVED_AT)
    assert isinstance(save(playback, b"0", 500.0), Hit)

    match = playback.match("PUT", SAVE.format(9), b"other", "text/plain", sent, 5000.0)

    assert isinstance(match, Miss)


def test_something_else_is_not_sent_once_more() -> None:
    """A POST may have another effect each time."""
    playback = Playback(saves("", "", method="POST"), rules=SAVED_AT)
    for number in range(2):
        save(playback, str(number).encode(), INTERVAL_MS * (number + 1), method="POST")

    assert isinstance(save(playback, b"other", 5000.0, method="POST"), Miss)


def test_another_request_is_never_answered_with_a_poll() -> None:
    """The answer is one to the same request."""
    playback = Playback(poll(("pending", "approved")))

    assert isinstance(ask(playback, 5000.0, url=f"{STATUS}?of=2"), Miss)
    assert isinstance(ask(playback, 5000.0, method="HEAD"), Miss)


def resource(
    answers: Iterable[str], resource_type: str = "font", *, status: int = 200, cache: str = "", url: str = STATUS
) -> tuple[Exchange, ...]:
    """Make requests for a resource of a page."""
    made = []
    for each in poll(answers, url=url):
        request = each.request.model_copy(update={"resource_type": resource_type})
        assert each.response is not None
        headers = (("Cache-Control", cache),) if cache else ()
        response = each.response.model_copy(update={"status": status, "headers": headers})
        made.append(each.model_copy(update={"request": request, "response": response}))
    return tuple(made)


def load(playback: Playback, times: int, *, url: str = STATUS) -> list[Match]:
    """Request a resource as a page does that an action loads."""
    return [playback.match("GET", url, None, None, (), is_for_resource=True) for _ in range(times)]


@pytest.mark.parametrize("recorded", [1, 3])
def test_a_resource_that_may_have_been_in_memory_is_served_again(recorded: int) -> None:
    """A page gets its font from the network this time."""
    playback = Playback(resource(["glyphs"] * recorded))

    *_, extra = load(playback, recorded + 1)

    assert isinstance(extra, Hit)
    assert (extra.is_repeat, extra.is_resource, extra.exchange.ordinal) == (True, True, 0)


@pytest.mark.parametrize(
    "recorded",
    [
        resource(("old", "new"), "image"),
        resource(("same", "same"), "fetch"),
        resource(("same",), "document"),
        resource(("same",), "media"),
        resource(("none",), "image", status=404),
        resource(("same",), "script", cache="private, no-store"),
    ],
    ids=["changed", "data", "page", "ranges", "error", "not stored"],
)
def test_what_no_browser_keeps_is_not_served_again(recorded: tuple[Exchange, ...]) -> None:
    """Only equal successful responses may have been in its memory."""
    *_, extra = load(Playback(recorded), len(recorded) + 1)

    assert isinstance(extra, Miss)


def test_a_request_of_a_script_for_a_resource_is_not_served_again() -> None:
    """A fetch does not take what an element loaded."""
    playback = Playback(resource(("same",), "script"))
    load(playback, 1)

    assert isinstance(ask(playback, None), Miss)


def test_a_rule_does_not_prevent_that_a_resource_is_served_again() -> None:
    """Neither for the recorded URL, nor for one that only a rule makes equal."""
    rule = QueryKeyRule(name="v", reason="a version")
    playback = Playback(resource(("glyphs",), url=f"{STATUS}?v=1"), rules=(rule,))

    matches = [*load(playback, 2, url=f"{STATUS}?v=1"), *load(playback, 1, url=f"{STATUS}?v=2")]

    assert ordinals(matches) == [0, 0, 0]


def test_polls_that_rules_make_equal_repeat_as_well() -> None:
    """A cache buster makes each poll another URL; the rule of the bundle makes them one."""
    rule = QueryKeyRule(name="_", reason="a cache buster")
    playback = Playback(poll(("pending", "approved"), url=f"{STATUS}?_={{}}"), rules=(rule,))

    matches = [ask(playback, 600.0 * number, url=f"{STATUS}?_=9{number}") for number in range(1, 4)]

    assert ordinals(matches) == [0, 1, 1]
    assert playback.rule_use.to_outcome()[0].times == 3


@pytest.mark.parametrize(
    ("recorded", "requested", "served"),
    [
        ((1, 2, 3), (4, 5), [2, 2]),
        ((5, 10, 15), (20,), [2]),
        ((1, 2), (3,), [None]),
        ((5, 10, 15), (21,), [None]),
        ((1, 3, 4), (5,), [None]),
        ((3, 2, 1), (0,), [None]),
        ((7,), (8,), [None]),
    ],
)
@pytest.mark.parametrize("url", [f"{STATUS}?n={{}}", f"{STATUS}?of=4&n={{}}&all=1"])
def test_a_numbered_poll_beyond_the_recording_gets_the_last_answer(
    recorded: tuple[int, ...], requested: tuple[int, ...], served: list[int | None], url: str
) -> None:
    """Three polls were recorded, numbered by the page, and the page sends five; other numbers are other requests."""
    exchanges = tuple(
        each.model_copy(update={"request": request, "key": f"GET {request.url}", "occurrence": 0})
        for each, number in zip(poll("a" * len(recorded)), recorded, strict=True)
        for request in [each.request.model_copy(update={"url": url.format(number)})]
    )
    playback = Playback(exchanges)
    for number in recorded:
        ask(playback, 500.0, url=url.format(number))

    by_action = ask(playback, None, url=url.format(requested[0]))
    matches = [ask(playback, 9000.0, url=url.format(number)) for number in requested]

    assert isinstance(by_action, Miss)
    assert ordinals(matches) == served
    assert all(match.is_repeat for match in matches if isinstance(match, Hit))


@pytest.mark.parametrize(
    ("recorded", "requested", "method", "is_served"),
    [(1, 2, "POST", True), (0, 2, "POST", True), (1, 0, "POST", False), (7, 8, "POST", False), (1, 2, "GET", False)],
)
def test_a_counting_poll_that_was_recorded_once_goes_on(
    recorded: int, requested: int, method: str, *, is_served: bool
) -> None:
    """A count begins with 0 or 1, pages of a list are read, and the recorded number comes first."""
    first, later = f"{STATUS}?n_intervals={recorded}", f"{STATUS}?n_intervals={requested}"
    playback = Playback(poll("a", method=method, url=first))

    before = ask(playback, 400.0, method=method, url=later)
    ask(playback, 500.0, method=method, url=first)
    by_action = ask(playback, None, method=method, url=later)
    by_timer = ask(playback, 1000.0, method=method, url=later)

    assert isinstance(before, Miss)
    assert isinstance(by_action, Miss)
    assert isinstance(by_timer, Hit) == is_served
    assert ordinals([by_timer]) == [0 if is_served else None]


@pytest.mark.parametrize(("name", "is_continued"), [("n_intervals", True), ("seq", False), ("n_intervals_seq", False)])
def test_a_single_request_that_counts_events_is_no_poll(name: str, *, is_continued: bool) -> None:
    """Each purchase may have the next sequence number."""
    assert (continued(name, 1, may_follow=True) is not None) is is_continued


@pytest.mark.parametrize(("recorded", "is_continued"), [(1, False), (2, True)])
def test_a_single_poll_is_not_continued_by_what_may_be_the_effect_of_an_action(
    recorded: int, *, is_continued: bool
) -> None:
    """A debounced request of a second click may look like the next poll; two recorded polls are a series."""
    assert (continued("n_intervals", recorded, may_follow=False) is not None) is is_continued


def continued(name: str, recorded: int, *, may_follow: bool) -> Exchange | None:
    """Return which recorded request a further one of a timer continues in a live replay; the first is number 1."""
    url = f"{STATUS}?{name}={{}}"
    playback = Playback(poll("-abc"[: recorded + 1], method="POST", url=url)[1:])
    for number in range(1, recorded + 1):
        assert isinstance(ask(playback, None, method="POST", url=url.format(number)), Hit)
    sent = canonical_request("POST", url.format(recorded + 1), None, None)
    miss = ask(playback, None, method="POST", url=sent.url)
    assert isinstance(miss, Miss)
    return playback.continued_poll(miss, sent, 9000.0, may_follow=lambda _single: may_follow)


@pytest.mark.parametrize(("name", "is_served"), [("n_intervals", True), ("page", False)])
def test_a_counter_of_a_timer_may_be_irregular(name: str, *, is_served: bool) -> None:
    """A busy page runs its timers late, so the recorded polls may follow each other at once, or after seconds."""
    first, *rest = poll("abc", method="POST", url=f"{STATUS}?{name}={{}}")
    late = tuple(
        each.model_copy(update={"started_ms": at_ms, "completed_ms": at_ms + LATENCY_MS})
        for each, at_ms in zip(rest, (7080.0, 7085.0), strict=True)
    )
    playback = Playback((first, *late))

    matches = [ask(playback, 4000.0 * n, method="POST", url=f"{STATUS}?{name}={n}") for n in range(5)]

    assert ordinals(matches) == [0, 1, 2, *([2, 2] if is_served else [None, None])]


@pytest.mark.parametrize("name", ["quantity", "done", "ticket", "page"])
def test_flags_and_quantities_are_no_counters(name: str) -> None:
    """A timer may save what the page has now."""
    playback = Playback(poll("a", method="POST", url=f"{STATUS}?{name}=0"))
    ask(playback, 500.0, method="POST", url=f"{STATUS}?{name}=0")

    assert isinstance(ask(playback, 1000.0, method="POST", url=f"{STATUS}?{name}=1"), Miss)


def test_long_polls_that_follow_each_other_are_a_loop() -> None:
    """Each is sent as soon as the last one ended; slow responses to separate requests are none."""
    loop = poll(("", "news", ""), latency_ms=1400.0)
    chained = tuple(
        each.model_copy(update={"started_ms": 1410.0 * place, "completed_ms": 1410.0 * place + 1400.0})
        for place, each in enumerate(loop)
    )
    apart = tuple(
        each.model_copy(update={"started_ms": 4000.0 * place, "completed_ms": 4000.0 * place + 1400.0})
        for place, each in enumerate(loop)
    )

    assert find_poll_loops(chained) == {0, 1, 2}
    assert find_poll_loops(apart) == frozenset()
    assert find_poll_loops(poll(("a", "a"))) == frozenset()


def explanations(exchanges: tuple[Exchange, ...], sent: SentRequests, folder: Path) -> list[str]:
    """Return why each exchange that was not sent does not matter."""
    playback = Playback(exchanges)
    unused = [each for each in exchanges if each.ordinal not in sent.sent_ms]
    read = recording(*exchanges, folder=folder)
    return [each.explanation for each in find_unsent_requests(read, unused, playback, sent)]


def test_a_poll_that_was_not_sent_matters_if_it_brought_something_new(tmp_path: Path) -> None:
    """The page polled to the end, once less than recorded: it missed nothing, or the change."""
    sent = SentRequests(end_ms=1900.0, sent_ms={0: 600.0, 1: 1250.0}, by_timer=frozenset({1}))

    assert explanations(poll(("a", "a", "a")), sent, tmp_path) == ["a repeated poll with an unchanged response"]
    assert explanations(poll(("a", "a", "b")), sent, tmp_path) == [""]


def test_polls_that_ended_early_matter(tmp_path: Path) -> None:
    """A page that stopped polling is not the recorded page, though nothing new was missed."""
    sent = SentRequests(end_ms=9000.0, sent_ms={0: 500.0, 1: 1000.0}, by_timer=frozenset({1}))

    assert explanations(poll("a" * 12), sent, tmp_path) == [""] * 10


def test_requests_of_actions_are_no_repetitions(tmp_path: Path) -> None:
    """Two of three equal submits were sent again, both by actions."""
    sent = SentRequests(end_ms=1900.0, sent_ms={0: 500.0, 1: 1000.0})

    assert explanations(poll("aaa", method="POST"), sent, tmp_path) == [""]
    assert explanations(poll("aaa"), sent, tmp_path) == [""]


def test_what_was_sent_after_the_last_step_does_not_matter(tmp_path: Path) -> None:
    """The replay ended before the recorded time of the request."""
    sent = SentRequests(end_ms=1400.0, sent_ms={0: 500.0, 1: 1000.0})

    assert explanations(poll(("a", "a", "b")), sent, tmp_path) == ["sent after the last step"]


def test_an_effect_after_the_last_step_matters(tmp_path: Path) -> None:
    """An agent may have submitted a form by a script, which no step repeats; a heartbeat goes on by itself."""
    by_action = SentRequests(end_ms=1400.0, sent_ms={0: 500.0, 1: 1000.0})
    by_timer = SentRequests(end_ms=1400.0, sent_ms={0: 500.0, 1: 1000.0}, by_timer=frozenset({0, 1}))

    assert explanations(poll("aab", method="POST"), by_action, tmp_path) == [""]
    assert explanations(poll("aab", method="POST"), by_timer, tmp_path) == ["sent after the last step"]
    assert explanations(poll("a", method="POST"), SentRequests(end_ms=0.0), tmp_path) == [""]


def test_an_unsafe_request_matters_whatever_came_of_it(tmp_path: Path) -> None:
    """The site may have acted on what the page, or the end of the recording, cancelled; nothing came of a read."""
    cancelled: dict[str, object] = {"response": None, "failure": ABORTED_ERROR}
    pending: dict[str, object] = {"response": None, "completed_ms": None, "completion": None, "phase": 0}

    def explain(method: str, changes: dict[str, object]) -> list[str]:
        (made,) = poll("a", method=method)
        return explanations((made.model_copy(update=changes),), SentRequests(end_ms=5000.0), tmp_path)

    assert explain("POST", cancelled) == explain("PATCH", pending) == [""]
    assert explain("GET", cancelled) == ["cancelled in the recording"]
    assert explain("GET", pending) == []


def test_the_last_poll_may_have_no_answer(tmp_path: Path) -> None:
    """Polls that use POST: the last one was cancelled by the end of their page, and not sent by the replay."""
    polls = poll("aaaa", method="POST")
    last = polls[-1].model_copy(update={"response": None, "failure": ABORTED_ERROR})
    sent = SentRequests(end_ms=9000.0, sent_ms={0: 500.0, 1: 1000.0, 2: 1500.0}, by_timer=frozenset({1, 2}))

    assert explanations((*polls[:-1], last), sent, tmp_path) == ["a repeated poll with an unchanged response"]


@pytest.mark.parametrize(
    ("changes", "explanation"),
    [
        ({"resource_type": "other"}, "sent by the browser itself"),
        ({"url": "http://shop.test/favicon.ico", "resource_type": "image"}, "sent by the browser itself"),
        ({"method": "POST", "resource_type": "cspreport"}, "sent by the browser itself"),
        ({"headers": (("Sec-Purpose", "prefetch"),), "resource_type": "script"}, "sent by the browser itself"),
        (
            {"method": "OPTIONS", "headers": (("Access-Control-Request-Method", "PUT"),)},
            "sent by the browser itself",
        ),
        ({"resource_type": "image"}, ""),
        ({"resource_type": "document"}, ""),
        ({"resource_type": "font"}, "a font, which the browser requests once it draws text in it"),
        ({"method": "POST", "resource_type": "other"}, ""),
        ({"resource_type": "ping", "method": "POST"}, ""),
    ],
)
def test_requests_of_the_browser_itself_do_not_matter(
    changes: dict[str, object], explanation: str, tmp_path: Path
) -> None:
    """What no page decides varies between equal runs."""
    request = make_exchange().request.model_copy(update=changes)
    plain = make_exchange(request.url, method=request.method)
    exchange = plain.model_copy(update={"request": request, "phase": 2})

    assert explanations((exchange,), SentRequests(end_ms=5000.0), tmp_path) == [explanation]


def test_a_picture_that_the_page_already_had_does_not_matter(tmp_path: Path) -> None:
    """Whether a browser loads it again is decided by its memory."""
    twice = tuple(
        each.model_copy(update={"request": each.request.model_copy(update={"resource_type": "image"})})
        for each in poll(("a", "a"))
    )

    assert explanations(twice, SentRequests(end_ms=5000.0, sent_ms={0: 1.0}), tmp_path) == [
        "a resource that the page already had"
    ]
    assert explanations(twice, SentRequests(end_ms=5000.0), tmp_path) == ["", ""]


def test_a_search_that_a_later_one_superseded_is_known(tmp_path: Path) -> None:
    """The replay types without pauses, so that the page only searches for the whole word."""
    searches = poll(("a", "b", "c"), url="http://shop.test/find?q={}")
    apart = poll(("a", "b"), url="http://shop.test/{}?q=a")
    first, last = poll(("a", "b"), url="http://shop.test/find", method="POST")
    cancelled = first.model_copy(update={"response": None, "failure": ABORTED_ERROR})

    def superseded(exchanges: tuple[Exchange, ...]) -> list[bool]:
        last = exchanges[-1].ordinal
        sent = SentRequests(end_ms=9000.0, sent_ms={last: 1500.0})
        read = recording(*exchanges, folder=tmp_path)
        found = find_unsent_requests(read, exchanges[:-1], Playback(exchanges), sent)
        return [each.is_superseded for each in found]

    assert superseded(searches) == [True, True]
    assert superseded(apart) == [False]
    assert superseded((cancelled, last)) == [True]
    assert superseded((first, last)) == [False]
