"""The skill `extract_forms`: extract the forms of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.skills.document import normalize_text, parent_element, select_scopes, selector_of, text_of
from eikon_engine.skills.forms import FormLabels, control_type, form_action, form_owner, group_label
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document

Method: TypeAlias = Literal["get", "post", "dialog"]

_NAME: Final = "extract_forms"
_BUTTON_TYPES: Final = frozenset({"submit", "image", "button", "reset"})
_CHECKABLE: Final = frozenset({"checkbox", "radio"})
_CONSTRAINT_ATTRIBUTES: Final = (
    "min",
    "max",
    "step",
    "minlength",
    "maxlength",
    "pattern",
    "accept",
    "autocomplete",
    "inputmode",
)


class FormsParameters(Parameters):
    """The forms to extract."""

    selector: str | None = None
    """CSS selector of the forms, or of the parts of the page to search; if None, the whole page."""
    hidden: bool = True
    """Whether to include hidden fields."""


class Option(Output):
    """One option of a `<select>` or `<datalist>`."""

    value: str
    label: str
    selected: bool
    disabled: bool
    group: str | None
    """Label of its `<optgroup>`."""


class FormField(Output):
    """One control with a value."""

    name: str | None
    type: str
    """Type of an `<input>` (default `text`), `select` or `textarea`."""
    label: str | None
    group: str | None
    """Legend of the `<fieldset>` around it."""
    value: str | None
    """Stored value; null for passwords and files, and for `<select>`, whose options are in `options`."""
    checked: bool | None
    """Null for controls other than checkboxes and radio buttons."""
    required: bool
    disabled: bool
    readonly: bool
    multiple: bool
    placeholder: str | None
    constraints: dict[str, str]
    """Attributes that constrain the value: min, max, pattern, accept, autocomplete …"""
    options: tuple[Option, ...]
    selector: str
    """CSS path of the control."""


class Button(Output):
    """One button."""

    text: str
    type: str
    """`submit`, `reset`, `button` or `image`."""
    name: str | None
    value: str | None
    disabled: bool
    selector: str


class FormOutput(Output):
    """One form, or all controls outside of forms."""

    selector: str | None
    """CSS path; null for controls outside of forms."""
    name: str | None
    label: str | None
    """The `aria-label`, else the first heading or legend."""
    action: str | None
    method: Method | None
    enctype: str | None
    fields: tuple[FormField, ...]
    buttons: tuple[Button, ...]


class Forms(Output):
    """The forms of a page in document order; controls outside of forms are last."""

    count: int
    forms: tuple[FormOutput, ...]


class ExtractForms(TypedSkill[FormsParameters, Forms]):
    """Return every form with its fields, their labels, types, constraints and options."""

    name = _NAME
    version = 1
    description = "Extract the forms of a page: fields with labels, types, options and constraints, buttons, action."
    parameters = FormsParameters
    output = Forms
    example = SkillInput(
        html="<form action=/find><label>What <input name=q type=search required></label><button>Find</button></form>",
        url="https://shop.example/",
    )

    def analyze(self, document: Document, parameters: FormsParameters) -> Forms:
        """Extract the forms; a page without forms is a result, not an error.

        Raises:
            SkillError: the selector is not standard CSS, or matches nothing.
        """
        labels = FormLabels(document)
        forms: dict[int, LexborNode] = {}
        controls: dict[int, list[LexborNode]] = {}
        for scope in select_scopes(document, parameters.selector, _NAME):
            forms.update((form.mem_id, form) for form in scope.css("form"))
            for control in scope.css("input,select,textarea,button"):
                if parameters.hidden or control_type(control) != "hidden":
                    owner = form_owner(document, control)
                    forms.update({} if owner is None else {owner.mem_id: owner})
                    controls.setdefault(0 if owner is None else owner.mem_id, []).append(control)
        found = [_form(document, labels, form, controls.get(key, [])) for key, form in forms.items()]
        if controls.get(0):
            found.append(_form(document, labels, None, controls[0]))
        return Forms(count=len(found), forms=tuple(found))


def _form(document: Document, labels: FormLabels, form: LexborNode | None, controls: list[LexborNode]) -> FormOutput:
    attributes = form.attributes if form is not None else {}
    buttons = [control for control in controls if _is_button(control)]
    return FormOutput(
        selector=None if form is None else selector_of(document, form),
        name=attributes.get("name") or attributes.get("id") or None,
        label=None if form is None else _form_label(form),
        action=None if form is None else form_action(document, form),
        method=None if form is None else _method(attributes.get("method")),
        enctype=attributes.get("enctype") or None,
        fields=tuple(_field(document, labels, control) for control in controls if not _is_button(control)),
        buttons=tuple(_button(document, control) for control in buttons),
    )


def _is_button(control: LexborNode) -> bool:
    return control.tag == "button" or (control.tag == "input" and control_type(control) in _BUTTON_TYPES)


def _method(text: str | None) -> Method:
    match (text or "").strip().lower():
        case "post":
            return "post"
        case "dialog":
            return "dialog"
        case _:
            return "get"


def _form_label(form: LexborNode) -> str | None:
    named = normalize_text(form.attributes.get("aria-label") or "")
    heading = form.css_first("h1,h2,h3,h4,h5,h6,legend")
    return named or (text_of(heading) if heading is not None else "") or None


def _field(document: Document, labels: FormLabels, control: LexborNode) -> FormField:
    attributes = control.attributes
    kind = (control_type(control) or "text") if control.tag == "input" else (control.tag or "")
    return FormField(
        name=attributes.get("name") or None,
        type=kind,
        label=labels.label_of(control),
        group=group_label(control),
        value=_value(control, kind, attributes),
        checked="checked" in attributes if kind in _CHECKABLE else None,
        required="required" in attributes or attributes.get("aria-required") == "true",
        disabled=_is_disabled(control),
        readonly="readonly" in attributes,
        multiple="multiple" in attributes,
        placeholder=attributes.get("placeholder") or None,
        constraints={name: attributes.get(name) or "" for name in _CONSTRAINT_ATTRIBUTES if name in attributes},
        options=_options(document, control),
        selector=selector_of(document, control),
    )


def _value(control: LexborNode, kind: str, attributes: Mapping[str, str | None]) -> str | None:
    if kind in {"password", "file", "select"}:
        return None
    if kind == "textarea":
        return control.text()
    return attributes.get("value")


def _is_disabled(control: LexborNode) -> bool:
    """Whether a control or a `<fieldset>` around it is disabled."""
    current: LexborNode | None = control
    while current is not None:
        if "disabled" in current.attributes and (current.mem_id == control.mem_id or current.tag == "fieldset"):
            return True
        current = parent_element(current)
    return False


def _options(document: Document, control: LexborNode) -> tuple[Option, ...]:
    """Return the options of a `<select>`, or of the `<datalist>` that an input references."""
    source = control if control.tag == "select" else None
    suggested = control.attributes.get("list") if control.tag == "input" else None
    if suggested:
        lists = document.tree.css("datalist[id]")
        source = next((each for each in lists if each.attributes.get("id") == suggested), None)
    return () if source is None else tuple(_option(each) for each in source.css("option"))


def _option(option: LexborNode) -> Option:
    attributes = option.attributes
    text = text_of(option)
    around = parent_element(option)
    group = around if around is not None and around.tag == "optgroup" else None
    value = attributes.get("value")
    return Option(
        value=text if value is None else value,
        label=attributes.get("label") or text,
        selected="selected" in attributes,
        disabled="disabled" in attributes or (group is not None and "disabled" in group.attributes),
        group=None if group is None else group.attributes.get("label"),
    )


def _button(document: Document, control: LexborNode) -> Button:
    attributes = control.attributes
    shown = text_of(control) if control.tag == "button" else attributes.get("value") or attributes.get("alt") or ""
    return Button(
        text=normalize_text(shown) or normalize_text(attributes.get("aria-label") or attributes.get("title") or ""),
        type=control_type(control),
        name=attributes.get("name") or None,
        value=attributes.get("value"),
        disabled=_is_disabled(control),
        selector=selector_of(document, control),
    )
