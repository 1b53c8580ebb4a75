"""Migrate the format "v3.1" to version 4.

The older format has no URL after an action, no HTTP status, no DOM digest and no common order of skills and actions.
Fields without a counterpart in version 4 are named in the warnings, without their values.
"""

from __future__ import annotations

import json
from typing import Final, get_args

from eikon_engine.trace.bundle_path import escapes_bundle
from eikon_engine.trace.execution import MissionStatus
from eikon_engine.trace.migrations.plain import FieldReader, JsonObject, MigrationLog
from eikon_engine.trace.migrations.v3_1_actions import SecretNamer, failed_with_secret, migrate_action

VERSION: Final = "v3.1"

_STATUSES: Final[tuple[str, ...]] = get_args(MissionStatus)
_MAY_QUOTE_SECRET: Final = "which may quote a masked input"
_SKILL_OK: Final = frozenset({"ok", "success", "complete"})


def migrate_v3_1(plain: JsonObject, source: str) -> JsonObject:
    """Migrate a trace of version "v3.1" to version 4.

    Raises:
        TraceFieldError: a field is missing, unknown or invalid.
    """
    ledger = MigrationLog(source)
    fields = FieldReader(plain, "", ledger)
    fields.read("trace_version")
    fields.read("type")  # only marks the file as a trace
    usages = fields.read_objects("skills_used")
    subgoals = [_SubgoalMigration(each) for each in fields.read_objects("subgoal_traces")]
    names = SecretNamer()
    subgoal_traces = [each.migrate(names, usages) for each in subgoals]
    for usage in usages:
        ledger.record_dropped(usage.path, usage.plain, "of an unrecorded subgoal attempt")
    masked = {each.subgoal_id for each in subgoals if each.masked}
    started_at, ended_at = fields.read_times()
    current: JsonObject = {
        "trace_version": 4,
        "id": fields.read_required_text("id"),
        "mission_id": fields.read_required_text("mission_id"),
        "mission_text": fields.read_text("mission_text") or "",
        "started_at": started_at,
        "ended_at": ended_at,
        "status": fields.read_choice("status", _STATUSES),
        "subgoal_traces": subgoal_traces,
        "artifacts": _migrate_artifacts(fields),
        "page_intents": [_migrate_page_intent(each) for each in fields.read_objects("page_intents")],
        "extractions": _migrate_extractions(fields),
        "failures": _migrate_failures(fields, masked),
        "migrated_from": VERSION,
    }
    if started_at is None:
        raise fields.error("started_at", "this field is missing")
    recorded = [_as_text(each) for each in fields.read_list("warnings")]
    fields.report_unread()
    return current | {"warnings": [*recorded, *ledger.warnings()]}


class _SubgoalMigration:
    """One attempt at a subgoal during its migration."""

    def __init__(self, fields: FieldReader) -> None:
        """Read the fields that the mission level needs."""
        self.fields = fields
        self.subgoal_id = fields.read_required_text("subgoal_id")
        self.attempt_number = fields.read_positive_int("attempt_number", 1)
        self.masked = False

    def migrate(self, names: SecretNamer, usages: list[FieldReader]) -> JsonObject:
        """Build the `SubgoalTrace`; remove the skills of this attempt from `usages`."""
        fields = self.fields
        actions: list[JsonObject] = []
        failed = False
        for each in fields.read_objects("actions_taken"):
            actions.append(migrate_action(each, names, after_failure=failed))
            failed = actions[-1]["result"] != {"kind": "ok"}
            each.report_unread()
        self.masked = any(map(failed_with_secret, actions))
        started_at, ended_at = fields.read_times()
        attempt_id = fields.read_text("id") or f"{self.subgoal_id}__attempt_{self.attempt_number}"
        error = fields.read_text("error")
        if self.masked and error:
            fields.log.record_dropped(fields.path_of("error"), error, _MAY_QUOTE_SECRET)
        subgoal: JsonObject = {
            "id": attempt_id,
            "subgoal_id": self.subgoal_id,
            "description": fields.read_text("description") or "",
            "attempt_number": self.attempt_number,
            "started_at": started_at,
            "ended_at": ended_at,
            "status": self._status(error),
            "error": None if self.masked else error,
            "actions_taken": actions,
            "skills_used": self._skills(attempt_id, usages, 1 + max((_sequence(each) for each in actions), default=0)),
        }
        fields.report_unread()
        return subgoal

    def _status(self, error: str | None) -> str:
        if self.fields.read("status") is not None:
            return self.fields.read_choice("status", _STATUSES)
        status = "failed" if error else "complete"
        self.fields.log.warn(f"{self.fields.path_of('status')} is missing; assumed to be {status}")
        return status

    def _skills(self, attempt_id: str, usages: list[FieldReader], sequence: int) -> list[JsonObject]:
        """Place the skills after the actions, since the older format does not record their order."""
        name = self.fields.read_text("skill_used")
        own = [each for each in usages if self._is_own_skill(each)]
        skills: list[JsonObject] = []
        for each in own:
            usages.remove(each)
            skills.append(_migrate_skill(each, sequence + len(skills)))
        if name and all(each["skill"] != name for each in skills):
            skills.append(
                {
                    "id": f"{attempt_id}_skill_{name}",
                    "sequence": sequence + len(skills),
                    "skill": name,
                    "result": {"kind": "ok"},
                    "output_recorded": False,
                }
            )
        for skill in skills:
            self.fields.log.warn(
                f"the position of skill {skill['skill']} in {attempt_id} was not recorded; placed after the actions"
            )
        return skills

    def _is_own_skill(self, usage: FieldReader) -> bool:
        number = usage.read("attempt_number")
        return usage.read("subgoal_id") == self.subgoal_id and number in (None, self.attempt_number)


