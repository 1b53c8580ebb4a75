"""Migrate the eleven action types of the format "v3.1", some of which lack details that a replay needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.trace.migrations.plain import FieldReader, JsonObject

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
        step.fields.log.warn(f"{step.fields.path_of('input_data')} is missing; assumed to be an empty text")
    if text == MASKED_INPUT:
        text = {"secret": step.names.name_for(str(target["selector"]))}
    return {"type": "fill", "target": target, "text": text}


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
            step.fields.log.record_dropped(step.fields.path_of(name), value, f"of a {step.kind}")
    if step.kind not in {"fill", "navigate"} or (step.kind == "navigate" and step.input_data != action.get("url")):
        step.fields.log.record_dropped(step.fields.path_of("input_data"), step.input_data, f"of a {step.kind}")


def _result(step: _OldAction, status: str) -> JsonObject:
    """Build the result from status and metadata; messages that may quote a masked input are dropped."""
    metadata = step.fields.read("metadata")
    error = ""
    if metadata is not None:
        inner = step.fields.nested("metadata", metadata)
        error = inner.read_text("error") or ""
        inner.log.record_dropped(inner.path_of("details"), inner.read("details"), "which may quote a masked input")
        inner.report_unread()
    shown = "" if step.input_data == MASKED_INPUT else error
    if error and (not shown or status == "ok"):
        why = "of an action that is ok" if status == "ok" else "which may quote a masked input"
        step.fields.log.record_dropped(step.fields.path_of("metadata.error"), error, why)
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
