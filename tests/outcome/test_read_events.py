from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import EventsError
from eikon_engine.outcome.events import ActionPerformed, ObservationMade, RunEnd, RunStart, SkillRun
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.outcome.read_events import EventsParser, parse_events, read_events
from eikon_engine.outcome.stored_values import InlineValue
from tests.error_codes import has_code
from tests.outcome.event_values import END, EVERY_KIND, START, lines, text_of

WRITTEN = lines(*EVERY_KIND)
TEXT = text_of(WRITTEN)
VERSION_1 = Path(__file__).parents[1] / "data" / "events" / "version_1.jsonl"


def test_every_event_reads_back() -> None:
    """Every event is read back as it was written."""
    assert parse_events(TEXT, "events.jsonl").lines == WRITTEN


@settings(deadline=None)
@given(st.lists(st.integers(0, len(TEXT)), max_size=6))
def test_pieces_of_any_size_read_as_the_whole(cuts: list[int]) -> None:
    """A file read in pieces gives the same lines as one read at once."""
    reader = EventsParser("events.jsonl")
    places = [0, *sorted(cuts), len(TEXT)]

    read = [line for begin, end in pairwise(places) for each in reader.feed(TEXT[begin:end]) for line in each.lines]

    assert tuple(read) == WRITTEN
    assert reader.finish() == (None, None)


@settings(deadline=None)
@given(st.integers(TEXT.index(b"\n") + 1, len(TEXT) - 1))
def test_a_truncated_file_is_read_up_to_its_last_complete_line(length: int) -> None:
    """A partial line is skipped with a note; a complete one without a line break is read."""
    cut = TEXT[:length]

    found = parse_events(cut, "events.jsonl")

    rest = cut.rpartition(b"\n")[2]
    is_whole = TEXT[length : length + 1] == b"\n"
    assert found.lines == WRITTEN[: cut.count(b"\n") + (1 if is_whole else 0)]
    assert (found.truncation is not None) == (bool(rest) and not is_whole)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text.replace(b'"label":"signed in",', b'"label":"signed in"', 1), ("line 15, column", "as JSON")),
        (lambda text: text.replace(b'"how":"complete"', b'"how":"somehow"'), ("line 29: event.how", "'complete'")),
        (lambda text: text.replace(b'"type":"note"', b'"type":"remark"'), ("line 13: event.type", "remark", "note")),
        (lambda text: text.replace(b'"sequence":3,"at"', b'"sequence":4,"at"'), ("line 3", "sequence 3, got 4")),
        (lambda text: text.replace(b"\n", b"\n\n", 1), ("line 2", "as JSON")),
        (lambda text: text + text, ("line 30", "unexpected line after run_end")),
        (lambda text: text.partition(b"\n")[2], ("line 1", "run_start")),
        (lambda text: b'{"trace_version": 4}\n' + text, ("line 1", "an object with sequence")),
        (lambda text: text[:0], ("events.jsonl", "the file is empty")),
    ],
)
def test_a_broken_line_is_named(spoil: object, words: tuple[str, ...]) -> None:
    """A wrong line before the last one is an error of one line that gives its position."""
    assert callable(spoil)

    with pytest.raises(EventsError) as caught:
        parse_events(spoil(TEXT), "events.jsonl")

    assert "\n" not in caught.value.message
    for word in words:
        assert word in caught.value.message


@pytest.mark.parametrize("version", [0, 3, "2", None, True])
def test_another_version_is_refused(version: object) -> None:
    """Events written by a newer version are refused at their first line."""
    plain = json.loads(TEXT.partition(b"\n")[0])
    plain["event"]["events_version"] = version

    with pytest.raises(EventsError, match="expected 1 to 2, got", check=has_code("events-version")):
        parse_events(json.dumps(plain).encode() + b"\n", "events.jsonl")


def test_version_1_reads() -> None:
    """A version 1 file reads as current events: observations are separate events, and outputs are beside a skill."""
    read = read_events(VERSION_1)

    kinds = [line.event.type for line in read.lines]
    first, last = read.lines[0].event, read.lines[-1].event
    actions = [line.event for line in read.lines if isinstance(line.event, ActionPerformed)]
    skills = [line.event for line in read.lines if isinstance(line.event, SkillRun)]
    assert read.truncation is None
    assert isinstance(first, RunStart)
    assert first.kind == "bundle_replay"
    assert [line.sequence for line in read.lines] == list(range(1, len(kinds) + 1))
    assert kinds[:5] == ["run_start", "subgoal_start", "action_start", "observation", "action"]
    assert [line.sequence for line in read.lines if isinstance(line.event, ObservationMade)]
    assert all(isinstance(each.outcome, ActionOutcome) and each.outcome.observation is None for each in actions)
    assert any(isinstance(each.output, InlineValue) and each.output.value for each in skills)
    assert isinstance(last, RunEnd)
    assert (last.how, last.ended_early) == ("stopped", "stopped at the first divergence")


def test_a_run_without_an_end_is_seen_as_one() -> None:
    """The reader reports whether the run has ended."""
    assert parse_events(text_of(lines(START, END)), "e").has_ended
    assert not parse_events(text_of(lines(START)), "e").has_ended
