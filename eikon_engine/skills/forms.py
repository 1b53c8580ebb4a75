"""Form controls of a page: their form owner and label, and which forms are login forms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.skills.document import normalize_text, parent_element, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document


def form_owner(document: Document, control: LexborNode) -> LexborNode | None:
    """Return the form that a control references with `form`, else the form around it; None outside of forms."""
    named = control.attributes.get("form")
    if named:
        return next((form for form in document.tree.css("form[id]") if form.attributes.get("id") == named), None)
    current = parent_element(control)
    while current is not None and current.tag != "form":
        current = parent_element(current)
    return current


def form_action(document: Document, form: LexborNode) -> str | None:
    """Return the absolute `action` of a form: the URL of the page if it is missing, None if it is malformed."""
    action = form.attributes.get("action")
    return document.absolute(action) if action else document.url


_CONTROL_TAGS: Final = frozenset({"select", "textarea", "button", "input", "datalist"})


class FormLabels:
    """The labels of the form controls of one page."""

    def __init__(self, document: Document) -> None:
        """Index labels and ids; if ids repeat, the first element counts, as in a browser."""
        self._document = document
        self._labels_by_id: dict[str, list[LexborNode]] = {}
        for label in document.tree.css("label[for]"):
            self._labels_by_id.setdefault(label.attributes.get("for") or "", []).append(label)
        self._by_id: dict[str, LexborNode] = {}
        for node in document.tree.css("[id]"):
            self._by_id.setdefault(node.attributes.get("id") or "", node)
        # Compare nodes by `mem_id`: `==` compares their HTML.

    def label_of(self, control: LexborNode) -> str | None:
        """Return the first of `aria-labelledby`, `aria-label`, labels, title, placeholder; None if all are missing."""
        attributes = control.attributes
        texts = (
            self._texts(self._by_id.get(name) for name in (attributes.get("aria-labelledby") or "").split()),
            normalize_text(attributes.get("aria-label") or ""),
            self._texts(self._labels(control, attributes)),
            normalize_text(attributes.get("title") or ""),
            normalize_text(attributes.get("placeholder") or ""),
        )
        return next((text for text in texts if text), None)

    def _labels(self, control: LexborNode, attributes: Mapping[str, str | None]) -> list[LexborNode]:
        identity = attributes.get("id")
        first = self._by_id.get(identity or "")
        named = (
            self._labels_by_id.get(identity or "", []) if first is not None and first.mem_id == control.mem_id else []
        )
        around = parent_element(control)
        while around is not None and around.tag != "label":
            around = parent_element(around)
        wraps = around is not None and "for" not in around.attributes
        return [*named, *((around,) if wraps and around is not None else ())]

    @staticmethod
    def _texts(nodes: Iterable[LexborNode | None]) -> str:
        found = [text_of(node, excluded=_CONTROL_TAGS) for node in nodes if node is not None]
        return " ".join(text for text in found if text)


def group_label(control: LexborNode) -> str | None:
    """Return the legend of the nearest `<fieldset>` around a control, or None."""
    current = parent_element(control)
    while current is not None:
        if current.tag == "fieldset":
            legend = next((child for child in current.iter() if child.tag == "legend"), None)
            return text_of(legend) or None if legend is not None else None
        current = parent_element(current)
    return None


LOGIN_WORDS: Final = re.compile(
    r"log[ _-]?[io]n(?!g)|sign[ _-]?in(?!g)|anmeld|einlogg|connexion|se connecter|iniciar sesi|acceder|accedi|entrar"
    r"|inloggen|logga in|zaloguj|\u767b\u5f55|\u30ed\u30b0\u30a4\u30f3|\u0432\u043e\u0439\u0442\u0438",
    re.IGNORECASE,
)
"""Words for "log in" on a submit button, in a URL or in a name, in a dozen languages."""
SIGN_UP_WORDS: Final = re.compile(
    r"sign[ _-]?up|regist(?:er|r)|create (?:an |your |my )?account|join(?: now| us)?\b|subscribe|registrier"
    r"|inscri|reg\u00edstr|crear (?:una )?cuenta|iscriv|change[ _-]?password|reset[ _-]?password",
    re.IGNORECASE,
)
_USERNAME_WORDS: Final = re.compile(r"user|e-?mail|login|account|benutzer|identifi|usuario|phone|member", re.IGNORECASE)
_USER_AUTOCOMPLETE: Final = frozenset({"username", "email", "webauthn"})
_TEXT_TYPES: Final = frozenset({"", "text", "email", "tel"})
_SUBMIT_TYPES: Final = frozenset({"", "submit", "image"})
_OTHER_BUTTON_WORDS: Final = re.compile(r"show|hide|forgot|reveal|cancel|google|facebook|github|apple", re.IGNORECASE)

Confidence = Literal["high", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormScope:
    """The controls that belong together: those of one form, or of a part of the page outside forms."""

    form: LexborNode | None
    controls: tuple[LexborNode, ...]
    """Inputs and buttons, in document order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginForm:
    """One login form and the evidence for it."""

    scope: FormScope
    username: LexborNode | None
    password: LexborNode | None
    submit: LexborNode | None
    confidence: Confidence
    signals: tuple[str, ...]


