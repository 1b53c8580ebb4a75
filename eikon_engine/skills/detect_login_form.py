"""The skill `detect_login_form`: find the login forms of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.skills.document import Document, parent_element, selector_of
from eikon_engine.skills.forms import (
    Confidence,
    FormScope,
    LoginForm,
    classify_login_form,
    control_type,
    form_action,
    form_owner,
    is_button,
)
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

_CONTROLS: Final = "input,button,[role=button]"


class LoginParameters(Parameters):
    """No parameters."""


class LoginFormOutput(Output):
    """One login form with the selectors of its controls."""

    action: str | None
    """Absolute URL of the submission; null for controls outside a `<form>`."""
    method: Literal["get", "post"] | None
    username_selector: str | None
    password_selector: str | None
    submit_selector: str | None
    confidence: Confidence
    signals: tuple[str, ...]


class LoginForms(Output):
    """The login forms of a page."""

    present: bool
    forms: tuple[LoginFormOutput, ...]


class DetectLoginForm(TypedSkill[LoginParameters, LoginForms]):
    """Return the login forms of a page with the selectors of their controls."""

    name = "detect_login_form"
    version = 1
    description = "Detect login forms and the selectors of their fields."
    parameters = LoginParameters
    output = LoginForms
    example = SkillInput(
        html="<form id=signin method=post><input name=user><input type=password><button>Log in</button></form>",
        url="https://site.example/",
    )

    def analyze(self, document: Document, parameters: LoginParameters) -> LoginForms:  # noqa: ARG002 - no parameters
        """Classify every form; a page without a login form is a result, not an error."""
        forms = tuple(_to_output(document, login) for login in find_login_forms(document))
        return LoginForms(present=bool(forms), forms=forms)


def find_login_forms(document: Document) -> Iterator[LoginForm]:
    """Yield the login forms of a page in document order."""
    for scope in _scopes(document):
        login = classify_login_form(scope)
        if login is not None:
            yield login


def _scopes(document: Document) -> Iterator[FormScope]:
    """Yield the forms in document order, then one scope for each password field outside any form."""
    owned: dict[int, list[LexborNode]] = {}
    loose: list[LexborNode] = []
    for control in document.tree.css(_CONTROLS):
        if control.tag == "input" and control_type(control) == "hidden":
            continue
        owner = form_owner(document, control)
        if owner is None:
            loose.append(control)
        else:
            owned.setdefault(owner.mem_id, []).append(control)
    for form in document.tree.css("form"):
        if form.mem_id in owned:
            yield FormScope(form=form, controls=tuple(owned[form.mem_id]))
    yield from _scopes_outside_forms(loose)


def _scopes_outside_forms(loose: list[LexborNode]) -> Iterator[FormScope]:
    """Group controls outside forms by the nearest ancestor of a password field that also contains a button."""
    known = {control.mem_id for control in loose}
    done: set[int] = set()
    for password in (control for control in loose if control_type(control) == "password"):
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


def _to_output(document: Document, login: LoginForm) -> LoginFormOutput:
    form = login.scope.form
    method = "post" if form is not None and (form.attributes.get("method") or "").lower() == "post" else "get"
    return LoginFormOutput(
        action=None if form is None else form_action(document, form),
        method=None if form is None else ("post" if method == "post" else "get"),
        username_selector=_optional_selector(document, login.username),
        password_selector=_optional_selector(document, login.password),
        submit_selector=_optional_selector(document, login.submit),
        confidence=login.confidence,
        signals=login.signals,
    )


def _optional_selector(document: Document, node: LexborNode | None) -> str | None:
    return None if node is None else selector_of(document, node)
