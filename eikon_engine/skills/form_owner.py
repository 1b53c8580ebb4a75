"""The form owner of a control, and the URL that a form submits to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.skills.document import parent_element

if TYPE_CHECKING:
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
