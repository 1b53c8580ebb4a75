"""Completions of language models: request, capture and replay.

Names are imported on first use, so that commands with the options of this package show their help quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.llm.capture import CapturingClient
    from eikon_engine.llm.completion import Completion, CompletionClient, CompletionRequest, Message, prompt_digest
    from eikon_engine.llm.debug_dir import DebugDir, DebugDirOptions, open_debug_dir
    from eikon_engine.llm.echo_client import EchoClient
    from eikon_engine.llm.model_response import ModelResponse, ServedResponse
    from eikon_engine.llm.openai_client import OpenAIClient
    from eikon_engine.llm.replay import ReplayClient
    from eikon_engine.trace.execution import TokenUsage

__all__ = [
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
    "ServedResponse",
    "TokenUsage",
    "open_debug_dir",
    "prompt_digest",
]

_MODULES = {
    "ServedResponse": "llm.model_response",
    "CapturingClient": "llm.capture",
    "Completion": "llm.completion",
    "CompletionClient": "llm.completion",
    "CompletionRequest": "llm.completion",
    "DebugDir": "llm.debug_dir",
    "DebugDirOptions": "llm.debug_dir",
    "EchoClient": "llm.echo_client",
    "Message": "llm.completion",
    "ModelResponse": "llm.model_response",
    "OpenAIClient": "llm.openai_client",
    "ReplayClient": "llm.replay",
    "TokenUsage": "trace.execution",
    "open_debug_dir": "llm.debug_dir",
    "prompt_digest": "llm.completion",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"eikon_engine.{_MODULES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
