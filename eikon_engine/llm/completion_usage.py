"""Convert recorded responses to completions of a trace; both contain the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.execution import CompletionUsage, Failed, Succeeded

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.llm.model_response import ModelResponse


def usage_from_response(response: ModelResponse, usage_id: str, sequence: int) -> CompletionUsage:
    """Convert a recorded response to a completion at a step of an attempt."""
    error = response.error
    prompt: list[JsonValue] = [{"role": each.role, "content": each.content} for each in response.prompt]
    return CompletionUsage(
        id=usage_id,
        sequence=sequence,
        model=response.model,
        prompt=prompt,
        response=response.response,
        result=Succeeded() if error is None else Failed(code=error.code, message=error.message),
        metric_id=response.metric_id,
        sample_index=response.sample_index,
        file_path=response.file_path,
        parameters=response.parameters,
        prompt_digest=response.prompt_digest,
        answered_by=response.answered_by,
        usage=response.usage,
        finish_reason=response.finish_reason,
        duration_seconds=response.duration_seconds,
    )
