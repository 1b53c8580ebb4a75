"""Rerun the recorded skills of bundles on their stored pages, compare the outputs, and accept new ones."""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic_core import PydanticSerializationError, to_json

from eikon_engine.dom.fast_html import StoredFrame, render_stored_frames
from eikon_engine.errors import CompletionError, EikonError, InternalError, SkillError, TraceError, UsageError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.garbage_collection import gc_paused
from eikon_engine.llm import ReplayClient
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, read_complete_folder
from eikon_engine.outcome.json_diff import diff_json
from eikon_engine.skills import default_skills
from eikon_engine.skills.rerun.results import BundleRerun, OutputDifference, UseRerun
from eikon_engine.skills.skill import SkillInput
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.execution import Blocked, Failed, Succeeded
from eikon_engine.trace.patch import Operation, SetPageIntent, SetSkillOutput, TracePatch, apply_patch
from eikon_engine.trace.steps import MISSING_DOCUMENT, unknown_skill_note
from eikon_engine.trace.stored_pages import read_stored_html
from eikon_engine.trace.trace_file import TRACE_FILE, find_trace_file, read_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.files.json_text import JsonValue
    from eikon_engine.llm import Completion, CompletionClient, CompletionRequest
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.skills.skill import Skill
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import PageIntent, Result, SkillUsage


class StoredPages:
    """The pages of a bundle, each decoded once even if several skills use it."""

    def __init__(self, bundle: Bundle) -> None:
        """Read pages from this bundle."""
        self._bundle = bundle
        self._frames: dict[str, dict[str, StoredFrame]] = {}

    def frame(self, snapshot: BlobRef, path: str) -> StoredFrame | None:
        """Return the page of one frame, or None if the snapshot has no such frame.

        Raises:
            TraceError: the snapshot cannot be read.
        """
        if snapshot.sha256 not in self._frames:
            self._frames[snapshot.sha256] = render_stored_frames(self._bundle.dom.get(snapshot))
        return self._frames[snapshot.sha256].get(path)

    def skill_page(self, usage: SkillUsage) -> StoredFrame | None:
        """Return the page that a skill ran on, or None if its snapshot has no such frame or no page is stored.

        Raises:
            TraceError: the page cannot be read.
        """
        if usage.source is not None:
            frame = self.frame(usage.source.snapshot, usage.source.frame)
            return None if frame is None else frame._replace(url=usage.source.url)
        stored = usage.stored_page
        if stored is None:
            return None
        return StoredFrame(html=read_stored_html(self._bundle.root, stored.path), url=stored.url)

    def intent_page(self, intent: PageIntent) -> StoredFrame | None:
        """Return the page of a page intent in an older recording, or None if it is missing or ambiguous.

        It is the DOM snapshot of the action, else `dom.html` in the artifact folder of the step.

        Raises:
            TraceError: the page cannot be read.
        """
        trace = self._bundle.trace
        actions = [action for attempt in trace.subgoal_traces for action in attempt.actions_taken]
        observed = [each.baseline.pages[0] for each in actions if each.id == intent.step_id and each.baseline]
        if len(observed) == 1 and observed[0].snapshot is not None:
            return self.frame(observed[0].snapshot, "")
        artifacts = (*trace.artifacts, *(artifact for action in actions for artifact in action.artifacts))
        named = dict.fromkeys(f"{artifact.path}/{intent.step_id}/dom.html" for artifact in artifacts)
        files = [path for each in named if (path := resolve_inside(self._bundle.root, each, "page_intents")).is_file()]
        if intent.step_id is None or len(files) != 1:
            return None
        relative = files[0].relative_to(self._bundle.root).as_posix()
        return StoredFrame(html=read_stored_html(self._bundle.root, relative, "page_intents"), url="")


INTENT_SKILL: Final = "detect_page_intent"
"""The skill that reruns page intents of older recordings."""


def rerun_bundle(
    path: Path,
    skills: SkillRegistry,
    skill_names: frozenset[str] = frozenset(),
    completion_client: CompletionClient | None = None,
) -> BundleRerun:
    """Rerun the recorded skills of a bundle, restricted to the names in `only` if it is not empty.

    Questions to models go to `ask`, else to the responses in the bundle, never to another model. Failures to read or
    rerun are reported in the result.
    """
    with gc_paused():
        return _rerun_bundle(path, skills, skill_names, completion_client)


def _rerun_bundle(
    path: Path, skills: SkillRegistry, only: frozenset[str], completion_client: CompletionClient | None
) -> BundleRerun:
    try:
        bundle = open_bundle(path)
    except TraceError as error:
        return BundleRerun(path=str(path), error=error.message)
    rerun = _BundleRerunner(bundle, skills, completion_client or _RecordedCompletions(bundle))
    uses: list[UseRerun] = []
    operations: list[Operation] = []
    for attempt in bundle.trace.subgoal_traces:
        for usage in attempt.skills_used:
            if not only or usage.skill in only:
                use = rerun.rerun_use(attempt.id, usage)
                uses.append(use)
                operations.extend(_output_operations(use))
    for intent in bundle.trace.page_intents if not only or INTENT_SKILL in only else ():
        use = rerun.rerun_intent(intent)
        uses.append(use)
        operations.extend(_intent_operations(use))
    return BundleRerun(path=str(path), uses=tuple(uses), patch=TracePatch(operations=tuple(operations)))


