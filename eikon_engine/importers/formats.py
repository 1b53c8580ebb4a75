"""The supported foreign formats and their detection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.importers.browser_use import import_browser_use, is_browser_use
from eikon_engine.importers.devtools import import_devtools, is_devtools
from eikon_engine.importers.eikon import import_eikon, is_eikon_trace
from eikon_engine.importers.har import import_har, is_har
from eikon_engine.importers.imported_mission import ImportedMission
from eikon_engine.importers.playwright import import_playwright, is_playwright_trace
from eikon_engine.importers.secrets import replace_secrets
from eikon_engine.importers.selenium_ide import import_selenium_ide, is_selenium_ide
from eikon_engine.importers.stagehand import import_stagehand, is_stagehand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.importers.eikon import MigratedTrace
    from eikon_engine.importers.foreign_file import ForeignFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFormat:
    """One format: how to detect and import it."""

    summary: str
    matches: Callable[[ForeignFile], bool]
    import_file: Callable[[ForeignFile, str | None], ImportedMission | MigratedTrace]
    """Takes the file and the name of the test to import, for files that contain several."""


def _json_format(
    summary: str, looks_like: Callable[[object], bool], read: Callable[[object, str | None], ImportedMission]
) -> ForeignFormat:
    """Return a format whose files are JSON."""

    def read_parsed(file: ForeignFile, chosen: str | None) -> ImportedMission:
        if file.data is None:
            found = "an archive" if file.archive is not None else "a folder"
            message = f"{file.path}: expected a JSON file, got {found}. Pass the exported file."
            raise ForeignFormatError(message)
        return read(file.data, chosen)

    return ForeignFormat(summary=summary, matches=lambda file: looks_like(file.data), import_file=read_parsed)


def _single_mission_json(read: Callable[[object], ImportedMission]) -> Callable[[object, str | None], ImportedMission]:
    """Adapt the reader of a JSON format with one mission per file."""

    def read_whole(data: object, chosen: str | None) -> ImportedMission:
        _reject_test_option(chosen)
        return read(data)

    return read_whole


def _reject_test_option(chosen: str | None) -> None:
    if chosen is not None:
        message = f"--test {chosen}: the file contains a single mission. Omit --test."
        raise UsageError(message)


def _single_mission(
    read: Callable[[ForeignFile], ImportedMission | MigratedTrace],
) -> Callable[[ForeignFile, str | None], ImportedMission | MigratedTrace]:
    """Adapt the reader of a format with one mission per file."""

    def read_whole(file: ForeignFile, chosen: str | None) -> ImportedMission | MigratedTrace:
        _reject_test_option(chosen)
        return read(file)

    return read_whole


FORMATS: Final[Mapping[str, ForeignFormat]] = {
    "devtools": _json_format("Chrome DevTools Recorder, JSON", is_devtools, _single_mission_json(import_devtools)),
    "side": _json_format("Selenium IDE, .side", is_selenium_ide, import_selenium_ide),
    "browser-use": _json_format(
        "browser-use, AgentHistoryList", is_browser_use, _single_mission_json(import_browser_use)
    ),
    "stagehand": _json_format("Stagehand 3, agent cache", is_stagehand, _single_mission_json(import_stagehand)),
    "playwright": ForeignFormat(
        summary="Playwright, trace.zip", matches=is_playwright_trace, import_file=import_playwright
    ),
    "har": ForeignFormat(summary="HAR 1.2, network only", matches=is_har, import_file=_single_mission(import_har)),
    "eikon": ForeignFormat(
        summary="Eikon trace of an older version", matches=is_eikon_trace, import_file=_single_mission(import_eikon)
    ),
}


def import_recording(
    file: ForeignFile, format_name: str | None = None, test: str | None = None
) -> ImportedMission | MigratedTrace:
    """Import the recording of another tool, with secrets replaced by references. Detects the format if not given.

    Raises:
        ForeignFormatError: the format is unknown, or the file violates it.
        UsageError: `test` is missing or names no test in the file.
    """
    if format_name is None:
        fitting = [name for name, each in FORMATS.items() if each.matches(file)]
        if len(fitting) != 1:
            known = ", ".join(f"{name} ({each.summary})" for name, each in FORMATS.items())
            found = " or ".join(fitting) or "none"
            raise ForeignFormatError(f"expected a recording of one known format, got {found} of {known}. Pass FORMAT.")
        format_name = fitting[0]
    read = FORMATS[format_name].import_file(file, test)
    return replace_secrets(read) if isinstance(read, ImportedMission) else read
