"""Ask a model by the API of OpenAI, which many servers speak; the library is that of the extra `[llm]`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from eikon_engine.completions.chat_answer import parse_answer
from eikon_engine.errors import (
    CompletionError,
    CompletionLimitedError,
    CompletionRefusedError,
    CompletionServerError,
    CompletionTimeoutError,
    CompletionUnreachableError,
    ModelClientMissingError,
    UsageError,
)
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType, TracebackType

    import openai

    from eikon_engine.completions.completion import Completion, CompletionRequest

KEY_VARIABLE: Final = "OPENAI_API_KEY"
URL_VARIABLE: Final = "OPENAI_BASE_URL"
MODEL_VARIABLE: Final = "OPENAI_MODEL"
STANDARD_URL: Final = "https://api.openai.com/v1"
TIMEOUT_SECONDS: Final = 120.0

_OURS: Final = ("messages", "model", "n", "stream", "stream_options")
_SERVER_FAULT: Final = 500
_LONGEST: Final = 300
_MASKED_KEY: Final = re.compile(r"\S*\*{3,}\S*|\bsk-[\w-]{8,}")
"""How servers repeat a key that they refuse."""


class OpenAIClient:
    """Ask once and wait once: nothing is tried again. Safe for any number of threads."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str = STANDARD_URL,
        model: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Ask the server at `base_url`; `model` answers requests that name none.

        `timeout_seconds` is how long is waited for the connection, and for the next bytes of the answer.

        Raises:
            ModelClientMissingError: the library is not installed, or the key cannot be one.
            UsageError: the address is none of HTTP.
        """
        library = _library()
        if not re.fullmatch(r"[!-~]+", api_key):
            message = f"wanted a key of printable characters in {KEY_VARIABLE}, found something else; set it anew"
            raise ModelClientMissingError(message)
        self._model = model
        self._key = api_key
        self._timeout = timeout_seconds
        self._server = _shown(base_url)
        self._library = library
        self._client: openai.OpenAI = library.OpenAI(
            api_key=api_key, base_url=base_url, timeout=timeout_seconds, max_retries=0
        )
        self._completions = (
            self._client.chat.completions
        )  # loads a second's worth of modules, which is no answering time

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Take key, address and model from `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`.

        Raises:
            ModelClientMissingError: the library or the key is not here.
            UsageError: the address is none of HTTP.
        """
        surroundings = os.environ if environ is None else environ
        _library()
        key = surroundings.get(KEY_VARIABLE, "")
        if not key:
            message = (
                f"asking a model wants a key in {KEY_VARIABLE}, found none; set it, to any word where the server wants "
                f"none, and {URL_VARIABLE} for another server than OpenAI's"
            )
            raise ModelClientMissingError(message)
        url = surroundings.get(URL_VARIABLE) or STANDARD_URL
        return cls(api_key=key, base_url=url, model=surroundings.get(MODEL_VARIABLE) or None)

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the one answer of the model.

        Raises:
            CompletionError: there is none; its subclass says why. No message holds the key.
            ModelClientMissingError: neither the request nor the client names a model.
            UsageError: a parameter is one that this client sets itself.
        """
        model = request.model or self._model
        if model is None:
            message = f"{request.metric_id}: wanted the name of a model, found none; name it, or set {MODEL_VARIABLE}"
            raise ModelClientMissingError(message)
        taken = sorted(set(request.parameters) & set(_OURS))
        if taken:
            message = f"{request.metric_id}: parameter {taken[0]} is set by the client itself; leave it out"
            raise UsageError(message)
        return parse_answer(self._post(model, request), self._server, model)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        """Use the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
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
            raise self._failure(error, model) from error
        return bytes(answer.http_response.content)

    def _failure(self, error: openai.OpenAIError, model: str) -> CompletionError:
        """Say in our words what the library says in its own."""
        library, server = self._library, self._server
        if isinstance(error, library.APITimeoutError):
            return CompletionTimeoutError(
                f"{server}: wanted an answer of {model} within {self._timeout:g} s, found none; give it more time, or "
                "ask for less"
            )
        if isinstance(error, library.APIConnectionError):
            return CompletionUnreachableError(
                f"{server}: wanted the server of {model}, could not reach it, or it went away; start it, or correct "
                f"{URL_VARIABLE}"
            )
        if not isinstance(error, library.APIStatusError):
            return CompletionError(f"{server}: {model} gave no answer ({type(error).__name__}); ask for something else")
        status, reason = error.status_code, self._reason(error)
        if isinstance(error, library.RateLimitError):
            return CompletionLimitedError(
                f"{server}: {model} was refused with status {status}: {reason}; ask later, or less often"
            )
        if status >= _SERVER_FAULT:
            return CompletionServerError(f"{server}: {model} failed with status {status}: {reason}; ask later")
        return CompletionRefusedError(
            f"{server}: {model} was refused with status {status}: {reason}; correct the request"
        )

    def _reason(self, error: openai.APIStatusError) -> str:
        """Return what the server said, on one line, without the key."""
        body = error.body
        said = body.get("message") if isinstance(body, dict) else body
        text = printable(" ".join(str(said or "no reason given").split())).replace(self._key, "…")
        return _MASKED_KEY.sub("…", text)[:_LONGEST].rstrip(".;")


def _library() -> ModuleType:
    try:
        import openai  # noqa: PLC0415 - an extra, and a second to load
    except ImportError as error:
        message = "asking a model wants the library of the extra \"llm\", found none; pip install 'eikon-engine[llm]'"
        raise ModelClientMissingError(message) from error
    return openai


def demand_address(option: str, base_url: str | None) -> None:
    """Make sure that an option that was given names a server, before anything is done with it.

    Raises:
        UsageError: it is no address of HTTP.
    """
    if base_url is not None:
        _shown(base_url, option)


def _shown(base_url: str, told_by: str = URL_VARIABLE) -> str:
    """Return an address as messages show it: without a password, and without a query."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in {"http", "https"} or not host:
        found = repr(base_url) if re.fullmatch(r"[\w.:/-]*", base_url) else "another"  # may hold a password
        message = f"{told_by}: wanted an address that begins with http:// or https://, found {found}; correct it"
        raise UsageError(message)
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}{f':{port}' if port is not None else ''}{parts.path}"