class _RecordedCompletions:
    """Completion client that replays the responses in a bundle, read on first use."""

    def __init__(self, bundle: Bundle) -> None:
        self._root = bundle.root
        self._executor: ReplayClient | None = None

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded completion."""
        if self._executor is None:
            folder = resolve_inside(self._root, RESPONSES_FOLDER, RESPONSES_FOLDER)
            self._executor = ReplayClient(read_complete_folder(folder))
        return self._executor.complete(request)


class _BundleRerunner:
    """Reruns the skills of one bundle."""

    def __init__(self, bundle: Bundle, skills: SkillRegistry, ask: CompletionClient) -> None:
        self._pages = StoredPages(bundle)
        self._is_older = bundle.trace.migrated_from is not None
        self._skills = skills
        self._completion_client = ask

    def rerun_use(self, attempt: str, usage: SkillUsage) -> UseRerun:
        """Rerun one skill use."""
        blank = UseRerun(
            id=usage.id,
            subgoal=attempt,
            sequence=usage.sequence,
            skill=usage.skill,
            status="not_rerun",
            recorded_version=usage.version,
            version=None,
            old_result=usage.result,
            new_result=None,
        )
        if (why := self._why_not_rerun(usage)) is not None:
            return blank.model_copy(update={"why": why})
        try:
            skill = self._skills.get(usage.skill)
            blank = blank.model_copy(update={"version": skill.version})
            frame = self._pages.skill_page(usage)
            if frame is None:
                missing = "" if usage.source is None else usage.source.frame
                return blank.model_copy(update={"why": f"the stored snapshot has no frame {missing!r}"})
            page = SkillInput(
                html=frame.html,
                url=frame.url,
                parameters=usage.parameters,
                completion_client=self._completion_client,
            )
            result, output = self._run(skill, page, usage.result)
        except EikonError as error:
            unreadable = isinstance(error, TraceError)
            return blank.model_copy(
                update={"status": "unreadable" if unreadable else "not_rerun", "why": error.message}
            )
        is_unknown = isinstance(usage.result, Succeeded) and isinstance(result, Succeeded) and not usage.output_recorded
        if is_unknown or usage.unverifiable is not None:
            why = usage.unverifiable or "the recording contains no output of the skill to compare with"
            return blank.model_copy(update={"why": why, "new_result": result})
        return _compare_outputs(blank, result, usage.output, output)

    def _why_not_rerun(self, usage: SkillUsage) -> str | None:
        """Return why a skill use cannot be rerun; None if it can."""
        if self._is_older and not self._skills.has(usage.skill):
            return unknown_skill_note(usage)
        if usage.source is None and usage.stored_page is None:
            return MISSING_DOCUMENT
        return "the skill was blocked when recorded" if isinstance(usage.result, Blocked) else None

    def rerun_intent(self, intent: PageIntent) -> UseRerun:
        """Rerun a page intent of an older recording; compare the intent only, not its confidence."""
        blank = UseRerun(
            id=intent.id,
            subgoal="",
            sequence=None,
            skill=INTENT_SKILL,
            status="not_rerun",
            recorded_version=None,
            version=None,
            old_result=Succeeded(),
            new_result=None,
        )
        try:
            skill = self._skills.get(INTENT_SKILL)
            frame = self._pages.intent_page(intent)
            if frame is None:
                return blank.model_copy(update={"why": "the recording contains no page for the page intent"})
            result, output = self._run(
                skill,
                SkillInput(html=frame.html, url=frame.url, completion_client=self._completion_client),
                blank.old_result,
            )
        except EikonError as error:
            unreadable = isinstance(error, TraceError)
            return blank.model_copy(
                update={"status": "unreadable" if unreadable else "not_rerun", "why": error.message}
            )
        blank = blank.model_copy(update={"version": skill.version})
        found = output.get("intent") if isinstance(output, dict) else None
        if isinstance(result, Succeeded) and found == intent.intent:
            return blank.model_copy(update={"status": "unchanged", "new_result": result})
        change = OutputDifference(kind="changed", path="$.intent", old=intent.intent, new=found)
        return blank.model_copy(
            update={
                "status": "changed",
                "new_result": result,
                "old": {"intent": intent.intent},
                "new": output,
                "changes": (change,),
            }
        )

    def _run(self, skill: Skill, page: SkillInput, recorded: Result) -> tuple[Result, JsonValue]:
        """Run a skill and return its result and output.

        Raises:
            CompletionError: the model returned no answer, which says nothing about the skill. If the recording contains
                the same failure and replays it, it is a result instead.
        """
        try:
            return Succeeded(), skill.run(page)
        except CompletionError as error:
            is_as_recorded = isinstance(recorded, Failed) and recorded.code == error.code
            if not (is_as_recorded and isinstance(self._completion_client, _RecordedCompletions)):
                raise
            return Failed(code=error.code, message=error.message), None
        except SkillError as error:
            return Failed(code=error.code, message=error.message), None


def _compare_outputs(blank: UseRerun, result: Result, old: JsonValue, new: JsonValue) -> UseRerun:
    succeeds = isinstance(result, Succeeded)
    if succeeds is isinstance(blank.old_result, Succeeded):
        if not succeeds or _is_same(old, new):
            return blank.model_copy(update={"status": "unchanged", "new_result": result})
        changes = tuple(
            OutputDifference(kind=each.kind.value, path=each.path, old=each.expected, new=each.observed)
            for each in diff_json(old, new)
        )
    else:
        changes = ()
    update = {"status": "changed", "new_result": result, "old": old, "new": new, "changes": changes}
    return blank.model_copy(update=update)


def _is_same(old: JsonValue, new: JsonValue) -> bool:
    """Whether two outputs are the same JSON; compares text, because 1, 1.0 and True are equal in Python."""
    try:
        if old == new and to_json(old) == to_json(new):
            return True
    except PydanticSerializationError:
        pass  # invalid Unicode, which only the slower `json` module can write
    return _canonical_text(old) == _canonical_text(new)


def _canonical_text(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _output_operations(use: UseRerun) -> tuple[SetSkillOutput, ...]:
    if use.status != "changed" or use.new_result is None:
        return ()
    reason = f"{use.skill} was rerun, {_describe_versions(use)}"
    return (SetSkillOutput(skill=use.id, version=use.version, result=use.new_result, output=use.new, reason=reason),)


def _intent_operations(use: UseRerun) -> tuple[SetPageIntent, ...]:
    match use.new:
        case {"intent": str(intent), "confidence": float(confidence), "signals": list(signals)}:
            reason = f"{use.skill} was rerun on the stored page, {_describe_versions(use)}"
            return (
                SetPageIntent(
                    page_intent=use.id, intent=intent, confidence=confidence, signals=tuple(signals), reason=reason
                ),
            )
        case _:
            return ()


def _describe_versions(use: UseRerun) -> str:
    if use.recorded_version is None or use.recorded_version == use.version:
        return f"version {use.version}"
    return f"version {use.recorded_version} when recorded, {use.version} now"


_BUNDLES_PER_PROCESS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunOptions:
    """Options of a rerun."""

    skill_names: frozenset[str] = frozenset()
    """Names of the skills to rerun; empty means all."""
    jobs: int | None = None
    """Number of processes; None means one per core. A few bundles run in this process."""
    load_skills: Callable[[], SkillRegistry] = field(default=default_skills)
    """Factory of the registry, called once in each process."""
    completion_client: CompletionClient | None = None
    """Completion client to use instead of the responses in the bundles; disables parallel processes."""


def rerun_bundles(paths: Sequence[Path], options: RerunOptions) -> Iterator[BundleRerun]:
    """Rerun the skills of bundles and yield the results in the order of `paths`.

    Raises:
        InternalError: a worker process died.
    """
    jobs = min(options.jobs or os.cpu_count() or 1, max(1, len(paths) // _BUNDLES_PER_PROCESS))
    if jobs == 1 or options.completion_client is not None:
        skills = options.load_skills()
        for path in paths:
            yield rerun_bundle(path, skills, options.skill_names, options.completion_client)
        return
    with _pool(jobs, options) as pool:
        try:
            yield from pool.map(_rerun_in_worker, paths)
        except BrokenProcessPool as error:
            message = "a worker process of the rerun died. Try --jobs 1."
            raise InternalError(message) from error


@contextmanager
def _pool(jobs: int, options: RerunOptions) -> Iterator[ProcessPoolExecutor]:
    """Spawn worker processes; forking would copy threads and locks."""
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=get_context("spawn"),
        initializer=_init_worker,
        initargs=(options.load_skills, options.skill_names),
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


_worker_state: dict[str, tuple[SkillRegistry, frozenset[str]]] = {}
"""State of a worker process, set once by its initializer."""


def _init_worker(skills: Callable[[], SkillRegistry], only: frozenset[str]) -> None:
    _worker_state["work"] = (skills(), only)


def _rerun_in_worker(path: Path) -> BundleRerun:
    skills, only = _worker_state["work"]
    return rerun_bundle(path, skills, only)


def accept_outputs(rerun: BundleRerun) -> BundleRerun:
    """Apply the patch of a rerun and rewrite the trace, as `eikon certify --accept` does.

    Raises:
        UsageError: the recording was interrupted and has no `trace.json`.
        TraceError: the trace changed since the rerun.
        OutputError: the trace cannot be written.
    """
    if not rerun.patch.operations:
        return rerun
    path = find_trace_file(Path(rerun.path))
    if path.name != TRACE_FILE:
        message = f"{path.parent}: the recording was interrupted and cannot be changed. Record the mission again."
        raise UsageError(message)
    write_trace(apply_patch(read_trace(path), rerun.patch), path)
    outdated = (path.parent / CERTIFICATE_FILE).is_file()
    return rerun.model_copy(update={"accepted": True, "certificate_outdated": outdated})
