"""Tools: plain functions with validated arguments, called by name; calls are executed, recorded or replayed."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import json
import re
import threading
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    ValidationError,
    create_model,
)

from eikon_engine.errors import GateExceededError, RequirementError, ToolArgumentsError, UsageError
from eikon_engine.files.models import validation_error
from eikon_engine.scenario.calls import DirectCalls, RecordedResult
from eikon_engine.scenario.fixtures import RECORDING_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.calls import CallHandler

Value = TypeVar("Value")


async def run_in_daemon_thread(work: Callable[[], Value]) -> Value:
    """Run `work` in a thread and return or raise its result, which is discarded if the wait is cancelled.

    A pool would join its threads at exit, so a hanging tool could not be stopped.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Callable[[], Value]] = loop.create_future()
    context = copy_context()

    def settle(give: Callable[[], Value]) -> None:
        if not done.cancelled():
            done.set_result(give)

    def target() -> None:
        give: Callable[[], Value]
        try:
            give = partial(_return_value, context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again by the awaiting caller
            give = partial(_raise_error, error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, give)

    threading.Thread(target=target, name="eikon tool", daemon=True).start()
    return (await done)()


def _return_value(value: Value) -> Value:
    return value


def _raise_error(error: BaseException) -> NoReturn:
    raise error


TOOL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}(\.[A-Za-z0-9_-]{1,63}){0,3}")
"""Tool names are folder names, valid on any file system."""


class Tool:
    """A named sync or async function of JSON arguments that returns JSON or bytes."""

    def __init__(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        """Use the function's name and description, unless `name` is set.

        Raises:
            UsageError: its name is not valid as a folder name, or it has positional-only parameters.
        """
        self.name: Final[str] = name or str(getattr(function, "__name__", ""))
        self.function: Final = function
        self.is_asynchronous: Final = inspect.iscoroutinefunction(function)
        self._model: type[BaseModel] | None = None
        if not TOOL_NAME.fullmatch(self.name) or self.name == RECORDING_FILE:
            message = f"expected a tool name of letters, digits, '_', '-' and '.', got {self.name!r}. Pass a name."
            raise UsageError(message)
        self._parameters = _keyword_parameters(function, self.name)

    @property
    def description(self) -> str:
        """Return the first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        return self._argument_model().model_json_schema()

    def bind(self, args: Mapping[str, JsonValue]) -> dict[str, Any]:
        """Return the arguments validated and converted for the function.

        Raises:
            ToolArgumentsError: one is invalid; the message names the first.
        """
        try:
            text = json.dumps(dict(args), allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            message = f"tool {self.name}: expected JSON arguments, got {error}. Pass plain values."
            raise ToolArgumentsError(message) from error
        try:
            model = self._argument_model().model_validate_json(text)
        except ValidationError as error:
            raise ToolArgumentsError(validation_error(error, text, f"tool {self.name}").message) from error
        given = {field.alias or name: getattr(model, name) for name, field in type(model).model_fields.items()}
        return {**given, **(model.model_extra or {})}

    def _argument_model(self) -> type[BaseModel]:
        """Build the model of the arguments once, on first use; replays do not need it."""
        if self._model is None:
            fields: dict[str, Any] = {}
            for place, parameter in enumerate(self._parameters):
                default = ... if parameter.default is parameter.empty else parameter.default
                # Numbered, because a parameter name may collide with an attribute of the model.
                kind = Any if parameter.annotation is parameter.empty else parameter.annotation
                fields[f"argument_{place}"] = (kind, Field(default, alias=parameter.name))
            is_open = any(each.kind is each.VAR_KEYWORD for each in _signature(self.function).parameters.values())
            config = ConfigDict(strict=True, extra="allow" if is_open else "forbid", arbitrary_types_allowed=False)
            module = inspect.unwrap(self.function).__module__
            try:
                model = create_model(self.name, __config__=config, __module__=module, **fields)
                model.model_rebuild()
            except PydanticUserError as error:
                found = error.message.splitlines()[0]
                message = f"tool {self.name}: expected parameters that JSON can represent, got {found}"
                raise UsageError(message) from error
            except PydanticUndefinedAnnotation as error:
                message = (
                    f"tool {self.name}: unresolved annotation {error.name!r}. Import it in the module of the tool."
                )
                raise UsageError(message) from error
            self._model = model
        return self._model


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _keyword_parameters(function: Callable[..., Any], name: str) -> tuple[inspect.Parameter, ...]:
    parameters = tuple(_signature(function).parameters.values())
    for each in parameters:
        if each.kind in {each.POSITIONAL_ONLY, each.VAR_POSITIONAL}:
            message = f"tool {name}: expected keyword parameters, got {each}. Make it a keyword parameter."
            raise UsageError(message)
    return tuple(each for each in parameters if each.kind is not each.VAR_KEYWORD)


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
            RequirementError: one is not in the box.
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
            RequirementError: there is none; the message lists the known ones and the nearest.
        """
        tool = self._tools.get(name)
        if tool is None:
            close = difflib.get_close_matches(name, self.names, n=1)
            hint = f"Did you mean {close[0]}?" if close else "Register it, or fix the name."
            message = f"unknown tool {name!r}: expected one of {', '.join(self.names) or 'none'}. {hint}"
            raise RequirementError(message, code="unknown-tool")
        return tool

    def call(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - any tool result
        """Call a tool and return its result; in a replay, the recorded one.

        Raises:
            ToolError: the tool failed, now or in the recording.
            RequirementError: the tool does not exist; the tool is not allowed; in a replay, the call was not recorded.
            ToolArgumentsError: the arguments are invalid.
            ResultNotStorableError: the result cannot be recorded.
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
            raise RequirementError(message, code="tool-not-allowed")
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
