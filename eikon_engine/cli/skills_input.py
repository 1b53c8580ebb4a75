"""What a skill is run on, as the command line names it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.cli.html_text import html_text
from eikon_engine.errors import TraceError, TraceMissingError, UsageError
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.dom.quick_html import plain_frames
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.journal import JOURNAL_FILE
from eikon_engine.trace.located import positions
from eikon_engine.trace.serializer import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from eikon_engine.trace.blobs import BlobRef
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.json_value import JsonValue

_LISTED: Final = 8


def read_page(path: Path, step: str | None) -> tuple[str, str]:
    """Return HTML and address of a file of HTML, which has no address, or of a page in a bundle.

    Raises:
        UsageError: a step is named for a file, or none for a bundle with several pages.
        TraceError: the file or the bundle cannot be read.
    """
    if path.is_dir() or path.name in {TRACE_FILE, JOURNAL_FILE}:
        return _stored_page(open_bundle(path), step)
    if step is not None:
        message = f"--step wants a bundle, found the file {path}; leave it out"
        raise UsageError(message)
    try:
        return html_text(path.read_bytes(), path), ""
    except FileNotFoundError as error:
        message = f"{path}: wanted a file of HTML or a bundle, found nothing; check the path"
        raise TraceMissingError(message) from error
    except (OSError, ValueError) as error:
        message = f"{path}: wanted a file of HTML or a bundle, found {error}; check the path"
        raise TraceError(message) from error


def read_params(texts: Sequence[str], model: type[BaseModel]) -> dict[str, JsonValue]:
    """Read parameters given as NAME=VALUE: JSON where the value is JSON and the parameter is no text, else text.

    Raises:
        UsageError: one is not in this form, or a name is given twice.
    """
    given: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or name in given:
            found = "it given twice" if name in given else repr(text)
            message = f"--param wants NAME=VALUE, each name once; found {found}"
            raise UsageError(message)
        given[name] = value if _takes_text(model, name) else _json_or_text(value)
    return given


def _takes_text(model: type[BaseModel], name: str) -> bool:
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
    pages = _pages(bundle)
    if step is None and len({ref.sha256 for ref, _, _ in pages.values()}) == 1:
        step = next(iter(pages))
    if step not in pages:
        known = ", ".join(list(pages)[:_LISTED]) + (" …" if len(pages) > _LISTED else "")
        found = "none" if step is None else repr(step)
        message = f"{bundle.root}: wanted --step with one of {known or 'no steps: no page is stored'}; found {found}"
        raise UsageError(message)
    ref, frame, url = pages[step]
    stored = plain_frames(bundle.dom.get(ref)).get(frame)
    if stored is None:
        message = f"{bundle.root}: wanted frame {frame!r} in the snapshot of {step}, found none; name another step"
        raise UsageError(message)
    return stored.html, url


def _pages(bundle: Bundle) -> dict[str, tuple[BlobRef, str, str]]:
    """Return snapshot, frame and address by the id of the step: what a skill worked on, what an action led to."""
    found: dict[str, tuple[BlobRef, str, str]] = {}
    for _, step in positions(bundle.trace):
        if isinstance(step, SkillUsage):
            if step.source is not None:
                found[step.id] = (step.source.snapshot, step.source.frame, step.source.url)
        elif step.observation is not None and step.observation.pages:
            page = step.observation.pages[0]
            if page.snapshot is not None:
                found[step.id] = (page.snapshot, "", page.url)
    return found
