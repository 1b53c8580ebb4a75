"""Ask a model through the OpenAI API, which many servers implement; requires the extra `[llm]`.

Format of responses: https://platform.openai.com/docs/api-reference/chat/object
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic_core import from_json

from eikon_engine.errors import CompletionError, CompletionUnreachableError, RequirementError, UsageError
from eikon_engine.files.extras import install_command
from eikon_engine.files.models import describe_value
from eikon_engine.llm.completion import Completion
from eikon_engine.outcome.terminal import escape_control_characters
from eikon_engine.trace.execution import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType, TracebackType

    import openai

    from eikon_engine.llm.completion import CompletionRequest

_JsonObject: TypeAlias = "Mapping[str, object]"


def parse_chat_completion(body: bytes, server: str, model: str) -> Completion:
    """Return the single text of a response; unknown members are ignored.

    Raises:
        CompletionError: the body is not JSON or has no text.
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


def _malformed_error(server: str, model: str, found: str) -> CompletionError:
    return CompletionError(
        f"{server}: expected a chat completion of {model}, got {found}; check that the server implements the OpenAI "
        "API",
        code="completion-malformed",
    )


KEY_VARIABLE: Final = "OPENAI_API_KEY"
URL_VARIABLE: Final = "OPENAI_BASE_URL"
MODEL_VARIABLE: Final = "OPENAI_MODEL"
DEFAULT_URL: Final = "https://api.openai.com/v1"
DEFAULT_TIMEOUT_SECONDS: Final = 120.0

_RESERVED_PARAMETERS: Final = ("messages", "model", "n", "stream", "stream_options")
_FIRST_SERVER_ERROR: Final = 500
_MAX_REASON_LENGTH: Final = 300
_MASKED_KEY: Final = re.compile(r"\S*\*{3,}\S*|\bsk-[\w-]{8,}")
"""How servers quote a rejected key."""


class OpenAIClient:
    """Send each request once, without retries; thread-safe."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str = DEFAULT_URL,
        model: str | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        """Ask the server at `base_url`; `model` is the default model.

        `timeout_seconds` applies to connecting and to each read.

        Raises:
            RequirementError: the library is not installed, or the key is malformed.
            UsageError: the URL is not an HTTP URL.
        """
        library = _import_openai()
        if not re.fullmatch(r"[!-~]+", api_key):
            message = f"{KEY_VARIABLE} contains unprintable characters; set it again"
            raise RequirementError(message, code="model-client-missing")
        self._model = model
        self._key = api_key
        self._timeout = timeout_seconds
        self._server = _display_url(base_url)
        self._library = library
        self._client: openai.OpenAI = library.OpenAI(
            api_key=api_key, base_url=base_url, timeout=timeout_seconds, max_retries=0
        )
        self._completions = (
            self._client.chat.completions
        )  # loading its modules takes a second, which must not count as latency

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Create a client from `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`.

        Raises:
            RequirementError: the library or the key is missing.
            UsageError: the URL is not an HTTP URL.
        """
        environment = os.environ if environ is None else environ
        _import_openai()
        key = environment.get(KEY_VARIABLE, "")
        if not key:
            message = (
                f"{KEY_VARIABLE} is not set; set it to your key, or to any word if the server needs none, and "
                f"{URL_VARIABLE} for a server other than OpenAI's"
            )
            raise RequirementError(message, code="model-client-missing")
        url = environment.get(URL_VARIABLE) or DEFAULT_URL
        return cls(api_key=key, base_url=url, model=environment.get(MODEL_VARIABLE) or None)

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the completion.

        Raises:
            CompletionError: the model failed; subclasses give the reason. No message contains the key.
            RequirementError: neither the request nor the client names a model.
            UsageError: a parameter is reserved for this client.
        """
        model = request.model or self._model
        if model is None:
            message = f"{request.metric_id}: no model given; name one, or set {MODEL_VARIABLE}"
            raise RequirementError(message, code="model-client-missing")
        taken = sorted(set(request.parameters) & set(_RESERVED_PARAMETERS))
        if taken:
            message = f"{request.metric_id}: parameter {taken[0]} is set by the client; remove it"
            raise UsageError(message)
        return parse_chat_completion(self._post(model, request), self._server, model)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _post(self, model: str, request: CompletionRequest) -> bytes:
        body = {
            **request.parameters,
            "model": model,
            "messages": [{"role": each.role, "content": each.content} for each in request.messages],
        }
        try:
            answer = self._completions.with_raw_response.create(model=model, messages=[], extra_body=body)
        except self._library.OpenAIError as error:
            raise self._translate_error(error, model) from error
        return bytes(answer.http_response.content)

    def _translate_error(self, error: openai.OpenAIError, model: str) -> CompletionError:
        """Map an error of the library to ours."""
        library, server = self._library, self._server
        if isinstance(error, library.APITimeoutError):
            return CompletionError(
                f"{server}: {model} did not respond within {self._timeout:g} s; increase the timeout, or request less",
                code="completion-timeout",
            )
        if isinstance(error, library.APIConnectionError):
            return CompletionUnreachableError(
                f"{server}: the server of {model} is unreachable or closed the connection; start it, or correct "
                f"{URL_VARIABLE}"
            )
        if not isinstance(error, library.APIStatusError):
            return CompletionError(f"{server}: {model} failed ({type(error).__name__}); change the request")
        status, reason = error.status_code, self._reason(error)
        if isinstance(error, library.RateLimitError):
            return CompletionError(
                f"{server}: {model} was rate limited with status {status}: {reason}; retry later, or less often",
                code="completion-limited",
            )
        if status >= _FIRST_SERVER_ERROR:
            return CompletionError(
                f"{server}: {model} failed with status {status}: {reason}; retry later", code="completion-server"
            )
        return CompletionError(
            f"{server}: {model} rejected the request with status {status}: {reason}; correct the request",
            code="completion-refused",
        )

    def _reason(self, error: openai.APIStatusError) -> str:
        """Return the message of the server on one line, without the key."""
        body = error.body
        reason = body.get("message") if isinstance(body, dict) else body
        text = escape_control_characters(" ".join(str(reason or "no reason given").split())).replace(self._key, "…")
        return _MASKED_KEY.sub("…", text)[:_MAX_REASON_LENGTH].rstrip(".;")


def preload_library() -> None:
    """Import what a call needs, so that the first one takes no longer than others; nothing if it is not installed."""
    with suppress(RequirementError):
        import_module(f"{_import_openai().__name__}.resources.chat.completions")


def _import_openai() -> ModuleType:
    try:
        import openai  # noqa: PLC0415 - optional, and takes a second to load
    except ImportError as error:
        message = f"missing: openai; run {install_command('llm')}"
        raise RequirementError(message, code="model-client-missing") from error
    return openai


def require_http_url(option: str, base_url: str | None) -> None:
    """Validate the URL of an option early.

    Raises:
        UsageError: it is not an HTTP URL.
    """
    if base_url is not None:
        _display_url(base_url, option)


def _display_url(base_url: str, source: str = URL_VARIABLE) -> str:
    """Return a URL for messages, without credentials and query."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in {"http", "https"} or not host:
        found = repr(base_url) if re.fullmatch(r"[\w.:/-]*", base_url) else "another URL"  # may contain a password
        message = f"{source}: expected a URL with http:// or https://, got {found}; correct it"
        raise UsageError(message)
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}{f':{port}' if port is not None else ''}{parts.path}"
