"""Parse `/chat/completions` responses.

Format: https://platform.openai.com/docs/api-reference/chat/object
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pydantic_core import from_json

from eikon_engine.completions.completion import Completion
from eikon_engine.errors import CompletionMalformedError
from eikon_engine.trace.field_errors import describe_value
from eikon_engine.trace.token_usage import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Mapping

_JsonObject: TypeAlias = "Mapping[str, object]"


def parse_chat_completion(body: bytes, server: str, model: str) -> Completion:
    """Return the single text of a response; unknown members are ignored.

    Raises:
        CompletionMalformedError: the body is not JSON or has no text.
    """
    try:
        plain: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _malformed_error(server, model, "text that is not JSON") from error
    if not isinstance(plain, dict):
        raise _malformed_error(server, model, describe_value(plain))
    choices = plain.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        count = len(choices) if isinstance(choices, list) else "no"
        raise _malformed_error(server, model, f"{count} choices instead of one")
    reason = _optional_text(choices[0], "finish_reason")
    message = choices[0].get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str):
        raise _malformed_error(server, model, f"a message without text (finish_reason {reason})")
    return Completion(
        text=content, model=_optional_text(plain, "model"), usage=_token_usage(plain), finish_reason=reason
    )


def _token_usage(plain: _JsonObject) -> TokenUsage:
    usage = plain.get("usage")
    if not isinstance(usage, dict):
        return TokenUsage()
    return TokenUsage(
        prompt_tokens=_optional_count(usage, "prompt_tokens"),
        completion_tokens=_optional_count(usage, "completion_tokens"),
    )


def _optional_count(members: _JsonObject, name: str) -> int | None:
    value = members.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _optional_text(members: _JsonObject, name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None


def _malformed_error(server: str, model: str, found: str) -> CompletionMalformedError:
    return CompletionMalformedError(
        f"{server}: expected a chat completion of {model}, got {found}; check that the server implements the OpenAI API"
    )
