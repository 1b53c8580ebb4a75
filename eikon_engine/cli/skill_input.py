"""Read the page and the parameters of a skill from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.dom.fast_html import render_stored_frames
from eikon_engine.dom.html_encoding import decode_html
from eikon_engine.errors import TraceError, UsageError
from eikon_engine.files.limits import MAX_PAGE_BYTES, read_file
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.steps import iter_steps
from eikon_engine.trace.stored_pages import read_stored_html
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.files.json_text import JsonValue
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import StoredPage

_MAX_LISTED: Final = 8


def read_page(path: Path, step: str | None) -> tuple[str, str]:
    """Return HTML and URL of a page in a bundle, or of an HTML file, whose URL is empty.

    Raises:
        UsageError: a step is given for a file, or missing for a bundle with several pages.
        TraceError: the file or the bundle cannot be read.
    """
    if path.is_dir() or path.name in {TRACE_FILE, JOURNAL_FILE}:
        return _stored_page(open_bundle(path), step)
    if step is not None:
        message = f"--step applies to bundles, but {path} is a file. Omit --step."
        raise UsageError(message)
    try:
        return decode_html(read_file(path, limit=MAX_PAGE_BYTES), path), ""
    except FileNotFoundError as error:
        message = f"{path}: expected an HTML file or a bundle, but the path does not exist"
        raise TraceError(message, code="trace-missing") from error
    except (OSError, ValueError) as error:
        message = f"{path}: cannot read the HTML file: {error}"
        raise TraceError(message) from error


def parse_parameters(texts: Sequence[str], model: type[BaseModel]) -> dict[str, JsonValue]:
    """Read NAME=VALUE parameters; a value is parsed as JSON unless the parameter accepts a string.

    Raises:
        UsageError: a parameter has another form, or a name occurs twice.
    """
    given: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or name in given:
            found = f"{name!r} twice" if name in given else repr(text)
            message = f"--param: expected NAME=VALUE, each name once, got {found}"
            raise UsageError(message)
        given[name] = value if _accepts_string(model, name) else _json_or_text(value)
    return given


def _accepts_string(model: type[BaseModel], name: str) -> bool:
    schema = model.model_json_schema().get("properties", {}).get(name, {})
    types = {each.get("type") for each in schema.get("anyOf", [schema])}
    return "string" in types


def _json_or_text(value: str) -> JsonValue:
    try:
        read: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read


def _stored_page(bundle: Bundle, step: str | None) -> tuple[str, str]:
    pages, older = _stored_pages(bundle), _older_pages(bundle)
    if not pages and step is None and len({page.path for page in older.values()}) == 1:
        step = next(iter(older))
    if step in older:
        return read_stored_html(bundle.root, older[step].path), older[step].url
    if step is None and len({ref.sha256 for ref, _, _ in pages.values()}) == 1:
        step = next(iter(pages))
    if step not in pages:
        steps = [*pages, *older]
        known = ", ".join(steps[:_MAX_LISTED]) + (" …" if len(steps) > _MAX_LISTED else "")
        found = "none" if step is None else repr(step)
        message = f"{bundle.name}: expected --step to be one of {known or 'none, as no page is stored'}, got {found}"
        raise UsageError(message)
    ref, frame, url = pages[step]
    stored = render_stored_frames(bundle.dom.get(ref)).get(frame)
    if stored is None:
        message = f"{bundle.root}: the snapshot of {step} has no frame {frame!r}. Choose another step."
        raise UsageError(message)
    return stored.html, url


def _older_pages(bundle: Bundle) -> dict[str, StoredPage]:
    """Return the pages that an older format stored, by step id."""
    return {step.id: step.stored_page for _, step in iter_steps(bundle.trace) if step.stored_page is not None}


def _stored_pages(bundle: Bundle) -> dict[str, tuple[BlobRef, str, str]]:
    """Return snapshot, frame and URL by step id: the input page of a skill, the resulting page of an action."""
    found: dict[str, tuple[BlobRef, str, str]] = {}
    for _, step in iter_steps(bundle.trace):
        if isinstance(step, SkillUsage):
            if step.source is not None:
                found[step.id] = (step.source.snapshot, step.source.frame, step.source.url)
        elif step.observation is not None and step.observation.pages:
            page = step.observation.pages[0]
            if page.snapshot is not None:
                found[step.id] = (page.snapshot, "", page.url)
    return found
