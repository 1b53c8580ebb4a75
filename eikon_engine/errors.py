"""Every error Eikon raises on purpose, drawn as a tree.

.. code-block:: text

    EikonError
    ├── UsageError                        2   usage
    │   ├── OutputError                   2   output-not-writable
    │   └── ToolArgumentsError            2   tool-arguments
    ├── TraceError                       65   trace
    │   ├── TraceMissingError            65   trace-missing
    │   ├── TraceSyntaxError             65   trace-syntax
    │   ├── TraceFieldError              65   trace-field
    │   ├── TraceVersionError            65   trace-version
    │   ├── BundlePathError              65   bundle-path
    │   ├── AttachmentMissingError       65   attachment-missing
    │   └── AttachmentCorruptError       65   attachment-corrupt
    ├── EventsError                      65   events
    │   └── EventsVersionError           65   events-version
    ├── YamlError                        65   yaml
    │   └── GatesError                   65   gates
    ├── ForeignFormatError               65   foreign-format
    │   └── ForeignStepError             65   foreign-step
    ├── ResponsesError                   65   responses
    │   ├── ResponseCorruptError         65   response-corrupt
    │   └── ResponsesIncompleteError     65   responses-incomplete
    ├── FixtureError                     65   fixture
    │   ├── FixtureCorruptError          65   fixture-corrupt
    │   ├── FixturesMixedError           65   fixtures-mixed
    │   └── FixturesIncompleteError      65   fixtures-incomplete
    ├── BrowserError                     69   browser
    │   ├── BrowserMissingError          69   browser-missing
    │   └── BrowserDiedError             69   browser-died
    ├── RequirementError                 78   requirement
    │   ├── UnknownSkillError            78   unknown-skill
    │   ├── SkillBrokenError             78   skill-broken
    │   ├── SecretMissingError           78   secret-missing
    │   ├── VariableMissingError         78   variable-missing
    │   ├── NetworkPartMissingError      78   network-part-missing
    │   ├── ModelClientMissingError      78   model-client-missing
    │   ├── NoReplayDataError            78   no-replay-data
    │   ├── UnknownToolError             78   unknown-tool
    │   ├── ToolNotAllowedError          78   tool-not-allowed
    │   └── FixtureMissingError          78   fixture-missing
    ├── SkillError                        1   skill-failed
    ├── ScenarioError                     1   scenario
    ├── GateFailedError                   1   gate-failed
    ├── ToolError                         1   tool-failed
    ├── ResultNotStorableError            1   result-not-storable
    ├── CompletionError                   1   completion-failed
    │   ├── CompletionTimeoutError        1   completion-timeout
    │   ├── CompletionUnreachableError   69   completion-unreachable
    │   ├── CompletionRefusedError        1   completion-refused
    │   ├── CompletionLimitedError        1   completion-limited
    │   ├── CompletionServerError         1   completion-server
    │   └── CompletionMalformedError      1   completion-malformed
    ├── ActionError                       1   (one code each, see its subclasses)
    │   ├── TargetMissingError            1   target-missing
    │   ├── TargetAmbiguousError          1   target-ambiguous
    │   ├── TargetChangedError            1   target-changed
    │   ├── TargetNotActionableError      1   target-not-actionable
    │   ├── OptionMissingError            1   option-missing
    │   ├── NavigationError               1   navigation-failed
    │   ├── WaitTimeoutError              1   wait-timeout
    │   ├── DialogMissingError            1   dialog-missing
    │   ├── DownloadMissingError          1   download-missing
    │   ├── PageMissingError              1   page-missing
    │   ├── AssertionFailedError          1   assertion-failed
    │   └── ActionRejectedError           1   action-rejected
    ├── ReplayError                       1   replay
    │   ├── ReplayDivergenceError         1   replay-diverged
    │   ├── ToolCallsDivergedError        1   tool-calls-diverged
    │   └── ScenarioDivergedError         1   scenario-diverged
    ├── InterruptedRunError             130   interrupted
    └── InternalError                    70   internal

The number is the exit status of the command line, the word the stable code of the error. ``docs/errors.md`` has a
section for each code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path


class EikonError(Exception):
    """Stand at the root of everything raised on purpose."""

    code: ClassVar[str] = "eikon"
    exit_status: ClassVar[int] = 70

    def __init__(self, message: str) -> None:
        """Keep one line that says what was wanted, what was found and what to do."""
        super().__init__(message)
        self.message = message


class UsageError(EikonError):
    """Report an option or argument that cannot be used."""

    code = "usage"
    exit_status = 2


class OutputError(UsageError):
    """Report an output folder that cannot be written."""

    code = "output-not-writable"


class ToolArgumentsError(UsageError):
    """Report arguments that a tool does not take."""

    code = "tool-arguments"


class TraceError(EikonError):
    """Report a bundle that cannot be read."""

    code = "trace"
    exit_status = 65


class TraceMissingError(TraceError):
    """Report a path at which no trace lies."""

    code = "trace-missing"


class TraceSyntaxError(TraceError):
    """Report text that is not JSON, or is cut off."""

    code = "trace-syntax"


class TraceFieldError(TraceError):
    """Report a field that is missing, unknown or of the wrong type, by its path."""

    code = "trace-field"


class TraceVersionError(TraceError):
    """Report a trace version this program does not know."""

    code = "trace-version"


class BundlePathError(TraceError):
    """Report a path that leads out of its bundle."""

    code = "bundle-path"


class AttachmentMissingError(TraceError):
    """Report a file that the trace refers to and the bundle lacks."""

    code = "attachment-missing"


class AttachmentCorruptError(TraceError):
    """Report a file whose content does not have the digest in its name."""

    code = "attachment-corrupt"


class EventsError(EikonError):
    """Report an `events.jsonl` that cannot be read."""

    code = "events"
    exit_status = 65


class EventsVersionError(EventsError):
    """Report events of a version this program does not know."""

    code = "events-version"


class YamlError(EikonError):
    """Report a text of ours in YAML that cannot be read."""

    code = "yaml"
    exit_status = 65


class GatesError(YamlError):
    """Report gates that do not exist, or limits that cannot be."""

    code = "gates"


class ForeignFormatError(EikonError):
    """Report a recording of another tool that cannot be read."""

    code = "foreign-format"
    exit_status = 65


class ForeignStepError(ForeignFormatError):
    """Report steps of another tool's recording that cannot be carried over."""

    code = "foreign-step"


