"""Errors of models by code, so that a recorded failure is raised again as the same error."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import (
    CompletionError,
    CompletionLimitedError,
    CompletionMalformedError,
    CompletionRefusedError,
    CompletionServerError,
    CompletionTimeoutError,
    CompletionUnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

ERRORS_BY_CODE: Final[Mapping[str, type[CompletionError]]] = MappingProxyType(
    {
        error.code: error
        for error in (
            CompletionError,
            CompletionLimitedError,
            CompletionMalformedError,
            CompletionRefusedError,
            CompletionServerError,
            CompletionTimeoutError,
            CompletionUnreachableError,
        )
    }
)


def error_from_code(code: str, message: str) -> CompletionError:
    """Create the error of a recorded failure."""
    return ERRORS_BY_CODE[code](message)


def code_for_error(error: CompletionError) -> str:
    """Return the code a failure is recorded under: that of its nearest base class of ours."""
    return next(code for each in type(error).__mro__ for code, known in ERRORS_BY_CODE.items() if known is each)
