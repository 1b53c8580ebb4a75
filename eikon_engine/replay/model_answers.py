"""What answers the skills of a replay that ask a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.completions import ReplayExecutor, prompt_digest
from eikon_engine.completions.folder import RESPONSES_FOLDER, read_whole_folder
from eikon_engine.errors import NoReplayDataError, SkillError
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from eikon_engine.completions import Completion, CompletionClient, CompletionRequest, ModelResponse
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.bundle import Bundle

_ADVICE: Final = (
    f"the bundle has no such response in {RESPONSES_FOLDER}/, and a replay asks no model unless --debug-dir says so"
)


def bundle_responses(bundle: Bundle, options: ReplayOptions) -> tuple[ModelResponse, ...]:
    """Return what models answered when the bundle was recorded, where skills may ask for it and nothing else answers.

    Raises:
        ResponsesError: the recorded responses cannot be read, or trusted, or are not whole.
        BundlePathError: they lie elsewhere.
    """
    if options.ask is not None or not any(subgoal.skills_used for subgoal in bundle.trace.subgoal_traces):
        return ()
    return read_whole_folder(inside(bundle.root, RESPONSES_FOLDER, RESPONSES_FOLDER))


def client_for(plan: Plan, options: ReplayOptions) -> CompletionClient:
    """Return what the skills of one run ask: what was given, else the responses of the bundle, each of them once."""
    if options.ask is not None:
        return options.ask
    return ReplayExecutor(plan.responses, clean=Redactor(plan.secrets).text, advice=_ADVICE)


class KnownAnswers:
    """Answer a skill that is run to see whether a changed page matters to it; no response is used up.

    A prompt that was never recorded fails with its digest: two pages that give equal prompts fail equally, two that do
    not are told apart.
    """

    def __init__(self, plan: Plan) -> None:
        """Answer as the recording did, from its first response on."""
        self._recorded = ReplayExecutor(plan.responses, clean=Redactor(plan.secrets).text)

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded answer.

        Raises:
            CompletionError: the model failed when it was recorded.
            SkillError: nothing was recorded for the prompt.
        """
        try:
            return self._recorded.complete(request)
        except NoReplayDataError as error:
            message = f"asks {request.metric_id} what was not recorded, {prompt_digest(request)}"
            raise SkillError(message) from error
