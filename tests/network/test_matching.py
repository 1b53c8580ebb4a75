"""A request gets its recorded response, or none."""

from __future__ import annotations

from collections import Counter
from time import process_time
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.matching import Hit, Match, Miss, Playback
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.outcome.outcomes import RequestDifference
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange, HeaderPairs

PATHS = ("/a", "/b", "/c")
ITEMS = "http://shop.test/items"
JSON_HEADERS = (("content-type", "application/json"),)


@given(st.lists(st.sampled_from(PATHS)), st.lists(st.sampled_from(PATHS)))
def test_nth_request_gets_the_nth_recorded_exchange(recorded: list[str], requested: list[str]) -> None:
    """The n-th request of a key gets its n-th exchange, in any order of the keys."""
    exchanges = _numbered([f"http://a{path}" for path in recorded])
    playback = Playback(reversed(exchanges))

    matches = [_get(playback, f"http://a{path}") for path in requested]

    asked: Counter[str] = Counter()
    for path, match in zip(requested, matches, strict=True):
        of_path = [exchange for exchange in exchanges if exchange.request.url.endswith(path)]
        expected = of_path[asked[path]] if asked[path] < len(of_path) else None
        assert (match.exchange if isinstance(match, Hit) else None) == expected
        asked[path] += 1
    assert (*playback.hits, *playback.misses) == tuple(sorted(matches, key=lambda match: isinstance(match, Miss)))
    served = {hit.exchange.ordinal for hit in playback.hits}
    assert [exchange.ordinal for exchange in playback.unused()] == sorted(set(range(len(exchanges))) - served)


def test_the_last_response_is_not_served_again() -> None:
    """A request after the last response is a miss, with the reason."""
    playback = Playback(_numbered([ITEMS, ITEMS]))

    first, second, third, fourth = (_get(playback, ITEMS) for _ in range(4))

    assert [match.exchange.ordinal for match in (first, second) if isinstance(match, Hit)] == [0, 1]
    assert isinstance(third, Miss)
    assert third.reason == "it was recorded 2 times, this is occurrence 3"
    assert isinstance(fourth, Miss)
    assert fourth.reason == "it was recorded 2 times, this is occurrence 4"


def test_headers_that_differ_in_the_recording_decide_first() -> None:
    """A URL recorded both as page and as data serves each request its own kind, counted separately."""
    page, data = (("Accept", "text/html"),), (("accept", "application/json"),)
    exchanges = [
        make_exchange(ITEMS, ordinal=place, occurrence=place, headers=headers)
        for place, headers in enumerate([page, data, page, data])
    ]
    playback = Playback(exchanges)

    served = [_get(playback, ITEMS, headers) for headers in (data, data, page, page)]

    assert [match.exchange.ordinal for match in served if isinstance(match, Hit)] == [1, 3, 0, 2]


def test_unknown_value_of_a_deciding_header_is_a_miss() -> None:
    """A range that was never recorded is not answered with another one."""
    exchanges = [
        make_exchange(ITEMS, ordinal=place, occurrence=place, headers=(("Range", f"bytes={place}-"),))
        for place in range(2)
    ]

    match = _get(Playback(exchanges), ITEMS, (("range", "bytes=7-"),))

    assert isinstance(match, Miss)
    assert match.nearest is not None
    assert list(map(str, match.nearest.differences)) == [
        "header range: recorded 'bytes=0-', sent 'bytes=7-'",
        "header range: recorded 'bytes=1-', sent 'bytes=7-'",
    ]


def test_a_missing_accept_header_is_the_default() -> None:
    """The browser adds it after some requests were reported, such as those of workers."""
    exchanges = [
        make_exchange(ITEMS, ordinal=place, occurrence=place, headers=headers)
        for place, headers in enumerate(((), (("accept", "*/*"),)))
    ]
    playback = Playback(exchanges)

    for place in range(2):
        match = _get(playback, ITEMS, (("accept", "*/*"),))
        assert isinstance(match, Hit)
        assert match.exchange is exchanges[place]


def test_a_language_decides_only_if_each_recorded_request_has_one() -> None:
    """The browser may add it after a request was reported, so that some recorded requests lack it."""
    with_language = make_exchange(ITEMS, headers=(("accept-language", "de"),))
    without = make_exchange(ITEMS, ordinal=1, occurrence=1)

    playback = Playback((with_language, without))
    matches = [_get(playback, ITEMS, (("accept-language", "de"),)) for _ in range(2)]

    assert [match.exchange.ordinal for match in matches if isinstance(match, Hit)] == [0, 1]


def test_headers_that_agree_in_the_recording_do_not_matter() -> None:
    """A header that does not distinguish recorded responses is not compared."""
    exchanges = [make_exchange(ITEMS, headers=(("accept", "text/html"), ("x-request-id", "1")))]

    assert isinstance(_get(Playback(exchanges), ITEMS, (("accept", "*/*"),)), Hit)


def test_missing_occurrence_is_not_filled_by_the_next_one() -> None:
    """Later occurrences keep their positions if a truncated recording lacks an earlier one."""
    playback = Playback([make_exchange(ITEMS, ordinal=1, occurrence=1)])

    first, second = _get(playback, ITEMS), _get(playback, ITEMS)

    assert isinstance(first, Miss)
    assert first.reason == "it was recorded once, this is occurrence 1, which is missing from the recording"
    assert isinstance(second, Hit)


