"""Redact commands before they are logged and executed.

Known values are replaced by the names of their secrets; values that look like tokens and passwords are rejected.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.actions.targets import Readiness, inspect_target
from eikon_engine.debug.commands import BranchEdit, BranchInsert, Command
from eikon_engine.errors import ActionError, PlaintextSecretError
from eikon_engine.files.models import DeferredAdapter
from eikon_engine.secrets.names import is_password_name
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.token_formats import find_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.debug.session import DebugSession
    from eikon_engine.trace.target import Target

COMMAND_HINT: Final = 'start the session with --secret NAME=VALUE and refer to it: {"secret": "NAME"} as a text, '
INLINE_COMMAND_HINT: Final = "{{eikon-secret:NAME}} inside a text"
_COMMAND_ADAPTER: Final[DeferredAdapter[Command]] = DeferredAdapter(Command)
_SECRET_REFERENCE: Final = re.compile(r"\{\{eikon-secret:([A-Za-z_][A-Za-z0-9_]*)\}\}")
_KEYWORD_FIELDS: Final = frozenset({"change", "form", "on", "type"})
"""Fields whose values are keywords of commands."""
_TEXT_FIELD: Final = "action.text"


def redact_command(command: Command, redactor: Redactor) -> Command:
    """Return a command with secret values replaced by the names of the secrets.

    Raises:
        PlaintextSecretError: it contains a token that is not a known secret.
    """
    plain = _redact_value(command.model_dump(mode="json"), "", redactor)
    _reject_tokens(command.type, (text for _, text in _iter_texts(plain, "")))
    assert isinstance(plain, dict)  # noqa: S101 - a model is an object
    if isinstance(command, BranchInsert):
        for texts, field in _inserted_texts(plain["action"]):
            texts[field] = _to_reference(texts[field])
    if isinstance(command, BranchEdit) and isinstance(plain["fields"], dict) and _TEXT_FIELD in plain["fields"]:
        plain["fields"][_TEXT_FIELD] = _to_reference(plain["fields"][_TEXT_FIELD])
    return _COMMAND_ADAPTER.validate_python(plain, strict=False)


def _inserted_texts(action: JsonValue) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Yield the objects and fields of an action that hold what it types or drops."""
    if not isinstance(action, dict):
        return
    if "text" in action:
        yield action, "text"
    dropped = action.get("data")
    if isinstance(dropped, list):
        yield from ((each, "value") for each in dropped if isinstance(each, dict))


def _reject_tokens(command_type: str, texts: Iterator[str]) -> None:
    """Reject texts that contain a token of a known shape, such as an API key.

    Raises:
        PlaintextSecretError: a text contains a token.
    """
    token = next((token for text in texts for token in find_tokens(text)), None)
    if token is not None:
        message = (
            f"{command_type}: commands are written to a file and must not contain secrets, got what looks like a token"
        )
        raise PlaintextSecretError(f"{message} ({token.kind}); {COMMAND_HINT}{INLINE_COMMAND_HINT}")


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
    return PlaintextSecretError(f"{message}; {COMMAND_HINT}{INLINE_COMMAND_HINT}")


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


_PASSWORD_ATTRIBUTE: Final = ("type", "password")


class CommandRedactor:
    """Redact commands with the secrets of a session."""

    def __init__(self, session: DebugSession, secrets: Mapping[str, str]) -> None:
        """Use the session's secrets, and the password fields of its pages."""
        self._session = session
        self._redactor = Redactor(secrets)

    async def redact_command(self, command: Command) -> Command:
        """Return a command that may be written to a file, and is executed in this form.

        Raises:
            PlaintextSecretError: it contains a token, or a literal text for a password field.
        """
        redacted = redact_command(command, self._redactor)
        target = None if typed_text(redacted) is None else self._target(redacted)
        if target is not None and await self._is_password_target(target):
            raise password_error(command.type, target.selector)
        return redacted

    def redact_text(self, text: str) -> str | None:
        """Return an input line as it may be written to a file; None if it contains a token."""
        redacted = self._redactor.redact_text(text)
        return None if any(find_tokens(redacted)) else redacted

    async def _is_password_target(self, target: Target) -> bool:
        """Check a target with its original selector; a stand-in consists of other words."""
        in_clear = self._redactor.restore_bytes(target.selector.encode()).decode()
        return is_password_selector(in_clear) or await self._is_password_on_page(
            target.model_copy(update={"selector": in_clear})
        )

    def _target(self, command: Command) -> Target | None:
        match command:
            case BranchInsert(action=action):
                return getattr(action, "target", None)
            case BranchEdit(iteration=iteration):
                steps = self._session.context.steps
                index = self._session.context.iteration if iteration is None else iteration - 1
                step = steps[index].step if 0 <= index < len(steps) else None
                return getattr(getattr(step, "action", None), "target", None)
            case _:
                return None

    async def _is_password_on_page(self, target: Target) -> bool:
        """Check the element on the page of a paused session."""
        line = self._session.context
        page = line.session.page(0)
        if page is None or not line.is_usable:
            return False
        try:
            identity = (await inspect_target(page, target, Readiness(visible=False))).identity
        except ActionError:
            return False  # an invalid selector is reported when the command is executed
        return identity is not None and _PASSWORD_ATTRIBUTE in identity.attributes
