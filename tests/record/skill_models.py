"""Agents whose skills call a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eikon_engine.llm import OpenAIClient
from eikon_engine.record import AttachOptions
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.execution import SkillUsage
    from tests.sites.model_server import ModelServer

PAGE: Final = "<title>Shop</title><h1>Banana 1.20</h1><button onclick=\"this.textContent = 'Pressed'\">Press</button>"
QUESTION: Final[dict[str, Any]] = {"question": "What costs a banana?", "model": "gpt-test"}


def asking(model: ModelServer, **fields: Any) -> AttachOptions:  # noqa: ANN401 - fields of the options
    """Return options that let skills call the model of a server."""
    return AttachOptions(
        **{"completion_client": OpenAIClient(api_key="none", base_url=model.url), "certify": None, **fields}
    )


def skills_of(folder: Path) -> list[SkillUsage]:
    """Return the skill runs, in order."""
    return [each for subgoal in open_bundle(folder).trace.subgoal_traces for each in subgoal.skills_used]
