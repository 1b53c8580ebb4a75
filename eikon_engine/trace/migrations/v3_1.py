"""Migrate the format "v3.1" to version 4.

The older format has no URL after an action, no HTTP status, no DOM digest and no common order of skills and actions.
Fields without a counterpart in version 4 are named in the warnings, without their values.
"""

from __future__ import annotations

import json
from typing import Final, get_args

from eikon_engine.trace.bundle_path import leads_out
from eikon_engine.trace.execution import MissionStatus
from eikon_engine.trace.migrations.plain import Fields, Ledger, Plain
from eikon_engine.trace.migrations.v3_1_actions import SecretNames, action_from_v3_1, failed_masked

VERSION: Final = "v3.1"

_STATUSES: Final[tuple[str, ...]] = get_args(MissionStatus)
_MAY_QUOTE: Final = "which may quote a masked input"
_SKILL_OK: Final = frozenset({"ok", "success", "complete"})


def from_v3_1(plain: Plain, source: str) -> Plain:
    """Migrate a trace of version "v3.1" to version 4.

    Raises:
        TraceFieldError: a field is missing, unknown or invalid.
    """
    ledger = Ledger(source)
    fields = Fields(plain, "", ledger)
    fields.take("trace_version")
    fields.take("type")  # only marks the file as a trace
    usages = fields.objects("skills_used")
    subgoals = [_Subgoal(each) for each in fields.objects("subgoal_traces")]
    names = SecretNames()
    subgoal_traces = [each.migrated(names, usages) for each in subgoals]
    for usage in usages:
        ledger.lose(usage.path, usage.plain, "of an unrecorded subgoal attempt")
    masked = {each.subgoal_id for each in subgoals if each.masked}
    started_at, ended_at = fields.stamps()
    current: Plain = {
        "trace_version": 4,
        "id": fields.needed_text("id"),
        "mission_id": fields.needed_text("mission_id"),
        "mission_text": fields.text("mission_text") or "",
        "started_at": started_at,
        "ended_at": ended_at,
        "status": fields.choice("status", _STATUSES),
        "subgoal_traces": subgoal_traces,
        "artifacts": _artifacts(fields),
        "page_intents": [_page_intent(each) for each in fields.objects("page_intents")],
        "extractions": _extractions(fields),
        "failures": _failures(fields, masked),
        "migrated_from": VERSION,
    }
    if started_at is None:
        raise fields.fault("started_at", "this field is missing")
    recorded = [_as_text(each) for each in fields.entries("warnings")]
    fields.close()
    return current | {"warnings": [*recorded, *ledger.warnings()]}


class _Subgoal:
    """One attempt at a subgoal during its migration."""

    def __init__(self, fields: Fields) -> None:
        """Read the fields that the mission level needs."""
        self.fields = fields
        self.subgoal_id = fields.needed_text("subgoal_id")
        self.attempt_number = fields.whole("attempt_number", 1)
        self.masked = False

    def migrated(self, names: SecretNames, usages: list[Fields]) -> Plain:
        """Build the `SubgoalTrace`; remove the skills of this attempt from `usages`."""
        fields = self.fields
        actions: list[Plain] = []
        failed = False
        for each in fields.objects("actions_taken"):
            actions.append(action_from_v3_1(each, names, after_failure=failed))
            failed = actions[-1]["result"] != {"kind": "ok"}
            each.close()
        self.masked = any(map(failed_masked, actions))
        started_at, ended_at = fields.stamps()
        attempt_id = fields.text("id") or f"{self.subgoal_id}__attempt_{self.attempt_number}"
        error = fields.text("error")
        if self.masked and error:
            fields.ledger.lose(fields.at("error"), error, _MAY_QUOTE)
        subgoal: Plain = {
            "id": attempt_id,
            "subgoal_id": self.subgoal_id,
            "description": fields.text("description") or "",
            "attempt_number": self.attempt_number,
            "started_at": started_at,
            "ended_at": ended_at,
            "status": self._status(error),
            "error": None if self.masked else error,
            "actions_taken": actions,
            "skills_used": self._skills(attempt_id, usages, 1 + max((_sequence(each) for each in actions), default=0)),
        }
        fields.close()
        return subgoal

    def _status(self, error: str | None) -> str:
        if self.fields.take("status") is not None:
            return self.fields.choice("status", _STATUSES)
        status = "failed" if error else "complete"
        self.fields.ledger.warn(f"{self.fields.at('status')} is missing; assumed to be {status}")
        return status

    def _skills(self, attempt_id: str, usages: list[Fields], sequence: int) -> list[Plain]:
        """Place the skills after the actions, since the older format does not record their order."""
        name = self.fields.text("skill_used")
        own = [each for each in usages if self._owns(each)]
        skills: list[Plain] = []
        for each in own:
            usages.remove(each)
            skills.append(_skill(each, sequence + len(skills)))
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
            self.fields.ledger.warn(
                f"the position of skill {skill['skill']} in {attempt_id} was not recorded; placed after the actions"
            )
        return skills

    def _owns(self, usage: Fields) -> bool:
        number = usage.take("attempt_number")
        return usage.take("subgoal_id") == self.subgoal_id and number in (None, self.attempt_number)


