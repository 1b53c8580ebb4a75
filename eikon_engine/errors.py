"""Every error Eikon raises on purpose, drawn as a tree.

.. code-block:: text

    EikonError
    ├── UsageError                         2   usage
    │   ├── OutputError                    2   output-not-writable
    │   ├── ToolArgumentsError             2   tool-arguments
    │   ├── SessionAmbiguousError          2   session-ambiguous
    │   ├── PlaintextSecretError           2   secret-given
    │   ├── SessionBusyError               2   session-busy
    │   ├── BreakpointError                2   breakpoint
    │   ├── BranchError                    2   branch
    │   ├── PlanChangedError               2   plan-changed
    │   ├── DirtyTreeError                 2   dirty-tree
    │   └── CommandUnusableError           2   command-unusable
    ├── TraceError                        65   trace
    │   ├── TraceMissingError             65   trace-missing
    │   ├── TraceSyntaxError              65   trace-syntax
    │   ├── TraceFieldError               65   trace-field
    │   ├── TraceVersionError             65   trace-version
    │   ├── BundlePathError               65   bundle-path
    │   ├── AttachmentMissingError        65   attachment-missing
    │   └── AttachmentCorruptError        65   attachment-corrupt
    ├── EventsError                       65   events
    │   └── EventsVersionError            65   events-version
    ├── YamlError                         65   yaml
    │   └── GateDefinitionError           65   gates
    ├── ForeignFormatError                65   foreign-format
    │   └── ForeignStepError              65   foreign-step
    ├── ResponseFolderError               65   responses
    │   ├── ResponseCorruptError          65   response-corrupt
    │   └── ResponsesIncompleteError      65   responses-incomplete
    ├── FixtureFolderError                65   fixture
    │   ├── FixtureCorruptError           65   fixture-corrupt
    │   ├── FixturesMixedError            65   fixtures-mixed
    │   └── FixturesIncompleteError       65   fixtures-incomplete
    ├── SessionError                      65   session
    │   └── CheckpointError               65   checkpoint
    ├── SessionEndedError                 69   session-ended
    ├── BrowserError                      69   browser
    │   ├── BrowserMissingError           69   browser-missing
    │   └── BrowserDiedError              69   browser-died
    ├── RequirementError                  78   requirement
    │   ├── UnknownSkillError             78   unknown-skill
    │   ├── SkillBrokenError              78   skill-broken
    │   ├── SecretMissingError            78   secret-missing
    │   ├── VariableMissingError          78   variable-missing
    │   ├── RecordedNetworkMissingError   78   network-part-missing
    │   ├── ModelClientMissingError       78   model-client-missing
    │   ├── NoReplayDataError             78   no-replay-data
    │   ├── UnknownToolError              78   unknown-tool
    │   ├── ToolNotPermittedError         78   tool-not-allowed
    │   ├── FixtureMissingError           78   fixture-missing
    │   ├── SessionMissingError           78   session-missing
    │   ├── CheckpointMissingError        78   checkpoint-missing
    │   ├── AiderMissingError             78   aider-missing
    │   ├── GitMissingError               78   git-missing
    │   └── UnknownTaskError              78   unknown-task
    ├── SkillError                         1   skill-failed
    ├── ScenarioError                      1   scenario
    ├── GateExceededError                  1   gate-failed
    ├── ToolError                          1   tool-failed
    ├── ResultNotStorableError             1   result-not-storable
    ├── CompletionError                    1   completion-failed
    │   ├── CompletionTimeoutError         1   completion-timeout
    │   ├── CompletionUnreachableError    69   completion-unreachable
    │   ├── CompletionRefusedError         1   completion-refused
    │   ├── CompletionLimitedError         1   completion-limited
    │   ├── CompletionServerError          1   completion-server
    │   └── CompletionMalformedError       1   completion-malformed
    ├── ActionError                        1   (one code each, see its subclasses)
    │   ├── TargetMissingError             1   target-missing
    │   ├── TargetAmbiguousError           1   target-ambiguous
    │   ├── TargetChangedError             1   target-changed
    │   ├── TargetNotActionableError       1   target-not-actionable
    │   ├── OptionMissingError             1   option-missing
    │   ├── NavigationError                1   navigation-failed
    │   ├── WaitTimeoutError               1   wait-timeout
    │   ├── DialogMissingError             1   dialog-missing
    │   ├── DownloadMissingError           1   download-missing
    │   ├── PageMissingError               1   page-missing
    │   ├── AssertionFailedError           1   assertion-failed
    │   └── ActionRejectedError            1   action-rejected
    ├── ReplayError                        1   replay
    │   ├── ReplayDivergenceError          1   replay-diverged
    │   ├── ToolCallsDivergedError         1   tool-calls-diverged
    │   ├── RewindDivergedError            1   rewind-not-faithful
    │   └── ScenarioDivergedError          1   scenario-diverged
    ├── FixError                           1   fix
    │   ├── FixTaskFailedError             1   step-failed
    │   ├── NoFixError                     1   no-fix
    │   ├── ProposalMalformedError         1   proposal-malformed
    │   ├── PatchRejectedError             1   patch-rejected
    │   ├── ApplierFailedError             1   applier-failed
    │   ├── FixRefusedError                1   fix-refused
    │   └── WorkingTreeChangedError        1   tree-changed
    ├── InterruptedRunError              130   interrupted
    └── InternalError                     70   internal

The number is the exit status of the command line, the word the stable code of the error. ``docs/errors.md`` has a
section for each code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path


class EikonError(Exception):
    """Base class of everything Eikon raises on purpose."""

    code: ClassVar[str] = "eikon"
    exit_status: ClassVar[int] = 70

    def __init__(self, message: str) -> None:
        """Store the message: one line with what was expected, what was found and what to do."""
        super().__init__(message)
        self.message = message


class UsageError(EikonError):
    """An option or argument is invalid."""

    code = "usage"
    exit_status = 2


class OutputError(UsageError):
    """An output file or folder cannot be written."""

    code = "output-not-writable"


class ToolArgumentsError(UsageError):
    """The tool does not accept the arguments."""

    code = "tool-arguments"


class InterruptedRunError(EikonError):
    """The user or a signal stopped the run."""

    code = "interrupted"
    exit_status = 130
    signal: ClassVar[str | None] = None
    """Name of the signal this process received; `asyncio.run` does not pass it on."""

    @classmethod
    def stop_cause(cls, exception: BaseException) -> str:
        """Return what stopped a run: the signal named by a `KeyboardInterrupt` or received, else "the user"."""
        named = isinstance(exception, KeyboardInterrupt) and exception.args
        return str(exception.args[0]) if named else cls.signal or "the user"


class InternalError(EikonError):
    """A bug in Eikon."""

    code = "internal"
    exit_status = 70


class ActionError(EikonError):
    """The action could not be performed as requested; `code` is recorded in the trace."""

    code = "action-failed"
    exit_status = 1


class TargetMissingError(ActionError):
    """The selector matched no element before the deadline."""

    code = "target-missing"


class TargetAmbiguousError(ActionError):
    """The selector matched more than one element."""

    code = "target-ambiguous"


class TargetChangedError(ActionError):
    """The matched element is not the recorded one."""

    code = "target-changed"


class TargetNotActionableError(ActionError):
    """The element is hidden, disabled, read-only, covered or moving."""

    code = "target-not-actionable"


class OptionMissingError(ActionError):
    """The select box has no such option."""

    code = "option-missing"


class NavigationError(ActionError):
    """The navigation loaded no document."""

    code = "navigation-failed"


class WaitTimeoutError(ActionError):
    """The condition did not become true before the deadline."""

    code = "wait-timeout"


class DialogMissingError(ActionError):
    """No dialog opened for a recorded dialog answer."""

    code = "dialog-missing"


class DownloadMissingError(ActionError):
    """No download started during a download action."""

    code = "download-missing"


class PageMissingError(ActionError):
    """No page is open at the given ordinal."""

    code = "page-missing"


class AssertionFailedError(ActionError):
    """An assertion of the mission failed."""

    code = "assertion-failed"


class ActionRejectedError(ActionError):
    """The browser rejected the action for another reason."""

    code = "action-rejected"


class ReplayError(EikonError):
    """Base of everything that ends a replay without a faithful verdict."""

    code = "replay"
    exit_status = 1


class ReplayDivergenceError(ReplayError):
    """The first divergence of a replay, raised by `ReplayEngine.replay` once all files are written."""

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
        """Store where the replay diverged and the path of its summary."""
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
    """A replay skipped recorded tool calls, or made them in a different order."""

    code = "tool-calls-diverged"


class ScenarioDivergedError(ReplayError):
    """A step of a scenario differs from the recorded one."""

    code = "scenario-diverged"


class BrowserError(EikonError):
    """The browser cannot be used."""

    code = "browser"
    exit_status = 69


class BrowserMissingError(BrowserError):
    """No browser was found."""

    code = "browser-missing"


class BrowserDiedError(BrowserError):
    """The browser exited in the middle of a run."""

    code = "browser-died"


class RequirementError(EikonError):
    """Something that the trace requires is missing."""

    code = "requirement"
    exit_status = 78


class UnknownSkillError(RequirementError):
    """The skill is not registered."""

    code = "unknown-skill"


class SkillBrokenError(RequirementError):
    """A skill of an installed distribution cannot be used."""

    code = "skill-broken"


class SecretMissingError(RequirementError):
    """A secret that the trace refers to was not provided."""

    code = "secret-missing"


class VariableMissingError(RequirementError):
    """A variable of the trace has no value."""

    code = "variable-missing"


class RecordedNetworkMissingError(RequirementError):
    """The bundle has no data for the requested kind of replay."""

    code = "network-part-missing"


class ModelClientMissingError(RequirementError):
    """No model can be called: its library or settings are missing."""

    code = "model-client-missing"


class NoReplayDataError(RequirementError):
    """No recorded response matches the prompt; the model is not called instead."""

    code = "no-replay-data"

    def __init__(self, message: str, difference: str = "") -> None:
        """Store a unified diff to the nearest recorded prompt, shown below the message."""
        super().__init__(message)
        self.difference = difference
        if difference:
            self.add_note(difference)


class UnknownToolError(RequirementError):
    """The tool is not registered."""

    code = "unknown-tool"


class ToolNotPermittedError(RequirementError):
    """The tool exists, but this run may not call it."""

    code = "tool-not-allowed"


class FixtureMissingError(RequirementError):
    """The tool call was not recorded; the tool is not executed instead."""

    code = "fixture-missing"


class SessionError(EikonError):
    """The files of a debug session cannot be read."""

    code = "session"
    exit_status = 65


class CheckpointError(SessionError):
    """The checkpoint belongs to another trace, or its file was edited."""

    code = "checkpoint"


class SessionMissingError(RequirementError):
    """The debug session does not exist."""

    code = "session-missing"


class CheckpointMissingError(RequirementError):
    """The debug session has no such checkpoint."""

    code = "checkpoint-missing"


class SessionEndedError(EikonError):
    """The process of a debug session has ended or does not respond."""

    code = "session-ended"
    exit_status = 69


class SessionAmbiguousError(UsageError):
    """Several debug sessions are running and none was named."""

    code = "session-ambiguous"


class SessionBusyError(UsageError):
    """The command must wait until the session is paused."""

    code = "session-busy"


class PlaintextSecretError(UsageError):
    """The command contains a secret in clear text, which would be written to a file."""

    code = "secret-given"


class BreakpointError(UsageError):
    """The breakpoint is invalid or does not exist."""

    code = "breakpoint"


class BranchError(UsageError):
    """The branch cannot be created, changed or left, or does not exist."""

    code = "branch"


class PlanChangedError(UsageError):
    """The run cannot be resumed because its mission has changed."""

    code = "plan-changed"


class RewindDivergedError(ReplayError):
    """Re-running the history of a session led to a different state."""

    code = "rewind-not-faithful"


class FixError(EikonError):
    """Base of everything that stops the debug loop from producing a fix."""

    code = "fix"
    exit_status = 1


class FixTaskFailedError(FixError):
    """A task of the debug loop failed; `cause` is the error it raised."""

    code = "step-failed"

    def __init__(self, step: str, cause: EikonError) -> None:
        """Store the name of the task and the error it raised."""
        super().__init__(f"{step}: {cause.message}")
        self.step = step
        self.cause = cause


class NoFixError(FixError):
    """The model reports that it knows no fix."""

    code = "no-fix"


class ProposalMalformedError(FixError):
    """The model's answer contains no readable fix."""

    code = "proposal-malformed"