def test_a_missing_occurrence_blocks_later_ones_of_all_groups() -> None:
    """If headers decide, a missing occurrence may belong to any group, so no later one is served."""
    exchanges = [
        make_exchange(ITEMS, ordinal=place, occurrence=place, headers=(("accept", kind),))
        for place, kind in [(0, "a"), (2, "b")]
    ]
    playback = Playback(exchanges)

    assert isinstance(_get(playback, ITEMS, (("accept", "a"),)), Hit)
    assert isinstance(_get(playback, ITEMS, (("accept", "b"),)), Miss)


def test_nearest_names_the_query_value_that_differs() -> None:
    """The nearest recorded request is the one whose other query values match."""
    exchanges = _numbered([f"{ITEMS}?page=1&_=11", f"{ITEMS}?page=2&_=12", "http://other.test/items?page=2&_=99"])

    match = _get(Playback(exchanges), f"{ITEMS}?page=2&_=99")

    assert isinstance(match, Miss)
    assert match.nearest is not None
    assert match.nearest.exchange.ordinal == 1
    assert match.nearest.equal_parts == ("method GET", "site http://shop.test", "path /items", "query page")
    assert match.nearest.differences == (RequestDifference(part="query", name="_", recorded="12", sent="99"),)
    assert match.reason == "it was not recorded; the nearest recorded request differs in query _"


def test_nearest_prefers_what_was_not_served_yet() -> None:
    """Among equally near requests, the one not yet served is named."""
    playback = Playback(_numbered([f"{ITEMS}?_=1", f"{ITEMS}?_=2"]))
    _get(playback, f"{ITEMS}?_=1")

    match = _get(playback, f"{ITEMS}?_=3")

    assert isinstance(match, Miss)
    assert match.nearest is not None
    assert match.nearest.exchange.ordinal == 1


def test_nearest_names_the_json_path_that_differs(tmp_path: Path) -> None:
    """Two JSON bodies are compared value by value."""
    with NetworkWriter(tmp_path) as writer:
        for place, body in enumerate([b'{"op":"list","page":1}', b'{"op":"add","item":{"id":7},"at":1}']):
            ref = writer.write_blob(body)
            writer.append(
                make_exchange(ITEMS, ordinal=place, method="POST", headers=JSON_HEADERS, sent=body, request_body=ref)
            )
    recording = read_network(tmp_path)
    playback = Playback(recording.exchanges, read_body=recording.body)

    match = playback.match("POST", ITEMS, b'{"at":2,"op":"add","item":{"id":7}}', "application/json", ())

    assert isinstance(match, Miss)
    assert match.nearest is not None
    assert match.nearest.exchange.ordinal == 1
    assert match.nearest.differences == (RequestDifference(part="body", name="$.at", recorded="1", sent="2"),)
    assert match.nearest.equal_parts[-2:] == ("body $.item.id", "body $.op")


def test_nearest_names_the_path_of_json_that_was_sent_as_text(tmp_path: Path) -> None:
    """Scripts send JSON without a content type, which browsers then call plain text."""
    headers, body = (("content-type", "text/plain;charset=UTF-8"),), b'{"text":"note","v":1.5}'
    with NetworkWriter(tmp_path) as writer:
        ref = writer.write_blob(body)
        writer.append(make_exchange(ITEMS, method="POST", headers=headers, sent=body, request_body=ref))
    recording = read_network(tmp_path)

    match = Playback(recording.exchanges, read_body=recording.body).match(
        "POST", ITEMS, b'{"text":"note","v":2}', headers[0][1], ()
    )

    assert isinstance(match, Miss)
    assert match.nearest is not None
    assert match.nearest.differences == (RequestDifference(part="body", name="$.v", recorded="1.5", sent="2"),)


def test_nothing_alike_is_nearest_to_nothing() -> None:
    """Neither a request to another site and path nor one in an empty recording has a nearest request."""
    for exchanges in ([], [make_exchange(ITEMS)]):
        match = _get(Playback(exchanges), "https://tracker.test/pixel")

        assert isinstance(match, Miss)
        assert match.nearest is None


@given(st.text(), st.text(), st.none() | st.binary(), st.none() | st.text())
def test_any_request_is_matched_or_missed(method: str, url: str, body: bytes | None, content_type: str | None) -> None:
    """No request, however unusual, causes an error."""
    playback = Playback([make_exchange(f"http://a/{place}?{place}", ordinal=place) for place in range(3)])

    assert isinstance(playback.match(method, f"http://a/{url}", body, content_type, ()), Miss | Hit)


def test_miss_among_two_thousand_is_quick() -> None:
    """Finding the nearest of 2,000 requests takes a few milliseconds."""
    playback = Playback(_numbered([f"{ITEMS}/{place}/view?_={place}&q=x" for place in range(2_000)]))
    _get(playback, f"{ITEMS}/none")

    started = process_time()
    _get(playback, f"{ITEMS}/none/view?_=9&q=x")

    assert process_time() - started < 0.5


def _numbered(urls: list[str]) -> list[Exchange]:
    seen: Counter[str] = Counter()
    exchanges = []
    for ordinal, url in enumerate(urls):
        exchanges.append(make_exchange(url, ordinal=ordinal, occurrence=seen[url]))
        seen[url] += 1
    return exchanges


def _get(playback: Playback, url: str, headers: HeaderPairs = ()) -> Match:
    return playback.match("GET", url, None, None, headers)
