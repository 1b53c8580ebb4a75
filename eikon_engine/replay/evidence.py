"""Write evidence files: screenshots, recorded and observed DOM, skill outputs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from eikon_engine.divergence.dom_diff import diff_snapshots, render_diff
from eikon_engine.divergence.pixel_diff import compare_pictures
from eikon_engine.trace.dom import render_html
from eikon_engine.trace.execution import ActionTrace, Artifact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.browser.worker import Performed, Worker
    from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.replay.run_folder import RunFolder
    from eikon_engine.replay.step import StepRunner
    from eikon_engine.trace.dom import PageSnapshot


class EvidenceWriter:
    """Write the evidence of a run to `subgoal_<n>` folders."""

    def __init__(self, folder: RunFolder, runner: StepRunner, worker: Worker) -> None:
        """Write evidence of `runner` and `worker` to `folder`."""
        self._folder = folder
        self._runner = runner
        self._worker = worker

    async def of_action(self, planned: PlannedStep, outcome: ActionOutcome) -> ActionOutcome:
        """Write screenshots and DOM of an action that takes a screenshot, diverged, or ends its subgoal."""
        if not isinstance(planned.step, ActionTrace):
            return outcome
        prefix = f"subgoal_{planned.number}/{planned.step.sequence:03d}_{planned.step.action.type}"
        artifacts = []
        last = self._runner.last
        if last is not None and last.picture is not None:
            artifacts.append(self._keep("screenshot", f"{prefix}_screenshot.png", last.picture))
            artifacts.extend(self._pixels(planned.step, last, prefix))
        if outcome.divergences or planned.step is planned.subgoal.steps[-1]:
            page = planned.step.action.page
            taking = asyncio.ensure_future(self._worker.picture(page))
            await asyncio.sleep(0)  # the browser paints while the documents are written
            documents = self._documents(planned.step, page, prefix)
            picture = await taking
            if picture is not None:
                artifacts.append(self._keep("page at the end of the step", f"{prefix}_page.png", picture))
            artifacts.extend(documents)
        return outcome.model_copy(update={"artifacts": tuple(artifacts)})

    def of_skill(self, planned: PlannedStep, outcome: SkillOutcome) -> SkillOutcome:
        """Write the output of a skill, and its diff if it changed."""
        prefix = f"subgoal_{planned.number}/{planned.step.sequence:03d}_{_file_part(outcome.skill)}"
        output = json.dumps(outcome.output, indent=2, ensure_ascii=False) + "\n"
        artifacts = [self._keep("skill output", f"{prefix}_output.json", output)]
        for divergence in outcome.divergences:
            expected = json.dumps(outcome.expected_output, indent=2, ensure_ascii=False) + "\n"
            artifacts.append(self._keep("expected skill output", f"{prefix}_expected.json", expected))
            artifacts.append(self._keep("difference", f"{prefix}_diff.txt", divergence.detail + "\n"))
        return outcome.model_copy(update={"artifacts": tuple(artifacts)})

    def _pixels(self, recorded: ActionTrace, last: Performed, prefix: str) -> Iterator[Artifact]:
        """Write both screenshots and their pixel diff."""
        pictures = self._runner.pictures(recorded, last)
        if pictures is None or pictures.recorded == pictures.observed:
            return
        diff = compare_pictures(pictures.recorded, pictures.observed)
        yield self._keep("screenshot recorded", f"{prefix}_screenshot_expected.png", pictures.recorded)
        if diff is not None:
            yield self._keep("difference of the screenshots", f"{prefix}_screenshot_diff.png", diff.picture)

    def _documents(self, recorded: ActionTrace, page: int, prefix: str) -> list[Artifact]:
        expected, observed = self._runner.recorded_dom(recorded, page), self._runner.observed_dom(page)
        kept = [
            self._keep(name, f"{prefix}_{file}.html", _html(snapshot))
            for name, file, snapshot in (
                ("DOM expected", "dom_expected", expected),
                ("DOM observed", "dom_observed", observed),
            )
            if snapshot is not None
        ]
        if expected is not None and observed is not None:
            changes = diff_snapshots(expected, observed)
            text = render_diff(changes) if changes else "no difference"
            kept.append(self._keep("DOM difference", f"{prefix}_dom_diff.txt", text + "\n"))
        return kept

    def _keep(self, name: str, path: str, content: str | bytes) -> Artifact:
        return Artifact(name=name, path=self._folder.write(path, content))


def _html(snapshot: PageSnapshot) -> str:
    return render_html(snapshot.main, frames=snapshot.frames, base_url=snapshot.main.url)


def _file_part(name: str) -> str:
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in name)[:60]
