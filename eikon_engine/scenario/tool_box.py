"""The tools of an agent, under one roof: known by name, allowed or not, executed or answered from a recording."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from eikon_engine.errors import GateFailedError, ToolNotAllowedError, UnknownToolError, UsageError
from eikon_engine.scenario.aside import run_aside
from eikon_engine.scenario.calls import Recorded
from eikon_engine.scenario.executed import Executed
from eikon_engine.scenario.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.calls import Calls


class ToolBox:
    """Call tools by name; adding some, or allowing fewer, gives a new box and leaves this one as it is."""

    def __init__(
        self, tools: Mapping[str, Tool], *, calls: Calls | None = None, allowed: frozenset[str] | None = None
    ) -> None:
        """Know `tools`, of which `allowed` may be called, all if left out; `calls` answers, if left out they do."""
        self._tools = MappingProxyType(dict(tools))
        self._calls: Calls = calls or Executed()
        self._allowed = allowed

    @classmethod
    def of(cls, *tools: Callable[..., Any] | Tool) -> ToolBox:
        """Build a box of exactly these functions.

        Raises:
            UsageError: two of them have the same name, or one is no tool.
        """
        return cls({}).extended(*tools)

    def extended(self, *tools: Callable[..., Any] | Tool) -> ToolBox:
        """Return a new box that knows these functions too.

        Raises:
            UsageError: a name is taken already, or one is no tool.
        """
        known = dict(self._tools)
        for each in tools:
            tool = each if isinstance(each, Tool) else Tool(each)
            if tool.name in known:
                message = f"tool {tool.name!r} is registered twice; give one of the two another name"
                raise UsageError(message)
            known[tool.name] = tool
        return ToolBox(known, calls=self._calls, allowed=self._allowed)

    def allowing(self, names: Iterable[str]) -> ToolBox:
        """Return a new box that calls no tools but these.

        Raises:
            UnknownToolError: it does not know one of them.
        """
        allowed = frozenset(names)
        for name in sorted(allowed):
            if not self._calls.is_replay:
                self.named(name)
        return ToolBox(self._tools, calls=self._calls, allowed=allowed)

    def answered_by(self, calls: Calls) -> ToolBox:
        """Return a new box whose calls are answered by `calls`."""
        return ToolBox(self._tools, calls=calls, allowed=self._allowed)

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted names of all known tools."""
        return tuple(sorted(self._tools))

    def __iter__(self) -> Iterator[Tool]:
        """Go through the tools in the order of their names."""
        return (self._tools[name] for name in self.names)

    def named(self, name: str) -> Tool:
        """Return the tool of this name.

        Raises:
            UnknownToolError: there is none; the message names the known ones and the nearest.
        """
        tool = self._tools.get(name)
        if tool is None:
            close = difflib.get_close_matches(name, self.names, n=1)
            hint = f"did you mean {close[0]}?" if close else "register it, or correct the name"
            message = f"unknown tool {name!r}; known tools: {', '.join(self.names) or 'none'}; {hint}"
            raise UnknownToolError(message)
        return tool

    def call(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - what the tool returns
        """Call a tool and return what it returns; in a replay, what it returned.

        Raises:
            ToolError: the tool failed; a replay raises it again.
            UnknownToolError: there is no such tool.
            ToolNotAllowedError: it is not one of those that may be called.
            ToolArgumentsError: it does not take these arguments.
            ResultNotStorableError: what it returned cannot be recorded.
            FixtureMissingError: in a replay, the call was not recorded.
            UsageError: the tool is asynchronous; use `acall`.
        """
        given = dict(args or {})
        work = self._work(name, given)
        if work.is_asynchronous:
            message = f"tool {name} is asynchronous: wanted `await tools.acall({name!r}, …)`, found `call`; await it"
            raise UsageError(message)
        call = self._calls.begin(name, given)
        if isinstance(call, Recorded):
            return call.give()
        try:
            result = work.do()
        except GateFailedError:
            raise
        except (Exception, SystemExit) as error:
            raise call.fail(error) from error
        return call.succeed(result)

    async def acall(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - as `call`
        """Do as `call` without holding up the loop: a synchronous tool runs in a thread.

        Raises:
            EikonError: as `call`.
        """
        given = dict(args or {})
        work = self._work(name, given)
        call = self._calls.begin(name, given)
        if isinstance(call, Recorded):
            return call.give()
        try:
            result = await (work.do() if work.is_asynchronous else run_aside(work.do))
        except GateFailedError:
            raise
        except (Exception, SystemExit) as error:
            raise call.fail(error) from error
        return call.succeed(result)

    def _work(self, name: str, args: Mapping[str, JsonValue]) -> _Work:
        """Make sure that a tool may be called, before anything else; a replay needs neither it nor its signature."""
        if self._allowed is not None and name not in self._allowed:
            allowed = ", ".join(sorted(self._allowed)) or "none"
            message = f"tool {name!r} is not allowed here; allowed tools: {allowed}; allow it, or call another"
            raise ToolNotAllowedError(message)
        if self._calls.is_replay:
            return _Work(_nothing, is_asynchronous=False)
        tool = self.named(name)
        return _Work(partial(tool.function, **tool.bind(args)), is_asynchronous=tool.is_asynchronous)


@dataclass(frozen=True, slots=True)
class _Work:
    """What there is to do for a call."""

    do: Callable[[], Any]
    is_asynchronous: bool


def _nothing() -> None:
    """Stand for a tool in a replay, which executes none."""
