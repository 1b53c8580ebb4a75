"""The targets of recorded redirects, and the navigations that continue them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser.traffic.sealed_responder import RedirectContinuation, RedirectContinuations, redirect_target
from eikon_engine.network.exchange import Exchange, Hop, RecordedRequest, RecordedResponse

if TYPE_CHECKING:
    from playwright.async_api import Frame, Request

HERE, END = "http://shop.test/a", "http://shop.test/end"


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A frame."""

    url: str = "http://shop.test/page"


@dataclass(frozen=True, slots=True)
class Asked:
    """A navigation of a frame."""

    frame: Place
    url: str = END


def redirected(*locations: str, url: str = END, ordinal: int = 0) -> Exchange:
    """Return a document that was redirected."""
    return Exchange(
        ordinal=ordinal,
        key=f"GET {HERE}",
        occurrence=ordinal,
        request=RecordedRequest(method="GET", url=HERE, resource_type="document", is_navigation=True),
        hops=tuple(Hop(url=HERE, status=302, headers=(("LOCATION", each),)) for each in locations),
        response=RecordedResponse(url=url, status=200),
        started_ms=0.0,
    )


def going_on(exchange: Exchange, frame: Place | None) -> RedirectContinuation:
    """Continue in a frame, or from our interim document."""
    where = cast("Frame | None", frame)
    return RedirectContinuation(exchange=exchange, frame=where, source=f"{HERE}#x", target=f"{END}#there")


def asked(frame: Place, url: str = END) -> Request:
    """Return a navigation."""
    return cast("Request", Asked(frame, url))


@pytest.mark.parametrize(
    ("locations", "fragment"),
    [
        (("/end",), ""),
        (("/end#one",), "#one"),
        (("/b#one", "/end"), "#one"),
        (("/b#one", "/end#two"), "#two"),
        (("/b#one", "/end#"), "#"),
        ((), ""),
    ],
)
def test_the_fragment_is_that_of_the_last_redirect_with_one(locations: tuple[str, ...], fragment: str) -> None:
    """A redirect without a fragment keeps the one before it."""
    assert redirect_target(redirected(*locations)) == END + fragment


@pytest.mark.parametrize(("location", "fragment"), [("/end", "#asked"), ("/end#one", "#one")])
def test_the_requested_fragment_is_kept(location: str, fragment: str) -> None:
    """Unless a redirect has one."""
    assert redirect_target(redirected(location), f"{HERE}#asked") == END + fragment


def test_a_recorded_fragment_stays() -> None:
    """Other recorders write the URL with the fragment that was shown."""
    assert redirect_target(redirected("/end#other", url=f"{END}#shown")) == f"{END}#shown"


def test_each_frame_continues_with_its_own_exchange() -> None:
    """Two frames may navigate to one URL in any order, one of them twice."""
    first, second = Place(), Place()
    exchanges = [redirected("/end", ordinal=number) for number in range(3)]
    continuations = RedirectContinuations()
    for exchange, frame in zip(exchanges, (first, second, first), strict=True):
        continuations.add(going_on(exchange, frame))

    taken = [continuations.take(asked(frame)) for frame in (second, first, first, second)]

    assert taken == [exchanges[1], exchanges[0], exchanges[2], None]


def test_other_navigations_continue_nothing() -> None:
    """Neither another frame nor another URL takes the exchange."""
    frame = Place()
    continuations = RedirectContinuations()
    continuations.add(going_on(redirected("/end"), frame))

    assert continuations.take(asked(Place())) is None
    assert continuations.take(asked(frame, HERE)) is None


def test_a_cancelled_navigation_is_not_continued() -> None:
    """A dropped exchange answers no later navigation; dropping it again has no effect."""
    frame, continuations = Place(), RedirectContinuations()
    continuation = going_on(redirected("/end"), frame)
    continuations.add(continuation)

    continuations.drop(continuation)
    continuations.drop(continuation)

    assert continuations.take(asked(frame)) is None


def test_our_interim_document_continues_from_its_own_url() -> None:
    """Its frame may be unknown; every other frame navigates for itself."""
    exchange, continuations = redirected("/end"), RedirectContinuations()
    continuations.add(going_on(exchange, None))

    assert continuations.take(asked(Place())) is None
    assert continuations.take(asked(Place(HERE))) == exchange
