"""Read successive snapshots of one frame.

Between two actions most of a document stays the same. The nodes of unchanged parts are then the same objects, with
their cached digests, so the cost of a snapshot depends on what changed, not on the size of the document.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.errors import TraceSyntaxError
from eikon_engine.trace.dom.flat import build_tree, parse_entry, parse_extras, shape_error
from eikon_engine.trace.dom.tree import DomNode, FrameSnapshot

if TYPE_CHECKING:
    from eikon_engine.trace.dom.flat import ElementHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """A request for the snapshot of a frame."""

    token: str
    """Key under which the page stores its response."""
    previous_token: str
    """Token of the last response; empty if there is none."""
    previous_lines: list[str]
    """Lines of the last response."""
    previous_data: object
    """Data blocks of the last response as parsed JSON; None if there is none."""


class FrameReader:
    """Parses the snapshots of one frame and reuses the nodes of the previous one."""

    def __init__(self) -> None:
        """Start without a previous snapshot."""
        self._token = ""
        self._lines: list[str] = []
        self._data: object = None
        self._entries: dict[str, DomNode | ElementHeader] = {}
        self._nodes: dict[tuple[object, ...], list[DomNode]] = {}
        """Elements of the last document by their line and children; equal ones in document order."""

    def prepare_request(self, token: str) -> SnapshotRequest:
        """Prepare a request: the page may omit the lines equal at both ends of its last response.

        A `token` must be used only once per document.
        """
        return SnapshotRequest(
            token=token, previous_token=self._token, previous_lines=self._lines, previous_data=self._data
        )

    def parse_response(self, text: str, request: SnapshotRequest, *, path: str, url: str, name: str) -> FrameSnapshot:
        """Parse the response of the page: one line for the document, then one for each node that changed.

        Raises:
            TraceSyntaxError: a line is not JSON.
            TraceFieldError: the data does not have the shape of the format.

        """
        first, *new = text.split("\n")
        document = _json(first, path)
        if not isinstance(document, dict) or document.keys() != {"doctype", "extras", "same"}:
            raise shape_error("frame", "an object of doctype, extras and same", document)
        if not isinstance(document["doctype"], str):
            raise shape_error("doctype", "a string", document["doctype"])
        noted = document["extras"]
        if isinstance(noted, dict) and noted.get("data", ...) is None:
            noted["data"] = request.previous_data
        extras = parse_extras(noted)
        lines = _with_unchanged(new, document["same"], request.previous_lines)
        self._update_entries(lines, path)
        root = self._build_tree(lines)
        self._token, self._lines, self._data = request.token, lines, noted.get("data")
        return FrameSnapshot(path=path, url=url, name=name, doctype=document["doctype"], root=root, extras=extras)

    def _update_entries(self, lines: list[str], path: str) -> None:
        """Parse the lines that the last document did not have, in one call; drop those that only it had."""
        new = [line for line in dict.fromkeys(lines) if line not in self._entries]
        read = _json(f"[{','.join(new)}]", path)
        if not isinstance(read, list) or len(read) != len(new):
            raise shape_error("nodes", "one node a line", read)
        fresh = {line: parse_entry(data, index) for index, (line, data) in enumerate(zip(new, read, strict=True))}
        self._entries = {line: fresh.get(line) or self._entries[line] for line in lines}

    def _build_tree(self, lines: list[str]) -> DomNode:
        last = self._nodes
        nodes: dict[tuple[object, ...], list[DomNode]] = {}

        def make(
            index: int, head: ElementHeader, children: tuple[DomNode, ...], shadow: tuple[DomNode, ...] | None
        ) -> DomNode:
            key = (lines[index], *map(id, shadow or ()), *map(id, children))
            same = last.get(key)
            node = same.pop() if same else head.build(children, shadow)
            nodes.setdefault(key, []).append(node)
            return node

        root = build_tree([self._entries[line] for line in lines], make)
        for alike in nodes.values():
            alike.reverse()
        self._nodes = nodes
        return root


def _with_unchanged(new: list[str], same: object, last: list[str]) -> list[str]:
    """Surround the new lines with the unchanged lines at the start and at the end."""
    match same:
        case [int() as start, int() as end] if start >= 0 <= end and start + end <= len(last):
            return [*last[:start], *new, *last[len(last) - end :]]
        case _:
            raise shape_error("same", f"two line counts that add up to at most {len(last)}", same)


def _json(text: str, path: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"expected the JSON of a DOM snapshot of frame {path!r}, got {error}; take the snapshot again"
        raise TraceSyntaxError(message) from error
