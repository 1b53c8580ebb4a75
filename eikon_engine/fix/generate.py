"""`debug:generate_fix`: a failure and its code in, a proposal out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ProposalMalformedError
from eikon_engine.fix.answers.read import read_answer
from eikon_engine.fix.known_secrets import KnownSecrets
from eikon_engine.fix.prompting import fix_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.completions.client import CompletionClient
    from eikon_engine.fix.proposal import Proposal
    from eikon_engine.fix.step_values import FixQuestion

_CUT_OFF: Final = frozenset({"length", "content_filter"})
"""Why an answer ends where it is not at its end."""


def generate_fix(client: CompletionClient, question: FixQuestion, environ: Mapping[str, str] | None = None) -> Proposal:
    """Ask a model once for a fix, and read its answer.

    Raises:
        CompletionError: the model gave no answer.
        NoReplayDataError: answers come from a recording, which has none for this question.
        ProposalMalformedError: the answer is cut off, or holds neither a fix nor that there is none.
    """
    secrets = KnownSecrets(os.environ if environ is None else environ, question.command)
    completion = client.complete(fix_request(question, secrets))
    if completion.finish_reason in _CUT_OFF:
        message = (
            f"answer of the model: wanted a whole one, found that it ends early ({completion.finish_reason}); "
            "let the model answer at greater length, or ask another one"
        )
        raise ProposalMalformedError(message)
    return read_answer(completion.text, needs_edits=question.needs_edits)
