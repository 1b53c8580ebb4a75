"""Model responses for the skills of a replay.

What reads and serves them is imported on first use: few missions have skills.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import NoReplayDataError, SkillError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.secrets.redaction import Redactor

if TYPE_CHECKING:
    from eikon_engine.llm import Completion, CompletionClient, CompletionRequest, ModelResponse
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.bundle import Bundle


def recorded_responses(bundle: Bundle, options: ReplayOptions) -> tuple[ModelResponse, ...]:
    """Return the recorded model responses; empty if the mission uses no skills or a client is configured.

    Raises:
        ResponseFolderError: the recorded responses are unreadable, corrupt or incomplete.
        BundlePathError: they lie outside the bundle.
    """
    if options.completion_client is not None or not any(subgoal.skills_used for subgoal in bundle.trace.subgoal_traces):
        return ()
    from eikon_engine.llm.response_folder import RESPONSES_FOLDER, read_complete_folder  # noqa: PLC0415 - see above

    return read_complete_folder(resolve_inside(bundle.root, RESPONSES_FOLDER, RESPONSES_FOLDER))


def completion_client_for(plan: Plan, options: ReplayOptions) -> CompletionClient:
    """Return the model client of one run: the configured one, else the recorded responses, each used once."""
    if options.completion_client is not None:
        return options.completion_client
    from eikon_engine.llm import ReplayClient  # noqa: PLC0415 - see above
    from eikon_engine.llm.response_folder import RESPONSES_FOLDER  # noqa: PLC0415 - see above

    advice = f"the bundle has no such response in {RESPONSES_FOLDER}/. A replay calls no model without --debug-dir"
    return ReplayClient(plan.responses, redact=Redactor(plan.secrets).redact_text, advice=advice)


class ProbeResponses:
    """Serve recorded responses to a skill that is probed with a changed page; no response is used up.

    An unrecorded prompt fails with its digest, so equal prompts fail equally and different ones differ.
    """

    def __init__(self, plan: Plan) -> None:
        """Serve the responses of the plan."""
        from eikon_engine.llm import ReplayClient  # noqa: PLC0415 - see above

        self._recorded = ReplayClient(plan.responses, redact=Redactor(plan.secrets).redact_text)

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded response.

        Raises:
            CompletionError: the model failed in the recording.
            SkillError: the prompt has no recorded response.
        """
        from eikon_engine.llm import prompt_digest  # noqa: PLC0415 - see above

        try:
            return self._recorded.complete(request)
        except NoReplayDataError as error:
            message = f"{request.metric_id} has no recorded response for prompt {prompt_digest(request)}"
            raise SkillError(message) from error
