"""The tools of an agent by name; calls are executed, recorded, or served from a recording."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from eikon_engine.errors import GateExceededError, ToolNotPermittedError, UnknownToolError, UsageError
from eikon_engine.scenario.aside import run_in_daemon_thread
from eikon_engine.scenario.calls import RecordedResult
from eikon_engine.scenario.executed import DirectCalls
from eikon_engine.scenario.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.calls import CallHandler


class ToolBox:
    """Call tools by name; immutable, so extending or restricting it returns a new box."""

    def __init__(
        self, tools: Mapping[str, Tool], *, calls: CallHandler | None = None, allowed: frozenset[str] | None = None
    ) -> None:
        """Hold `tools`; `allowed` restricts them, and `calls` handles their calls, by default without recording."""
        self._tools = MappingProxyType(dict(tools))
        self._calls: CallHandler = calls or DirectCalls()
        self._allowed = allowed

    @classmethod
    def of(cls, *tools: Callable[..., Any] | Tool) -> ToolBox:
        """Create a box of exactly these functions.

        Raises:
            UsageError: two have the same name, or one is not a valid tool.
        """
        return cls({}).extended(*tools)

    def extended(self, *tools: Callable[..., Any] | Tool) -> ToolBox:
        """Return a new box with these functions added.

        Raises:
            UsageError: a name is taken, or one is not a valid tool.
        """
        known = dict(self._tools)
        for each in tools:
            tool = each if isinstance(each, Tool) else Tool(each)
            if tool.name in known:
                message = f"tool {tool.name!r} is registered twice. Rename one of them."
                raise UsageError(message)
            known[tool.name] = tool
        return ToolBox(known, calls=self._calls, allowed=self._allowed)

    def allowing(self, names: Iterable[str]) -> ToolBox:
        """Return a new box restricted to these tools.

        Raises:
            UnknownToolError: one is not in the box.
        """
        allowed = frozenset(names)
        for name in sorted(allowed):
            if not self._calls.is_replay:
                self.get(name)
        return ToolBox(self._tools, calls=self._calls, allowed=allowed)

    def with_calls(self, calls: CallHandler) -> ToolBox:
        """Return a new box whose calls are handled by `calls`."""
        return ToolBox(self._tools, calls=calls, allowed=self._allowed)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the sorted names of all tools."""
        return tuple(sorted(self._tools))

    def __iter__(self) -> Iterator[Tool]:
        """Iterate over the tools, sorted by name."""
        return (self._tools[name] for name in self.names)

    def get(self, name: str) -> Tool:
        """Return the tool with this name.

        Raises:
            UnknownToolError: there is none; the message lists the known ones and the nearest.
        """
        tool = self._tools.get(name)
        if tool is None:
            close = difflib.get_close_matches(name, self.names, n=1)
            hint = f"Did you mean {close[0]}?" if close else "Register it, or fix the name."
            message = f"unknown tool {name!r}: expected one of {', '.join(self.names) or 'none'}. {hint}"
            raise UnknownToolError(message)
        return tool

    def call(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - any tool result
        """Call a tool and return its result; in a replay, the recorded one.

        Raises:
            ToolError: the tool failed, now or in the recording.
            UnknownToolError: the tool does not exist.
            ToolNotPermittedError: the tool is not allowed.
            ToolArgumentsError: the arguments are invalid.
            ResultNotStorableError: the result cannot be recorded.
            FixtureMissingError: in a replay, the call was not recorded.
            UsageError: the tool is asynchronous; use `acall`.
        """
        given = dict(args or {})
        work = self._prepare(name, given)
        if work.is_asynchronous:
            message = f"tool {name} is asynchronous. Use `await tools.acall({name!r}, …)` instead of `call`."
            raise UsageError(message)
        call = self._calls.start_call(name, given)
        if isinstance(call, RecordedResult):
            return call.get()
        try:
            result = work.run()
        except GateExceededError:
            raise
        except (Exception, SystemExit) as error:
            raise call.fail(error) from error
        return call.succeed(result)

    async def acall(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - as `call`
        """Call like `call` without blocking the event loop: a synchronous tool runs in a thread.

        Raises:
            EikonError: as `call`.
        """
        given = dict(args or {})
        work = self._prepare(name, given)
        call = self._calls.start_call(name, given)
        if isinstance(call, RecordedResult):
            return call.get()
        try:
            result = await (work.run() if work.is_asynchronous else run_in_daemon_thread(work.run))
        except GateExceededError:
            raise
        except (Exception, SystemExit) as error:
            raise call.fail(error) from error
        return call.succeed(result)

    def _prepare(self, name: str, args: Mapping[str, JsonValue]) -> _PreparedCall:
        """Check that a tool is allowed and its arguments are valid; a replay only checks the former."""
        if self._allowed is not None and name not in self._allowed:
            allowed = ", ".join(sorted(self._allowed)) or "none"
            message = f"tool {name!r} is not allowed: expected one of {allowed}. Allow it, or call another."
            raise ToolNotPermittedError(message)
        if self._calls.is_replay:
            return _PreparedCall(_do_nothing, is_asynchronous=False)
        tool = self.get(name)
        return _PreparedCall(partial(tool.function, **tool.bind(args)), is_asynchronous=tool.is_asynchronous)


@dataclass(frozen=True, slots=True)
class _PreparedCall:
    """The function to run for a call."""

    run: Callable[[], Any]
    is_asynchronous: bool


def _do_nothing() -> None:
    """Do nothing; a replay executes no tool."""
