"""The root of all errors, and those that belong to every command."""

from __future__ import annotations

from typing import ClassVar


class EikonError(Exception):
    """Stand at the root of everything raised on purpose."""

    code: ClassVar[str] = "eikon"
    exit_status: ClassVar[int] = 70

    def __init__(self, message: str) -> None:
        """Keep one line that says what was wanted, what was found and what to do."""
        super().__init__(message)
        self.message = message


class UsageError(EikonError):
    """Report an option or argument that cannot be used."""

    code = "usage"
    exit_status = 2


class OutputError(UsageError):
    """Report an output folder that cannot be written."""

    code = "output-not-writable"


class ToolArgumentsError(UsageError):
    """Report arguments that a tool does not take."""

    code = "tool-arguments"


class InterruptedRunError(EikonError):
    """Report that the user, or a signal, stopped the run."""

    code = "interrupted"
    exit_status = 130
    signal: ClassVar[str | None] = None
    """The signal that this process was sent and that `asyncio.run` passes on without its name."""

    @classmethod
    def stopper(cls, stop: BaseException) -> str:
        """Name what stopped a run: the signal that a `KeyboardInterrupt` names or that was sent, else "the user"."""
        named = isinstance(stop, KeyboardInterrupt) and stop.args
        return str(stop.args[0]) if named else cls.signal or "the user"


class InternalError(EikonError):
    """Report a fault of our own."""

    code = "internal"
    exit_status = 70
