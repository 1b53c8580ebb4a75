"""`debug:generate_fix`: ask a model for a fix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ProposalMalformedError
from eikon_engine.fix.answers.read import parse_answer
from eikon_engine.fix.known_secrets import EnvironmentSecrets
from eikon_engine.fix.prompting import fix_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.completions.client import CompletionClient
    from eikon_engine.fix.proposal import Proposal
    from eikon_engine.fix.step_values import FixRequest

_TRUNCATED: Final = frozenset({"length", "content_filter"})
"""Finish reasons of an incomplete answer."""


def generate_fix(client: CompletionClient, question: FixRequest, environ: Mapping[str, str] | None = None) -> Proposal:
    """Ask a model once for a fix and parse its answer.

    Raises:
        CompletionError: the model did not answer.
        NoReplayDataError: responses are replayed and none was recorded for this prompt.
        ProposalMalformedError: the answer is truncated, or contains neither a fix nor a refusal.
    """
    secrets = EnvironmentSecrets(os.environ if environ is None else environ, question.command)
    completion = client.complete(fix_request(question, secrets))
    if completion.finish_reason in _TRUNCATED:
        message = (
            f"model response: expected a complete answer, got a truncated one ({completion.finish_reason}). "
            "Raise the token limit, or use another model."
        )
        raise ProposalMalformedError(message)
    return parse_answer(completion.text, needs_edits=question.needs_edits)
