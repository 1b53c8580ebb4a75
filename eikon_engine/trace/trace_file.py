"""Read and write `trace.json`; older versions are migrated, one version at a time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.errors import TraceError, TraceSyntaxError
from eikon_engine.files.limits import read_file, require_values
from eikon_engine.files.models import describe_value, field_error, is_not_json, syntax_error, validation_error
from eikon_engine.files.writing import write_atomically
from eikon_engine.garbage_collection import gc_paused
from eikon_engine.trace.execution import TRACE_VERSION, ExecutionTrace
from eikon_engine.trace.stored_pages import with_stored_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.trace.migrations.fields import JsonObject


def _migrate_v3_1(plain: JsonObject, source: str) -> JsonObject:
    from eikon_engine.trace.migrations.v3_1 import migrate_v3_1  # noqa: PLC0415 - few traces are that old

    return migrate_v3_1(plain, source)


MIGRATIONS: Final[Mapping[int | str, Callable[[JsonObject, str], JsonObject]]] = {"v3.1": _migrate_v3_1}
"""Migration to the next version by older version; its arguments are the data and the name of the file."""

READABLE_VERSIONS: Final[tuple[int | str, ...]] = (*MIGRATIONS, TRACE_VERSION)


def migrate(plain: JsonObject, source: str) -> JsonObject:
    """Migrate plain data of an older version to the current one; the version must be in `STEPS`.

    Raises:
        TraceFieldError: a field of the older format is missing, unknown or invalid.
    """
    while (version := plain["trace_version"]) != TRACE_VERSION:
        assert isinstance(version, (int, str))  # noqa: S101 - the caller has checked the version
        plain = MIGRATIONS[version](plain, source)
    return plain


TRACE_FILE: Final = "trace.json"
JOURNAL_FILE: Final = "journal.jsonl"
"""The journal of a recording that has not ended."""

_VERSION_FIRST: Final = re.compile(rb'\A\s*\{\s*"trace_version"\s*:\s*("[^"\\]{0,40}"|-?\d{1,18})\s*[,}]')


class ExecutionTraceSerializer:
    """Reads and writes traces; the functions of this module as a class."""

    @staticmethod
    def read_trace(path: Path | str) -> ExecutionTrace:
        """Read a trace; see `read_trace`."""
        return read_trace(Path(path))

    @staticmethod
    def write_trace(trace: ExecutionTrace, path: Path | str) -> None:
        """Write a trace; see `write_trace`."""
        write_trace(trace, Path(path))


def read_trace(path: Path) -> ExecutionTrace:
    """Read the trace at `path`: a bundle folder, its trace.json, or the journal of an unfinished recording.

    An older trace gets the pages that its artifacts folders hold.

    Raises:
        TraceError: there is no trace; the version is not supported.
        TraceSyntaxError: the text is not JSON, or is truncated.
        TraceFieldError: a field is missing, unknown or invalid.
    """
    file = find_trace_file(path)
    if file.suffix == ".jsonl":
        from eikon_engine.trace.journal import read_journal  # noqa: PLC0415 - most recordings have ended

        return read_journal(file)
    try:
        data = read_file(file, root=file.parent if file.name == TRACE_FILE else None)
    except OSError as error:
        message = f"{file}: cannot read the trace ({error.strerror}); check the permissions of the file"
        raise TraceError(message) from error
    try:
        trace = parse_trace(data, str(file))
    except TraceSyntaxError as error:
        if file.suffix == ".json":
            raise
        message = f"{file}: expected a bundle, which is a folder, or its {TRACE_FILE}, got a file that is no trace"
        raise TraceSyntaxError(f"{message}; eikon record --script records a script") from error
    is_older = trace.migrated_from is not None and _parse_object(data, str(file))["trace_version"] != TRACE_VERSION
    return with_stored_pages(file.parent, trace) if is_older else trace


def find_trace_file(path: Path) -> Path:
    """Return the file that holds the trace: `path` itself, or a file in the folder `path`.

    Raises:
        TraceError: there is none.
    """
    if path.is_dir():
        for name in (TRACE_FILE, JOURNAL_FILE):
            if (path / name).is_file():
                return path / name
        message = f"{path}: expected a bundle with {TRACE_FILE}, got a folder without one; use the folder of the bundle"
        raise TraceError(message, code="trace-missing")
    if not path.exists():
        message = f"{path}: expected a bundle folder or its {TRACE_FILE}, got nothing; check the path"
        raise TraceError(message, code="trace-missing")
    return path


def parse_trace(text: str | bytes, source: str) -> ExecutionTrace:
    """Parse the text of a `trace.json`; `source` names it in messages.

    Of duplicate keys the last one counts, as in Python's JSON parser.

    Raises:
        TraceSyntaxError: the text is not JSON, or is truncated.
        TraceFieldError: a field is missing, unknown or invalid.
        TraceError: the version is not supported.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    require_values(data, source)
    with gc_paused():
        return _parse(data, source)


