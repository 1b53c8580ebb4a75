"""Answers of language models: asked for, captured, and replayed without asking."""

from eikon_engine.completions.capture import Answered, CapturingClient
from eikon_engine.completions.client import CompletionClient
from eikon_engine.completions.completion import Completion, CompletionRequest, Message
from eikon_engine.completions.debug_dir import DebugDir, open_debug_dir
from eikon_engine.completions.digest import prompt_digest
from eikon_engine.completions.echo import EchoClient
from eikon_engine.completions.openai_client import OpenAIClient
from eikon_engine.completions.recorded import RecordedResponse
from eikon_engine.completions.replay import ReplayExecutor
from eikon_engine.trace.token_usage import TokenUsage

__all__ = [
    "Answered",
    "CapturingClient",
    "Completion",
    "CompletionClient",
    "CompletionRequest",
    "DebugDir",
    "EchoClient",
    "Message",
    "OpenAIClient",
    "RecordedResponse",
    "ReplayExecutor",
    "TokenUsage",
    "open_debug_dir",
    "prompt_digest",
]
