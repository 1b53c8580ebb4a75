"""Replay a recorded scenario: every step runs again, and nothing is executed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from eikon_engine.errors import FixtureFolderError, ReplayDivergenceError, ReplayError
from eikon_engine.files.limits import parse_json, read_document
from eikon_engine.files.writing import make_folder
from eikon_engine.llm import ReplayClient
from eikon_engine.llm.response_folder import read_complete_folder
from eikon_engine.outcome.events import RunStart
from eikon_engine.outcome.json_diff import diff_json
from eikon_engine.outcome.run_record import (
    FIXTURES_FOLDER,
    OUTPUTS_FILE,
    REPLAY_FOLDER,
    RUN_RESPONSES_FOLDER,
    RunRecord,
    ScenarioRef,
    make_run_folder,
    versions,
)
from eikon_engine.scenario.check import check_scenario, needs_browser, resolve_variables, scenario_gates, scenario_steps
from eikon_engine.scenario.mismatch import format_changes
from eikon_engine.scenario.model import CompletionStep
from eikon_engine.scenario.options import scenario_skills
from eikon_engine.scenario.pages import NoPages, ReplayedPages
from eikon_engine.scenario.redaction import redact_args
from eikon_engine.scenario.replayed_calls import ReplayingCalls
from eikon_engine.scenario.run_folder import RunFolder, serialize_outputs
from eikon_engine.scenario.runner import ScenarioRunner, ScenarioServices
from eikon_engine.scenario.tool_box import ToolBox

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.outcome.event_log import Watch
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.scenario.model import ScenarioFile
    from eikon_engine.scenario.options import ScenarioOptions
    from eikon_engine.scenario.pages import LockstepController
    from eikon_engine.scenario.recording import Recording
    from eikon_engine.scenario.run_folder import RunResult


async def replay_scenario(file: ScenarioFile, recording: Recording, options: ScenarioOptions) -> RunResult:
    """Replay every step of a scenario from a recording.

    No tool is executed, no model called and no network reached; page steps are replayed sealed. Any difference ends the
    run: a tool call, prompt, action, page or output, or a recorded step that is left over.

    Raises:
        EikonError: the run could not start, and nothing was written: the scenario or recording is not usable.
        BaseException: the run was interrupted, or failed internally; its files are written.
    """
    check_scenario(file, None, partial(scenario_skills, options))
    gates = scenario_gates(file)
    require_parts(file, recording)
    recorded = {} if recording.record is None else recording.record.variables
    variables = resolve_variables(file, options.variables, recorded)
    return await _ScenarioReplay(file, recording, options, variables).run(gates.monitor())


def require_parts(file: ScenarioFile, recording: Recording) -> None:
    """Check that a recording has all the parts that a scenario needs.

    Raises:
        FixtureFolderError: the mission or the model responses are missing.
    """
    around = recording.fixtures.folder.parent
    if needs_browser(file) and recording.mission is None:
        message = (
            f"{around}: expected the run folder with the recorded mission, got none. "
            "Keep the fixtures in the folder of their run."
        )
        raise FixtureFolderError(message)
    if any(isinstance(step, CompletionStep) for _, step in scenario_steps(file)) and recording.responses is None:
        message = (
            f"{around}: expected the run folder with the model responses in {RUN_RESPONSES_FOLDER}/, got none. "
            "Keep the fixtures in the folder of their run."
        )
        raise FixtureFolderError(message)


@dataclass(frozen=True, slots=True)
class _ScenarioReplay:
    """One replay."""

    file: ScenarioFile
    recording: Recording
    options: ScenarioOptions
    variables: dict[str, str]

    async def run(self, watch: Watch) -> RunResult:
        options, scenario = self.options, self.file.scenario
        started_at = options.now()
        root = make_run_folder(options.runs, f"{scenario.id}_replay", started_at, options.run_id)
        note = RunRecord(
            run_id=root.name,
            mode="replay",
            scenario=ScenarioRef(id=scenario.id, path=str(self.file.path), digest=self.file.digest),
            recording=self.recording.fixtures.info.run_id,
            started_at=started_at,
            versions=versions(),
        )
        folder = RunFolder(root, note, options.now, watch=watch, readers=options.readers)
        make_folder(root / FIXTURES_FOLDER)
        calls = ReplayingCalls(self.recording.fixtures, options.secrets, folder.events)
        folder.update_record(
            variables={name: calls.secrets.redactor.redact_text(value) for name, value in self.variables.items()}
        )
        start = RunStart(
            kind="scenario_replay",
            run_id=root.name,
            mission_id=scenario.id,
            mission_text=calls.secrets.redactor.redact_text(scenario.goal),
            network_mode="sealed" if needs_browser(self.file) else None,
            headless=options.headless if needs_browser(self.file) else None,
            subgoals=len(scenario.subgoals),
            steps=sum(1 for _ in scenario_steps(self.file)),
        )
        with folder.running(start):
            self._note_changes(folder)
            await self._replay_steps(folder, calls)
        return folder.result()

    def _note_changes(self, folder: RunFolder) -> None:
        if self.recording.failure is not None:
            folder.events.note(self.recording.failure)
        recorded = self.recording.record
        if recorded is not None and recorded.scenario is not None and recorded.scenario.digest != self.file.digest:
            folder.events.note(f"{self.file.path} has changed since {recorded.run_id} was recorded")

    async def _replay_steps(self, folder: RunFolder, calls: ReplayingCalls) -> None:
        redactor = calls.secrets.redactor
        models = self._recorded_completion_client(folder, calls, self.recording.responses)
        mission = self.recording.mission
        skill_models = self._recorded_completion_client(
            folder, calls, None if mission is None else mission / RUN_RESPONSES_FOLDER
        )
        pages = self._open_pages(folder, calls, skill_models)
        around = ScenarioServices(
            box=ToolBox.of().with_calls(calls).allowing(self.file.scenario.allowed_tools),
            models=models,
            pages=pages,
            events=folder.events,
            redactor=redactor,
        )
        walk = ScenarioRunner(self.file, self.variables, around)
        try:
            await walk.run()
        except ReplayDivergenceError:
            folder.update_record(verdict="diverged")
            raise
        finally:
            if isinstance(pages, ReplayedPages):
                await pages.cancel()
                if pages.outcome is not None:
                    folder.update_record(verdict=pages.outcome.verdict)
        calls.close()
        self._require_pages_used()
        _require_responses_used(models)
        _require_responses_used(skill_models)
        outputs = redact_args(walk.outputs, redactor)
        folder.write_outputs(outputs)
        self._require_same_outputs(outputs)

    def _recorded_completion_client(
        self, folder: RunFolder, calls: ReplayingCalls, responses: Path | None
    ) -> ReplayClient | None:
        """Return a client that serves the recorded responses; None if there are none."""
        if responses is None or not responses.is_dir():
            return None
        recorded = read_complete_folder(responses)
        return ReplayClient(
            recorded, redact=calls.secrets.redactor.redact_text, on_response=folder.events.on_completion
        )

    def _open_pages(
        self, folder: RunFolder, calls: ReplayingCalls, ask: ReplayClient | None
    ) -> ReplayedPages | NoPages:
        mission = self.recording.mission
        if mission is None or not needs_browser(self.file):
            return NoPages()

        async def replay(turns: LockstepController) -> ReplayOutcome:
            from eikon_engine.replay.engine import ReplayEngine  # noqa: PLC0415 - as above
            from eikon_engine.replay.options import ReplayOptions  # noqa: PLC0415 - keeps scenarios without pages fast

            chosen = ReplayOptions(
                headless=self.options.headless,
                browser_path=self.options.browser_path,
                artifacts_dir=folder.folder / REPLAY_FOLDER,
                network="sealed",
                secrets=self.options.secrets,
                skills=scenario_skills(self.options),
                completion_client=ask,
                controller=turns,
                readers=(pages.forward,),
                now=self.options.now,
            )
            return await ReplayEngine(chosen).replay_async(mission)

        pages = ReplayedPages(replay, folder.events, calls.secrets.redactor)
        return pages

    def _require_pages_used(self) -> None:
        """Check that a recorded mission is replayed at all; `ReplayedPages.finish` checks its steps."""
        if self.recording.mission is not None and not needs_browser(self.file):
            message = (
                f"{self.recording.mission} was recorded, but the scenario has no page steps. "
                "Run the scenario that was recorded, or record again."
            )
            raise ReplayError(message, code="scenario-diverged")

    def _require_same_outputs(self, outputs: dict[str, JsonValue]) -> None:
        """Compare the outputs with the recorded ones, if the recording is complete."""
        run, note = self.recording.run, self.recording.record
        if run is None or note is None:
            return
        path = run / OUTPUTS_FILE
        if not path.is_file():
            if note.state == "complete":
                message = f"{path}: expected the recorded outputs, got no file. Restore it, or record again."
                raise FixtureFolderError(message)
            return
        if (content := read_document(path, root=path.parent)) == serialize_outputs(outputs):
            return
        try:
            recorded = parse_json(content)
        except ValueError as error:
            message = f"{path}: expected the recorded outputs, got invalid JSON ({error}). Record again."
            raise FixtureFolderError(message) from error
        changes = diff_json(recorded, json.loads(serialize_outputs(outputs)))
        differences = format_changes(changes) if changes else "their order changed"
        message = f"outputs differ from {path}: {differences}. Run the scenario that was recorded, or record again."
        raise ReplayError(message, code="scenario-diverged")


def _require_responses_used(models: ReplayClient | None) -> None:
    unused = () if models is None else models.unused
    if unused:
        listed = ", ".join(each.file_name for each in unused)
        message = f"unused recorded model responses: {listed}. Send the recorded prompts, or record again."
        raise ReplayError(message, code="scenario-diverged")
