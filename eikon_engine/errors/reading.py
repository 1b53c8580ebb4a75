"""Errors of what is read: files that are missing, broken, or of another version."""

from __future__ import annotations

from eikon_engine.errors.root import EikonError


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
