"""Readers of what runs leave behind: events, outcomes, suites, histories, model responses, tool calls."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from typing import TYPE_CHECKING, Final

from benchmarks.fuzz.target import Target, write_input
from eikon_engine.debug.session_events import read_recording
from eikon_engine.divergence.outcome_diff import compare_outcomes
from eikon_engine.gates.event_sources import read_outcome, read_run_events
from eikon_engine.history.pending import HistoryPlace, read_pending
from eikon_engine.history.runs import summarize_run
from eikon_engine.llm.completion import prompt_digest
from eikon_engine.llm.model_response import ModelResponse, parse_response, response_bytes
from eikon_engine.llm.openai_client import parse_chat_completion
from eikon_engine.llm.response_folder import read_folder, read_state
from eikon_engine.outcome.read_events import read_events
from eikon_engine.outcome.run_record import read_run_record
from eikon_engine.outcome.stored_values import ValueFile, ValueStore
from eikon_engine.report import ci_formats
from eikon_engine.report.diff_report import render_diff_page, render_diff_text
from eikon_engine.report.event_text import format_event_line
from eikon_engine.report.html_report import render_report
from eikon_engine.report.replay_summary import render_summary
from eikon_engine.scenario.fixtures import Fixture, read_digested
from eikon_engine.suite.results import merge_suites, planned_names, read_suite
from eikon_engine.triage.groups import triage
from eikon_engine.triage.known_causes import read_known_causes

if TYPE_CHECKING:
    from pathlib import Path

_EVENTS: Final = ("tests/data/events/*.jsonl",)


def _events(data: bytes, folder: Path) -> None:
    for line in read_events(write_input(folder / "events.jsonl", data)).lines:
        format_event_line(line)


def _run_events(data: bytes, folder: Path) -> None:
    read_run_events(write_input(folder / "events.jsonl", data))


def _recorded_session(data: bytes, folder: Path) -> None:
    tuple(read_recording(write_input(folder / "events.jsonl", data), lambda _: None))


def _outcome(data: bytes, folder: Path) -> None:
    outcome = read_outcome(write_input(folder / "outcome.json", data))
    texts = [
        render_summary(outcome, folder),
        render_report(outcome, folder),
        ci_formats.render_markdown(outcome),
        ci_formats.render_junit(outcome),
        ci_formats.render_github(outcome),
        ci_formats.render_gitlab(outcome),
        triage([("a", outcome), ("b", outcome)]).model_dump_json(),
        summarize_run(outcome, "a", "b").model_dump_json(),
        render_diff_text(compare_outcomes(("a", outcome), ("b", outcome))),
        render_diff_page(compare_outcomes(("a", outcome), ("b", outcome))),
    ]
    for each in texts:
        each.encode()


def _value(data: bytes, folder: Path) -> None:
    path = f"values/{hashlib.sha256(data).hexdigest()}.json"
    write_input(folder / path, data)
    try:
        ValueStore(folder).load(ValueFile(path=path, bytes=len(data)))
    finally:
        (folder / path).unlink()


def _run(data: bytes, folder: Path) -> None:
    write_input(folder / "run.json", data)
    read_run_record(folder)


def _suite(data: bytes, folder: Path) -> None:
    suite = read_suite(write_input(folder / "suite.json", data))
    merge_suites([(folder, suite)], folder)


def _suite_journal(data: bytes, folder: Path) -> None:
    write_input(folder / "results.jsonl", data)
    planned_names(folder)


def _pending_run(data: bytes, folder: Path) -> None:
    place = HistoryPlace(url="sqlite:///a", file=None, pending=folder, is_shared=False)
    write_input(folder / "a.json", data)
    tuple(read_pending(place))


def _model_response(data: bytes, folder: Path) -> None:
    path = folder / "title-0123456789abcdef-0000.json"
    response_bytes(parse_response(write_input(path, data).read_bytes(), path))


def _response_folder(data: bytes, folder: Path) -> None:
    write_input(folder / "title-396fbc076c11d2f7-0000.json", data)
    read_folder(folder)


def _with_prompt_digest(data: bytes) -> bytes:
    """Return a model response with the digest of its prompt."""
    try:
        response = ModelResponse.model_validate_json(data)
        return response_bytes(response.model_copy(update={"prompt_digest": prompt_digest(response.request)}))
    except ValueError:
        return data


def _response_state(data: bytes, folder: Path) -> None:
    read_state(write_input(folder / "recording.json", data))


def _chat_completion(data: bytes, _folder: Path) -> None:
    parse_chat_completion(data, "http://a.test", "m")


def _fixture(data: bytes, folder: Path) -> None:
    read_digested(Fixture, write_input(folder / "fixture.json", data))


def _with_digest(data: bytes) -> bytes:
    """Return a fixture with the digest of its content."""
    from eikon_engine.scenario.fixtures import _content_digest

    try:
        content = json.loads(data)
        content["digest"] = _content_digest(content)
        return json.dumps(content).encode()
    except (ValueError, TypeError, RecursionError):
        return data


def _known_causes(data: bytes, folder: Path) -> None:
    read_known_causes(write_input(folder / "causes.toml", data), date(2026, 1, 1))


TARGETS: Final = {
    "events": Target(form="lines", read=_events, samples=_EVENTS),
    "run-events": Target(form="lines", read=_run_events, samples=_EVENTS),
    "recorded-session": Target(form="lines", read=_recorded_session, samples=_EVENTS),
    "outcome": Target(form="json", read=_outcome),
    "value": Target(form="json", read=_value),
    "run": Target(form="json", read=_run),
    "suite-results": Target(form="json", read=_suite),
    "suite-journal": Target(form="lines", read=_suite_journal),
    "pending-run": Target(form="json", read=_pending_run),
    "model-response": Target(form="json", read=_model_response, seal=_with_prompt_digest),
    "response-folder": Target(form="json", read=_response_folder, samples=("tests/data/fuzz/model-response/*",)),
    "response-state": Target(form="json", read=_response_state),
    "chat-completion": Target(form="json", read=_chat_completion),
    "fixture": Target(form="json", read=_fixture, seal=_with_digest),
    "known-causes": Target(form="text", read=_known_causes),
}
"""By name."""
