"""Errors of reading files: missing, corrupt, or of another version."""

from __future__ import annotations

from eikon_engine.errors.root import EikonError


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
    """The bundle lacks a file that the trace refers to."""

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