class PatchRejectedError(FixError):
    """The fix does not apply to the files, or touches files it must not change."""

    code = "patch-rejected"


class ApplierFailedError(FixError):
    """The program that applies fixes failed."""

    code = "applier-failed"


class FixRefusedError(FixError):
    """The failure must not be fixed by changing the recording."""

    code = "fix-refused"


class WorkingTreeChangedError(FixError):
    """Files of the working tree changed while the loop worked on a copy of them."""

    code = "tree-changed"


class DirtyTreeError(UsageError):
    """The working tree has uncommitted changes."""

    code = "dirty-tree"


class CommandUnusableError(UsageError):
    """The test command cannot be run, or does not terminate."""

    code = "command-unusable"


class AiderMissingError(RequirementError):
    """aider is not installed."""

    code = "aider-missing"


class GitMissingError(RequirementError):
    """git is not installed."""

    code = "git-missing"


class UnknownTaskError(RequirementError):
    """The task is not registered."""

    code = "unknown-task"


class TraceError(EikonError):
    """The bundle cannot be read."""

    code = "trace"
    exit_status = 65


class TraceMissingError(TraceError):
    """The path holds no trace."""

    code = "trace-missing"


class TraceSyntaxError(TraceError):
    """The text is not JSON, or is truncated."""

    code = "trace-syntax"


