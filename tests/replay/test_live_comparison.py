"""What a live replay does not compare: timers, loading pages, early requests. Everything else stays a difference."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detect import detect_divergences
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.network.exchange import Exchange, Moment, RecordedRequest, RecordedResponse
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.websocket import SocketAccepted, SocketMessage, SocketOpened, message_key, socket_key
from eikon_engine.outcome.outcomes import ResponseChange, ValueChange
from eikon_engine.replay import ReplayOptions
from eikon_engine.replay.live_comparison import LiveComparer
from eikon_engine.replay.plan import Plan, plan_replay
from eikon_engine.trace.actions import Note, SelectorCondition, WaitFor
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Succeeded
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation
from eikon_engine.trace.target import Target
from tests.exporters.traces import step, trace_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.network.websocket import SocketEvent, SocketSide
    from eikon_engine.trace.actions import Action

BUNDLE = Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing"
POLL, SAVE, LIST, DELETE = "GET http://a/poll", "POST http://a/save", "GET http://a/list", "DELETE http://a/account"


SOCKET = "ws://a/live"


def at(order: int, at_ms: int) -> Moment:
    """Return a moment of the first action."""
    return Moment(order=order, at_ms=at_ms, phase=1)


def message(order: int, at_ms: int, sender: SocketSide, text: str) -> SocketMessage:
    """Return a message on the only socket."""
    return SocketMessage(socket=0, sender=sender, text=text, moment=at(order, at_ms))


def test_each_answer_to_a_heartbeat_may_have_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So none of the recorded ones is due live."""
    sent = [
        each
        for number in range(3)
        for each in (
            message(2 * number, 1000 * number, "server", '{"type":"ping"}'),
            message(2 * number + 1, 1000 * number, "page", f'{{"type":"pong","ts":{1_700_000_000_000 + number}}}'),
        )
    ]
    opened = SocketOpened(socket=0, url=SOCKET, moment=at(0, 0))
    record(monkeypatch, tmp_path, opened, *sent)
    pongs = [message_key(SOCKET, (each.text or "").encode()) for each in sent if each.sender == "page"]

    assert codes([seen(socket_key(SOCKET), *pongs)], [seen(socket_key(SOCKET), pongs[-1], pongs[-1])]) == [[]]
    assert codes([seen(), seen()], [seen(), seen(message_key(SOCKET, b"bye"))]) == [[], ["request-unexpected"]]


def test_the_answer_that_a_handshake_agrees_on_need_not_be_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The mission was shorter than the interval of the pings; a replay of it may be longer."""
    url = f"{SOCKET}?EIO=4"
    opened = SocketOpened(socket=0, url=url, moment=at(0, 0))
    record(monkeypatch, tmp_path, opened, message(1, 10, "server", '0{"pingInterval":25000,"pingTimeout":20000}'))
    pong = message_key(url, b"3")

    assert codes([seen()], [seen(pong, pong)]) == [[]]


def record(monkeypatch: pytest.MonkeyPatch, folder: Path, *events: SocketEvent) -> None:
    """Let plans have a recorded network with these events of sockets."""
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(folder), sockets=events)
    monkeypatch.setattr(Plan, "recorded_network", lambda _plan: recording)


def test_the_messages_of_a_socket_may_be_recorded_without_its_opening(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a recording that attached to a page, or one that was cut."""
    accepted = SocketAccepted(socket=0, moment=at(0, 0))
    record(monkeypatch, tmp_path, accepted, message(1, 10, "page", "hello"))

    assert codes([seen(POLL)], [seen(POLL)]) == [[]]


def test_a_key_without_a_url_is_compared_like_any_other() -> None:
    """Whatever wrote the trace."""
    assert codes([seen("GET"), seen()], [seen(), seen("GET")]) == [["request-missing"], ["request-unexpected"]]


def shown(page: int, digest: str, url: str = "http://a/", title: str = "") -> PageObservation:
    """Return a page with some content."""
    return PageObservation(page=page, url=url, title=title, frames=(FrameObservation(path="", url=url, digest=digest),))


def seen(*requests: str, timers: Sequence[str] = (), **fields: object) -> Observation:
    """Return an observation with requests, some of them sent by timers."""
    given = {"pages": (), "requests": tuple(sorted(requests)), "timer_requests": tuple(timers), **fields}
    return Observation.model_validate(given)


