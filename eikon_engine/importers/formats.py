"""The foreign formats that are read, and which of them a file is."""

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
    """One format."""

    summary: str
    looks_like: Callable[[ForeignFile], bool]
    read: Callable[[ForeignFile, str | None], ImportedMission | OlderTrace]
    """Takes the file, and the name of what is chosen from it where it holds several missions."""


def _json(
    summary: str, looks_like: Callable[[object], bool], read: Callable[[object, str | None], ImportedMission]
) -> ForeignFormat:
    """Make a format whose files are JSON."""

    def read_parsed(file: ForeignFile, chosen: str | None) -> ImportedMission:
        if file.data is None:
            found = "an archive" if file.archive is not None else "none"
            message = f"{file.path}: wanted a JSON file, found {found}; name the file that was exported"
            raise ForeignFormatError(message)
        return read(file.data, chosen)

    return ForeignFormat(summary=summary, looks_like=lambda file: looks_like(file.data), read=read_parsed)


def _one(read: Callable[[object], ImportedMission]) -> Callable[[object, str | None], ImportedMission]:
    """Read a format whose files hold one mission."""

    def read_whole(data: object, chosen: str | None) -> ImportedMission:
        _refuse(chosen)
        return read(data)

    return read_whole


def _refuse(chosen: str | None) -> None:
    if chosen is not None:
        message = f"wanted a file of several missions for --test {chosen}, found one of one; leave --test out"
        raise UsageError(message)


def _single(
    read: Callable[[ForeignFile], ImportedMission | OlderTrace],
) -> Callable[[ForeignFile, str | None], ImportedMission | OlderTrace]:
    """Read a format of one mission that is more than JSON."""

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
    "har": ForeignFormat(summary="HAR 1.2, network alone", looks_like=looks_like_har, read=_single(read_har)),
    "eikon": ForeignFormat(
        summary="trace of an older version of Eikon", looks_like=looks_like_eikon, read=_single(read_eikon)
    ),
}


def read_foreign(file: ForeignFile, form: str | None = None, test: str | None = None) -> ImportedMission | OlderTrace:
    """Read the recording of another tool, secrets by their names; its format is found out where it is left out.

    Raises:
        ForeignFormatError: it is of no known format, or not as its format demands.
        UsageError: `test` names nothing, or is needed.
    """
    if form is None:
        fitting = [name for name, each in FORMATS.items() if each.looks_like(file)]
        if len(fitting) != 1:
            known = ", ".join(f"{name} ({each.summary})" for name, each in FORMATS.items())
            found = " or ".join(fitting) or "none"
            raise ForeignFormatError(f"wanted a recording of a known format, found {found} of {known}; name its format")
        form = fitting[0]
    read = FORMATS[form].read(file, test)
    return without_secrets(read) if isinstance(read, ImportedMission) else read