class TraceFieldError(TraceError):
    """A field is missing, unknown or of the wrong type; the message names its path."""

    code = "trace-field"


class TraceVersionError(TraceError):
    """The trace version is not supported."""

    code = "trace-version"


class BundlePathError(TraceError):
    """A path points outside its bundle."""

    code = "bundle-path"


class AttachmentMissingError(TraceError):
    """A file that the trace refers to is missing from the bundle."""

    code = "attachment-missing"


class AttachmentCorruptError(TraceError):
    """The content of a file does not match the digest in its name."""

    code = "attachment-corrupt"


class EventsError(EikonError):
    """An `events.jsonl` cannot be read."""

    code = "events"
    exit_status = 65


class EventsVersionError(EventsError):
    """The version of the events is not supported."""

    code = "events-version"


class YamlError(EikonError):
    """A YAML file cannot be read."""

    code = "yaml"
    exit_status = 65


class GateDefinitionError(YamlError):
    """A gate is unknown, or its limit is invalid."""

    code = "gates"


class ForeignFormatError(EikonError):
    """A recording of another tool cannot be read."""

    code = "foreign-format"
    exit_status = 65


class ForeignStepError(ForeignFormatError):
    """Steps of another tool's recording cannot be converted."""

    code = "foreign-step"


class ResponseFolderError(EikonError):
    """A folder of recorded model responses cannot be used."""

    code = "responses"
    exit_status = 65


