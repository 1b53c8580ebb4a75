"""Secrets: referenced in a trace, provided at replay, never written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.errors import SecretMissingError
from eikon_engine.trace.actions import Action, SecretRef, Text
from eikon_engine.trace.redaction import secret_names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

ENVIRONMENT_PREFIX = "EIKON_SECRET_"


@dataclass(frozen=True, slots=True)
class SecretValues:
    """The values of secret references; never shown by `repr`."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def resolve(self, text: Text) -> str:
        """Return the plain text.

        Raises:
            SecretMissingError: the secret was not provided.
        """
        if not isinstance(text, SecretRef):
            return text
        try:
            return self.values[text.secret]
        except KeyError:
            raise SecretMissingError(missing_secret_message(text.secret)) from None


def missing_secret_message(name: str) -> str:
    """Return the message for a missing secret, with the three ways to provide it."""
    return (
        f"the mission types secret {name}, which was not provided; "
        f"use --secret {name}=…, --secret-file, or the variable {ENVIRONMENT_PREFIX}{name}"
    )


def action_secret_names(action: Action) -> tuple[str, ...]:
    """Return the names of the secrets that an action types."""
    text = getattr(action, "text", None)
    whole = (text.secret,) if isinstance(text, SecretRef) else ()
    return tuple(dict.fromkeys((*whole, *secret_names_in(action.model_dump_json()))))
