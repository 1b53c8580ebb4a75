"""Read the network of a Playwright trace: `resource-snapshot` lines with one HAR entry each."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.importers.imported_mission import ImportedNetwork
from eikon_engine.importers.playwright_trace_file import get_text, parse_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.importers.foreign_file import Archive, ForeignFile
    from eikon_engine.importers.playwright_trace_file import JsonObject

NETWORK_SUFFIX: Final = ".network"
_RESOURCE_FOLDER: Final = "resources/"
_MISSING_SCRIPT: Final = "Playwright stores script bodies only in traces started with live=True"
_TEST_REQUEST_FIELDS: Final = ("_apiRequest", "_apiRequestRef")
_MISSING_UPLOAD: Final = "the trace does not contain the body of the upload"
_MULTIPART: Final = "multipart/form-data"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceNetwork:
    """The network of one context."""

    network: ImportedNetwork
    notes: tuple[str, ...]
    language: str
    """Preferred language of the pages; empty if no request has the header."""


def read_trace_network(file: ForeignFile, archive: Archive, name: str) -> TraceNetwork | None:
    """Read the network of a context; None if the trace has none.

    Raises:
        ForeignFormatError: a line is not a JSON object.
    """
    own = name + NETWORK_SUFFIX
    source = f"{file.path}/{own}"
    entries = list(_entries(archive, own, source)) if archive.contains(own) else []
    of_pages = tuple((f"line {number}", _as_har(entry)) for number, entry in entries if not _is_test_request(entry))
    if not of_pages:
        return None

    def read_attachment(file_name: str, _field: str) -> bytes | None:
        return archive.read(file_name) if archive.contains(file_name) else None

    others = len(entries) - len(of_pages)
    return TraceNetwork(
        network=ImportedNetwork(source=source, entries=of_pages, read_attachment=read_attachment),
        notes=(f"{others} requests of the test itself are not imported",) if others else (),
        language=next(filter(None, (_language(entry) for _, entry in of_pages)), ""),
    )


def _entries(archive: Archive, name: str, source: str) -> Iterator[tuple[int, JsonObject]]:
    with closing(archive.lines(name)) as lines:
        for number, line in lines:
            plain = parse_line(line, f"{source}, line {number}")
            entry = plain.get("snapshot")
            if plain.get("type") == "resource-snapshot" and isinstance(entry, dict):
                yield number, entry


def _is_test_request(entry: JsonObject) -> bool:
    return any(entry.get(name) for name in _TEST_REQUEST_FIELDS)


def _as_har(entry: JsonObject) -> JsonObject:
    """Normalize body references to the newest version, and comment on missing script bodies."""
    request, response = entry.get("request"), entry.get("response")
    changed: dict[str, JsonValue] = {}
    if isinstance(request, dict):
        changed["request"] = {**request, "postData": _post_data(request)}
    if isinstance(response, dict) and isinstance(response.get("content"), dict):
        content = _with_body_file(response["content"])
        if "_file" not in content and get_text(entry, "_resourceType") == "script":
            content = {"comment": _MISSING_SCRIPT, **content}
        changed["response"] = {**response, "content": content}
    return {**entry, **changed}


def _post_data(request: JsonObject) -> JsonValue:
    """Return the request body as in a HAR, or a comment for a multipart upload, whose body is not available."""
    given = request.get("postData")
    if isinstance(given, dict):
        return _with_body_file(given)
    kind = _header(request, "content-type")
    return {"mimeType": kind, "comment": _MISSING_UPLOAD} if kind.startswith(_MULTIPART) else None


def _with_body_file(holder: JsonValue) -> dict[str, JsonValue]:
    plain = holder if isinstance(holder, dict) else {}
    digest = get_text(plain, "_sha1")
    return {**plain, "_file": _RESOURCE_FOLDER + digest} if digest and "_file" not in plain else plain


def _language(entry: JsonObject) -> str:
    request = entry.get("request")
    languages = _header(request, "accept-language") if isinstance(request, dict) else ""
    return languages.split(",")[0].split(";")[0].strip()


def _header(holder: JsonObject, name: str) -> str:
    headers = holder.get("headers")
    for each in headers if isinstance(headers, list) else ():
        if isinstance(each, dict) and get_text(each, "name").lower() == name:
            return get_text(each, "value")
    return ""