class ResponseCorruptError(ResponseFolderError):
    """A file of a recorded model response is corrupt; the message names its path."""

    code = "response-corrupt"


class ResponsesIncompleteError(ResponseFolderError):
    """The capture of model responses did not run to its end."""

    code = "responses-incomplete"


class FixtureFolderError(EikonError):
    """A folder of recorded tool calls cannot be used."""

    code = "fixture"
    exit_status = 65


class FixtureCorruptError(FixtureFolderError):
    """A recorded tool call is damaged or was edited; the message names its path."""

    code = "fixture-corrupt"


class FixturesMixedError(FixtureFolderError):
    """The folder holds tool calls of more than one recording."""

    code = "fixtures-mixed"


class FixturesIncompleteError(FixtureFolderError):
    """The run that recorded the tool calls did not run to its end."""

    code = "fixtures-incomplete"


class ScenarioError(EikonError):
    """A scenario step cannot run with the results of the steps before it."""

    code = "scenario"
    exit_status = 1


class SkillError(EikonError):
    """The skill could not process the document."""

    code = "skill-failed"
    exit_status = 1


class GateExceededError(EikonError):
    """The run exceeded a gate."""

    code = "gate-failed"
    exit_status = 1


class ToolError(EikonError):
    """The failure of a tool; recording and replay raise the same one."""

    code = "tool-failed"
    exit_status = 1

    def __init__(self, tool: str, error_type: str, error_message: str, error_code: str | None = None) -> None:
        """Store the name of the tool, and the type, message and code of the error it raised."""
        detail = f"{error_type}: {error_message}" if error_message else error_type
        super().__init__(f"tool {tool} failed: {detail}")
        self.tool = tool
        self.error_type = error_type
        self.error_message = error_message
        self.error_code = error_code


