"""Every error Eikon raises on purpose, drawn as a tree.

.. code-block:: text

    EikonError
    ├── UsageError                        2   usage
    │   ├── OutputError                   2   output-not-writable
    │   ├── ToolArgumentsError            2   tool-arguments
    │   ├── SessionAmbiguousError         2   session-ambiguous
    │   ├── PlaintextSecretError              2   secret-given
    │   ├── SessionBusyError              2   session-busy
    │   ├── BreakpointError               2   breakpoint
    │   ├── BranchError                   2   branch
    │   ├── PlanChangedError              2   plan-changed
    │   ├── DirtyTreeError                2   dirty-tree
    │   └── CommandUnusableError          2   command-unusable
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
    │   └── GateDefinitionError                   65   gates
    ├── ForeignFormatError               65   foreign-format
    │   └── ForeignStepError             65   foreign-step
    ├── ResponseFolderError                   65   responses
    │   ├── ResponseCorruptError         65   response-corrupt
    │   └── ResponsesIncompleteError     65   responses-incomplete
    ├── FixtureFolderError                     65   fixture
    │   ├── FixtureCorruptError          65   fixture-corrupt
    │   ├── FixturesMixedError           65   fixtures-mixed
    │   └── FixturesIncompleteError      65   fixtures-incomplete
    ├── SessionError                     65   session
    │   └── CheckpointError              65   checkpoint
    ├── SessionEndedError                69   session-ended
    ├── BrowserError                     69   browser
    │   ├── BrowserMissingError          69   browser-missing
    │   └── BrowserDiedError             69   browser-died
    ├── RequirementError                 78   requirement
    │   ├── UnknownSkillError            78   unknown-skill
    │   ├── SkillBrokenError             78   skill-broken
    │   ├── SecretMissingError           78   secret-missing
    │   ├── VariableMissingError         78   variable-missing
    │   ├── RecordedNetworkMissingError      78   network-part-missing
    │   ├── ModelClientMissingError      78   model-client-missing
    │   ├── NoReplayDataError            78   no-replay-data
    │   ├── UnknownToolError             78   unknown-tool
    │   ├── ToolNotPermittedError          78   tool-not-allowed
    │   ├── FixtureMissingError          78   fixture-missing
    │   ├── SessionMissingError          78   session-missing
    │   ├── CheckpointMissingError       78   checkpoint-missing
    │   ├── AiderMissingError            78   aider-missing
    │   ├── GitMissingError              78   git-missing
    │   └── UnknownTaskError             78   unknown-task
    ├── SkillError                        1   skill-failed
    ├── ScenarioError                     1   scenario
    ├── GateExceededError                   1   gate-failed
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
    │   ├── RewindDivergedError        1   rewind-not-faithful
    │   └── ScenarioDivergedError         1   scenario-diverged
    ├── FixError                          1   fix
    │   ├── FixTaskFailedError               1   step-failed
    │   ├── NoFixError                    1   no-fix
    │   ├── ProposalMalformedError        1   proposal-malformed
    │   ├── PatchRejectedError            1   patch-rejected
    │   ├── ApplierFailedError            1   applier-failed
    │   ├── FixRefusedError               1   fix-refused
    │   └── WorkingTreeChangedError              1   tree-changed
    ├── InterruptedRunError             130   interrupted
    └── InternalError                    70   internal

The number is the exit status of the command line, the word the stable code of the error. ``docs/errors.md`` has a
section for each code.
"""

from eikon_engine.errors.acting import (
    ActionError,
    ActionRejectedError,
    AssertionFailedError,
    DialogMissingError,
    DownloadMissingError,
    NavigationError,
    OptionMissingError,
    PageMissingError,
    ReplayDivergenceError,
    ReplayError,
    ScenarioDivergedError,
    TargetAmbiguousError,
    TargetChangedError,
    TargetMissingError,
    TargetNotActionableError,
    ToolCallsDivergedError,
    WaitTimeoutError,
)
from eikon_engine.errors.debugging import (
    BranchError,
    BreakpointError,
    CheckpointError,
    CheckpointMissingError,
    PlaintextSecretError,
    PlanChangedError,
    RewindDivergedError,
    SessionAmbiguousError,
    SessionBusyError,
    SessionEndedError,
    SessionError,
    SessionMissingError,
)
from eikon_engine.errors.fixing import (
    AiderMissingError,
    ApplierFailedError,
    CommandUnusableError,
    DirtyTreeError,
    FixError,
    FixRefusedError,
    FixTaskFailedError,
    GitMissingError,
    NoFixError,
    PatchRejectedError,
    ProposalMalformedError,
    UnknownTaskError,
    WorkingTreeChangedError,
)
from eikon_engine.errors.lacking import (
    BrowserDiedError,
    BrowserError,
    BrowserMissingError,
    FixtureMissingError,
    ModelClientMissingError,
    NoReplayDataError,
    RecordedNetworkMissingError,
    RequirementError,
    SecretMissingError,
    SkillBrokenError,
    ToolNotPermittedError,
    UnknownSkillError,
    UnknownToolError,
    VariableMissingError,
)
from eikon_engine.errors.reading import (
    AttachmentCorruptError,
    AttachmentMissingError,
    BundlePathError,
    EventsError,
    EventsVersionError,
    FixtureCorruptError,
    FixtureFolderError,
    FixturesIncompleteError,
    FixturesMixedError,
    ForeignFormatError,
    ForeignStepError,
    GateDefinitionError,
    ResponseCorruptError,
    ResponseFolderError,
    ResponsesIncompleteError,
    TraceError,
    TraceFieldError,
    TraceMissingError,
    TraceSyntaxError,
    TraceVersionError,
    YamlError,
)
from eikon_engine.errors.root import (
    EikonError,
    InternalError,
    InterruptedRunError,
    OutputError,
    ToolArgumentsError,
    UsageError,
)
from eikon_engine.errors.running import (
    CompletionError,
    CompletionLimitedError,
    CompletionMalformedError,
    CompletionRefusedError,
    CompletionServerError,
    CompletionTimeoutError,
    CompletionUnreachableError,
    GateExceededError,
    ResultNotStorableError,
    ScenarioError,
    SkillError,
    ToolError,
)

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
    "FixtureCorruptError",
    "FixtureFolderError",
    "FixtureMissingError",
    "FixturesIncompleteError",
    "FixturesMixedError",
    "ForeignFormatError",
    "ForeignStepError",
    "GateExceededError",
    "GateDefinitionError",
    "GitMissingError",
    "InternalError",
    "InterruptedRunError",
    "ModelClientMissingError",
    "NavigationError",
    "RecordedNetworkMissingError",
    "NoFixError",
    "NoReplayDataError",
    "OptionMissingError",
    "OutputError",
    "PageMissingError",
    "PatchRejectedError",
    "PlanChangedError",
    "ProposalMalformedError",
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
    "PlaintextSecretError",
    "SecretMissingError",
    "SessionAmbiguousError",
    "SessionBusyError",
    "SessionEndedError",
    "SessionError",
    "SessionMissingError",
    "SkillBrokenError",
    "SkillError",
    "FixTaskFailedError",
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
    "WorkingTreeChangedError",
    "UnknownSkillError",
    "UnknownTaskError",
    "UnknownToolError",
    "UsageError",
    "VariableMissingError",
    "WaitTimeoutError",
    "YamlError",
]
