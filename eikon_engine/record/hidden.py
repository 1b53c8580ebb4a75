"""Redact recorded actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.actions import Fill, InsertText, SecretRef, SetValue, TypeText

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Action


def redact_action(session: Session, action: Action, resolved: Action | None = None) -> Action:
    """Replace secret texts by references and redact everything else; `resolved` has variables substituted."""
    typed = getattr(resolved or action, "text", None)
    if isinstance(action, Fill | TypeText | SetValue | InsertText) and isinstance(typed, str):
        name = session.secret_name(typed)
        if name is not None:
            action = action.model_copy(update={"text": SecretRef(secret=name)})
    text = action.model_dump_json()
    redacted = session.redactor.redact_text(text)
    return action if redacted == text else type(action).model_validate_json(redacted)
