from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import OutputError, TraceFieldError, TraceSyntaxError
from eikon_engine.trace.execution import Artifact, Extraction, Failure, SkillUsage, Succeeded
from eikon_engine.trace.journal import (
    ActionRecorded,
    ArtifactAdded,
    ExtractionAdded,
    FailureAdded,
    JournalHeader,
    JournalRecord,
    JournalWriter,
    MissionEnded,
    SkillRecorded,
    SubgoalEnded,
    SubgoalStarted,
    WarningAdded,
    read_journal,
)
from eikon_engine.trace.trace_file import JOURNAL_FILE, read_trace, write_trace
from tests.trace.trace_values import START, action, subgoal, trace

if TYPE_CHECKING:
    from pathlib import Path

HEADER = JournalHeader(trace=trace(status="running"))
STARTED = SubgoalStarted(subgoal=subgoal(status="running"))
ATTEMPT = STARTED.subgoal.id
SKILL = SkillUsage(id="k", sequence=3, skill="extract_table", result=Succeeded(), output=[1])
RECORDS: tuple[JournalRecord, ...] = (
    HEADER,
    STARTED,
    ActionRecorded(attempt=ATTEMPT, action=action(1)),
    ActionRecorded(attempt=ATTEMPT, action=action(2)),
    SkillRecorded(attempt=ATTEMPT, skill=SKILL),
    WarningAdded(text="slow"),
    ArtifactAdded(artifact=Artifact(name="shot", path="screenshots/1.png")),
    ExtractionAdded(extraction=Extraction(name="prices", value=[2])),
    FailureAdded(failure=Failure(message="gave up")),
    SubgoalEnded(attempt=ATTEMPT, ended_at=START, status="failed", error="no"),
    MissionEnded(ended_at=START, status="failed"),
)


def _journal(folder: Path, *records: JournalRecord) -> Path:
    path = folder / JOURNAL_FILE
    with JournalWriter(path) as writer:
        for record in records:
            writer.append(record)
    return path


def test_a_complete_journal_is_the_trace(tmp_path: Path) -> None:
    """The trace read from a journal contains everything that was written."""
    path = _journal(tmp_path, *RECORDS)

    attempt = subgoal(
        actions_taken=(action(1), action(2)), skills_used=(SKILL,), ended_at=START, status="failed", error="no"
    )
    assert read_journal(path) == trace(
        status="failed",
        ended_at=START,
        subgoal_traces=(attempt,),
        warnings=("slow",),
        artifacts=(Artifact(name="shot", path="screenshots/1.png"),),
        extractions=(Extraction(name="prices", value=[2]),),
        failures=(Failure(message="gave up"),),
    )


def test_a_truncated_journal_is_read_up_to_its_last_complete_line(tmp_path: Path) -> None:
    """A process killed at any moment loses at most the line it was writing, with a warning in the trace."""
    path = _journal(tmp_path, *RECORDS)
    data = path.read_bytes()
    first = data.index(b"\n") + 1

    for length in range(first, len(data)):
        path.write_bytes(data[:length])
        cut = read_journal(path)
        done = sum(cls in line for line in data[:length].split(b"\n")[:-1] for cls in (b'"record":"action"',))
        assert sum(len(each.actions_taken) for each in cut.subgoal_traces) == done
        assert (cut.status, cut.ended_at) == ("aborted", None)
        assert cut.warnings[-1] == "recording ended early: the journal has no mission_ended record"
        assert any("truncated" in warning for warning in cut.warnings) == (data[length - 1 : length] != b"\n")


def test_a_journal_truncated_in_its_first_line_is_refused(tmp_path: Path) -> None:
    """Without a header the mission is unknown."""
    path = _journal(tmp_path, HEADER)
    data = path.read_bytes()

    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(TraceSyntaxError, match="a journal without a complete line"):
            read_journal(path)


def test_an_attempt_without_an_end_is_aborted(tmp_path: Path) -> None:
    """The attempt running when the process died is not successful."""
    read = read_journal(_journal(tmp_path, *RECORDS[:3]))

    assert read.subgoal_traces[0].status == "aborted"


def test_a_folder_with_only_a_journal_is_a_bundle(tmp_path: Path) -> None:
    """The recording of a killed process is read like any other; `trace.json` takes precedence."""
    _journal(tmp_path, *RECORDS)
    assert read_trace(tmp_path).status == "failed"

    write_trace(trace(), tmp_path)
    assert read_trace(tmp_path) == trace()


def test_a_second_recording_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    """Two recordings are never mixed."""
    path = _journal(tmp_path, HEADER)

    with pytest.raises(OutputError, match="a recording exists already"):
        JournalWriter(path)


MISPLACED: dict[str, tuple[tuple[JournalRecord, ...], str]] = {
    "no header": ((STARTED,), "line 1: expected a header, got subgoal_started"),
    "two headers": ((HEADER, HEADER), "line 2: expected one header, in line 1, got header"),
    "header with subgoals": (
        (JournalHeader(trace=trace(subgoal_traces=(subgoal(),))),),
        "line 1: expected a header without subgoals, which have records of their own, got header",
    ),
    "attempt twice": (
        (HEADER, STARTED, STARTED),
        "line 3: expected a new attempt, but s1__attempt_1 has already started, got subgoal_started",
    ),
    "attempt with steps": (
        (HEADER, SubgoalStarted(subgoal=subgoal(actions_taken=(action(1),)))),
        "line 2: expected an attempt without steps, which have records of their own, got subgoal_started",
    ),
    "action of no attempt": (
        (HEADER, ActionRecorded(attempt="s9", action=action(1))),
        "line 2: expected an open attempt, but s9 is not open, got action",
    ),
    "sequence twice": (
        (HEADER, STARTED, RECORDS[2], RECORDS[2]),
        "line 4: expected a unique sequence, but 1 is already used in s1__attempt_1, got action",
    ),
    "after the end": (
        (HEADER, RECORDS[-1], WarningAdded(text="x")),
        "line 3: expected nothing after mission_ended, got warning",
    ),
}


@pytest.mark.parametrize(("records", "message"), MISPLACED.values(), ids=MISPLACED)
def test_a_line_out_of_order_is_named(tmp_path: Path, records: tuple[JournalRecord, ...], message: str) -> None:
    """The message has the line number, the allowed records and the actual one."""
    path = _journal(tmp_path, *records)

    with pytest.raises(TraceFieldError) as raised:
        read_journal(path)

    assert raised.value.message == f"{path} {message}; restore the file or record again"


def test_a_bad_line_before_the_last_is_refused_with_its_number(tmp_path: Path) -> None:
    """Only the last line of a journal may be truncated."""
    path = _journal(tmp_path, *RECORDS)
    lines = path.read_bytes().split(b"\n")

    path.write_bytes(b"\n".join([*lines[:2], lines[2][:20], *lines[3:]]))
    with pytest.raises(TraceSyntaxError, match="line 3: expected valid JSON"):
        read_journal(path)

    path.write_bytes(b"\n".join([*lines[:2], lines[2].replace(b'"click"', b'"teleport"'), *lines[3:]]))
    with pytest.raises(TraceFieldError, match=r"line 3: action\.action\.type: expected one of navigate, "):
        read_journal(path)
