"""Record a scenario: run every step and store all results."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from eikon_engine.completions import open_debug_dir
from eikon_engine.completions.debug_dir import DebugDirOptions
from eikon_engine.errors import EikonError
from eikon_engine.outcome.events import RunStart
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.scenario.check import check_scenario, gates_of, may_ask_model, needs_browser, steps_of
from eikon_engine.scenario.finding_secrets import FindingSecrets
from eikon_engine.scenario.given import demand_secrets, tools_for, variables_for
from eikon_engine.scenario.hidden_secrets import hidden_args
from eikon_engine.scenario.model import SkillStep
from eikon_engine.scenario.open_folder import OpenFolder
from eikon_engine.scenario.options import skills_of
from eikon_engine.scenario.pages import NoPages
from eikon_engine.scenario.readers import CallReaders
from eikon_engine.scenario.recorded_calls import RecordedCalls
from eikon_engine.scenario.recorded_pages import RecordedPages
from eikon_engine.scenario.run_note import (
    FIXTURES,
    MISSION,
    RESPONSES,
    RunNote,
    ScenarioNote,
    make_run_folder,
    versions,
)
from eikon_engine.scenario.tools.browser import NAME as BROWSER
from eikon_engine.scenario.tools.browser import browser_driven_by
from eikon_engine.scenario.walk import Surroundings, Walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.completions import Answered, CompletionClient
    from eikon_engine.outcome.event_log import Watch
    from eikon_engine.scenario.open_folder import RunResult
    from eikon_engine.scenario.options import ScenarioOptions
    from eikon_engine.scenario.pages import Pages
    from eikon_engine.scenario.read import ScenarioFile
    from eikon_engine.scenario.tool_box import ToolBox


async def record_scenario(file: ScenarioFile, options: ScenarioOptions) -> RunResult:
    """Run a scenario and write its recording, however the run ends.

    Raises:
        EikonError: the run could not start, and nothing was written: the scenario is invalid or an input is missing.
        BaseException: the run was interrupted, or failed internally; its files are written.
    """
    box = tools_for(file, options.tools)
    check_scenario(file, box, partial(skills_of, options))
    gates = gates_of(file)
    variables = variables_for(file, options.variables)
    demand_secrets(file, options.secrets)
    return await _Recording(file, options, variables, box).run(gates.watch())


class _Recording:
    """One recording."""

    def __init__(self, file: ScenarioFile, options: ScenarioOptions, variables: dict[str, str], box: ToolBox) -> None:
        self._file = file
        self._options = options
        self._variables = variables
        self._box = box
        self._key = options.new_key()
        self._secrets = FindingSecrets(options.secrets, RedactionRules() if options.redact else None, self._key)

    async def run(self, watch: Watch) -> RunResult:
        options, scenario = self._options, self._file.scenario
        started_at = options.now()
        root = make_run_folder(options.runs, scenario.id, started_at, options.run_id)
        self._secrets.learn(dict(self._variables), made=True)
        note = RunNote(
            run_id=root.name,
            mode="record",
            scenario=ScenarioNote(id=scenario.id, path=str(self._file.path), digest=self._file.digest),
            variables={name: self._secrets.redactor.text(value) for name, value in self._variables.items()},
            started_at=started_at,
            versions=versions(),
        )
        folder = OpenFolder(root, note, options.now, watch=watch, readers=options.readers)
        folder.redactor = self._secrets.redactor
        start = RunStart(
            kind="scenario_record",
            run_id=root.name,
            mission_id=scenario.id,
            mission_text=self._secrets.redactor.text(scenario.goal),
            headless=options.headless if needs_browser(self._file) else None,
            subgoals=len(scenario.subgoals),
            steps=sum(1 for _ in steps_of(self._file)),
        )
        with folder.running(start):
            await self._do(folder)
        return folder.result()

    async def _do(self, folder: OpenFolder) -> None:
        readers = CallReaders(folder.events)
        calls = RecordedCalls(folder.folder / FIXTURES, folder.note.run_id, self._secrets, self._options.now, readers)
        try:
            async with AsyncExitStack() as stack:
                pages = await self._pages(stack, folder, readers)
                around = Surroundings(
                    box=self._tools(pages).answered_by(calls),
                    models=self._models(stack, folder.folder / RESPONSES, readers.completed),
                    pages=pages,
                    events=folder.events,
                    redactor=self._secrets.redactor,
                )
                walk = Walk(self._file.scenario, self._variables, around)
                await walk.go()
        except EikonError:
            calls.close()
            raise
        calls.close()
        self._secrets.learn(walk.outputs, made=False)
        folder.write_outputs(hidden_args(walk.outputs, self._secrets.redactor))
        if needs_browser(self._file) and self._options.certify is not None:
            folder.note_fact(certified=await self._options.certify(folder.folder / MISSION, self._options.secrets))

    async def _pages(self, stack: AsyncExitStack, folder: OpenFolder, readers: CallReaders) -> Pages:
        """Open the pages of the mission, if it uses any."""
        if not needs_browser(self._file):
            return NoPages()
        from eikon_engine.record.open_recorder import open_recorder  # noqa: PLC0415 - keeps scenarios without pages fast
        from eikon_engine.record.options import RecordOptions  # noqa: PLC0415 - as above

        options, mission = self._options, folder.folder / MISSION
        ask = None
        if any(isinstance(step, SkillStep) for _, step in steps_of(self._file)):
            ask = self._models(stack, mission / RESPONSES, folder.events.completed)
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
                    ask=ask,
                    keeps_responses=False,
                    now=options.now,
                    new_id=options.new_id,
                    new_key=lambda: self._key,
                ),
                skills=skills_of(options),
            )
        )
        pages = RecordedPages(recorder, folder.events)
        readers.add(pages)
        return pages

    def _models(
        self, stack: AsyncExitStack, folder: Path, watch: Callable[[Answered], None]
    ) -> CompletionClient | None:
        """Return a model client that stores its responses in a folder; None if no step may call a model."""
        if not may_ask_model(self._file):
            return None
        chosen = DebugDirOptions(
            clean=self._secrets.redactor.text, watch=watch, keeps_outages=True, new_id=self._options.new_id
        )
        return stack.enter_context(open_debug_dir(folder, self._options.live, options=chosen)).client

    def _tools(self, pages: Pages) -> ToolBox:
        """Return the allowed tools; without pages, `browser` is not among them."""
        allowed = self._file.scenario.allowed_tools
        if isinstance(pages, NoPages):
            return self._box.allowing(name for name in allowed if name != BROWSER)
        return self._box.extended(browser_driven_by(pages)).allowing(allowed)
