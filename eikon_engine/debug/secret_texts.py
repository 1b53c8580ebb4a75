"""Secrets in commands: known values are replaced by their names, values that look like tokens are rejected.

Commands are written to a file before they are executed, so redaction comes first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from eikon_engine.debug.commands import BranchEdit, BranchInsert, Command
from eikon_engine.errors import PlaintextSecretError
from eikon_engine.trace.secret_names import is_password_name
from eikon_engine.trace.token_shapes import find_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.trace.redaction import Redactor

SECRET_HINT: Final = 'start the session with --secret NAME=VALUE and refer to it: {"secret": "NAME"} as a text, '
SECRET_HINT_INLINE: Final = "{{eikon-secret:NAME}} inside a text"
_COMMAND_ADAPTER: Final[TypeAdapter[Command]] = TypeAdapter(Command)
_SECRET_REFERENCE: Final = re.compile(r"\{\{eikon-secret:([A-Za-z_][A-Za-z0-9_]*)\}\}")
_KEYWORD_FIELDS: Final = frozenset({"change", "form", "on", "type"})
"""Fields whose values are keywords of commands."""
_TEXT_FIELD: Final = "action.text"


def may_contain_secret(command: Command) -> bool:
    """Return whether the user may have written a secret into a command."""
    return any(name != "type" for name, _ in _iter_texts(command.model_dump(mode="json", exclude_defaults=True), ""))


def redact_command(command: Command, redactor: Redactor) -> Command:
    """Return a command with secret values replaced by the names of the secrets.

    Raises:
        PlaintextSecretError: it contains a token that is not a known secret.
    """
    plain = _redact_value(command.model_dump(mode="json"), "", redactor)
    reject_tokens(command.type, (text for _, text in _iter_texts(plain, "")))
    assert isinstance(plain, dict)  # noqa: S101 - a model is an object
    if isinstance(command, BranchInsert) and isinstance(plain["action"], dict) and "text" in plain["action"]:
        plain["action"]["text"] = _to_reference(plain["action"]["text"])
    if isinstance(command, BranchEdit) and isinstance(plain["fields"], dict) and _TEXT_FIELD in plain["fields"]:
        plain["fields"][_TEXT_FIELD] = _to_reference(plain["fields"][_TEXT_FIELD])
    return _COMMAND_ADAPTER.validate_python(plain, strict=False)


def reject_tokens(command_type: str, texts: Iterator[str]) -> None:
    """Reject texts that contain a token of a known shape, such as an API key.

    Raises:
        PlaintextSecretError: a text contains a token.
    """
    token = next((token for text in texts for token in find_tokens(text)), None)
    if token is not None:
        message = (
            f"{command_type}: commands are written to a file and must not contain secrets, got what looks like a token"
        )
        raise PlaintextSecretError(f"{message} ({token.kind}); {SECRET_HINT}{SECRET_HINT_INLINE}")


def typed_text(command: Command) -> str | None:
    """Return the text that a command types into a field, if it is given literally."""
    match command:
        case BranchInsert(action=action) if hasattr(action, "target"):
            text = getattr(action, "text", None)
        case BranchEdit(fields=fields):
            text = fields.get(_TEXT_FIELD)
        case _:
            return None
    return text if isinstance(text, str) and text and _SECRET_REFERENCE.fullmatch(text) is None else None


def password_error(command_type: str, selector: str) -> PlaintextSecretError:
    """Return the error for a literal text in a password field."""
    message = f"{command_type}: expected the name of a secret for the password field {selector}, got its text"
    return PlaintextSecretError(f"{message}; {SECRET_HINT}{SECRET_HINT_INLINE}")


def is_password_selector(selector: str) -> bool:
    """Return whether a selector refers to a password field, which may not exist yet."""
    return any(map(is_password_name, re.findall(r"[\w-]+", selector)))


def _redact_value(value: JsonValue, name: str, redactor: Redactor) -> JsonValue:
    """Redact user-written values; keep the keywords of commands."""
    match value:
        case str():
            return value if name in _KEYWORD_FIELDS else redactor.redact_text(value)
        case list():
            return [_redact_value(each, name, redactor) for each in value]
        case dict():
            return {key: _redact_value(each, key, redactor) for key, each in value.items()}
        case _:
            return value


def _to_reference(text: JsonValue) -> JsonValue:
    """Turn a text that consists of a secret only into a reference."""
    found = _SECRET_REFERENCE.fullmatch(text) if isinstance(text, str) else None
    return text if found is None else {"secret": found[1]}


def _iter_texts(value: JsonValue, name: str) -> Iterator[tuple[str, str]]:
    """Yield all texts of a JSON value with their field names."""
    match value:
        case str():
            yield name, value
        case list():
            for each in value:
                yield from _iter_texts(each, name)
        case dict():
            for key, each in value.items():
                yield "", key
                yield from _iter_texts(each, key)
        case _:
            pass
