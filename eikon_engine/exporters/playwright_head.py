"""The docstring of an exported test: where it is from, how it is run, what it checks and what it does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.python_source import docstring
from eikon_engine.trace.actions import ExtractDom, Note
from eikon_engine.trace.mask import describe_mask
from eikon_engine.trace.secret_text import ENVIRONMENT_PREFIX
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.execution import ExecutionTrace

CHECKED: Final = (
    "Checked: who is acted upon, values of fields, addresses, titles, dialogs, downloads, pages that open and close, "
    "errors in the console, and of what each action brought the headings, messages, tables, lists and marked numbers."
)
NOT_CHECKED: Final = (
    "Not checked, though a replay compares it: all other parts of documents, closed shadow roots, which other elements "
    "are hidden, requests, answers and redirects, cookies and storage, pictures, results of skills."
)


def head(trace: ExecutionTrace, left: tuple[str, ...], *, secrets: tuple[str, ...], files_folder: str) -> str:
    """Write the docstring of the module."""
    day = f"{trace.started_at:%Y-%m-%d}"
    paragraphs = [
        f"Mission {trace.mission_id}: {trace.mission_text}",
        f"Exported by Eikon from a recording of {day}, for pytest-playwright. On another site: pytest --base-url URL.",
    ]
    if files_folder:
        paragraphs.append(f"Needs the folder {files_folder} beside it.")
    if secrets:
        paragraphs.append(f"Takes from the environment: {', '.join(ENVIRONMENT_PREFIX + each for each in secrets)}.")
    paragraphs += [CHECKED, NOT_CHECKED, "Not carried over from the recording:", *(f"- {each}" for each in left)]
    return docstring(paragraphs)


def left_out(trace: ExecutionTrace) -> Iterator[str]:
    """Say what of a recording a test for Playwright cannot hold."""
    environment = trace.environment
    if environment is not None:
        began = datetime.fromtimestamp(environment.clock_start_ms / 1000, tz=UTC)
        yield f"clock: pages began at {began:%Y-%m-%d %H:%M} by a {environment.clock} clock; here they run by today's"
        yield f"chance: pages drew numbers by the seed {environment.random_seed}; here they draw others"
        if environment.cpu_count is not None or environment.device_memory_gb is not None:
            yield "machine: pages were told of a certain number of processors or size of memory"
    if trace.network is not None:
        rules = len(trace.network.rules)
        yield f"network: the recorded answers are not used{f', nor its {rules} rules' if rules else ''}"
    if trace.start.session_storage is not None:
        yield "session storage: the test begins without"
    for mask in trace.masks:
        yield f"mask {describe_mask(mask)}"
    yield from _steps(trace)


def _steps(trace: ExecutionTrace) -> Iterator[str]:
    for subgoal in trace.subgoal_traces:
        for skill in subgoal.skills_used:
            yield f"skill {skill.skill} in {subgoal.description!r} is not run"
        for tool in subgoal.tools_used:
            yield f"tool {tool.tool} in {subgoal.description!r} is not called"
        if subgoal.completions:
            yield f"{counted(len(subgoal.completions), 'completion')} in {subgoal.description!r}: no model is asked"
        for step in subgoal.actions_taken:
            if step.observation is not None and not step.observation.settled:
                yield f"what {step.id} led to: it has no baseline; certify the bundle first"
            if isinstance(step.action, ExtractDom | Note):
                yield f"{step.action.type} in {subgoal.description!r} does nothing to a page"
