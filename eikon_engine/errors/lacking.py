"""Errors of missing requirements: browsers, skills, secrets, tools, fixtures."""

from __future__ import annotations

from eikon_engine.errors.root import EikonError


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
