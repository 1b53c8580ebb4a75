"""The foreign formats that are read, and which of them a file is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.importers.browser_use import looks_like_browser_use, read_browser_use
from eikon_engine.importers.devtools import looks_like_devtools, read_devtools
from eikon_engine.importers.secrets import without_secrets
from eikon_engine.importers.side import looks_like_side, read_side
from eikon_engine.importers.stagehand import looks_like_stagehand, read_stagehand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.importers.mission import ImportedMission


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFormat:
    """One format."""

    summary: str
    looks_like: Callable[[object], bool]
    read: Callable[[object, str | None], ImportedMission]
    """Takes the parsed file, and the name of what is chosen from it where it holds several missions."""


def _one(read: Callable[[object], ImportedMission]) -> Callable[[object, str | None], ImportedMission]:
    """Read a format whose files hold one mission."""

    def read_whole(data: object, chosen: str | None) -> ImportedMission:
        if chosen is not None:
            message = f"wanted a file of several missions for --test {chosen}, found one of one; leave --test out"
            raise UsageError(message)
        return read(data)

    return read_whole


FORMATS: Final[Mapping[str, ForeignFormat]] = {
    "devtools": ForeignFormat(
        summary="Chrome DevTools Recorder, JSON", looks_like=looks_like_devtools, read=_one(read_devtools)
    ),
    "side": ForeignFormat(summary="Selenium IDE, .side", looks_like=looks_like_side, read=read_side),
    "browser-use": ForeignFormat(
        summary="browser-use, AgentHistoryList", looks_like=looks_like_browser_use, read=_one(read_browser_use)
    ),
    "stagehand": ForeignFormat(
        summary="Stagehand 3, agent cache", looks_like=looks_like_stagehand, read=_one(read_stagehand)
    ),
}


def read_foreign(content: bytes, form: str | None = None, test: str | None = None) -> ImportedMission:
    """Read the recording of another tool, secrets by their names; its format is found out where it is left out.

    Raises:
        ForeignFormatError: the content is no JSON, of no known format, or not as its format demands.
        UsageError: `test` names nothing, or is needed.
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ForeignFormatError(f"wanted a JSON file, found {error}; export it again") from error
    if form is None:
        fitting = [name for name, each in FORMATS.items() if each.looks_like(data)]
        if len(fitting) != 1:
            known = ", ".join(f"{name} ({each.summary})" for name, each in FORMATS.items())
            found = " or ".join(fitting) or "none"
            raise ForeignFormatError(f"wanted a recording of a known format, found {found} of {known}; name its format")
        form = fitting[0]
    return without_secrets(FORMATS[form].read(data, test))
