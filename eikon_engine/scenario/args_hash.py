"""The name of a tool call: SHA-256 of the canonical JSON of its arguments (RFC 8785)."""

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

    Numbers are those of RFC 8785, which are those of JavaScript: `1` and `1.0` are the same, and so are `0` and `-0.0`.
    Texts are compared as they are, without Unicode normalization.

    Raises:
        ToolArgumentsError: canonical JSON cannot say them: an integer beyond 2^53 - 1, NaN, an infinity, half of a
            surrogate pair, a name that is no text, or something that is no JSON at all.
    """
    try:
        text = rfc8785.dumps(dict(args))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        message = f"wanted arguments that canonical JSON (RFC 8785) can say, found {_found(error)}; pass it as a text"
        raise ToolArgumentsError(message) from error
    return hashlib.sha256(text).hexdigest()


def _found(error: Exception) -> str:
    match error:
        case RecursionError():
            return "endless nesting"
        case UnicodeEncodeError():
            return "half of a surrogate pair"
        case _:
            return str(error)