def codes(
    recorded: Sequence[Observation],
    observed: Sequence[Observation],
    changes: tuple[ResponseChange, ...] = (),
    action: Action | None = None,
) -> list[list[str]]:
    """Replay the steps live, each with the same action; return the codes of the differences of each."""
    steps = [step(number, action or Note(text="x"), each) for number, each in enumerate(recorded, start=1)]
    plan = plan_replay(replace(open_bundle(BUNDLE), trace=trace_of(*steps)), ReplayOptions(network="live"))
    comparer = LiveComparer(plan, lambda: datetime(2030, 1, 1, tzinfo=UTC))
    found = []
    for each, now in zip(steps, observed, strict=True):
        place = StepPosition(subgoal="1", subgoal_id="buy", sequence=each.sequence)
        comparison, _ = comparer.adapt(
            Comparison(position=place, recorded=each, result=Succeeded(), observed=now, response_changes=changes)
        )
        found.append([divergence.code for divergence in detect_divergences(comparison)])
        comparer.end_step(each, now)
    return found


def test_a_timer_may_repeat_what_was_recorded() -> None:
    """More polls or fewer are no difference; the same request of an action is one."""
    recorded = [seen(POLL, POLL, timers=(POLL, POLL)), seen(POLL, timers=(POLL,))]

    assert codes(recorded, [seen(), seen(*[POLL] * 5, timers=[POLL] * 5)]) == [[], []]
    assert codes(recorded, [seen(POLL), seen(POLL, POLL)]) == [[], ["request-unexpected"]]


def test_a_timer_may_not_send_what_was_never_recorded() -> None:
    """Nor may it omit the one effect that it had."""
    assert codes([seen()], [seen(DELETE, timers=(DELETE,))]) == [["request-unexpected"]]
    assert codes([seen(SAVE, timers=(SAVE,))], [seen()]) == [["request-missing"]]
    assert codes([seen(SAVE, SAVE, timers=(SAVE, SAVE))], [seen()]) == [[]]


def saved(ordinal: int, key: str) -> Exchange:
    """Return a recorded save whose response has no content."""
    request = RecordedRequest(method="PUT", url=key.split(" ")[1], resource_type="fetch", is_navigation=False)
    response = RecordedResponse(url=request.url, status=204, status_text="", headers=())
    return Exchange(ordinal=ordinal, key=key, occurrence=0, request=request, response=response, started_ms=0.0)


