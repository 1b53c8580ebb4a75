"""The skill `detect_login_form`: where and how a page lets one log in."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from eikon_engine.skills.document import Document, parent_element, parse_document, selector_of
from eikon_engine.skills.login_form import FormScope, LoginForm, is_button, judge, kind_of
from eikon_engine.skills.parameters import Parameters, read_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.protocol import SkillInput
    from eikon_engine.trace.json_value import JsonValue

_NAME: Final = "detect_login_form"
_CONTROLS: Final = "input,button,[role=button]"


class LoginParameters(Parameters):
    """Take none."""


class DetectLoginForm:
    """Return every login form of a page with the selectors needed to use it."""

    name: ClassVar[str] = _NAME
    version: ClassVar[int] = 1
    description: ClassVar[str] = "Detect login forms and the selectors of their fields."

    def run(self, page: SkillInput) -> JsonValue:
        """Return `present` and `forms`; a page without one is a result, not an error.

        Raises:
            SkillError: a parameter was given.
        """
        read_parameters(LoginParameters, page, _NAME)
        document = parse_document(page)
        found = [login for scope in _scopes(document) if (login := judge(scope)) is not None]
        forms: list[JsonValue] = [_described(document, login, page.url) for login in found]
        return {"present": bool(forms), "forms": forms}


def _scopes(document: Document) -> Iterator[FormScope]:
    """Give the forms of a page in document order, then what stands outside them, one scope a password field."""
    owned: dict[int, list[LexborNode]] = {}
    loose: list[LexborNode] = []
    for control in document.tree.css(_CONTROLS):
        if control.tag == "input" and kind_of(control) == "hidden":
            continue
        owner = _owner(document, control)
        if owner is None:
            loose.append(control)
        else:
            owned.setdefault(owner.mem_id, []).append(control)
    for form in document.tree.css("form"):
        if form.mem_id in owned:
            yield FormScope(form=form, controls=tuple(owned[form.mem_id]))
    yield from _loose_scopes(loose)


def _owner(document: Document, control: LexborNode) -> LexborNode | None:
    named = control.attributes.get("form")
    if named:
        return next((form for form in document.tree.css("form[id]") if form.attributes.get("id") == named), None)
    current = parent_element(control)
    while current is not None and current.tag != "form":
        current = parent_element(current)
    return current


def _loose_scopes(loose: list[LexborNode]) -> Iterator[FormScope]:
    """Group loose controls by the nearest element around a password field that also holds a button."""
    known = {control.mem_id for control in loose}
    done: set[int] = set()
    for password in (control for control in loose if kind_of(control) == "password"):
        if password.mem_id in done:
            continue
        inside: tuple[LexborNode, ...] = (password,)
        current = parent_element(password)
        while current is not None:
            inside = tuple(control for control in current.css(_CONTROLS) if control.mem_id in known)
            if any(is_button(control) for control in inside):
                break
            current = parent_element(current)
        done.update(control.mem_id for control in inside)
        yield FormScope(form=None, controls=inside)


def _described(document: Document, login: LoginForm, url: str) -> dict[str, JsonValue]:
    form = login.scope.form
    attributes = form.attributes if form is not None else {}
    action = attributes.get("action")
    return {
        "action": None if form is None else (document.absolute(action) if action else url),
        "method": None if form is None else ("post" if (attributes.get("method") or "").lower() == "post" else "get"),
        "username_selector": _selector(document, login.username),
        "password_selector": _selector(document, login.password),
        "submit_selector": _selector(document, login.submit),
        "confidence": login.confidence,
        "signals": list(login.signals),
    }


def _selector(document: Document, node: LexborNode | None) -> str | None:
    return None if node is None else selector_of(document, node)
