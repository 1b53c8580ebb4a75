"""Errors of what is needed and not here."""

from __future__ import annotations

from eikon_engine.errors.root import EikonError


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