def _parse(data: bytes, source: str) -> ExecutionTrace:
    fault: ValidationError | None = None
    if _may_be_current(data):
        try:
            trace = ExecutionTrace.model_validate_json(data)
            if "trace_version" in trace.model_fields_set:
                return trace
        except ValidationError as error:
            if is_not_json(error):
                raise validation_error(error, data, source) from error
            fault = error
    plain = _parse_object(data, source)
    version = _check_version(plain, source)
    if version != TRACE_VERSION:
        return _validate(json.dumps(migrate(plain, source)).encode(), source)
    if fault is not None:
        raise validation_error(fault, data, source) from fault
    return _validate(data, source)


def write_trace(trace: ExecutionTrace, path: Path) -> None:
    """Write a trace atomically, to `path` or into the bundle folder `path`.

    Equal traces give equal bytes: UTF-8, indented by one space, fields in the order of the models.

    Raises:
        OutputError: the file cannot be written.
    """
    write_atomically(path / TRACE_FILE if path.is_dir() else path, serialize_trace(trace))


def serialize_trace(trace: ExecutionTrace) -> bytes:
    """Return the serialized form of a trace."""
    return trace.model_dump_json(indent=1).encode() + b"\n"


def _may_be_current(data: bytes) -> bool:
    """Check the version where we write it, first, so that a large older trace is not validated for nothing."""
    found = _VERSION_FIRST.match(data[:256])
    return found is None or found[1] == str(TRACE_VERSION).encode()


def _validate(data: bytes, source: str) -> ExecutionTrace:
    try:
        return ExecutionTrace.model_validate_json(data)
    except ValidationError as error:
        raise validation_error(error, data, source) from error


def _parse_object(data: bytes, source: str) -> dict[str, object]:
    try:
        plain = json.loads(data)
    except json.JSONDecodeError as error:
        raise syntax_error(f"{error.msg} at line {error.lineno} column {error.colno}", source) from error
    except UnicodeDecodeError as error:
        raise syntax_error(f"invalid UTF-8 at offset {error.start}", source) from error
    except RecursionError as error:
        raise syntax_error("values nested too deeply", source) from error
    except ValueError as error:
        raise syntax_error(str(error), source) from error
    if not isinstance(plain, dict):
        raise field_error(source, "trace", "an object", plain)
    return plain


def _check_version(plain: dict[str, object], source: str) -> object:
    version = plain.get("trace_version")
    known = "supported versions are " + ", ".join(map(str, READABLE_VERSIONS))
    if "trace_version" not in plain:
        message = f"{source}: trace_version is missing; {known}"
        raise TraceError(message, code="trace-version")
    if isinstance(version, bool) or not isinstance(version, (int, str)) or version not in READABLE_VERSIONS:
        newer = isinstance(version, int) and version > TRACE_VERSION
        advice = "; use a newer Eikon" if newer else ""
        message = f"{source}: trace_version is {describe_value(version)}; {known}{advice}"
        raise TraceError(message, code="trace-version")
    return version
