from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from jsonschema import Draft202012Validator

from eikon_engine.cli.schema import schema_command
from eikon_engine.outcome.events import EventLine, events_schema
from eikon_engine.outcome.read_events import read_events
from eikon_engine.trace.schema import render_schema
from tests.outcome.event_values import EVERY_KIND, lines

ROOT = Path(__file__).parents[2]
VALIDATOR = Draft202012Validator(events_schema())


def _faults(line: EventLine) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(json.loads(line.model_dump_json()))]


def _known_types() -> list[str]:
    mapping = json.loads(render_schema(events_schema()))["properties"]["event"]["discriminator"]["mapping"]
    return list(mapping)


def test_the_published_schema_is_the_one_of_the_models() -> None:
    """`docs/events.schema.json` equals the output of `eikon schema events` and is a valid schema."""
    published = (ROOT / "docs" / "events.schema.json").read_text()

    Draft202012Validator.check_schema(events_schema())
    assert published == render_schema(events_schema())
    assert CliRunner().invoke(schema_command, ["events"]).stdout == published


def test_every_kind_of_event_fits_the_schema() -> None:
    """A line of each kind, and those of a replay, validate; every kind of the schema is covered."""
    replayed = read_events(ROOT / "tests" / "data" / "events" / "version_1.jsonl").lines

    assert [fault for line in (*lines(*EVERY_KIND), *replayed) for fault in _faults(line)] == []
    assert {event.type for event in EVERY_KIND} == set(_known_types())


def test_the_schema_refuses_what_the_parser_refuses() -> None:
    """The schema rejects an unknown field, an unknown type and a path outside the folder."""
    plain = json.loads(lines(EVERY_KIND[6])[0].model_dump_json())

    for broken in (
        plain | {"speed": 1},
        plain | {"event": plain["event"] | {"type": "skill_end"}},
        plain | {"event": plain["event"] | {"output": {"kind": "file", "path": "values/../../etc/passwd", "bytes": 1}}},
    ):
        assert list(VALIDATOR.iter_errors(broken))
