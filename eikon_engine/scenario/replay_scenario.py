"""Replay a recorded scenario: every step runs again, and nothing is executed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic_core import from_json

from eikon_engine.completions import ReplayExecutor
from eikon_engine.completions.folder import read_whole_folder
from eikon_engine.divergence.json_diff import compare_outputs
from eikon_engine.errors import FixtureError, ReplayDivergenceError, ScenarioDivergedError
from eikon_engine.outcome.events import RunStart
from eikon_engine.scenario.check import check_scenario, gates_of, needs_browser, steps_of
from eikon_engine.scenario.given import variables_for
from eikon_engine.scenario.hidden_secrets import hidden_args
from eikon_engine.scenario.model import CompletionStep
from eikon_engine.scenario.nearest_call import told_changes
from eikon_engine.scenario.open_folder import OpenFolder, output_text
from eikon_engine.scenario.options import skills_of
from eikon_engine.scenario.pages import NoPages
from eikon_engine.scenario.replayed_calls import ReplayedCalls
from eikon_engine.scenario.replayed_pages import ReplayedPages
from eikon_engine.scenario.run_note import (
    FIXTURES,
    OUTPUTS_FILE,
    REPLAY,
    RESPONSES,
    RunNote,
    ScenarioNote,
    make_run_folder,
    versions,
)
from eikon_engine.scenario.tool_box import ToolBox
from eikon_engine.scenario.walk import Surroundings, Walk

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.outcome.event_log import Watch
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.scenario.open_folder import RunResult
    from eikon_engine.scenario.options import ScenarioOptions
    from eikon_engine.scenario.read import ScenarioFile
    from eikon_engine.scenario.recording import Recording
    from eikon_engine.scenario.replayed_pages import Turns


async def replay_scenario(file: ScenarioFile, recording: Recording, options: ScenarioOptions) -> RunResult:
    """Replay every step of a scenario from a recording.

    No tool is executed, no model called and no network reached; page steps are replayed sealed. Any difference ends the
    run: a tool call, prompt, action, page or output, or a recorded step that is left over.

    Raises:
        EikonError: the run could not start, and nothing was written: the scenario or recording is not usable.
        BaseException: the run was interrupted, or failed internally; its files are written.
    """
    check_scenario(file, None, partial(skills_of, options))
    gates = gates_of(file)
    demand_parts(file, recording)
    recorded = {} if recording.note is None else recording.note.variables
    variables = variables_for(file, options.variables, recorded)
    return await _Replay(file, recording, options, variables).run(gates.watch())


def demand_parts(file: ScenarioFile, recording: Recording) -> None:
    """Check that a recording has all the parts that a scenario needs.

    Raises:
        FixtureError: the mission or the model responses are missing.
    """
    around = recording.fixtures.folder.parent
    if needs_browser(file) and recording.mission is None:
        message = (
            f"{around}: expected the run folder with the recorded mission, got none. "
            "Keep the fixtures in the folder of their run."
        )
        raise FixtureError(message)
    if any(isinstance(step, CompletionStep) for _, step in steps_of(file)) and recording.responses is None:
        message = (
            f"{around}: expected the run folder with the model responses in {RESPONSES}/, got none. "
            "Keep the fixtures in the folder of their run."
        )
        raise FixtureError(message)


@dataclass(frozen=True, slots=True)
class _Replay:
    """One replay."""

    file: ScenarioFile
    recording: Recording
    options: ScenarioOptions
    variables: dict[str, str]

    async def run(self, watch: Watch) -> RunResult:
        options, scenario = self.options, self.file.scenario
        started_at = options.now()
        root = make_run_folder(options.runs, f"{scenario.id}_replay", started_at, options.run_id)
        note = RunNote(
            run_id=root.name,
            mode="replay",
            scenario=ScenarioNote(id=scenario.id, path=str(self.file.path), digest=self.file.digest),
            recording=self.recording.fixtures.note.run_id,
            started_at=started_at,
            versions=versions(),
        )
        folder = OpenFolder(root, note, options.now, watch=watch, readers=options.readers)
        (root / FIXTURES).mkdir()
        calls = ReplayedCalls(self.recording.fixtures, options.secrets, folder.events)
        folder.note_fact(variables={name: calls.secrets.redactor.text(value) for name, value in self.variables.items()})
        start = RunStart(
            kind="scenario_replay",
            run_id=root.name,
            mission_id=scenario.id,
            mission_text=calls.secrets.redactor.text(scenario.goal),
            network_mode="sealed" if needs_browser(self.file) else None,
            headless=options.headless if needs_browser(self.file) else None,
            subgoals=len(scenario.subgoals),
            steps=sum(1 for _ in steps_of(self.file)),
        )
        with folder.running(start):
            self._tell_of_changes(folder)
            await self._do(folder, calls)
        return folder.result()

    def _tell_of_changes(self, folder: OpenFolder) -> None:
        if self.recording.failure is not None:
            folder.events.note(self.recording.failure)
        recorded = self.recording.note
        if recorded is not None and recorded.scenario is not None and recorded.scenario.digest != self.file.digest:
            folder.events.note(f"{self.file.path} has changed since {recorded.run_id} was recorded")

    async def _do(self, folder: OpenFolder, calls: ReplayedCalls) -> None:
        redactor = calls.secrets.redactor
        models = self._models(folder, calls, self.recording.responses)
        mission = self.recording.mission
        asked_by_skills = self._models(folder, calls, None if mission is None else mission / RESPONSES)
        pages = self._pages(folder, calls, asked_by_skills)
        around = Surroundings(
            box=ToolBox.of().answered_by(calls).allowing(self.file.scenario.allowed_tools),
            models=models,
            pages=pages,
            events=folder.events,
            redactor=redactor,
        )
        walk = Walk(self.file.scenario, self.variables, around)
        try:
            await walk.go()
        except ReplayDivergenceError:
            folder.note_fact(verdict="diverged")
            raise
        finally:
            if isinstance(pages, ReplayedPages):
                await pages.give_up()
                if pages.outcome is not None:
                    folder.note_fact(verdict=pages.outcome.verdict)
        calls.close()
        self._demand_pages_used()
        _demand_all_used(models)
        _demand_all_used(asked_by_skills)
        outputs = hidden_args(walk.outputs, redactor)
        folder.write_outputs(outputs)
        self._demand_same(outputs)

    def _models(self, folder: OpenFolder, calls: ReplayedCalls, responses: Path | None) -> ReplayExecutor | None:
        """Return a client that serves the recorded responses; None if there are none."""
        if responses is None or not responses.is_dir():
            return None
        recorded = read_whole_folder(responses)
        return ReplayExecutor(recorded, clean=calls.secrets.redactor.text, watch=folder.events.completed)

    def _pages(self, folder: OpenFolder, calls: ReplayedCalls, ask: ReplayExecutor | None) -> ReplayedPages | NoPages:
        mission = self.recording.mission
        if mission is None or not needs_browser(self.file):
            return NoPages()

        async def replay(turns: Turns) -> ReplayOutcome:
            from eikon_engine.replay.options import ReplayOptions  # noqa: PLC0415 - keeps scenarios without pages fast
            from eikon_engine.replay.replay_engine import ReplayEngine  # noqa: PLC0415 - as above

            chosen = ReplayOptions(
                headless=self.options.headless,
                browser_path=self.options.browser_path,
                artifacts_dir=folder.folder / REPLAY,
                network="sealed",
                secrets=self.options.secrets,
                skills=skills_of(self.options),
                ask=ask,
                controller=turns,
                readers=(pages.forward,),
                now=self.options.now,
            )
            return await ReplayEngine(chosen).replay_async(mission)

        pages = ReplayedPages(replay, folder.events, calls.secrets.redactor)
        return pages

    def _demand_pages_used(self) -> None:
        """Check that a recorded mission is replayed at all; `ReplayedPages.finish` checks its steps."""
        if self.recording.mission is not None and not needs_browser(self.file):
            message = (
                f"{self.recording.mission} was recorded, but the scenario has no page steps. "
                "Run the scenario that was recorded, or record again."
            )
            raise ScenarioDivergedError(message)

    def _demand_same(self, outputs: dict[str, JsonValue]) -> None:
        """Compare the outputs with the recorded ones, if the recording is complete."""
        run, note = self.recording.run, self.recording.note
        if run is None or note is None:
            return
        path = run / OUTPUTS_FILE
        if not path.is_file():
            if note.state == "complete":
                message = f"{path}: expected the recorded outputs, got no file. Restore it, or record again."
                raise FixtureError(message)
            return
        if path.read_bytes() == output_text(outputs):
            return
        try:
            recorded: JsonValue = from_json(path.read_bytes())
        except ValueError as error:
            message = f"{path}: expected the recorded outputs, got invalid JSON ({error}). Record again."
            raise FixtureError(message) from error
        changes = compare_outputs(recorded, json.loads(output_text(outputs)))
        differences = told_changes(changes) if changes else "their order changed"
        message = f"outputs differ from {path}: {differences}. Run the scenario that was recorded, or record again."
        raise ScenarioDivergedError(message)


def _demand_all_used(models: ReplayExecutor | None) -> None:
    unused = () if models is None else models.unused
    if unused:
        listed = ", ".join(each.file_name for each in unused)
        message = f"unused recorded model responses: {listed}. Send the recorded prompts, or record again."
        raise ScenarioDivergedError(message)
