"""Migrate the eleven action types of the format "v3.1", some of which lack details that a replay needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.trace.migrations.plain import Fields, Plain

MASK: Final = "***"

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
class SecretNames:
    """Assigns names to masked inputs: one per field, across attempts."""

    _by_field: dict[str, str] = field(default_factory=dict)

    def name(self, selector: str) -> str:
        """Derive the name from the selector of the field; duplicates get a number."""
        if selector not in self._by_field:
            stem, name, number = _stem(selector), _stem(selector), 1
            while name in self._by_field.values():
                number += 1
                name = f"{stem}_{number}"
            self._by_field[selector] = name
        return self._by_field[selector]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """The fields of one action before its type is migrated."""

    fields: Fields
    kind: str
    selector: str | None
    place: str | None
    input_data: str | None
    after_failure: bool
    names: SecretNames

    def target(self) -> Plain:
        """Return the target of the action."""
        selector = self.selector or self.place
        if not selector:
            raise self.fields.fault("selector", f"this field is missing; {self.kind} requires it")
        return {"selector": selector}

    def url(self) -> str | None:
        """Return the URL of the action, if it has one."""
        return next((each for each in (self.place, self.selector) if each and _URL.match(each)), None)


def action_from_v3_1(fields: Fields, names: SecretNames, *, after_failure: bool) -> Plain:
    """Build an `ActionTrace`; `after_failure` is whether the previous action failed."""
    kind = fields.choice("action_type", BUILDERS)
    status = fields.choice("status", ("ok", "failed", "blocked"))
    step = _Step(
        fields=fields,
        kind=kind,
        selector=fields.text("selector"),
        place=fields.text("target"),
        input_data=fields.text("input_data"),
        after_failure=after_failure,
        names=names,
    )
    blind = status == "blocked" and not (step.selector or step.place)
    action = _note(step) if blind else BUILDERS[kind](step)
    _report_unused(step, action)
    started_at, ended_at = fields.stamps()
    return {
        "id": fields.needed_text("id"),
        "sequence": fields.whole("sequence"),
        "started_at": started_at,
        "ended_at": ended_at,
        "action": action,
        "result": _result(step, status),
    }


def failed_masked(action: Plain) -> bool:
    """Return whether an action failed while it typed a secret: error messages may quote the secret."""
    match action:
        case {"action": {"text": {"secret": _}}, "result": {"kind": "failed" | "blocked"}}:
            return True
        case _:
            return False


def _navigate(step: _Step) -> Plain:
    url = step.place or step.selector or step.input_data
    if not url:
        raise step.fields.fault("target", "this field is missing; navigate requires a URL")
    return {"type": "navigate", "url": url}


def _click(step: _Step) -> Plain:
    return {"type": "click", "target": step.target()}


def _fill(step: _Step) -> Plain:
    target = step.target()
    text: str | Plain = step.input_data or ""
    if step.input_data is None:
        step.fields.ledger.warn(f"{step.fields.at('input_data')} is missing; assumed to be an empty text")
    if text == MASK:
        text = {"secret": step.names.name(str(target["selector"]))}
    return {"type": "fill", "target": target, "text": text}


def _wait_for(step: _Step) -> Plain:
    if not step.selector and (url := step.url()):
        return _wait({"kind": "url", "url": url})
    if not (step.selector or step.place):
        return _wait({"kind": "load_state", "state": "load"})
    return _wait({"kind": "selector", "target": step.target(), "state": "visible"})


def _wait_for_selector(step: _Step) -> Plain:
    return _wait({"kind": "selector", "target": step.target(), "state": "visible"})


def _wait_for_navigation(step: _Step) -> Plain:
    url = step.url()
    return _wait({"kind": "url", "url": url} if url else {"kind": "load_state", "state": "load"})


def _presence_check(step: _Step) -> Plain:
    # An element in the DOM need not be visible, so asserting visibility would require more than was recorded.
    return _wait({"kind": "selector", "target": step.target(), "state": "attached"})


def _wait(condition: Plain) -> Plain:
    return {"type": "wait_for", "condition": condition}


def _screenshot(_: _Step) -> Plain:
    return {"type": "screenshot"}


def _extract_dom(_: _Step) -> Plain:
    return {"type": "extract_dom"}


def _note(step: _Step) -> Plain:
    return {"type": "note", "text": step.kind}


def _reload_if_failed(step: _Step) -> Plain:
    return {"type": "reload"} if step.after_failure else _note(step)


BUILDERS: Final[Mapping[str, Callable[[_Step], Plain]]] = {
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


def _report_unused(step: _Step, action: Plain) -> None:
    """Report a selector, target or input that the action does not use; `target` often repeats another field."""
    used = str(action)
    for name, value in (("selector", step.selector), ("target", step.place)):
        if value and repr(value)[1:-1] not in used:
            step.fields.ledger.lose(step.fields.at(name), value, f"of a {step.kind}")
    if step.kind not in {"fill", "navigate"} or (step.kind == "navigate" and step.input_data != action.get("url")):
        step.fields.ledger.lose(step.fields.at("input_data"), step.input_data, f"of a {step.kind}")


def _result(step: _Step, status: str) -> Plain:
    """Build the result from status and metadata; messages that may quote a masked input are dropped."""
    metadata = step.fields.take("metadata")
    error = ""
    if metadata is not None:
        inner = step.fields.inner("metadata", metadata)
        error = inner.text("error") or ""
        inner.ledger.lose(inner.at("details"), inner.take("details"), "which may quote a masked input")
        inner.close()
    shown = "" if step.input_data == MASK else error
    if error and (not shown or status == "ok"):
        why = "of an action that is ok" if status == "ok" else "which may quote a masked input"
        step.fields.ledger.lose(step.fields.at("metadata.error"), error, why)
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


def _stem(selector: str) -> str:
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
