"""Migrate the format "v3.1" to version 4.

The older format has no URL after an action, no HTTP status, no DOM digest and no common order of skills and actions;
some of its twelve action types lack details that a replay needs. Fields without a counterpart in version 4 are named in
the warnings, without their values.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, get_args

from eikon_engine.files.paths import escapes_bundle
from eikon_engine.trace.execution import MissionStatus
from eikon_engine.trace.migrations.fields import FieldReader, JsonObject, MigrationLog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MASKED_INPUT: Final = "***"

_WAITS: Final = frozenset({"wait_for", "wait_for_selector", "wait_for_navigation", "dom_presence_check"})
_URL: Final = re.compile(r"^(https?|file|about|data|blob):", re.IGNORECASE)

ERROR_CODES: Final[tuple[tuple[str, str], ...]] = (
    (r"strict mode violation|resolved to \d+ elements|ambiguous", "target-ambiguous"),
    (r"not visible|not enabled|disabled|not stable|not editable|intercepts pointer", "target-not-actionable"),
    (r"did not find some options|no such option", "option-missing"),
    (r"net::err|ns_error|navigation failed", "navigation-failed"),
    (r"not found|no such element|no element|unable to locate|waiting for (locator|selector)", "target-missing"),
)
"""Error code of a recorded failure by the text of its message, first match; see also `error_code`."""


@dataclass(slots=True)
class SecretNamer:
    """Assigns names to masked inputs: one per field, across attempts."""

    _by_field: dict[str, str] = field(default_factory=dict)

    def name_for(self, selector: str) -> str:
        """Derive the name from the selector of the field; duplicates get a number."""
        if selector not in self._by_field:
            stem, name, number = _field_name(selector), _field_name(selector), 1
            while name in self._by_field.values():
                number += 1
                name = f"{stem}_{number}"
            self._by_field[selector] = name
        return self._by_field[selector]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OldAction:
    """The fields of one action before its type is migrated."""

    fields: FieldReader
    kind: str
    selector: str | None
    place: str | None
    input_data: str | None
    after_failure: bool
    names: SecretNamer

    def target(self) -> JsonObject:
        """Return the target of the action."""
        selector = self.selector or self.place
        if not selector:
            raise self.fields.error("selector", f"this field is missing; {self.kind} requires it")
        return {"selector": selector}

    def url(self) -> str | None:
        """Return the URL of the action, if it has one."""
        return next((each for each in (self.place, self.selector) if each and _URL.match(each)), None)


def migrate_action(fields: FieldReader, names: SecretNamer, *, after_failure: bool) -> JsonObject:
    """Build an `ActionTrace`; `after_failure` is whether the previous action failed."""
    kind = fields.read_choice("action_type", ACTION_BUILDERS)
    status = fields.read_choice("status", ("ok", "failed", "blocked"))
    step = _OldAction(
        fields=fields,
        kind=kind,
        selector=fields.read_text("selector"),
        place=fields.read_text("target"),
        input_data=fields.read_text("input_data"),
        after_failure=after_failure,
        names=names,
    )
    blind = status == "blocked" and not (step.selector or step.place)
    action = _note(step) if blind else ACTION_BUILDERS[kind](step)
    _report_unused(step, action)
    started_at, ended_at = fields.read_times()
    return {
        "id": fields.read_required_text("id"),
        "sequence": fields.read_positive_int("sequence"),
        "started_at": started_at,
        "ended_at": ended_at,
        "action": action,
        "result": _result(step, status),
    }


def failed_with_secret(action: JsonObject) -> bool:
    """Return whether an action failed while it typed a secret: error messages may quote the secret."""
    match action:
        case {"action": {"text": {"secret": _}}, "result": {"kind": "failed" | "blocked"}}:
            return True
        case _:
            return False


def _navigate(step: _OldAction) -> JsonObject:
    url = step.place or step.selector or step.input_data
    if not url:
        raise step.fields.error("target", "this field is missing; navigate requires a URL")
    return {"type": "navigate", "url": url}


def _click(step: _OldAction) -> JsonObject:
    return {"type": "click", "target": step.target()}


def _fill(step: _OldAction) -> JsonObject:
    target = step.target()
    text: str | JsonObject = step.input_data or ""
    if step.input_data is None:
        step.fields.report.warn(f"{step.fields.path_of('input_data')} is missing; assumed to be an empty text")
    if text == MASKED_INPUT:
        text = {"secret": step.names.name_for(str(target["selector"]))}
    return {"type": "fill", "target": target, "text": text}


def _type(step: _OldAction) -> JsonObject:
    return {**_fill(step), "type": "type"}


def _wait_for(step: _OldAction) -> JsonObject:
    if not step.selector and (url := step.url()):
        return _wait({"kind": "url", "url": url})
    if not (step.selector or step.place):
        return _wait({"kind": "load_state", "state": "load"})
    return _wait({"kind": "selector", "target": step.target(), "state": "visible"})


def _wait_for_selector(step: _OldAction) -> JsonObject:
    return _wait({"kind": "selector", "target": step.target(), "state": "visible"})


def _wait_for_navigation(step: _OldAction) -> JsonObject:
    url = step.url()
    return _wait({"kind": "url", "url": url} if url else {"kind": "load_state", "state": "load"})


def _presence_check(step: _OldAction) -> JsonObject:
    # An element in the DOM need not be visible, so asserting visibility would require more than was recorded.
    return _wait({"kind": "selector", "target": step.target(), "state": "attached"})


def _wait(condition: JsonObject) -> JsonObject:
    return {"type": "wait_for", "condition": condition}


def _screenshot(_: _OldAction) -> JsonObject:
    return {"type": "screenshot"}


def _extract_dom(_: _OldAction) -> JsonObject:
    return {"type": "extract_dom"}


def _note(step: _OldAction) -> JsonObject:
    return {"type": "note", "text": step.kind}


def _reload_if_failed(step: _OldAction) -> JsonObject:
    return {"type": "reload"} if step.after_failure else _note(step)


ACTION_BUILDERS: Final[Mapping[str, Callable[[_OldAction], JsonObject]]] = {
    "navigate": _navigate,
    "fill": _fill,
    "type": _type,
    "click": _click,
    "wait_for": _wait_for,
    "wait_for_navigation": _wait_for_navigation,
    "wait_for_selector": _wait_for_selector,
    "dom_presence_check": _presence_check,
    "screenshot": _screenshot,
    "extract_dom": _extract_dom,
    "retry": _note,
    "reload_if_failed": _reload_if_failed,
}


def _report_unused(step: _OldAction, action: JsonObject) -> None:
    """Report a selector, target or input that the action does not use; `target` often repeats another field."""
    used = str(action)
    for name, value in (("selector", step.selector), ("target", step.place)):
        if value and repr(value)[1:-1] not in used:
            step.fields.report.record_dropped(step.fields.path_of(name), value, f"of a {step.kind}")
    if step.kind not in {"fill", "navigate", "type"} or (
        step.kind == "navigate" and step.input_data != action.get("url")
    ):
        step.fields.report.record_dropped(step.fields.path_of("input_data"), step.input_data, f"of a {step.kind}")


def _result(step: _OldAction, status: str) -> JsonObject:
    """Build the result from status and metadata; messages that may quote a masked input are dropped."""
    metadata = step.fields.read("metadata")
    error = ""
    if metadata is not None:
        inner = step.fields.nested("metadata", metadata)
        error = inner.read_text("error") or ""
        inner.report.record_dropped(inner.path_of("details"), inner.read("details"), "which may quote a masked input")
        inner.report_unread()
    shown = "" if step.input_data == MASKED_INPUT else error
    if error and (not shown or status == "ok"):
        why = "of an action that is ok" if status == "ok" else "which may quote a masked input"
        step.fields.report.record_dropped(step.fields.path_of("metadata.error"), error, why)
    if status == "ok":
        return {"kind": "ok"}
    if status == "blocked":
        return {"kind": "blocked", "reason": shown}
    return {"kind": "failed", "code": error_code(step.kind, error), "message": shown}


def error_code(kind: str, error: str) -> str:
    """Derive the error code of a failure from its message; `unknown` if nothing matches."""
    text = error.lower()
    late = bool(re.search(r"timeout|timed out", text))
    for pattern, code in ERROR_CODES:
        if re.search(pattern, text):
            waited = kind in _WAITS and code in {"target-missing", "target-not-actionable"}
            return "wait-timeout" if waited else code
    if late and kind in _WAITS:
        return "wait-timeout"
    return "navigation-failed" if late and kind == "navigate" else "unknown"


def _field_name(selector: str) -> str:
    """Extract the name of a field from its selector: name, id, test id, label, placeholder, type, last word."""
    patterns = (
        r"\[name=[\"']?([^\"'\]]+)",
        r"#([\w-]+)",
        r"\[(?:data-testid|data-test|aria-label|placeholder)=[\"']?([^\"'\]]+)",
        r"\[type=[\"']?([^\"'\]]+)",
        r"([A-Za-z_][\w-]*)\W*$",
    )
    found = next((match[1] for pattern in patterns if (match := re.search(pattern, selector))), "secret")
    name = re.sub(r"[^A-Za-z0-9]+", "_", found).strip("_").upper() or "SECRET"
    return f"SECRET_{name}" if name[0].isdigit() else name


VERSION: Final = "v3.1"

_STATUSES: Final[tuple[str, ...]] = get_args(MissionStatus)
_MAY_QUOTE_INPUT: Final = "which may quote a masked input"
_SKILL_OK: Final = frozenset({"ok", "success", "complete"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _OlderSkill:
    """A skill of the older format, and what it is now."""

    successor: str | None
    """Skill with the same meaning; None if there is none."""
    output: frozenset[str] = frozenset()
    """Members of the output of the successor; another form of output is not carried over."""
    why: str
    """Why a use cannot be verified if there is no successor, or if the output has another form."""


_OLDER_SKILLS: Final[Mapping[str, _OlderSkill]] = {
    "listing_extraction_skill": _OlderSkill(
        successor="extract_listing",
        output=frozenset({"count", "items", "selector"}),
        why="listing_extraction_skill recorded no output in the form of extract_listing, so there is nothing to "
        "compare with",
    ),
    "login_form_skill": _OlderSkill(
        successor=None,
        why="login_form_skill signed in on the page, and its actions were not recorded; no skill of this version "
        "acts on pages",
    ),
}
"""Skills of the older format that are no skills of this version, by name."""


def migrate_v3_1(plain: JsonObject, source: str) -> JsonObject:
    """Migrate a trace of version "v3.1" to version 4.

    Raises:
        TraceFieldError: a field is missing, unknown or invalid.
    """
    report = MigrationLog(source)
    fields = FieldReader(plain, "", report)
    fields.read("trace_version")
    fields.read("type")  # only marks the file as a trace
    usages = fields.read_objects("skills_used")
    subgoals = [_SubgoalMigration(each) for each in fields.read_objects("subgoal_traces")]
    names = SecretNamer()
    subgoal_traces = [each.migrate(names, usages) for each in subgoals]
    for usage in usages:
        report.record_dropped(usage.path, usage.plain, "of an unrecorded subgoal attempt")
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
    return current | {"warnings": [*recorded, *report.warnings()]}


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
            fields.report.record_dropped(fields.path_of("error"), error, _MAY_QUOTE_INPUT)
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
        self.fields.report.warn(f"{self.fields.path_of('status')} is missing; assumed to be {status}")
        return status

    def _skills(self, attempt_id: str, usages: list[FieldReader], sequence: int) -> list[JsonObject]:
        """Place the skills after the actions, since the older format does not record their order."""
        name = self.fields.read_text("skill_used")
        own = [each for each in usages if self._is_own_skill(each)]
        skills: list[JsonObject] = []
        for each in own:
            usages.remove(each)
            skills.append(_migrate_skill(each, sequence + len(skills)))
        if name and all(each["skill"] not in {name, _current_skill(name)} for each in skills):
            unrecorded: JsonObject = {
                "id": f"{attempt_id}_skill_{name}",
                "sequence": sequence + len(skills),
                "skill": name,
                "result": {"kind": "ok"},
                "output_recorded": False,
            }
            skills.append(_with_successor(unrecorded, self.fields))
        for skill in skills:
            self.fields.report.warn(
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
    return _with_successor(skill, usage)


def _current_skill(name: object) -> object:
    older = _OLDER_SKILLS.get(str(name))
    return name if older is None or older.successor is None else older.successor


def _with_successor(skill: JsonObject, fields: FieldReader) -> JsonObject:
    """Return a skill use with the skill of this version that has the same meaning, if there is one."""
    older = _OLDER_SKILLS.get(str(skill["skill"]))
    if older is None:
        return skill
    output = skill.get("output")
    if older.successor is not None and isinstance(output, dict) and output.keys() >= older.output:
        return skill | {"skill": older.successor}
    fields.report.record_dropped(f"{fields.path}.output", output, f"of {skill['skill']}")
    return skill | {
        "skill": _current_skill(skill["skill"]),
        "output": None,
        "output_recorded": False,
        "unverifiable": older.why,
    }


def _migrate_artifacts(fields: FieldReader) -> list[JsonObject]:
    artifacts: list[JsonObject] = []
    for each in fields.read_objects("artifacts"):
        path = _bundle_path(each.read_required_text("path"), fields.report.source)
        name = each.read_text("name") or path
        if escapes_bundle(path):
            each.report.record_dropped(each.path_of("path"), path, "which points outside the bundle")
        else:
            artifacts.append({"name": name, "path": path})
        each.report_unread()
    return artifacts


def _bundle_path(path: str, source: str) -> str:
    """Return the path of an artifact relative to the folder of the trace, if it is written in full and leads there."""
    folder = PurePath(source).parent
    for base in (folder, Path(folder).absolute()):
        if base != PurePath() and PurePath(path).is_relative_to(base):
            return PurePath(path).relative_to(base).as_posix()
    return path


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
            fields.report.record_dropped(path, each, _MAY_QUOTE_INPUT) if masked else failures.append(
                {"message": _as_text(each)}
            )
            continue
        inner = FieldReader(each, path, fields.report)
        subgoal_id = inner.read_text("subgoal_id")
        texts = [text for name in ("message", "error", "reason") if (text := inner.read_text(name))]
        if masked and (subgoal_id is None or subgoal_id in masked):
            inner.report.record_dropped(path, texts, _MAY_QUOTE_INPUT)
            texts = [_MAY_QUOTE_INPUT.replace("which", "not carried over: it")]
        failures.append({"message": "; ".join(texts), "subgoal_id": subgoal_id})
        inner.report_unread()
    return failures


def _sequence(action: JsonObject) -> int:
    sequence = action["sequence"]
    return sequence if isinstance(sequence, int) else 0


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
