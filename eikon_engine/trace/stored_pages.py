"""The pages that the format "v3.1" stored as HTML files: `step_NNN/dom.html` in the artifacts folder of a subgoal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import BundlePathError, TraceError
from eikon_engine.files.limits import MAX_PAGE_BYTES, read_file
from eikon_engine.files.paths import resolve_inside
from eikon_engine.trace.actions import Navigate, UrlCondition, WaitFor
from eikon_engine.trace.execution import ActionTrace, StoredPage, Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace

PAGE_FILE: Final = "dom.html"
_MISSION_FOLDER: Final = "mission_dir"
_SUBGOAL_FOLDER: Final = re.compile(r"subgoal_0*([1-9]\d{0,5})")
_STEP_FOLDER: Final = re.compile(r"step_0*([1-9]\d{0,5})")


def with_stored_pages(root: Path, trace: ExecutionTrace) -> ExecutionTrace:
    """Return a migrated trace with the pages that its artifacts folders hold.

    The page after the Nth action of a subgoal is in `step_NNN`. Later attempts overwrote the pages of earlier ones, so
    they belong to the last attempt. A skill ran on the last page of its attempt.
    """
    folders = dict(_subgoal_folders(trace))
    last_attempts = {each.subgoal_id: each.id for each in trace.subgoal_traces}
    url, subgoals = trace.start.url or "", []
    for subgoal in trace.subgoal_traces:
        is_last = last_attempts[subgoal.subgoal_id] == subgoal.id
        files = _page_files(root, folders.get(subgoal.subgoal_id)) if is_last else {}
        attempt, url = _with_files(subgoal, files, url)
        subgoals.append(attempt)
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals)})


def read_stored_html(root: Path, relative: str, field: str = "stored_page.path") -> str:
    """Read a stored page; invalid UTF-8 is replaced.

    Raises:
        BundlePathError: the path points outside the bundle.
        TraceError: the page cannot be read.
        TooLargeError: it is too large.
    """
    path = resolve_inside(root, relative, field)
    try:
        data = read_file(path, root=root, limit=MAX_PAGE_BYTES)
    except OSError as error:
        message = f"{path}: the page cannot be read: {error.strerror}. Restore the bundle."
        raise TraceError(message, code="attachment-corrupt") from error
    return data.decode("utf-8", "replace")


def _subgoal_folders(trace: ExecutionTrace) -> Iterator[tuple[str, str]]:
    """Yield the subgoals with their artifacts folders; one that is named itself comes last and wins."""
    numbered = dict(enumerate(dict.fromkeys(each.subgoal_id for each in trace.subgoal_traces), start=1))
    for artifact in trace.artifacts:
        if artifact.name == _MISSION_FOLDER:
            yield from ((subgoal, f"{artifact.path}/subgoal_{number:02d}") for number, subgoal in numbered.items())
    for artifact in trace.artifacts:
        found = _SUBGOAL_FOLDER.fullmatch(artifact.name) or _SUBGOAL_FOLDER.fullmatch(artifact.path.rsplit("/")[-1])
        if found is not None and int(found[1]) in numbered:
            yield numbered[int(found[1])], artifact.path


def _page_files(root: Path, folder: str | None) -> dict[int, str]:
    """Return the stored pages of a subgoal by the number of the step."""
    if folder is None:
        return {}
    try:
        steps = [each.name for each in resolve_inside(root, folder).iterdir()]
    except (BundlePathError, OSError):
        return {}
    numbered = {
        int(found[1]): f"{folder}/{name}/{PAGE_FILE}" for name in steps if (found := _STEP_FOLDER.fullmatch(name))
    }
    return {number: path for number, path in sorted(numbered.items()) if (root / path).is_file()}


def _with_files(subgoal: SubgoalTrace, files: dict[int, str], url: str) -> tuple[SubgoalTrace, str]:
    """Return an attempt with its pages, and the URL of the last document that it is known to load."""
    actions: list[ActionTrace] = []
    for action in sorted(subgoal.actions_taken, key=lambda each: each.sequence):
        url = _loaded_url(action) or url
        path = files.get(action.sequence)
        page = None if path is None else StoredPage(path=path, url=url)
        actions.append(action.model_copy(update={"stored_page": page}))
    last = StoredPage(path=files[max(files)], url=url) if files else None
    skills = tuple(each.model_copy(update={"stored_page": last}) for each in subgoal.skills_used)
    return subgoal.model_copy(update={"actions_taken": tuple(actions), "skills_used": skills}), url


def _loaded_url(action: ActionTrace) -> str | None:
    if not isinstance(action.result, Succeeded):
        return None
    match action.action:
        case Navigate(url=url) | WaitFor(condition=UrlCondition(url=url)):
            return url
        case _:
            return None
