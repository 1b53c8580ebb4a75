"""The base class of all errors, and errors common to every command."""

from __future__ import annotations

from typing import ClassVar


class EikonError(Exception):
    """Base class of everything Eikon raises on purpose."""

    code: ClassVar[str] = "eikon"
    exit_status: ClassVar[int] = 70

    def __init__(self, message: str) -> None:
        """Store the message: one line with what was expected, what was found and what to do."""
        super().__init__(message)
        self.message = message


class UsageError(EikonError):
    """An option or argument is invalid."""

    code = "usage"
    exit_status = 2


class OutputError(UsageError):
    """An output file or folder cannot be written."""

    code = "output-not-writable"


class ToolArgumentsError(UsageError):
    """The tool does not accept the arguments."""

    code = "tool-arguments"


class InterruptedRunError(EikonError):
    """The user or a signal stopped the run."""

    code = "interrupted"
    exit_status = 130
    signal: ClassVar[str | None] = None
    """Name of the signal this process received; `asyncio.run` does not pass it on."""

    @classmethod
    def stop_cause(cls, exception: BaseException) -> str:
        """Return what stopped a run: the signal named by a `KeyboardInterrupt` or received, else "the user"."""
        named = isinstance(exception, KeyboardInterrupt) and exception.args
        return str(exception.args[0]) if named else cls.signal or "the user"


class InternalError(EikonError):
    """A bug in Eikon."""

    code = "internal"
    exit_status = 70
