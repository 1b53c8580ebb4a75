"""The hash of tool call arguments: SHA-256 of their canonical JSON (RFC 8785)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import rfc8785

from eikon_engine.errors import ToolArgumentsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue


def args_hash(args: Mapping[str, JsonValue]) -> str:
    """Return the hash of arguments.

    Numbers follow RFC 8785, that is JavaScript: `1` equals `1.0`, and `0` equals `-0.0`. Strings are not Unicode
    normalized.

    Raises:
        ToolArgumentsError: canonical JSON cannot represent them: an integer beyond 2^53 - 1, NaN, infinity, a lone
            surrogate, a key that is not a string, or a value that is not JSON.
    """
    try:
        text = rfc8785.dumps(dict(args))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        message = f"expected arguments that canonical JSON (RFC 8785) can represent, got {_describe_error(error)}. Pass a string."
        raise ToolArgumentsError(message) from error
    return hashlib.sha256(text).hexdigest()


def _describe_error(error: Exception) -> str:
    match error:
        case RecursionError():
            return "endless nesting"
        case UnicodeEncodeError():
            return "a lone surrogate"
        case _:
            return str(error)
