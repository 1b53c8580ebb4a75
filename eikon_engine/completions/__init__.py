"""Answers of language models: asked for, captured, and replayed without asking."""

from eikon_engine.completions.client import CompletionClient
from eikon_engine.completions.completion import Completion, CompletionRequest, Message, TokenUsage

__all__ = ["Completion", "CompletionClient", "CompletionRequest", "Message", "TokenUsage"]
