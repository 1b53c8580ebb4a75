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

from eikon_engine.browser.bind import Readiness, look
from eikon_engine.debug.commands import BranchEdit, BranchInsert, Command
from eikon_engine.debug.mailbox import LONGEST_LINE
from eikon_engine.debug.secret_texts import demand_no_token, named, names_password, password_refused, typed_by
from eikon_engine.errors import ActionError, OutputError, SecretGivenError, SessionEndedError
from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.trace.target import Target

_COMMANDS: Final[TypeAdapter[Command]] = TypeAdapter(Command)
_ANSWER_S: Final = 20.0
"""Wall time within which a session must redact a command."""
_PASSWORD: Final = ("type", "password")


class Vetting:
    """Redact commands with the secrets of a session."""

    def __init__(self, journey: Journey, secrets: Mapping[str, str]) -> None:
        """Use the session's secrets, and the password fields of its pages."""
        self._journey = journey
        self._redactor = Redactor(secrets)

    async def command(self, command: Command) -> Command:
        """Return a command that may be written to a file, and is executed in this form.

        Raises:
            SecretGivenError: it contains a token, or a literal text for a password field.
        """
        redacted = named(command, self._redactor)
        target = None if typed_by(redacted) is None else self._target(redacted)
        if target is not None and await self._is_for_password(target):
            raise password_refused(command.type, target.selector)
        return redacted

    def text(self, text: str) -> str:
        """Return an input line that may be written to a file.

        Raises:
            SecretGivenError: it contains a token.
        """
        redacted = self._redactor.text(text)
        demand_no_token("the line", iter([redacted]))
        return redacted

    async def _is_for_password(self, target: Target) -> bool:
        """Check a target with its original selector; a stand-in consists of other words."""
        in_clear = self._redactor.restore(target.selector.encode()).decode()
        return names_password(in_clear) or await self._is_password(target.model_copy(update={"selector": in_clear}))

    def _target(self, command: Command) -> Target | None:
        match command:
            case BranchInsert(action=action):
                return getattr(action, "target", None)
            case BranchEdit(iteration=iteration):
                steps = self._journey.line.steps
                place = self._journey.line.iteration if iteration is None else iteration - 1
                step = steps[place].step if 0 <= place < len(steps) else None
                return getattr(getattr(step, "action", None), "target", None)
            case _:
                return None

    async def _is_password(self, target: Target) -> bool:
        """Check the element on the page of a paused session; while it runs, the command is rejected anyway."""
        line = self._journey.line
        page = line.session.page(0)
        if page is None or not line.is_whole:
            return False
        try:
            identity = (await look(page, target, Readiness(visible=False))).identity
        except ActionError:
            return False  # an invalid selector is reported when the command is executed
        return identity is not None and _PASSWORD in identity.attributes


@asynccontextmanager
async def vetted(folder: SessionFolder, vetting: Vetting) -> AsyncIterator[None]:
    """Redact commands for the clients of a session.

    Raises:
        OutputError: the socket cannot be created.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError):
            line = await reader.readline()
            writer.write(json.dumps(await _answered(vetting, line)).encode() + b"\n")
            await writer.drain()
        writer.close()

    private = Path(tempfile.mkdtemp(prefix="eikon-"))  # paths of sockets are short
    try:
        try:
            server = await asyncio.start_unix_server(answer, private / "vetting", limit=2 * LONGEST_LINE)
            folder.vetting.symlink_to(private / "vetting")
        except OSError as error:
            raise OutputError(cannot_write(folder.vetting, error)) from error
        async with server:
            yield
    finally:
        folder.vetting.unlink(missing_ok=True)
        shutil.rmtree(private, ignore_errors=True)


async def _answered(vetting: Vetting, line: bytes) -> JsonValue:
    try:
        asked = json.loads(line)
        if "text" in asked:
            return {"text": vetting.text(str(asked["text"]))}
        command = await vetting.command(_COMMANDS.validate_json(json.dumps(asked["command"])))
    except SecretGivenError as error:
        return {"refused": error.message}
    except (ValidationError, KeyError, TypeError) as error:
        return {"unread": type(error).__name__}
    return {"command": command.model_dump(mode="json")}


def vetted_command(folder: SessionFolder, command: Command) -> Command:
    """Have a session redact a command.

    Raises:
        SecretGivenError: it contains a secret that the session does not know.
        SessionEndedError: the session does not respond.
    """
    answer = _asked(folder, {"command": command.model_dump(mode="json")})
    return _COMMANDS.validate_json(json.dumps(answer.get("command")))


def vetted_text(folder: SessionFolder, text: str) -> str:
    """Have a session redact an input line.

    Raises:
        SecretGivenError: it contains a secret that the session does not know.
        SessionEndedError: the session does not respond.
    """
    return str(_asked(folder, {"text": text})["text"])


def _asked(folder: SessionFolder, question: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        with closing(socket.socket(socket.AF_UNIX)) as asking:
            asking.settimeout(_ANSWER_S)
            asking.connect(str(folder.vetting.readlink()))
            asking.sendall(json.dumps(question).encode() + b"\n")
            with asking.makefile("rb") as answers:
                answer: dict[str, JsonValue] = json.loads(answers.readline() or b"null") or {}
    except (OSError, ValueError) as error:
        message = f"session {folder.name}: no response to a redaction request ({error})"
        raise SessionEndedError(f"{message}; nothing was written") from error
    if "refused" in answer:
        raise SecretGivenError(str(answer["refused"]))
    if answer.keys().isdisjoint(question):
        message = f"session {folder.name}: unexpected response to a redaction request, got {sorted(answer)}"
        raise SessionEndedError(f"{message}; nothing was written")
    return answer
