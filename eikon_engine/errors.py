"""Every error Eikon raises on purpose, drawn as a tree.

.. code-block:: text

    EikonError
    ├── UsageError                         2   usage
    │   ├── OutputError                    2   output-not-writable
    │   ├── ToolArgumentsError             2   tool-arguments
    │   ├── NoMissionsError                5   no-missions
    │   └── PlaintextSecretError           2   secret-given
    ├── TraceError                        65   trace
    │   ├── TraceSyntaxError              65   trace-syntax
    │   ├── TraceFieldError               65   trace-field
    │   ├── BundlePathError               65   bundle-path
    │   └── TooLargeError                 65   too-large
    ├── EventsError                       65   events
    ├── YamlError                         65   yaml
    ├── ForeignFormatError                65   foreign-format
    ├── ResponseFolderError               65   responses
    │   └── ResponseCorruptError          65   response-corrupt
    ├── FixtureFolderError                65   fixture
    ├── SessionError                      65   session
    │   └── CheckpointError               65   checkpoint
    ├── SessionEndedError                 69   session-ended
    ├── HistoryError                      69   history
    ├── BrowserError                      69   browser
    │   ├── BrowserMissingError           69   browser-missing
    │   ├── BrowserDiedError              69   browser-died
    │   │   ├── PageCrashedError          69   page-crashed
    │   │   └── PageUnresponsiveError     69   page-unresponsive
    │   └── PageUnreadableError           69   page-unreadable
    ├── RequirementError                  78   requirement
    │   ├── SkillBrokenError              78   skill-broken
    │   └── NoReplayDataError             78   no-replay-data
    ├── SkillError                         1   skill-failed
    ├── ScenarioError                      1   scenario
    ├── GateExceededError                  1   gate-failed
    ├── ToolError                          1   tool-failed
    ├── ResultNotStorableError             1   result-not-storable
    ├── CompletionError                    1   completion-failed
    │   └── CompletionUnreachableError    69   completion-unreachable
    ├── ActionError                        1   action-failed
    │   ├── NavigationError                1   navigation-failed
    │   ├── PageMissingError               1   page-missing
    │   └── ActionRejectedError            1   action-rejected
    ├── ReplayError                        1   replay
    │   └── ReplayDivergenceError          1   replay-diverged
    ├── FixError                           1   fix
    │   ├── FixTaskFailedError             1   step-failed
    │   ├── ApplierFailedError             1   applier-failed
    │   └── WorkingTreeChangedError        1   tree-changed
    ├── InterruptedRunError              130   interrupted
    └── InternalError                     70   internal

The number is the exit status of the command line, the word the stable code of the error. Some classes have more
specific `codes`; ``docs/errors.md`` explains each code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class EikonError(Exception):
    """Base class of everything Eikon raises on purpose."""

    code: str = "eikon"
    """What went wrong, in a stable word; of the class, unless the error has one of `codes`."""
    codes: ClassVar[Mapping[str, str]] = {}
    """More specific codes that errors of this class may have, with their meanings."""
    exit_status: ClassVar[int] = 70

    def __init__(self, message: str, *, code: str | None = None) -> None:
        """Store the message: one line with what was expected, what was found and what to do.

        Raises:
            ValueError: the code is not one of this class.
        """
        super().__init__(message)
        self.message = message
        if code is not None:
            if code not in self.codes:
                unknown = f"{type(self).__name__} has no code {code!r}"
                raise ValueError(unknown)
            self.code = code


class UsageError(EikonError):
    """An option or argument is invalid."""

    code = "usage"
    exit_status = 2
    codes: ClassVar[Mapping[str, str]] = {
        "session-ambiguous": "Several debug sessions are running and none was named.",
        "session-busy": "The command must wait until the session is paused.",
        "breakpoint": "The breakpoint is invalid or does not exist.",
        "branch": "The branch cannot be created, changed or left, or does not exist.",
        "plan-changed": "The run cannot be resumed because its mission has changed.",
        "dirty-tree": "The working tree has uncommitted changes.",
        "command-unusable": "The test command cannot be run, or does not terminate.",
    }


class OutputError(UsageError):
    """An output file or folder cannot be written."""

    code = "output-not-writable"


class NoMissionsError(UsageError):
    """No mission was found, or none is selected; the exit status is that of pytest for no tests."""

    code = "no-missions"
    exit_status = 5


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
    codes: ClassVar[Mapping[str, str]] = {
        "target-missing": "The selector matched no element before the deadline.",
        "target-ambiguous": "The selector matched more than one element.",
        "target-changed": "The matched element is not the recorded one.",
        "target-not-actionable": "The element is hidden, disabled, read-only, covered or moving.",
        "option-missing": "The select box has no such option.",
        "wait-timeout": "The condition did not become true before the deadline.",
        "dialog-missing": "No dialog opened for a recorded dialog answer.",
        "download-missing": "No download started during a download action.",
        "assertion-failed": "An assertion of the mission failed.",
    }


LOST_TARGET_CODES: Final = frozenset({"target-missing", "target-ambiguous", "target-changed"})
"""Codes of failures that mean that the target element could not be identified."""


class NavigationError(ActionError):
    """The navigation loaded no document."""

    code = "navigation-failed"


class PageMissingError(ActionError):
    """No page is open at the given ordinal."""

    code = "page-missing"


class ActionRejectedError(ActionError):
    """The browser rejected the action for another reason."""

    code = "action-rejected"


class ReplayError(EikonError):
    """Base of everything that ends a replay without a faithful verdict."""

    code = "replay"
    exit_status = 1
    codes: ClassVar[Mapping[str, str]] = {
        "tool-calls-diverged": "A replay skipped recorded tool calls, or made them in a different order.",
        "scenario-diverged": "A step of a scenario differs from the recorded one.",
        "rewind-not-faithful": "Re-running the history of a session led to a different state.",
    }


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


class PageCrashedError(BrowserDiedError):
    """A page crashed, for example because it ran out of memory."""

    code = "page-crashed"


class PageUnresponsiveError(BrowserDiedError):
    """A page did not answer before the deadline of the action; a script keeps it busy."""

    code = "page-unresponsive"


class PageUnreadableError(BrowserError):
    """A page has replaced what JavaScript or the browser offers, in a way that makes it impossible to observe."""

    code = "page-unreadable"


class RequirementError(EikonError):
    """Something that the trace requires is missing."""

    code = "requirement"
    exit_status = 78
    codes: ClassVar[Mapping[str, str]] = {
        "unknown-skill": "The skill is not registered.",
        "secret-missing": "A secret that the trace refers to was not provided.",
        "secret-not-bound": "A secret would be typed into an origin that it is not bound to.",
        "scheme-not-allowed": "The trace navigates to a URL that is not http or https, which was not allowed.",
        "origin-not-public": "The trace navigates to this machine or a private network, which was not allowed.",
        "variable-missing": "A variable of the trace has no value.",
        "network-part-missing": "The bundle has no data for the requested kind of replay.",
        "model-client-missing": "No model can be called: its library or settings are missing.",
        "unknown-tool": "The tool is not registered.",
        "tool-not-allowed": "The tool exists, but this run may not call it.",
        "fixture-missing": "The tool call was not recorded; the tool is not executed instead.",
        "session-missing": "The debug session does not exist.",
        "checkpoint-missing": "The debug session has no such checkpoint.",
        "aider-missing": "aider is not installed.",
        "git-missing": "git is not installed.",
        "unknown-task": "The task is not registered.",
    }


class SkillBrokenError(RequirementError):
    """A skill of an installed distribution cannot be used."""

    code = "skill-broken"


class NoReplayDataError(RequirementError):
    """No recorded response matches the prompt; the model is not called instead."""

    code = "no-replay-data"

    def __init__(self, message: str, difference: str = "") -> None:
        """Store a unified diff to the nearest recorded prompt, shown below the message."""
        super().__init__(message)
        self.difference = difference
        if difference:
            self.add_note(difference)


class SessionError(EikonError):
    """The files of a debug session cannot be read."""

    code = "session"
    exit_status = 65


class CheckpointError(SessionError):
    """The checkpoint belongs to another trace, or its file was edited."""

    code = "checkpoint"


class SessionEndedError(EikonError):
    """The process of a debug session has ended or does not respond."""

    code = "session-ended"
    exit_status = 69


class HistoryError(EikonError):
    """The database of all runs cannot be used."""

    code = "history"
    exit_status = 69


class PlaintextSecretError(UsageError):
    """The command contains a secret in clear text, which would be written to a file."""

    code = "secret-given"


class FixError(EikonError):
    """Base of everything that stops the debug loop from producing a fix."""

    code = "fix"
    exit_status = 1
    codes: ClassVar[Mapping[str, str]] = {
        "no-fix": "The model reports that it knows no fix.",
        "proposal-malformed": "The model's answer contains no readable fix.",
        "patch-rejected": "The fix does not apply to the files, or touches files it must not change.",
        "fix-refused": "The failure must not be fixed by changing the recording.",
    }


class FixTaskFailedError(FixError):
    """A task of the debug loop failed; `cause` is the error it raised."""

    code = "step-failed"

    def __init__(self, step: str, cause: EikonError) -> None:
        """Store the name of the task and the error it raised."""
        super().__init__(f"{step}: {cause.message}")
        self.step = step
        self.cause = cause


class ApplierFailedError(FixError):
    """The program that applies fixes failed."""

    code = "applier-failed"


class WorkingTreeChangedError(FixError):
    """Files of the working tree changed while the loop worked on a copy of them."""

    code = "tree-changed"


class TraceError(EikonError):
    """The bundle cannot be read."""

    code = "trace"
    exit_status = 65
    codes: ClassVar[Mapping[str, str]] = {
        "trace-missing": "The path holds no trace.",
        "trace-version": "The trace version is not supported.",
        "attachment-missing": "A file that the trace refers to is missing from the bundle.",
        "attachment-corrupt": "The content of a file does not match the digest in its name.",
    }


class TraceSyntaxError(TraceError):
    """The text is not JSON, or is truncated."""

    code = "trace-syntax"


class TraceFieldError(TraceError):
    """A field is missing, unknown or of the wrong type; the message names its path."""

    code = "trace-field"


class BundlePathError(TraceError):
    """A path points outside its bundle."""

    code = "bundle-path"


class TooLargeError(TraceError):
    """A file, a line of it, a blob or an archive is larger than any recording."""

    code = "too-large"


class EventsError(EikonError):
    """An `events.jsonl` cannot be read."""

    code = "events"
    exit_status = 65
    codes: ClassVar[Mapping[str, str]] = {
        "events-version": "The version of the events is not supported.",
    }


class YamlError(EikonError):
    """A YAML file cannot be read."""

    code = "yaml"
    exit_status = 65
    codes: ClassVar[Mapping[str, str]] = {
        "gates": "A gate is unknown, or its limit is invalid.",
    }


class ForeignFormatError(EikonError):
    """A recording of another tool cannot be read."""

    code = "foreign-format"
    exit_status = 65
    codes: ClassVar[Mapping[str, str]] = {
        "foreign-step": "Steps of another tool's recording cannot be converted.",
    }


class ResponseFolderError(EikonError):
    """A folder of recorded model responses cannot be used."""

    code = "responses"
    exit_status = 65
    codes: ClassVar[Mapping[str, str]] = {
        "responses-incomplete": "The capture of model responses did not run to its end.",
    }


class ResponseCorruptError(ResponseFolderError):
    """A file of a recorded model response is corrupt; the message names its path."""

    code = "response-corrupt"


class FixtureFolderError(EikonError):
    """A folder of recorded tool calls cannot be used."""

    code = "fixture"
    exit_status = 65
    codes: ClassVar[Mapping[str, str]] = {
        "fixture-corrupt": "A recorded tool call is damaged or was edited; the message names its path.",
        "fixtures-mixed": "The folder holds tool calls of more than one recording.",
        "fixtures-incomplete": "The run that recorded the tool calls did not run to its end.",
    }


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
    codes: ClassVar[Mapping[str, str]] = {
        "completion-timeout": "The model did not answer before the deadline.",
        "completion-refused": "The server rejected the request: key, model or parameters.",
        "completion-limited": "The server limits the request rate, or the account has no credit left.",
        "completion-server": "The model server failed.",
        "completion-malformed": "The answer is not a chat completion.",
    }


class CompletionUnreachableError(CompletionError):
    """The model server could not be reached, or closed the connection."""

    code = "completion-unreachable"
    exit_status = 69


__all__ = [
    "ActionError",
    "ActionRejectedError",
    "ApplierFailedError",
    "BrowserDiedError",
    "BrowserError",
    "BrowserMissingError",
    "BundlePathError",
    "CheckpointError",
    "CompletionError",
    "CompletionUnreachableError",
    "EikonError",
    "EventsError",
    "FixError",
    "FixTaskFailedError",
    "FixtureFolderError",
    "ForeignFormatError",
    "GateExceededError",
    "InternalError",
    "InterruptedRunError",
    "NavigationError",
    "NoReplayDataError",
    "OutputError",
    "PageMissingError",
    "PlaintextSecretError",
    "ReplayDivergenceError",
    "ReplayError",
    "RequirementError",
    "ResponseCorruptError",
    "ResponseFolderError",
    "ResultNotStorableError",
    "ScenarioError",
    "SessionEndedError",
    "SessionError",
    "SkillBrokenError",
    "SkillError",
    "ToolArgumentsError",
    "ToolError",
    "TraceError",
    "TraceFieldError",
    "TraceSyntaxError",
    "UsageError",
    "WorkingTreeChangedError",
    "YamlError",
]
