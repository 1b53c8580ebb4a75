"""Redact commands for clients: only the session knows its secrets and its pages.

The session listens on a Unix socket of the user, to which the link `vetting` in its folder points. A client sends one
line, `{"command": …}` or `{"text": …}`, and receives one: the same, redacted, or `{"refused": why}`. Nothing that
passes here is stored.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import tempfile
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from eikon_engine.browser.bind import Readiness, inspect_target
from eikon_engine.debug.commands import BranchEdit, BranchInsert, Command
from eikon_engine.debug.mailbox import MAX_LINE_BYTES
from eikon_engine.debug.secret_texts import (
    is_password_selector,
    password_error,
    redact_command,
    reject_tokens,
    typed_text,
)
from eikon_engine.errors import ActionError, OutputError, PlaintextSecretError, SessionEndedError
from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.whole_file import write_error_message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.trace.target import Target

_COMMANDS: Final[TypeAdapter[Command]] = TypeAdapter(Command)
_RESPONSE_TIMEOUT_S: Final = 20.0
"""Wall time within which a session must redact a command."""
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

    def redact_text(self, text: str) -> str:
        """Return an input line that may be written to a file.

        Raises:
            PlaintextSecretError: it contains a token.
        """
        redacted = self._redactor.redact_text(text)
        reject_tokens("the line", iter([redacted]))
        return redacted

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
                place = self._session.context.iteration if iteration is None else iteration - 1
                step = steps[place].step if 0 <= place < len(steps) else None
                return getattr(getattr(step, "action", None), "target", None)
            case _:
                return None

    async def _is_password_on_page(self, target: Target) -> bool:
        """Check the element on the page of a paused session; while it runs, the command is rejected anyway."""
        line = self._session.context
        page = line.session.page(0)
        if page is None or not line.is_usable:
            return False
        try:
            identity = (await inspect_target(page, target, Readiness(visible=False))).identity
        except ActionError:
            return False  # an invalid selector is reported when the command is executed
        return identity is not None and _PASSWORD_ATTRIBUTE in identity.attributes


@asynccontextmanager
async def serve_redaction(folder: SessionFolder, redactor: CommandRedactor) -> AsyncIterator[None]:
    """Redact commands for the clients of a session.

    Raises:
        OutputError: the socket cannot be created.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError):
            line = await reader.readline()
            writer.write(json.dumps(await _respond(redactor, line)).encode() + b"\n")
            await writer.drain()
        writer.close()

    private = Path(tempfile.mkdtemp(prefix="eikon-"))  # paths of sockets are short
    try:
        try:
            server = await asyncio.start_unix_server(answer, private / "vetting", limit=2 * MAX_LINE_BYTES)
            folder.redaction_socket.symlink_to(private / "vetting")
        except OSError as error:
            raise OutputError(write_error_message(folder.redaction_socket, error)) from error
        async with server:
            yield
    finally:
        folder.redaction_socket.unlink(missing_ok=True)
        shutil.rmtree(private, ignore_errors=True)


async def _respond(redactor: CommandRedactor, line: bytes) -> JsonValue:
    try:
        asked = json.loads(line)
        if "text" in asked:
            return {"text": redactor.redact_text(str(asked["text"]))}
        command = await redactor.redact_command(_COMMANDS.validate_json(json.dumps(asked["command"])))
    except PlaintextSecretError as error:
        return {"refused": error.message}
    except (ValidationError, KeyError, TypeError) as error:
        return {"unread": type(error).__name__}
    return {"command": command.model_dump(mode="json")}


def request_redacted_command(folder: SessionFolder, command: Command) -> Command:
    """Have a session redact a command.

    Raises:
        PlaintextSecretError: it contains a secret that the session does not know.
        SessionEndedError: the session does not respond.
    """
    answer = _request(folder, {"command": command.model_dump(mode="json")})
    return _COMMANDS.validate_json(json.dumps(answer.get("command")))


def request_redacted_text(folder: SessionFolder, text: str) -> str:
    """Have a session redact an input line.

    Raises:
        PlaintextSecretError: it contains a secret that the session does not know.
        SessionEndedError: the session does not respond.
    """
    return str(_request(folder, {"text": text})["text"])


def _request(folder: SessionFolder, request: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        with closing(socket.socket(socket.AF_UNIX)) as asking:
            asking.settimeout(_RESPONSE_TIMEOUT_S)
            asking.connect(str(folder.redaction_socket.readlink()))
            asking.sendall(json.dumps(request).encode() + b"\n")
            with asking.makefile("rb") as answers:
                answer: dict[str, JsonValue] = json.loads(answers.readline() or b"null") or {}
    except (OSError, ValueError) as error:
        message = f"session {folder.name}: no response to a redaction request ({error})"
        raise SessionEndedError(f"{message}; nothing was written") from error
    if "refused" in answer:
        raise PlaintextSecretError(str(answer["refused"]))
    if answer.keys().isdisjoint(request):
        message = f"session {folder.name}: unexpected response to a redaction request, got {sorted(answer)}"
        raise SessionEndedError(f"{message}; nothing was written")
    return answer
