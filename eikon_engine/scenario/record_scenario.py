"""Record a scenario: run every step and store all results."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError
from eikon_engine.llm import open_debug_dir
from eikon_engine.llm.debug_dir import DebugDirOptions
from eikon_engine.outcome.events import RunStart
from eikon_engine.outcome.run_record import (
    FIXTURES_FOLDER,
    MISSION_FOLDER,
    RUN_RESPONSES_FOLDER,
    RunRecord,
    ScenarioRef,
    make_run_folder,
    versions,
)
from eikon_engine.scenario.calls import CallObservers
from eikon_engine.scenario.check import (
    available_tools,
    check_scenario,
    may_call_model,
    needs_browser,
    require_secrets,
    resolve_variables,
    scenario_gates,
    scenario_steps,
)
from eikon_engine.scenario.model import SkillStep
from eikon_engine.scenario.options import scenario_skills
from eikon_engine.scenario.pages import NoPages, RecordingPages
from eikon_engine.scenario.recorded_calls import RecordingCalls
from eikon_engine.scenario.redaction import SecretFinder, redact_args
from eikon_engine.scenario.run_folder import RunFolder
from eikon_engine.scenario.runner import ScenarioRunner, ScenarioServices
from eikon_engine.scenario.tools.browser import BROWSER_TOOL as BROWSER
from eikon_engine.scenario.tools.browser import make_browser_tool
from eikon_engine.secrets.search import RedactionRules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.llm import CompletionClient, ServedResponse
    from eikon_engine.outcome.event_log import Watch
    from eikon_engine.scenario.model import ScenarioFile
    from eikon_engine.scenario.options import ScenarioOptions
    from eikon_engine.scenario.pages import Pages
    from eikon_engine.scenario.run_folder import RunResult
    from eikon_engine.scenario.tool_box import ToolBox


async def record_scenario(file: ScenarioFile, options: ScenarioOptions) -> RunResult:
    """Run a scenario and write its recording, however the run ends.

    Raises:
        EikonError: the run could not start, and nothing was written: the scenario is invalid or an input is missing.
        BaseException: the run was interrupted, or failed internally; its files are written.
    """
    box = available_tools(file, options.tools)
    check_scenario(file, box, partial(scenario_skills, options))
    gates = scenario_gates(file)
    variables = resolve_variables(file, options.variables)
    require_secrets(file, options.secrets)
    return await _ScenarioRecording(file, options, variables, box).run(gates.monitor())


class _ScenarioRecording:
    """One recording."""

    def __init__(self, file: ScenarioFile, options: ScenarioOptions, variables: dict[str, str], box: ToolBox) -> None:
        self._file = file
        self._options = options
        self._variables = variables
        self._box = box
        self._key = options.new_key()
        self._secrets = SecretFinder(options.secrets, RedactionRules() if options.redact else None, self._key)

    async def run(self, watch: Watch) -> RunResult:
        options, scenario = self._options, self._file.scenario
        started_at = options.now()
        root = make_run_folder(options.runs, scenario.id, started_at, options.run_id)
        self._secrets.find_in(dict(self._variables), made=True)
        note = RunRecord(
            run_id=root.name,
            mode="record",
            scenario=ScenarioRef(id=scenario.id, path=str(self._file.path), digest=self._file.digest),
            variables={name: self._secrets.redactor.redact_text(value) for name, value in self._variables.items()},
            started_at=started_at,
            versions=versions(),
        )
        folder = RunFolder(root, note, options.now, watch=watch, readers=options.readers)
        folder.redactor = self._secrets.redactor
        start = RunStart(
            kind="scenario_record",
            run_id=root.name,
            mission_id=scenario.id,
            mission_text=self._secrets.redactor.redact_text(scenario.goal),
            headless=options.headless if needs_browser(self._file) else None,
            subgoals=len(scenario.subgoals),
            steps=sum(1 for _ in scenario_steps(self._file)),
        )
        with folder.running(start):
            await self._run_steps(folder)
        return folder.result()

    async def _run_steps(self, folder: RunFolder) -> None:
        readers = CallObservers(folder.events)
        calls = RecordingCalls(
            folder.folder / FIXTURES_FOLDER, folder.record.run_id, self._secrets, self._options.now, readers
        )
        try:
            async with AsyncExitStack() as stack:
                pages = await self._open_pages(stack, folder, readers)
                around = ScenarioServices(
                    box=self._allowed_tools(pages).with_calls(calls),
                    models=self._open_completion_client(
                        stack, folder.folder / RUN_RESPONSES_FOLDER, readers.on_completion
                    ),
                    pages=pages,
                    events=folder.events,
                    redactor=self._secrets.redactor,
                )
                walk = ScenarioRunner(self._file, self._variables, around)
                await walk.run()
        except EikonError:
            calls.close()
            raise
        calls.close()
        self._secrets.find_in(walk.outputs, made=False)
        folder.write_outputs(redact_args(walk.outputs, self._secrets.redactor))
        if needs_browser(self._file) and self._options.certify is not None:
            folder.update_record(
                certified=await self._options.certify(folder.folder / MISSION_FOLDER, self._options.secrets)
            )

    async def _open_pages(self, stack: AsyncExitStack, folder: RunFolder, readers: CallObservers) -> Pages:
        """Open the pages of the mission, if it uses any."""
        if not needs_browser(self._file):
            return NoPages()
        from eikon_engine.record.open_recorder import open_recorder  # noqa: PLC0415 - keeps scenarios without pages fast
        from eikon_engine.record.options import RecordOptions  # noqa: PLC0415 - as above

        options, mission = self._options, folder.folder / MISSION_FOLDER
        ask = None
        if any(isinstance(step, SkillStep) for _, step in scenario_steps(self._file)):
            ask = self._open_completion_client(stack, mission / RUN_RESPONSES_FOLDER, folder.events.on_completion)
        recorder = await stack.enter_async_context(
            open_recorder(
                mission,
                mission_text=self._file.scenario.goal,
                mission_id=self._file.scenario.id,
                options=RecordOptions(
                    headless=options.headless,
                    browser_path=options.browser_path,
                    secrets=options.secrets,
                    redact=options.redact,
                    completion_client=ask,
                    should_store_responses=False,
                    now=options.now,
                    new_id=options.new_id,
                    new_key=lambda: self._key,
                ),
                skills=scenario_skills(options),
            )
        )
        pages = RecordingPages(recorder, folder.events)
        readers.add(pages)
        return pages

    def _open_completion_client(
        self, stack: AsyncExitStack, folder: Path, watch: Callable[[ServedResponse], None]
    ) -> CompletionClient | None:
        """Return a model client that stores its responses in a folder; None if no step may call a model."""
        if not may_call_model(self._file):
            return None
        chosen = DebugDirOptions(
            redact=self._secrets.redactor.redact_text,
            on_response=watch,
            records_outages=True,
            new_id=self._options.new_id,
        )
        return stack.enter_context(open_debug_dir(folder, self._options.make_completion_client, options=chosen)).client

    def _allowed_tools(self, pages: Pages) -> ToolBox:
        """Return the allowed tools; without pages, `browser` is not among them."""
        allowed = self._file.scenario.allowed_tools
        if isinstance(pages, NoPages):
            return self._box.allowing(name for name in allowed if name != BROWSER)
        return self._box.extended(make_browser_tool(pages)).allowing(allowed)
