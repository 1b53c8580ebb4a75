"""The module docstring of an exported test: its origin, how to run it, what it checks and what it does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.python_source import docstring_source
from eikon_engine.trace.actions import ExtractDom, Note
from eikon_engine.trace.mask import describe_mask
from eikon_engine.trace.secret_text import ENVIRONMENT_PREFIX
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.execution import ExecutionTrace

CHECKED: Final = (
    "Checked: targets, field values, URLs, titles, dialogs, downloads, opened and closed pages, console errors, and "
    "new headings, messages, tables, lists and texts of elements with an id or test id."
)
NOT_CHECKED: Final = (
    "Not checked, although a replay compares it: other parts of documents, closed shadow roots, visibility of other "
    "elements, requests, responses and redirects, cookies and storage, screenshots, results of skills."
)


def module_docstring(
    trace: ExecutionTrace, omitted: tuple[str, ...], *, secrets: tuple[str, ...], files_folder: str
) -> str:
    """Write the docstring of the module."""
    day = f"{trace.started_at:%Y-%m-%d}"
    paragraphs = [
        f"Mission {trace.mission_id}: {trace.mission_text}",
        f"Exported by Eikon from a recording of {day}, for pytest-playwright. For another site: pytest --base-url URL.",
    ]
    if files_folder:
        paragraphs.append(f"Requires the folder {files_folder} next to it.")
    if secrets:
        paragraphs.append(f"Environment variables: {', '.join(ENVIRONMENT_PREFIX + each for each in secrets)}.")
    paragraphs += [CHECKED, NOT_CHECKED, "Not exported from the recording:", *(f"- {each}" for each in omitted)]
    return docstring_source(paragraphs)


def omitted_parts(trace: ExecutionTrace) -> Iterator[str]:
    """Yield what a Playwright test cannot express of a recording."""
    environment = trace.environment
    if environment is not None:
        began = datetime.fromtimestamp(environment.clock_start_ms / 1000, tz=UTC)
        yield f"clock: recorded at {began:%Y-%m-%d %H:%M} with a {environment.clock} clock; the test uses real time"
        yield f"randomness: recorded with the seed {environment.random_seed}; the test uses real randomness"
        if environment.cpu_count is not None or environment.device_memory_gb is not None:
            yield "machine: the recorded number of processors and size of memory are not emulated"
    if trace.network is not None:
        rules = len(trace.network.rules)
        yield f"network: recorded responses{f' and {rules} rules' if rules else ''} are not used"
    if trace.start.session_storage is not None:
        yield "session storage: the test starts without it"
    for mask in trace.masks:
        yield f"mask {describe_mask(mask)}"
    yield from _omitted_steps(trace)


def _omitted_steps(trace: ExecutionTrace) -> Iterator[str]:
    for subgoal in trace.subgoal_traces:
        for skill in subgoal.skills_used:
            yield f"skill {skill.skill} in {subgoal.description!r} is not run"
        for tool in subgoal.tools_used:
            yield f"tool {tool.tool} in {subgoal.description!r} is not called"
        if subgoal.completions:
            yield f"{pluralize(len(subgoal.completions), 'completion')} in {subgoal.description!r}: not requested"
        for step in subgoal.actions_taken:
            if step.observation is not None and not step.observation.settled:
                yield f"observation of {step.id}: it has no baseline. Certify the bundle first."
            if isinstance(step.action, ExtractDom | Note):
                yield f"{step.action.type} in {subgoal.description!r}: it does not act on the page"