def classify_login_form(scope: FormScope) -> LoginForm | None:
    """Return the login form that these controls form, or None if they serve another purpose.

    Applies the rules of `docs/skills.md` in their order.
    """
    passwords = [control for control in scope.controls if control_type(control) == "password"]
    autocompletes = [_autocomplete(control) for control in scope.controls]
    if len(passwords) > 1 or any("new-password" in tokens for tokens in autocompletes):
        return None
    submit = _find_submit(scope)
    wording = _collect_wording(scope, submit)
    mentions_login = bool(LOGIN_WORDS.search(wording))
    if SIGN_UP_WORDS.search(wording) and not mentions_login:
        return None
    password = passwords[0] if passwords else None
    username = _find_username(scope.controls, password)
    if password is None:
        return _username_only_login(scope, username, submit, mentions_login=mentions_login)
    known = any("current-password" in tokens for tokens in autocompletes)
    signals = _true_signals(
        ("one password field", True),
        ("username field", username is not None),
        ("autocomplete=current-password", known),
        ("login wording", mentions_login),
    )
    confidence: Confidence = "high" if username is not None and (known or mentions_login) else "low"
    return LoginForm(
        scope=scope, username=username, password=password, submit=submit, confidence=confidence, signals=signals
    )


def control_type(control: LexborNode) -> str:
    """Return the type of a control in lower case; by default `submit` for a button, empty for an input."""
    kind = (control.attributes.get("type") or "").strip().lower()
    return kind or ("submit" if control.tag == "button" else "")


def is_button(control: LexborNode) -> bool:
    """Whether a control is a button."""
    return control.tag != "input" or control_type(control) in {"submit", "image", "button", "reset"}


def _username_only_login(
    scope: FormScope, username: LexborNode | None, submit: LexborNode | None, *, mentions_login: bool
) -> LoginForm | None:
    """Classify a form without a password field: a login form needs both wording and `autocomplete=username`."""
    if username is None or "username" not in _autocomplete(username) or not mentions_login:
        return None
    signals = ("no password field", "autocomplete=username", "login wording")
    return LoginForm(scope=scope, username=username, password=None, submit=submit, confidence="low", signals=signals)


def _true_signals(*signals: tuple[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, holds in signals if holds)


def _autocomplete(control: LexborNode) -> Sequence[str]:
    return (control.attributes.get("autocomplete") or "").lower().split()


def _find_username(controls: Iterable[LexborNode], password: LexborNode | None) -> LexborNode | None:
    """Choose by autocomplete, then type, then name, then the last text field before the password."""
    fields: list[LexborNode] = []
    for control in controls:
        if password is not None and control.mem_id == password.mem_id:
            break
        if control.tag == "input" and control_type(control) in _TEXT_TYPES:
            fields.append(control)
    completed = (field for field in fields if not _USER_AUTOCOMPLETE.isdisjoint(_autocomplete(field)))
    addressed = (field for field in fields if control_type(field) == "email")
    named = (field for field in fields if _USERNAME_WORDS.search(_field_names(field)))
    return next(chain(completed, addressed, named, reversed(fields)), None)


def _field_names(control: LexborNode) -> str:
    attributes = control.attributes
    return " ".join(attributes.get(name) or "" for name in ("name", "id", "placeholder", "aria-label"))


def _find_submit(scope: FormScope) -> LexborNode | None:
    """Choose the first "log in" button, else the first submit button; outside a form any button qualifies."""
    buttons = [control for control in scope.controls if is_button(control) and control_type(control) != "reset"]
    submitting = [button for button in buttons if scope.form is None or control_type(button) in _SUBMIT_TYPES]
    fitting = [button for button in submitting if not _OTHER_BUTTON_WORDS.search(_button_label(button))]
    labelled = [button for button in fitting if LOGIN_WORDS.search(_button_label(button))]
    return next(iter((*labelled, *fitting)), None)


def _button_label(button: LexborNode) -> str:
    attributes = button.attributes
    shown = text_of(button) or attributes.get("value") or attributes.get("alt") or ""
    return f"{shown} {attributes.get('aria-label') or ''}".strip()


def _collect_wording(scope: FormScope, submit: LexborNode | None) -> str:
    words = [_button_label(submit)] if submit is not None else []
    if scope.form is not None:
        attributes = scope.form.attributes
        words.extend(attributes.get(name) or "" for name in ("action", "id", "name", "class", "aria-label"))
        words.extend(text_of(heading) for heading in scope.form.css("h1,h2,h3,h4,legend"))
    return " | ".join(words)