def _skill(usage: Fields, sequence: int) -> Plain:
    status = usage.text("status") or "ok"
    result: Plain = {"kind": "ok"}
    if status not in _SKILL_OK:
        result = {"kind": "failed", "code": "unknown", "message": status}
    skill: Plain = {
        "id": usage.needed_text("id"),
        "sequence": sequence,
        "skill": usage.needed_text("name"),
        "result": result,
        "output_recorded": False,
    }
    metadata = usage.take("metadata")
    if metadata is not None:
        inner = usage.inner("metadata", metadata)
        if (name := next((each for each in ("result", "payload") if each in inner.plain), None)) is not None:
            skill |= {"output": inner.take(name), "output_recorded": True}
        inner.close()
    usage.close()
    return skill


def _artifacts(fields: Fields) -> list[Plain]:
    artifacts: list[Plain] = []
    for each in fields.objects("artifacts"):
        path = each.needed_text("path")
        name = each.text("name") or path
        if leads_out(path):
            each.ledger.lose(each.at("path"), path, "which points outside the bundle")
        else:
            artifacts.append({"name": name, "path": path})
        each.close()
    return artifacts


def _page_intent(fields: Fields) -> Plain:
    signals = fields.take("signals")
    intent: Plain = {
        "id": fields.needed_text("id"),
        "intent": fields.needed_text("intent"),
        "strategy": fields.text("strategy"),
        "confidence": fields.number("confidence"),
        "signals": signals if isinstance(signals, list) else [] if signals is None else [signals],
        "step_id": fields.text("step_id"),
    }
    fields.close()
    return intent


def _extractions(fields: Fields) -> list[Plain]:
    found = []
    for number, each in enumerate(fields.entries("extractions"), start=1):
        match each:
            case {"name": str(name), "value": value, **rest} if not rest:
                found.append({"name": name, "value": value})
            case {"name": str(name)}:
                found.append({"name": name, "value": each})
            case _:
                found.append({"name": f"extraction_{number}", "value": each})
    return found


def _failures(fields: Fields, masked: set[str]) -> list[Plain]:
    failures: list[Plain] = []
    for number, each in enumerate(fields.entries("failures")):
        path = f"{fields.at('failures')}[{number}]"
        if not isinstance(each, dict):
            fields.ledger.lose(path, each, _MAY_QUOTE) if masked else failures.append({"message": _as_text(each)})
            continue
        inner = Fields(each, path, fields.ledger)
        subgoal_id = inner.text("subgoal_id")
        texts = [text for name in ("message", "error", "reason") if (text := inner.text(name))]
        if masked and (subgoal_id is None or subgoal_id in masked):
            inner.ledger.lose(path, texts, _MAY_QUOTE)
            texts = [_MAY_QUOTE.replace("which", "not carried over: it")]
        failures.append({"message": "; ".join(texts), "subgoal_id": subgoal_id})
        inner.close()
    return failures


def _sequence(action: Plain) -> int:
    sequence = action["sequence"]
    return sequence if isinstance(sequence, int) else 0


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