def _migrate_skill(usage: FieldReader, sequence: int) -> JsonObject:
    status = usage.read_text("status") or "ok"
    result: JsonObject = {"kind": "ok"}
    if status not in _SKILL_OK:
        result = {"kind": "failed", "code": "unknown", "message": status}
    skill: JsonObject = {
        "id": usage.read_required_text("id"),
        "sequence": sequence,
        "skill": usage.read_required_text("name"),
        "result": result,
        "output_recorded": False,
    }
    metadata = usage.read("metadata")
    if metadata is not None:
        inner = usage.nested("metadata", metadata)
        if (name := next((each for each in ("result", "payload") if each in inner.plain), None)) is not None:
            skill |= {"output": inner.read(name), "output_recorded": True}
        inner.report_unread()
    usage.report_unread()
    return skill


def _migrate_artifacts(fields: FieldReader) -> list[JsonObject]:
    artifacts: list[JsonObject] = []
    for each in fields.read_objects("artifacts"):
        path = each.read_required_text("path")
        name = each.read_text("name") or path
        if escapes_bundle(path):
            each.log.record_dropped(each.path_of("path"), path, "which points outside the bundle")
        else:
            artifacts.append({"name": name, "path": path})
        each.report_unread()
    return artifacts


def _migrate_page_intent(fields: FieldReader) -> JsonObject:
    signals = fields.read("signals")
    intent: JsonObject = {
        "id": fields.read_required_text("id"),
        "intent": fields.read_required_text("intent"),
        "strategy": fields.read_text("strategy"),
        "confidence": fields.read_number("confidence"),
        "signals": signals if isinstance(signals, list) else [] if signals is None else [signals],
        "step_id": fields.read_text("step_id"),
    }
    fields.report_unread()
    return intent


def _migrate_extractions(fields: FieldReader) -> list[JsonObject]:
    found = []
    for number, each in enumerate(fields.read_list("extractions"), start=1):
        match each:
            case {"name": str(name), "value": value, **rest} if not rest:
                found.append({"name": name, "value": value})
            case {"name": str(name)}:
                found.append({"name": name, "value": each})
            case _:
                found.append({"name": f"extraction_{number}", "value": each})
    return found


def _migrate_failures(fields: FieldReader, masked: set[str]) -> list[JsonObject]:
    failures: list[JsonObject] = []
    for number, each in enumerate(fields.read_list("failures")):
        path = f"{fields.path_of('failures')}[{number}]"
        if not isinstance(each, dict):
            fields.log.record_dropped(path, each, _MAY_QUOTE_SECRET) if masked else failures.append(
                {"message": _as_text(each)}
            )
            continue
        inner = FieldReader(each, path, fields.log)
        subgoal_id = inner.read_text("subgoal_id")
        texts = [text for name in ("message", "error", "reason") if (text := inner.read_text(name))]
        if masked and (subgoal_id is None or subgoal_id in masked):
            inner.log.record_dropped(path, texts, _MAY_QUOTE_SECRET)
            texts = [_MAY_QUOTE_SECRET.replace("which", "not carried over: it")]
        failures.append({"message": "; ".join(texts), "subgoal_id": subgoal_id})
        inner.report_unread()
    return failures


def _sequence(action: JsonObject) -> int:
    sequence = action["sequence"]
    return sequence if isinstance(sequence, int) else 0


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
