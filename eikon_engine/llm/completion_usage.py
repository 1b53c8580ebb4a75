"""Convert recorded responses to completions of a trace and back; both contain the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.llm.completion import Message
from eikon_engine.llm.model_response import FORMAT_VERSION, ModelFailure, ModelResponse
from eikon_engine.trace.execution import CompletionUsage, Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue


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


def response_from_usage(usage: CompletionUsage, recording: str) -> ModelResponse | None:
    """Convert a completion of a trace back to a recorded response; None if data is missing."""
    known = (usage.metric_id, usage.sample_index, usage.prompt_digest, usage.duration_seconds)
    match known:
        case (str(metric_id), int(sample_index), str(digest), float(seconds)) if isinstance(usage.prompt, list):
            return ModelResponse(
                format_version=FORMAT_VERSION,
                recording=recording,
                metric_id=metric_id,
                sample_index=sample_index,
                file_path=usage.file_path,
                model=usage.model,
                parameters=usage.parameters,
                prompt=_parse_messages(usage.prompt),
                prompt_digest=digest,
                response=usage.response if isinstance(usage.response, str) else None,
                error=_parse_failure(usage),
                answered_by=usage.answered_by,
                usage=usage.usage,
                finish_reason=usage.finish_reason,
                duration_seconds=seconds,
            )
        case _:
            return None


def _parse_messages(prompt: Iterable[JsonValue]) -> tuple[Message, ...]:
    return tuple(Message.model_validate(each) for each in prompt)


def _parse_failure(usage: CompletionUsage) -> ModelFailure | None:
    failed = usage.result
    return ModelFailure(code=failed.code, message=failed.message) if isinstance(failed, Failed) else None
