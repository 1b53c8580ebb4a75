"""Import a HAR file as a mission: its network, and a navigation to its first document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.foreign_file import parse_foreign_json
from eikon_engine.importers.imported_mission import ImportedMission, ImportedSubgoal, MissionBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.importers.foreign_file import ForeignFile

HAR_SUFFIX: Final = ".har"
_HTML_TYPE: Final = "text/html"
_SCHEMES: Final = ("http:", "https:", "file:")


def is_har(file: ForeignFile) -> bool:
    """Whether a file is a HAR, or an archive with exactly one."""
    if file.archive is not None:
        return sum(name.endswith(HAR_SUFFIX) for name in file.archive.names) == 1
    log = file.data.get("log") if isinstance(file.data, dict) else None
    return isinstance(log, dict) and "entries" in log


def import_har(file: ForeignFile) -> ImportedMission:
    """Import the network of a HAR, which contains no user actions.

    Raises:
        ForeignFormatError: the file is not a HAR, or loads no document.
    """
    url = next(_document_urls(_parsed(file)), None)
    if url is None:
        message = f"{file.path}: the HAR loads no document. Use it with eikon replay --har instead."
        raise ForeignFormatError(message)
    gathered = MissionBuilder()
    gathered.add_action(1, "navigate", url=url)
    return ImportedMission(
        source="har",
        text=f"Visit {url}",
        subgoals=(ImportedSubgoal(description=f"Visit {url}", actions=tuple(gathered.actions)),),
        unsupported=tuple(gathered.unsupported),
        notes=("a HAR contains no user actions: the mission only visits its first document",),
        har=file.path,
    )


def _parsed(file: ForeignFile) -> object:
    if file.archive is None:
        return file.data
    names = [name for name in file.archive.names if name.endswith(HAR_SUFFIX)]
    if len(names) != 1:
        message = f"{file.path}: expected an archive with one *{HAR_SUFFIX} file, got {len(names)}"
        raise ForeignFormatError(message)
    return parse_foreign_json(file.archive.read(names[0]), f"{file.path}/{names[0]}")


def _document_urls(data: object) -> Iterator[str]:
    """Yield the URLs of documents by time; the network importer validates everything else."""
    log = data.get("log") if isinstance(data, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    ordered = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    for entry in sorted(ordered, key=lambda each: str(each.get("startedDateTime"))):
        request = entry.get("request")
        url = request.get("url") if isinstance(request, dict) else None
        if isinstance(url, str) and url.startswith(_SCHEMES) and _is_document(entry):
            yield url


def _is_document(entry: dict[str, object]) -> bool:
    declared = entry.get("_resourceType")
    if isinstance(declared, str):
        return declared == "document"
    response = entry.get("response")
    content = response.get("content") if isinstance(response, dict) else None
    kind = content.get("mimeType") if isinstance(content, dict) else None
    return isinstance(kind, str) and kind.startswith(_HTML_TYPE)
