"""The supported foreign formats and their detection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.importers.browser_use import looks_like_browser_use, read_browser_use
from eikon_engine.importers.devtools import looks_like_devtools, read_devtools
from eikon_engine.importers.har import looks_like_har, read_har
from eikon_engine.importers.mission import ImportedMission
from eikon_engine.importers.older_trace import looks_like_eikon, read_eikon
from eikon_engine.importers.playwright_trace import looks_like_playwright, read_playwright
from eikon_engine.importers.secrets import without_secrets
from eikon_engine.importers.side import looks_like_side, read_side
from eikon_engine.importers.stagehand import looks_like_stagehand, read_stagehand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.importers.foreign_file import ForeignFile
    from eikon_engine.importers.older_trace import OlderTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFormat:
    """One format: how to detect and import it."""

    summary: str
    looks_like: Callable[[ForeignFile], bool]
    read: Callable[[ForeignFile, str | None], ImportedMission | OlderTrace]
    """Takes the file and the name of the test to import, for files that contain several."""


def _json(
    summary: str, looks_like: Callable[[object], bool], read: Callable[[object, str | None], ImportedMission]
) -> ForeignFormat:
    """Return a format whose files are JSON."""

    def read_parsed(file: ForeignFile, chosen: str | None) -> ImportedMission:
        if file.data is None:
            found = "an archive" if file.archive is not None else "a folder"
            message = f"{file.path}: expected a JSON file, got {found}. Pass the exported file."
            raise ForeignFormatError(message)
        return read(file.data, chosen)

    return ForeignFormat(summary=summary, looks_like=lambda file: looks_like(file.data), read=read_parsed)


def _one(read: Callable[[object], ImportedMission]) -> Callable[[object, str | None], ImportedMission]:
    """Adapt the reader of a JSON format with one mission per file."""

    def read_whole(data: object, chosen: str | None) -> ImportedMission:
        _refuse(chosen)
        return read(data)

    return read_whole


def _refuse(chosen: str | None) -> None:
    if chosen is not None:
        message = f"--test {chosen}: the file contains a single mission. Omit --test."
        raise UsageError(message)


def _single(
    read: Callable[[ForeignFile], ImportedMission | OlderTrace],
) -> Callable[[ForeignFile, str | None], ImportedMission | OlderTrace]:
    """Adapt the reader of a format with one mission per file."""

    def read_whole(file: ForeignFile, chosen: str | None) -> ImportedMission | OlderTrace:
        _refuse(chosen)
        return read(file)

    return read_whole


FORMATS: Final[Mapping[str, ForeignFormat]] = {
    "devtools": _json("Chrome DevTools Recorder, JSON", looks_like_devtools, _one(read_devtools)),
    "side": _json("Selenium IDE, .side", looks_like_side, read_side),
    "browser-use": _json("browser-use, AgentHistoryList", looks_like_browser_use, _one(read_browser_use)),
    "stagehand": _json("Stagehand 3, agent cache", looks_like_stagehand, _one(read_stagehand)),
    "playwright": ForeignFormat(
        summary="Playwright, trace.zip", looks_like=looks_like_playwright, read=read_playwright
    ),
    "har": ForeignFormat(summary="HAR 1.2, network only", looks_like=looks_like_har, read=_single(read_har)),
    "eikon": ForeignFormat(
        summary="Eikon trace of an older version", looks_like=looks_like_eikon, read=_single(read_eikon)
    ),
}


def read_foreign(file: ForeignFile, form: str | None = None, test: str | None = None) -> ImportedMission | OlderTrace:
    """Import the recording of another tool, with secrets replaced by references. Detects the format if not given.

    Raises:
        ForeignFormatError: the format is unknown, or the file violates it.
        UsageError: `test` is missing or names no test in the file.
    """
    if form is None:
        fitting = [name for name, each in FORMATS.items() if each.looks_like(file)]
        if len(fitting) != 1:
            known = ", ".join(f"{name} ({each.summary})" for name, each in FORMATS.items())
            found = " or ".join(fitting) or "none"
            raise ForeignFormatError(f"expected a recording of one known format, got {found} of {known}. Pass FORMAT.")
        form = fitting[0]
    read = FORMATS[form].read(file, test)
    return without_secrets(read) if isinstance(read, ImportedMission) else read
