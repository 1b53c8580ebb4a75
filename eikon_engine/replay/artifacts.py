"""The artifacts folder of one run, and the evidence files in it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.dom_diff import render_diff_tree
from eikon_engine.dom import render_html
from eikon_engine.errors import BrowserError, OutputError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.writing import make_folders, write_atomically, write_error_message
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.trace.bundle import DOM_FOLDER, FILES_FOLDER, store_snapshot
from eikon_engine.trace.execution import ActionTrace, Artifact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.browser.worker import PerformedAction, Worker
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.replay.step import StepRunner

OUTCOME_FILE: Final = "outcome.json"
OBSERVATION: Final = "observation"
"""Name of the artifact with what a live step that diverged showed, from which `eikon accept` makes a baseline."""
DOM_DIFFERENCE: Final = "DOM difference"
"""Name of the artifact with all differences of the pages of a step."""


class ArtifactsFolder:
    """Write the artifacts of one run."""

    def __init__(self, root: Path) -> None:
        """Create the folder; the artifacts of an earlier run move to `<folder>.1`, `<folder>.2` ….

        Raises:
            OutputError: it cannot be written, or holds files that are not replay artifacts.
        """
        self.root = root
        try:
            _move_earlier_run(root)
            make_folders(root)
        except OSError as error:
            raise OutputError(write_error_message(root, error)) from error

    def write(self, name: str, content: str | bytes) -> str:
        """Write a file atomically; return its path relative to the folder."""
        write_atomically(self.root / name, content.encode() if isinstance(content, str) else content)
        return name


def _move_earlier_run(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        message = f"{root}: expected an artifacts folder, got a file. Choose another --artifacts-dir."
        raise OutputError(message)
    content = {entry.name for entry in root.iterdir()}
    if not content:
        return
    if EVENTS_FILE not in content and OUTCOME_FILE not in content:
        message = f"{root} holds files that are not replay artifacts ({min(content)}). Choose another --artifacts-dir."
        raise OutputError(message)
    number = 1
    while (aside := root.with_name(f"{root.name}.{number}")).exists():
        number += 1
    root.rename(aside)


class EvidenceWriter:
    """Write the evidence of a run to `subgoal_<n>` folders."""

    def __init__(
        self, folder: ArtifactsFolder, runner: StepRunner, worker: Worker, *, draws_pictures: bool = False
    ) -> None:
        """Write evidence of `runner` and `worker` to `folder`.

        With `draws_pictures`, that of the first step that diverged has pictures of both pages.
        """
        self._draws_pictures = draws_pictures
        self._folder = folder
        self._runner = runner
        self._worker = worker

    async def add_action_evidence(self, planned: PlannedStep, outcome: ActionOutcome) -> ActionOutcome:
        """Write screenshots and DOM of an action that takes a screenshot, diverged, or ends its subgoal."""
        if not isinstance(planned.step, ActionTrace):
            return outcome
        prefix = f"subgoal_{planned.subgoal_number}/{planned.step.sequence:03d}_{planned.step.action.type}"
        artifacts = []
        last = self._runner.last_performed
        if last is not None and last.screenshot is not None:
            artifacts.append(self._write("screenshot", f"{prefix}_screenshot.png", last.screenshot))
            artifacts.extend(self._write_pixel_diff(planned.step, last, prefix))
        if outcome.divergences or planned.step is planned.subgoal.steps[-1]:
            page = planned.step.action.page
            taking = asyncio.ensure_future(self._worker.screenshot(page))
            await asyncio.sleep(0)  # the browser paints while the documents are written
            documents = self._write_dom(planned.step, page, prefix)
            picture = await taking
            if picture is not None:
                artifacts.append(self._write("page at the end of the step", f"{prefix}_page.png", picture))
            artifacts.extend(documents)
        if outcome.divergences:
            artifacts.extend(self._write_observation(prefix))
            if self._draws_pictures:
                self._draws_pictures = False
                artifacts.extend(await self._draw_pages(planned, planned.step, outcome, prefix))
        return outcome.model_copy(update={"artifacts": tuple(artifacts)})

    def add_skill_evidence(self, planned: PlannedStep, outcome: SkillOutcome) -> SkillOutcome:
        """Write the output of a skill, and its diff if it changed."""
        prefix = f"subgoal_{planned.subgoal_number}/{planned.step.sequence:03d}_{_file_part(outcome.skill)}"
        output = json.dumps(outcome.output, indent=2, ensure_ascii=False) + "\n"
        artifacts = [self._write("skill output", f"{prefix}_output.json", output)]
        for divergence in outcome.divergences:
            expected = json.dumps(outcome.expected_output, indent=2, ensure_ascii=False) + "\n"
            artifacts.append(self._write("expected skill output", f"{prefix}_expected.json", expected))
            artifacts.append(self._write("difference", f"{prefix}_diff.txt", divergence.detail + "\n"))
        return outcome.model_copy(update={"artifacts": tuple(artifacts)})

    def _write_pixel_diff(self, recorded: ActionTrace, last: PerformedAction, prefix: str) -> Iterator[Artifact]:
        """Write both screenshots and their pixel diff."""
        pictures = self._runner.comparable_screenshots(recorded, last)
        if pictures is None or pictures.recorded == pictures.observed:
            return
        from eikon_engine.divergence.pixel_diff import compare_images  # noqa: PLC0415 - a faithful replay has no diff

        diff = compare_images(pictures.recorded, pictures.observed)
        yield self._write("screenshot recorded", f"{prefix}_screenshot_expected.png", pictures.recorded)
        if diff is not None:
            yield self._write("difference of the screenshots", f"{prefix}_screenshot_diff.png", diff.image)

    async def _draw_pages(
        self, planned: PlannedStep, recorded: ActionTrace, outcome: ActionOutcome, prefix: str
    ) -> list[Artifact]:
        """Draw the recorded page and the observed one; none if a snapshot is missing."""
        from eikon_engine.replay.pictures import (  # noqa: PLC0415 - a faithful replay draws no pages
            draw_page,
            recorded_resources,
        )

        pages = self._runner.outlined_pages(planned, recorded, outcome.divergences[0])
        environment = self._runner.plan.trace.environment
        if pages is None or environment is None:
            return []
        written = []
        size = (environment.viewport.width, environment.viewport.height)
        recording = self._runner.plan.recorded_network()
        resources = {} if recording is None else recorded_resources(recording)
        try:
            for side, page in zip(("expected", "observed"), pages, strict=True):
                picture = await draw_page(self._worker.session, page, size, resources)
                written.append(self._write(f"page {side}, differences outlined", f"{prefix}_{side}.png", picture))
        except BrowserError as error:
            self._worker.session.stabilizer.notes.append(f"pictures of the step are missing: {error.message}")
        return written

    def _write_observation(self, prefix: str) -> Iterator[Artifact]:
        """Write what a live step showed, with its pages, and with the recorded times where they are present times.

        Pages that were not compared, since they were loading when the agent acted, are the recorded ones.
        """
        comparison = self._runner.live_comparison()
        recorded = None if comparison is None else comparison.recorded.observation
        if comparison is None or comparison.observed is None or recorded is None:
            return
        store = BlobStore(self._folder.root / DOM_FOLDER)
        pages = []
        for page in comparison.observed.pages:
            is_loading = page.page in recorded.loading_pages
            snapshot = (comparison.recorded_dom if is_loading else comparison.observed_dom)(page.page)
            ref = None if snapshot is None else store_snapshot(store, snapshot)
            pages.append(page.model_copy(update={"snapshot": ref}))
        last = self._runner.last_performed
        if last is not None and last.long_text is not None:
            BlobStore(self._folder.root / FILES_FOLDER).put(last.long_text.encode())
        observation = comparison.observed.model_copy(
            update={"pages": tuple(pages), "loading_pages": recorded.loading_pages}
        )
        yield self._write(OBSERVATION, f"{prefix}_observation.json", observation.model_dump_json(indent=1) + "\n")

    def _write_dom(self, recorded: ActionTrace, page: int, prefix: str) -> list[Artifact]:
        expected, observed = self._runner.recorded_dom(recorded, page), self._runner.observed_dom(page)
        html = None if expected is None else _html(expected)
        kept = [] if html is None else [self._write("DOM expected", f"{prefix}_dom_expected.html", html)]
        if observed is not None:
            html = html if html is not None and observed == expected else _html(observed)
            kept.append(self._write("DOM observed", f"{prefix}_dom_observed.html", html))
        changes = self._runner.dom_changes(page)
        if changes is not None:
            text = render_diff_tree(changes) if changes else "no difference"
            kept.append(self._write(DOM_DIFFERENCE, f"{prefix}_dom_diff.txt", text + "\n"))
        return kept

    def _write(self, name: str, path: str, content: str | bytes) -> Artifact:
        return Artifact(name=name, path=self._folder.write(path, content))


def _html(snapshot: PageSnapshot) -> str:
    return render_html(snapshot.main, frames=snapshot.frames, base_url=snapshot.main.url)


def _file_part(name: str) -> str:
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in name)[:60]