class ResultNotStorableError(EikonError):
    """The result of a tool cannot be stored in a fixture."""

    code = "result-not-storable"
    exit_status = 1


class CompletionError(EikonError):
    """The model returned no answer; `code` is stored in the recorded response."""

    code = "completion-failed"
    exit_status = 1


class CompletionTimeoutError(CompletionError):
    """The model did not answer before the deadline."""

    code = "completion-timeout"


class CompletionUnreachableError(CompletionError):
    """The model server could not be reached, or closed the connection."""

    code = "completion-unreachable"
    exit_status = 69


class CompletionRefusedError(CompletionError):
    """The server rejected the request: key, model or parameters."""

    code = "completion-refused"


class CompletionLimitedError(CompletionError):
    """The server limits the request rate, or the account has no credit left."""

    code = "completion-limited"


class CompletionServerError(CompletionError):
    """The model server failed."""

    code = "completion-server"


class CompletionMalformedError(CompletionError):
    """The answer is not a chat completion."""

    code = "completion-malformed"


__all__ = [
    "ActionError",
    "ActionRejectedError",
    "AiderMissingError",
    "ApplierFailedError",
    "AssertionFailedError",
    "AttachmentCorruptError",
    "AttachmentMissingError",
    "BranchError",
    "BreakpointError",
    "BrowserDiedError",
    "BrowserError",
    "BrowserMissingError",
    "BundlePathError",
    "CheckpointError",
    "CheckpointMissingError",
    "CommandUnusableError",
    "CompletionError",
    "CompletionLimitedError",
    "CompletionMalformedError",
    "CompletionRefusedError",
    "CompletionServerError",
    "CompletionTimeoutError",
    "CompletionUnreachableError",
    "DialogMissingError",
    "DirtyTreeError",
    "DownloadMissingError",
    "EikonError",
    "EventsError",
    "EventsVersionError",
    "FixError",
    "FixRefusedError",
    "FixTaskFailedError",
    "FixtureCorruptError",
    "FixtureFolderError",
    "FixtureMissingError",
    "FixturesIncompleteError",
    "FixturesMixedError",
    "ForeignFormatError",
    "ForeignStepError",
    "GateDefinitionError",
    "GateExceededError",
    "GitMissingError",
    "InternalError",
    "InterruptedRunError",
    "ModelClientMissingError",
    "NavigationError",
    "NoFixError",
    "NoReplayDataError",
    "OptionMissingError",
    "OutputError",
    "PageMissingError",
    "PatchRejectedError",
    "PlaintextSecretError",
    "PlanChangedError",
    "ProposalMalformedError",
    "RecordedNetworkMissingError",
    "ReplayDivergenceError",
    "ReplayError",
    "RequirementError",
    "ResponseCorruptError",
    "ResponseFolderError",
    "ResponsesIncompleteError",
    "ResultNotStorableError",
    "RewindDivergedError",
    "ScenarioDivergedError",
    "ScenarioError",
    "SecretMissingError",
    "SessionAmbiguousError",
    "SessionBusyError",
    "SessionEndedError",
    "SessionError",
    "SessionMissingError",
    "SkillBrokenError",
    "SkillError",
    "TargetAmbiguousError",
    "TargetChangedError",
    "TargetMissingError",
    "TargetNotActionableError",
    "ToolArgumentsError",
    "ToolCallsDivergedError",
    "ToolError",
    "ToolNotPermittedError",
    "TraceError",
    "TraceFieldError",
    "TraceMissingError",
    "TraceSyntaxError",
    "TraceVersionError",
    "UnknownSkillError",
    "UnknownTaskError",
    "UnknownToolError",
    "UsageError",
    "VariableMissingError",
    "WaitTimeoutError",
    "WorkingTreeChangedError",
    "YamlError",
]