class ResponsesError(EikonError):
    """Report a folder of recorded model responses that cannot be used."""

    code = "responses"
    exit_status = 65


class ResponseCorruptError(ResponsesError):
    """Report one file of a recorded model response that cannot be trusted, by its path."""

    code = "response-corrupt"


class ResponsesIncompleteError(ResponsesError):
    """Report recorded model responses of a capture that did not come to its end."""

    code = "responses-incomplete"


class ScenarioError(EikonError):
    """Report a step of a scenario that cannot be done with what the steps before it gave."""

    code = "scenario"
    exit_status = 1


class FixtureError(EikonError):
    """Report a folder of recorded tool calls that cannot be used."""

    code = "fixture"
    exit_status = 65


class FixtureCorruptError(FixtureError):
    """Report one recorded tool call that was damaged, or edited by hand, by its path."""

    code = "fixture-corrupt"


class FixturesMixedError(FixtureError):
    """Report a folder that holds tool calls of more than one recording."""

    code = "fixtures-mixed"


class FixturesIncompleteError(FixtureError):
    """Report recorded tool calls of a run that did not come to its end."""

    code = "fixtures-incomplete"


class BrowserError(EikonError):
    """Report a browser that cannot be used."""

    code = "browser"
    exit_status = 69


class BrowserMissingError(BrowserError):
    """Report that no browser was found."""

    code = "browser-missing"


class BrowserDiedError(BrowserError):
    """Report a browser that went away in the middle of a run."""

    code = "browser-died"


class RequirementError(EikonError):
    """Report something the trace asks for that is not here."""

    code = "requirement"
    exit_status = 78


class UnknownSkillError(RequirementError):
    """Report a skill that no registry knows."""

    code = "unknown-skill"


class SkillBrokenError(RequirementError):
    """Report a skill of an installed distribution that cannot be used."""

    code = "skill-broken"


class SecretMissingError(RequirementError):
    """Report a secret that the trace refers to and nobody gave."""

    code = "secret-missing"


class VariableMissingError(RequirementError):
    """Report a variable of the trace that has no value."""

    code = "variable-missing"


class NetworkPartMissingError(RequirementError):
    """Report a playback asked for by the user that the bundle has no data for."""

    code = "network-part-missing"


class ModelClientMissingError(RequirementError):
    """Report that no model can be asked: its library or its settings are not here."""

    code = "model-client-missing"


class NoReplayDataError(RequirementError):
    """Report a prompt that no recorded response answers; no model is asked in its place."""

    code = "no-replay-data"

    def __init__(self, message: str, difference: str = "") -> None:
        """Keep the nearest recorded prompt as a unified diff beside the line; it is shown below it."""
        super().__init__(message)
        self.difference = difference
        if difference:
            self.add_note(difference)


class UnknownToolError(RequirementError):
    """Report a tool that no tool box knows."""

    code = "unknown-tool"


class ToolNotAllowedError(RequirementError):
    """Report a tool that is known, and that this run may not call."""

    code = "tool-not-allowed"


class FixtureMissingError(RequirementError):
    """Report a tool call that was not recorded; no tool is executed in its place."""

    code = "fixture-missing"


class SkillError(EikonError):
    """Report a skill that could not do its work on the document it was given."""

    code = "skill-failed"
    exit_status = 1


class GateFailedError(EikonError):
    """Report a run that went beyond a gate."""

    code = "gate-failed"
    exit_status = 1


