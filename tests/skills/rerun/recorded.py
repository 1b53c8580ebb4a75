"""Bundles with recorded skill runs, as a mission writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node
from eikon_engine.files.blobs import BlobStore
from eikon_engine.trace.bundle import store_snapshot
from eikon_engine.trace.execution import ExecutionTrace, SkillInputRef, SkillUsage, SubgoalTrace, Succeeded
from eikon_engine.trace.trace_file import TRACE_FILE, write_trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.files.json_text import JsonValue

URL = "https://shop.example/"


def element(tag: str, *children: DomNode | str, **attributes: str) -> DomNode:
    """Make an element."""
    nodes = tuple(build_text_node(child) if isinstance(child, str) else child for child in children)
    named = tuple(sorted((name.rstrip("_"), value) for name, value in attributes.items()))
    return DomNode(tag=tag, attributes=named, children=nodes)


def page(*body: DomNode) -> PageSnapshot:
    """Make a page."""
    html = element("html", element("head"), element("body", *body))
    return PageSnapshot(frames=(FrameSnapshot(path="", url=URL, name="", doctype="html", root=html),))


def use(number: int, skill: str, output: JsonValue, **fields: object) -> SkillUsage:
    """Make a skill run without a page."""
    blank = SkillUsage(id=f"use-{number}", sequence=number, skill=skill, version=1, result=Succeeded(), output=output)
    return blank.model_copy(update=fields)


def write_bundle(root: Path, uses: Iterable[tuple[SkillUsage, PageSnapshot | None]]) -> Path:
    """Write a bundle with these skill runs, each on its page."""
    store = BlobStore(root / "dom")
    placed = tuple(
        usage
        if snapshot is None
        else usage.model_copy(update={"source": SkillInputRef(snapshot=store_snapshot(store, snapshot), url=URL)})
        for usage, snapshot in uses
    )
    attempt = SubgoalTrace(id="look", subgoal_id="look", description="look", status="complete", skills_used=placed)
    trace = ExecutionTrace(
        id=root.name,
        mission_id=root.name,
        mission_text="look",
        started_at=datetime(2025, 1, 1, tzinfo=UTC),
        status="complete",
        subgoal_traces=(attempt,),
    )
    write_trace(trace, root / TRACE_FILE)
    return root
