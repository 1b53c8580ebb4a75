"""A tool: a plain function whose arguments are validated by its signature."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    ValidationError,
    create_model,
)

from eikon_engine.errors import ToolArgumentsError, UsageError
from eikon_engine.scenario.fixture import RECORDING_FILE
from eikon_engine.trace.field_errors import validation_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

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