class ToolError(EikonError):
    """Carry what a tool failed by, the same when it is recorded and when it is replayed."""

    code = "tool-failed"
    exit_status = 1

    def __init__(self, tool: str, error_type: str, error_message: str, error_code: str | None = None) -> None:
        """Keep the name of the tool, and the type, message and code of the error that it raised."""
        told = f"{error_type}: {error_message}" if error_message else error_type
        super().__init__(f"tool {tool} failed: {told}")
        self.tool = tool
        self.error_type = error_type
        self.error_message = error_message
        self.error_code = error_code


class ResultNotStorableError(EikonError):
    """Report a result of a tool that no fixture can hold."""

    code = "result-not-storable"
    exit_status = 1


class CompletionError(EikonError):
    """Report a model that gave no answer; `code` is what a recorded response keeps."""

    code = "completion-failed"
    exit_status = 1


class CompletionTimeoutError(CompletionError):
    """Report a model that did not answer before the deadline."""

    code = "completion-timeout"


class CompletionUnreachableError(CompletionError):
    """Report a server of a model that could not be reached, or went away."""

    code = "completion-unreachable"
    exit_status = 69


class CompletionRefusedError(CompletionError):
    """Report a request that the server did not accept: its key, its model, its parameters."""

    code = "completion-refused"


class CompletionLimitedError(CompletionError):
    """Report a server that wants fewer requests, or has no credit left."""

    code = "completion-limited"


class CompletionServerError(CompletionError):
    """Report a server that failed."""

    code = "completion-server"


class CompletionMalformedError(CompletionError):
    """Report an answer that is not in the form of a chat completion."""

    code = "completion-malformed"


class ActionError(EikonError):
    """Report an action that could not be performed exactly as asked; `code` is what a trace records."""

    code = "action-failed"
    exit_status = 1


class TargetMissingError(ActionError):
    """Report a selector that matched nothing before its deadline."""

    code = "target-missing"


class TargetAmbiguousError(ActionError):
    """Report a selector that matched more than one element."""

    code = "target-ambiguous"


class TargetChangedError(ActionError):
    """Report an element that is not the one that was recorded."""

    code = "target-changed"


class TargetNotActionableError(ActionError):
    """Report an element that is hidden, disabled, read-only, covered or moving."""

    code = "target-not-actionable"


class OptionMissingError(ActionError):
    """Report a select box without the option to choose."""

    code = "option-missing"


class NavigationError(ActionError):
    """Report a navigation that brought no document."""

    code = "navigation-failed"


class WaitTimeoutError(ActionError):
    """Report a condition that did not come true before its deadline."""

    code = "wait-timeout"


class DialogMissingError(ActionError):
    """Report a dialog answer that no dialog asked for."""

    code = "dialog-missing"


class DownloadMissingError(ActionError):
    """Report a download action during which nothing was downloaded."""

    code = "download-missing"


class PageMissingError(ActionError):
    """Report a page ordinal at which no page is open."""

    code = "page-missing"


class AssertionFailedError(ActionError):
    """Report an assertion of the mission that does not hold."""

    code = "assertion-failed"


class ActionRejectedError(ActionError):
    """Report an action that the browser refused for another reason."""

    code = "action-rejected"


class ReplayError(EikonError):
    """Stand above everything that ends a replay without a faithful verdict."""

    code = "replay"
    exit_status = 1


class ReplayDivergenceError(ReplayError):
    """Carry the first divergence of a replay out of `ReplayEngine.replay`."""

    code = "replay-diverged"

    def __init__(  # noqa: PLR0913 - the fields of a finding
        self,
        subgoal_id: str,
        action_sequence: int,
        expected: str,
        observed: str,
        *,
        layer: str = "",
        divergence_code: str = "",
        summary_path: Path | None = None,
    ) -> None:
        """Keep where the run left its recording, and what stands in the summary."""
        super().__init__(
            f"REPLAY_DIVERGENCE {divergence_code or 'unknown'} in subgoal {subgoal_id}, sequence {action_sequence}: "
            f"expected {expected}, observed {observed}"
        )
        self.subgoal_id = subgoal_id
        self.action_sequence = action_sequence
        self.expected = expected
        self.observed = observed
        self.layer = layer
        self.divergence_code = divergence_code
        self.summary_path = summary_path


class ToolCallsDivergedError(ReplayError):
    """Report a replay that did not call all recorded tools, or called them in another order."""

    code = "tool-calls-diverged"


class ScenarioDivergedError(ReplayError):
    """Report a step of a scenario that is another one than was recorded."""

    code = "scenario-diverged"


class InterruptedRunError(EikonError):
    """Report that the user, or a signal, stopped the run."""

    code = "interrupted"
    exit_status = 130

    @staticmethod
    def stopper(stop: BaseException) -> str:
        """Say who stopped a run: the signal that a `KeyboardInterrupt` names, else the user with Ctrl-C."""
        named = isinstance(stop, KeyboardInterrupt) and stop.args
        return str(stop.args[0]) if named else "the user"


class InternalError(EikonError):
    """Report a fault of our own."""

    code = "internal"
    exit_status = 70
