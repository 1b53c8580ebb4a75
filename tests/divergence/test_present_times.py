"""Texts that differ only in the present time are the same; any other time is compared."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.present_times import (
    LATER_POLL,
    MOVED_DATE,
    PRESENT_TIME,
    PresentTimes,
    find_dates,
    find_elapsed,
    without_present_times,
)
from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node, frame_digest
from eikon_engine.trace.actions import Evaluate, Note, ReadValue
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation

if TYPE_CHECKING:
    from eikon_engine.files.json_text import JsonValue

BEGIN = datetime(2026, 3, 14, 23, 45, tzinfo=UTC)
RECORDED = datetime(2026, 3, 14, 23, 50, 2, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def replayed(**later: int) -> PresentTimes:
    """Replay a step of a page in Berlin so much later."""
    return PresentTimes(begin=BEGIN, recorded=RECORDED, observed=RECORDED + timedelta(**later), zone=BERLIN)


LATER = replayed(days=40, hours=7)


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [
        ("12/06/2026, 10:01", "13/06/2026, 10:01"),
        ("06/12/2026, 10:01", "06/13/2026, 10:01"),
        ("am 12.6.2026 10:01", "am 13.6.2026 10:01"),
    ],
)
def test_day_and_month_may_be_in_either_order(recorded: str, observed: str) -> None:
    """Also if only one of the two dates has a day that can be no month."""
    ten = datetime(2026, 6, 12, 10, tzinfo=UTC)
    times = PresentTimes(begin=ten, recorded=ten + timedelta(minutes=2), observed=ten + timedelta(days=1, minutes=2))

    assert times.are_same(recorded, observed)
    assert not times.are_same(recorded, observed.replace("13", "14"))


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [
        ("saved 2026-03-14T23:51:09Z", "saved 2026-04-24T06:51:30Z"),
        ("2026-03-15 00:51:09.123 by ada", "2026-04-24 07:51:08.9 by ada"),
        ("/timeline?from=2026-03-14T23%3A51%3A09Z&precision=s", "/timeline?from=2026-04-24T06%3A51%3A10Z&precision=s"),
        ("at 03/14/26 23:51:09", "at 04/24/26 06:51:30"),
        ("am 15.3.2026 00:51", "am 24.4.2026 07:52"),
        ("March 14, 2026, 11:51 p.m.", "April 24, 2026, 6:51 a.m."),
        ("Sat, 14 Mar 2026 23:51:09 GMT", "Fri, 24 Apr 2026 06:51:09 GMT"),
        ("2026-03-15T00:51:09+01:00", "2026-04-24T08:51:09+02:00"),
        ("2026-03-14T23:51:09+99:99", "2026-04-24T06:51:09+99:99"),
        ("v=1773532269&x", "v=1777013469&x"),
        ("1773532269006649000", "1777013469123456789"),
        ("1773532269123", "1777013469000"),
        ("on 2026-03-14", "on 2026-04-24"),
        ("posted 23:51", "posted 06:55"),
        ("at 11:51 PM", "at 6:55 AM"),
        ("3 seconds ago", "a few seconds ago"),
        ("1 minute ago by ada", "2 minutes ago by ada"),
        ("opened just now", "opened 4 seconds ago"),
        ("moments ago", "just now"),
        ("3 days ago", "43 days ago"),
        ("1 week ago", "6 weeks ago"),
        ("2 months ago", "3 months ago"),
        ("in 60 days", "in 20 days"),
        ("9 weeks left", "3 weeks left"),
        ("just now", "in 40 days"),
        ("2 minutes ago", "40 days from now"),
        ("delivery on 2026-03-20", "delivery on 2026-04-29"),
        ("due 2026-03-20 15:00", "due 2026-04-29 15:00"),
        ("from 2026-03-14 23:51 to 2026-03-14 23:52", "from 2026-04-24 06:51 to 2026-04-24 06:52"),
    ],
)
def test_present_times_are_the_same(recorded: str, observed: str) -> None:
    """In each usual format, whatever time zone a page shows."""
    assert LATER.are_same(recorded, observed)


@pytest.mark.parametrize(
    ("recorded", "observed", "is_same"),
    [
        ("2 days ago", "3 days ago", True),
        ("2 days ago", "1 day ago", False),
        ("2 days ago", "4 days ago", False),
        ("1 week ago", "2 weeks ago", True),
        ("2 weeks ago", "1 week ago", False),
        ("3 hours ago", "2 hours ago", False),
        ("59 minutes ago", "1 hour ago", True),
        ("11 months ago", "1 year ago", False),
        ("1 year ago", "2 months ago", False),
        ("5 minutes left", "5 minutes ago", False),
        ("5 minutes left", "4 minutes left", True),
        ("5 minutes left", "1 minute left", False),
        ("in 4 minutes", "just now", False),
        ("just now", "in 3 days", False),
        ("in 2 days", "in 3 days", False),
    ],
)
def test_ages_grow_with_time(recorded: str, observed: str, *, is_same: bool) -> None:
    """A minute later, a rounded age may be one more; it is never less."""
    assert replayed(minutes=1).are_same(recorded, observed) is is_same


@pytest.mark.parametrize(
    ("recorded", "observed", "is_same"),
    [
        ("prices.csv 4s ago", "prices.csv next yr.", True),
        ("prices.csv13s ago", "prices.csvnext yr.", True),
        ("prices.csv13s ago", "prices.csv15s ago", True),
        ("prices.csv13s ago", "prices.csv5d ago", False),
        ("prices.csv13s ago", "orders.csv13s ago", False),
        ("room 13s", "room 15s", False),
        ("prices.csvin 9 min.", "prices.csvin 4 min.", True),
        ("4 sec. ago", "in 5 min.", True),
        ("2m ago", "in 3m", True),
        ("1 min. ago", "4 min. ago", True),
        ("now", "4s ago", True),
        ("save now", "save 4s ago", False),
        ("4s ago", "in 2d", False),
        ("4s ago", "5d ago", False),
        ("2h ago", "next yr.", False),
        ("next mo.", "next yr.", False),
        ("4s later", "5s later", False),
    ],
)
def test_what_is_new_to_a_server_lies_ahead_of_a_page_with_the_recorded_time(
    recorded: str, observed: str, *, is_same: bool
) -> None:
    """By as much as the replay is later; some pages round any time to come up to a year."""
    assert replayed(minutes=5).are_same(recorded, observed) is is_same


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [
        ("saved 2026-03-14T23:51:09Z", "saved 2026-04-24T08:51:30Z"),
        ("saved 2026-03-14T23:51:09Z", "kept 2026-04-24T06:51:30Z"),
        ("born 1999-03-14 10:00", "born 1999-04-23 17:00"),
        ("on 2026-03-14", "on 2026-04-20"),
        ("due 2026-03-20", "due 2026-04-27"),
        ("due 2026-03-20 15:00", "due 2026-04-29 16:00"),
        ("in 60 days", "in 30 days"),
        ("in 60 days", "20 days left"),
        ("yesterday, March 13, 2026", "yesterday, April 23, 2026"),
        ("1778000000", "1781456000"),
        ("3 days ago", "in 37 days"),
        ("in 3 days", "3 days ago"),
        ("due 2028-03-20", "due 2028-04-29"),
        ("2026-03-14 23:51", "2026-04-24T06:51"),
        ("2026-03-14 23:51", "2026-04-24 06:51, 2026-04-24 06:51"),
        ("price 17.50", "price 18.50"),
        ("opens 10:00", "opens 11:00"),
        ("opens 23:51", "opens 23:55"),
        ("3 seconds ago", "40 minutes ago"),
        ("3 days ago", "5 days ago"),
        ("Open 09:00-24:00", "Open 09:00-2400 daily"),
        ("\u017fep 12, 2026", "\u017fep 13, 2026"),
        ("due 2026-03-14 20:00", "due 2026-04-24 03:00"),
        ("v=1773532269&x", "v=1773532999&x"),
        ("2026-03-14 23:51", ""),
    ],
)
def test_other_times_are_compared(recorded: str, observed: str) -> None:
    """Another distance, date, format or text is a difference."""
    assert not LATER.are_same(recorded, observed)


@pytest.mark.parametrize(
    ("text", "moved"), [("departs 2026-06-01", True), ("due June 20, 2026", False), ("met 2025-07-01", False)]
)
def test_dates_of_the_coming_year_may_move_by_the_days_since_the_recording(text: str, *, moved: bool) -> None:
    """Not those that the mission entered, in whatever format; which text moved is noted."""
    noon = datetime(2026, 5, 5, 12, tzinfo=UTC)
    times = PresentTimes(
        begin=noon, recorded=noon, observed=noon + timedelta(days=1), entered_dates=lambda: find_dates("on 2026-06-20")
    )

    assert times.are_same(text, text.replace("01", "02").replace("20,", "21,")) is moved
    assert (MOVED_DATE in times.not_compared) == moved


def test_a_replay_that_follows_at_once_has_nearly_the_same_times() -> None:
    """A minute of difference is one of the run; an appointment is not."""
    soon = replayed(minutes=2)

    assert soon.are_same("2026-03-14 23:51", "2026-03-14 23:54")
    assert not soon.are_same("2026-03-14 23:51", "2026-03-15 01:54")
    assert not soon.are_same("due 2026-03-15", "due 2026-03-16")
    assert not soon.are_same("Appointment 2026-03-20 15:30", "Appointment 2026-03-20 15:35")
    assert not soon.are_same("score 10:02", "score 9:58")


def page(*texts: str) -> PageSnapshot:
    """Return a page of paragraphs."""
    nodes = tuple(DomNode(tag="p", children=(build_text_node(each),)) for each in texts)
    frame = FrameSnapshot(path="", url="", name="", doctype="html", root=DomNode(tag="html", children=nodes))
    return PageSnapshot(frames=(frame,))


def compared(before: PageSnapshot, after: PageSnapshot, times: PresentTimes = LATER) -> tuple[tuple[str, str], ...]:
    """Return the differences that are left of two pages."""

    def seen(shown: PageSnapshot) -> Observation:
        digests = tuple(FrameObservation(path="", url="", digest=frame_digest(each)) for each in shown.frames)
        return Observation(pages=(PageObservation(page=0, url="", title="", frames=digests),))

    step = ActionTrace(id="a", sequence=1, action=Note(text="x"), result=Succeeded(), observation=seen(before))
    comparison = Comparison(
        position=StepPosition(subgoal="s", subgoal_id="s", sequence=1),
        recorded=step,
        result=Succeeded(),
        observed=seen(after),
        recorded_dom=lambda _page: before,
        observed_dom=lambda _page: after,
    )
    left, _ = without_present_times(comparison, times)
    one, other = left.recorded_dom(0), left.observed_dom(0)
    assert one is not None
    assert other is not None
    return tuple((each.expected, each.observed) for each in diff_snapshots(one, other))


def test_what_is_around_present_times_is_compared() -> None:
    """The page of a live site is the recorded one but for its times, also where two of them became one."""
    before = page("saved\n 2026-03-14 23:49", "seen 2026-03-14 23:50", "seen 2026-03-14 23:51", "price 3")

    same = page("saved\n 2026-04-24 06:49", "seen 2026-04-24 06:50", "seen 2026-04-24 06:50", "price 3")
    other = page("saved\n 2026-04-24 06:49", "seen 2026-04-24 06:50", "seen 2026-04-24 06:50", "price 4")

    assert compared(before, same) == ()
    assert compared(before, other) == (("price 3", "price 4"),)


@pytest.mark.parametrize("kept", ["This page is rendered for you. " * 9, ""])
def test_long_texts_are_compared_whole(kept: str) -> None:
    """What is shown of a difference is shortened; what is compared is not."""
    before = page(f"{kept}saved 2026-03-14 23:49. {kept}Price 3")

    assert compared(before, page(f"{kept}saved 2026-04-24 06:49. {kept}Price 3")) == ()
    assert len(compared(before, page(f"{kept}saved 2026-04-24 06:49. {kept}Price 4"))) == 1
    assert len(compared(before, page(f"{kept}saved 2026-04-23 06:49. {kept}Price 3"))) == 1


def test_a_text_that_differs_elsewhere_stays() -> None:
    """Three texts of which two pairs are the same, and the third is not, are left alone."""
    before = page("2026-03-14 23:45", "2026-03-14 23:50", "2026-03-14 23:45")
    after = page("2026-04-24 06:54", "2026-04-24 06:54", "2026-04-24 07:54")

    assert "2026-04-24 07:54" in {observed for _, observed in compared(before, after)}


def aged(*rows: tuple[str, str]) -> PageSnapshot:
    """Return a page of links, each with a text and the time since then in its title."""
    links = tuple(
        DomNode(tag="a", attributes=(("title", f"Saved {since}"),), children=(build_text_node(age),))
        for age, since in rows
    )
    root = DomNode(tag="html", children=links)
    return PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=root),))


@pytest.mark.parametrize(
    ("observed", "left"),
    [
        pytest.param(("1 second", "04/24/26 06:50:01"), (), id="the age of the present time"),
        pytest.param(("2 minutes", "04/24/26 06:48:01"), (), id="another unit"),
        pytest.param(("40 minutes", "04/24/26 06:50:01"), (("0 seconds", "40 minutes"),), id="an age of another time"),
        pytest.param(("1 second left", "04/24/26 06:50:01"), (("0 seconds", "1 second left"),), id="other words"),
    ],
)
def test_an_age_counts_if_its_element_has_the_time_since_then(
    observed: tuple[str, str], left: tuple[tuple[str, str], ...]
) -> None:
    """Without a word such as `ago`, a number of seconds may be anything."""
    before = aged(("0 seconds", "03/14/26 23:50:01"))

    assert compared(before, aged(observed)) == left


def test_an_age_of_a_fixed_time_grows() -> None:
    """What was two days old is older in a replay after 40 days, and no younger."""
    before = aged(("2 days", "2026-03-12 22:00:00"))

    assert compared(before, aged(("42 days", "2026-03-12 22:00:00"))) == ()
    assert compared(before, aged(("1 day", "2026-03-12 22:00:00"))) == (("2 days", "1 day"),)


def test_a_number_of_seconds_without_a_time_is_compared() -> None:
    """Also where the same change is one of an age elsewhere."""
    before = aged(("0 seconds", "03/14/26 23:50:01"), ("0 seconds", "retrying"))
    after = aged(("1 second", "04/24/26 06:50:01"), ("1 second", "retrying"))

    assert ("0 seconds", "1 second") in compared(before, after)


def opened(age: str, unit: str, *, is_wrapped: bool = False) -> PageSnapshot:
    """Return a page with an age in an element of its own, between the words around it."""
    after = build_text_node(unit)
    age_node = DomNode(tag="b", children=(build_text_node(age),))
    words = (build_text_node("Opened "), age_node, DomNode(tag="i", children=(after,)) if is_wrapped else after)
    root = DomNode(tag="html", children=(DomNode(tag="p", children=words),))
    return PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=root),))


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_an_age_by_the_clock_of_the_page_may_be_less_than_zero(
    is_wrapped: bool,  # noqa: FBT001 - of the test
) -> None:
    """By as much as the replay is later than the recording; its unit is in the text after it."""
    hour = timedelta(hours=1)
    times = PresentTimes(begin=BEGIN, recorded=RECORDED, observed=RECORDED + hour, begun=BEGIN + hour)
    before = opened("0", " seconds ago", is_wrapped=is_wrapped)

    def left(age: str, unit: str = " seconds ago", known: PresentTimes = times) -> tuple[tuple[str, str], ...]:
        return compared(before, opened(age, unit, is_wrapped=is_wrapped), known)

    assert left("-3600") == ()
    assert times.are_same("Opened 0 seconds ago", "Opened -3600 seconds ago")
    assert PRESENT_TIME in times.not_compared
    assert left("-3000") != ()
    assert left("3600") != ()
    assert left("-3600", " points") != ()
    assert left("-3600", known=replace(times, begun=None)) != ()


def counted(seconds: float, *texts: str) -> PresentTimes:
    """Replay a step so much later by the clock of the page, which counts in some texts."""
    shift = timedelta(seconds=seconds)
    return PresentTimes(
        begin=BEGIN, recorded=RECORDED, observed=RECORDED, page_shift=shift, counting_texts=lambda: frozenset(texts)
    )


@pytest.mark.parametrize(
    ("recorded", "observed", "shift_s", "are_same"),
    [
        ("on for 3 s", "on for 8 s", 5, True),
        ("on for 3 s", "on for 4 s", 0, True),
        ("on for 3 s", "on for 8 s", 0, False),
        ("on for 3 s", "on for 3 s, or 8 s", 5, False),
        ("off for 3 s", "off for 8 s", 5, False),
        ("on for 59 seconds", "on for 61 seconds", 2, False),
        ("on for 3 min", "on for 8 min", 300, False),
    ],
)
def test_an_elapsed_time_may_be_later_where_the_page_counts_it(
    recorded: str,
    observed: str,
    shift_s: float,
    are_same: bool,  # noqa: FBT001 - of the test
) -> None:
    """In texts that counted in the recording, by as much as the page is later."""
    assert counted(shift_s, "on for 0 s").are_same(recorded, observed) == are_same


def test_elapsed_times_are_found_where_there_is_one() -> None:
    """A time before the present one is none, nor is a part of a word or of a time of day."""
    second, minute = timedelta(seconds=1), timedelta(minutes=1)

    assert find_elapsed("on for 3 s.") == ("on for 0 s.", 3 * second, second)
    assert find_elapsed("12 minutes left") == ("0 minutes left", 12 * minute, minute)
    assert [find_elapsed(text) for text in ("3 seconds ago", "v3s1", "10:03 s", "3 s of 9 s", "3 sheep")] == [None] * 5


def drawing(place: str) -> PageSnapshot:
    """Return a page with an element at a place."""
    node = DomNode(tag="svg", attributes=(("d", f"M0,{place}Z"),))
    return PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=node),))


@pytest.mark.parametrize(
    ("recorded", "observed", "is_same"),
    [
        ("1021.7082002397324", "1021.7081981585382", True),
        ("1021.7082002397324 L-3.00001", "1021.7081981585382 L-3.00009", True),
        ("1021.7082", "1021.7192", False),
        ("1021.7082 L4", "1021.7083 L5", False),
        ("1.0001", "1.0002 L2.0001", False),
        ("3.41", "3.42", False),
        ("52.52001.1", "52.52002.1", False),
        ("1.23450e9", "1.23459e9", False),
    ],
)
def test_places_in_drawings_may_differ_by_almost_nothing(recorded: str, observed: str, *, is_same: bool) -> None:
    """Only numbers with many decimals are places; a price has two."""
    assert (compared(drawing(recorded), drawing(observed)) == ()) == is_same
    assert len(compared(page(recorded), page(observed))) == 1


def test_values_are_no_places() -> None:
    """A value, and a place that the page shows as a text as well, are compared exactly."""

    def shown(attribute: str, rate: str, text: str) -> PageSnapshot:
        node = DomNode(tag="p", attributes=((attribute, rate),), children=(build_text_node(text),))
        return PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=node),))

    assert compared(shown("width", "0.0010", "same"), shown("width", "0.0019", "same")) == ()
    assert compared(shown("value", "0.0010", "same"), shown("value", "0.0019", "same")) != ()
    assert len(compared(shown("width", "0.0010", "0.0010"), shown("width", "0.0019", "0.0019"))) == 2


def test_a_date_at_the_end_of_the_calendar_is_a_date() -> None:
    """It is compared in any time zone."""
    west = PresentTimes(begin=BEGIN, recorded=RECORDED, observed=RECORDED, zone=ZoneInfo("America/New_York"))

    assert not west.are_same("until 9999-12-31 23:59:59", "until 2027-01-01 10:00:00")
    assert not west.are_same("until 2027-01-01 10:00:00", "until 9999-12-31 23:59:59")


LATER_TEXTS = frozenset({("Updated 1 times", "Updated 2 times")})
POLLED = replace(LATER, later_values=LATER_TEXTS)


def test_a_page_may_show_the_text_of_a_later_poll() -> None:
    """A text of its own, and no other one."""
    before = page(" Updated 1 times ", "price 3")

    assert compared(before, page(" Updated 2 times ", "price 3"), POLLED) == ()
    assert compared(before, page(" Updated 2 times ", "price 4"), POLLED) == (("price 3", "price 4"),)
    assert len(compared(before, page("It says: Updated 2 times", "price 3"), POLLED)) == 1


@pytest.mark.parametrize(
    ("recorded", "observed", "is_left"),
    [
        ("Updated 1 times", "Updated 2 times", False),
        (" Updated 1 times\n", " Updated 2 times\n", False),
        ("Updated 1 times", "Updated 3 times", True),
        (["Updated 1 times"], ["Updated 2 times"], True),
        (1, 2, True),
    ],
)
def test_an_agent_may_read_the_text_of_a_later_poll(recorded: JsonValue, observed: JsonValue, *, is_left: bool) -> None:
    """As the page may show it; anything else that it reads is compared."""
    times = replace(POLLED, later_values=LATER_TEXTS | {("1", "2")}, not_compared={})
    action = Evaluate(expression="it", value=ReadValue(value=recorded))
    comparison = Comparison(
        position=StepPosition(subgoal="s", subgoal_id="s", sequence=1),
        recorded=ActionTrace(id="a", sequence=1, action=action, result=Succeeded(), observation=Observation(pages=())),
        result=Succeeded(),
        observed=Observation(pages=(), value=ReadValue(value=observed)),
    )

    left, names = without_present_times(comparison, times)

    assert left.observed is not None
    assert (left.observed.value is not None) is is_left
    assert names == (() if is_left else (LATER_POLL,))


def titled(title: str, *texts: str) -> PageSnapshot:
    """Return a page of an element with a title, and of texts."""
    node = DomNode(tag="i", attributes=(("title", title),))
    root = DomNode(
        tag="html", children=(node, *(DomNode(tag="p", children=(build_text_node(each),)) for each in texts))
    )
    return PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=root),))


@pytest.mark.parametrize("texts", [(), ("Updated 1 times",)])
def test_only_texts_of_a_page_may_be_those_of_a_later_poll(texts: tuple[str, ...]) -> None:
    """Attributes, URLs, titles and dialogs are compared, also if a text has changed alike."""
    before = titled("Updated 1 times", *texts)
    after = titled("Updated 2 times", *(each.replace("1", "2") for each in texts))

    assert ("Updated 1 times", "Updated 2 times") in compared(before, after, POLLED)
    assert not POLLED.are_same("Updated 1 times", "Updated 2 times")
