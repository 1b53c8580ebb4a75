"""Completions of language models: request, capture and replay.

Names are imported on first use, so that commands with the options of this package show their help quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.completions.answered import ServedResponse
    from eikon_engine.completions.capture import CapturingClient
    from eikon_engine.completions.client import CompletionClient
    from eikon_engine.completions.completion import Completion, CompletionRequest, Message
    from eikon_engine.completions.debug_dir import DebugDir, DebugDirOptions, open_debug_dir
    from eikon_engine.completions.digest import prompt_digest
    from eikon_engine.completions.echo import EchoClient
    from eikon_engine.completions.model_response import ModelResponse
    from eikon_engine.completions.openai_client import OpenAIClient
    from eikon_engine.completions.replay import ReplayClient
    from eikon_engine.trace.token_usage import TokenUsage

__all__ = [
    "ServedResponse",
    "CapturingClient",
    "Completion",
    "CompletionClient",
    "CompletionRequest",
    "DebugDir",
    "DebugDirOptions",
    "EchoClient",
    "Message",
    "ModelResponse",
    "OpenAIClient",
    "ReplayClient",
    "TokenUsage",
    "open_debug_dir",
    "prompt_digest",
]

_MODULES = {
    "ServedResponse": "completions.answered",
    "CapturingClient": "completions.capture",
    "Completion": "completions.completion",
    "CompletionClient": "completions.client",
    "CompletionRequest": "completions.completion",
    "DebugDir": "completions.debug_dir",
    "DebugDirOptions": "completions.debug_dir",
    "EchoClient": "completions.echo",
    "Message": "completions.completion",
    "ModelResponse": "completions.model_response",
    "OpenAIClient": "completions.openai_client",
    "ReplayClient": "completions.replay",
    "TokenUsage": "trace.token_usage",
    "open_debug_dir": "completions.debug_dir",
    "prompt_digest": "completions.digest",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"eikon_engine.{_MODULES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