def test_a_timer_may_save_another_body_where_the_baseline_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A sealed replay reports an unrecorded save as the recorded one that answered it: once more than it was sent."""
    stamp = 1_700_000_000_000
    layout, later, other = (f"PUT http://a/layout?{stamp + number} sha256:{number}" for number in range(3))
    stored = [saved(0, layout), saved(1, later)]
    blobs = BlobStore(tmp_path)
    monkeypatch.setattr(
        Plan, "recorded_network", lambda _: NetworkRecording(exchanges=tuple(stored), truncation=None, blobs=blobs)
    )
    once, unrecorded = seen(layout, timers=(layout,)), seen(other, timers=(other,))

    assert codes([once, once], [once, unrecorded]) == [[], []]
    assert codes([once, once], [unrecorded, unrecorded]) == [[], ["request-unexpected"]]
    assert codes([once], [unrecorded]) == [["request-missing", "request-unexpected"]]
    assert codes([once, once], [once, seen(other)]) == [[], ["request-unexpected"]]
    elsewhere = other.replace("/layout?", "/layout?of=ada&")
    assert codes([once, once], [once, seen(elsewhere, timers=(elsewhere,))]) == [[], ["request-unexpected"]]
    del stored[1]
    assert codes([once, once], [once, unrecorded]) == [[], ["request-unexpected"]]


def test_a_safe_request_may_come_in_an_earlier_step() -> None:
    """A live replay waits for its pages; an unsafe request, and one more, are differences."""
    recorded = [seen(), seen(LIST, SAVE)]

    assert codes(recorded, [seen(LIST), seen(SAVE)]) == [[], []]
    assert codes(recorded, [seen(LIST, LIST), seen(SAVE)]) == [["request-unexpected"], []]
    assert codes(recorded, [seen(SAVE), seen(LIST)]) == [["request-unexpected"], ["request-missing"]]


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        ((shown(0, "b"), shown(1, "x")), []),
        ((shown(0, "b"), shown(1, "y")), ["dom-changed"]),
        ((shown(0, "b", "http://a/other"), shown(1, "x")), ["url-changed", "frame-url-changed", "dom-changed"]),
    ],
)
def test_only_a_page_that_was_loading_is_not_compared(now: tuple[PageObservation, ...], wanted: list[str]) -> None:
    """Its URL is, and so are the other pages."""
    recorded = seen(pages=(shown(0, "a"), shown(1, "x")), loading_pages=(0,))

    (found,) = codes([recorded], [seen(pages=now)])

    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(("now", "names"), [("a", ()), ("b", ("content of a page that was loading",))])
def test_a_page_that_was_loading_is_named_only_if_it_differs(now: str, names: tuple[str, ...]) -> None:
    """The recording stores what it showed, which a replay stores later."""
    stored = shown(0, "a").model_copy(update={"snapshot": BlobRef(sha256="0" * 64, size=1)})
    recorded = step(1, Note(text="x"), seen(pages=(stored,), loading_pages=(0,)))
    plan = plan_replay(replace(open_bundle(BUNDLE), trace=trace_of(recorded)), ReplayOptions(network="live"))
    place = StepPosition(subgoal="1", subgoal_id="buy", sequence=1)

    _, not_compared = LiveComparer(plan, lambda: datetime(2030, 1, 1, tzinfo=UTC)).adapt(
        Comparison(position=place, recorded=recorded, result=Succeeded(), observed=seen(pages=(shown(0, now),)))
    )

    assert not_compared == names


def titled(title: str, *, is_loading: bool = False) -> Observation:
    """Return an observation of a page that was loading, or has loaded."""
    return seen(pages=(shown(0, title, title=title),), loading_pages=(0,) if is_loading else ())


def test_the_title_of_a_page_that_was_loading_is_compared_if_a_response_has_another_one() -> None:
    """Otherwise, the page may have got it later in the recording, too."""
    value = ValueChange(part="body line 1", recorded="Shop", live="Store")
    change = ResponseChange(key="GET http://a/", occurrence=0, subgoal="1", sequence=1, what=(value,))
    recorded = [titled("Shop", is_loading=True)]

    assert codes(recorded, [titled("Store")], (change,)) == [["title-changed"]]
    assert codes(recorded, [titled("Shop (3)")], (change,)) == [[]]
    assert codes(recorded, [titled("Store")]) == [[]]


def test_the_title_of_a_page_that_was_loading_is_compared_with_that_of_the_reads_that_follow() -> None:
    """The agent waited for the page there."""
    wait = WaitFor(condition=SelectorCondition(target=Target(selector="h1")))
    recorded = [titled("Loading", is_loading=True), titled("Items")]

    assert codes(recorded, [titled("Items"), titled("Items")], action=wait) == [[], []]
    assert codes(recorded, [titled("Store"), titled("Items")], action=wait) == [["title-changed"], []]


def test_an_error_of_a_page_that_was_loading_may_come_in_an_earlier_step() -> None:
    """Any other error, and one more, are differences."""
    error, other = "ReferenceError: name is not defined", "TypeError: none"
    recorded = [seen(pages=(shown(0, "a"),), loading_pages=(0,)), seen(page_errors=(error,))]

    def now(*errors: str) -> Observation:
        return seen(pages=(shown(0, "b"),), page_errors=errors)

    assert codes(recorded, [now(error), seen()]) == [[], []]
    assert codes(recorded, [now(), seen(page_errors=(error,))]) == [[], []]
    assert codes(recorded, [now(), seen()]) == [[], ["page-error-changed"]]
    assert codes(recorded, [now(other), seen(page_errors=(error,))]) == [["page-error-changed"], []]
    assert codes(recorded, [now(error, error), seen()]) == [["page-error-changed"], []]


def test_the_error_of_a_slow_response_may_come_in_an_earlier_step() -> None:
    """A live replay waits for the response, as the agent did not; errors of scripts are not early."""
    failed, thrown = "Failed to load resource: the server responded with a status of 401", "TypeError: none"
    recorded = [seen(), seen(console_errors=(failed, thrown))]

    assert codes(recorded, [seen(console_errors=(failed,)), seen(console_errors=(thrown,))]) == [[], []]
    assert codes(recorded, [seen(), seen(console_errors=(failed, thrown))]) == [[], []]
    assert codes(recorded, [seen(), seen(console_errors=(thrown,))]) == [[], ["console-error-changed"]]
    late = codes(recorded, [seen(console_errors=(failed, failed)), seen(console_errors=(thrown,))])
    assert late == [["console-error-changed"], []]
    early = codes(recorded, [seen(console_errors=(thrown,)), seen(console_errors=(failed,))])
    assert early == [["console-error-changed"], ["console-error-changed"]]


def test_an_early_error_that_comes_again_was_reported_once_too_often() -> None:
    """It may come as often as it was recorded, and does not excuse another one."""
    error = "ReferenceError: missingName is not defined"
    loading, once, none = seen(pages=(shown(0, "a"),), loading_pages=(0,)), seen(page_errors=(error,)), seen()
    early = seen(pages=(shown(0, "a"),), page_errors=(error,))

    assert codes([loading, once], [early, once]) == [[], ["page-error-changed"]]
    assert codes([loading, once, once], [early, once, none]) == [[], [], []]
    assert codes([loading, once, once], [early, once, once]) == [[], [], ["page-error-changed"]]
    assert codes([loading, once, once], [early, none, once]) == [[], [], []]
