"""A mission through the torture site: one subgoal per page, one item at a time, all results at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.actions import (
    AnswerDialog,
    Click,
    ClosePage,
    Download,
    FunctionCondition,
    Navigate,
    SelectorCondition,
    SetInputFiles,
    SwitchPage,
    WaitFor,
)
from tests.missions.shop import css
from tests.sites.torture.items import ITEMS, PAGES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eikon_engine.record import MissionRecorder
    from tests.sites.torture.items import Item


async def torture(mission: MissionRecorder, url: str, file: Path, *, items: Sequence[Item] = ITEMS) -> None:
    """Do all items, or some, in the order of their pages; ``file`` is uploaded.

    The extraction ``results`` is the table of the summary: one row per item, with the result shown on its page.
    """
    driver = _Driver(mission, url, file)
    for page, title in PAGES.items():
        wanted = tuple(item for item in items if item.page == page)
        if wanted:
            async with mission.subgoal(title, subgoal_id=page):
                for item in wanted:
                    await driver.do(item)
    async with mission.subgoal("Collect the results", subgoal_id="summary"):
        await mission.perform(Navigate(url=f"{url}/summary"))
        mission.extraction("results", await mission.skill("extract_table", parameters={"selector": "#summary"}))


class _Driver:
    """Track the current page and how many pages have been opened."""

    def __init__(self, mission: MissionRecorder, url: str, file: Path) -> None:
        self._mission = mission
        self._url = url
        self._file = file
        self._page = ""
        self._opened = 0

    async def do(self, item: Item) -> None:
        """Do one item and wait for its result."""
        if self._page != item.page:
            await self._mission.perform(Navigate(url=f"{self._url}/{item.page}"))
            self._page = item.page
        if item.takes_file:
            files = (self._mission.attach_file(self._file),)
            await self._mission.perform(SetInputFiles(target=css(f"#{item.name}-file"), files=files))
        for number in range(len(item.steps)):
            await self._step(item, number)
        await self._wait_for(f"#{item.name}-result[data-state=done]", timeout_ms=item.patience_ms)
        if item.leaves:
            self._page = ""
        if item.opens:
            await self._close_window()

    async def _step(self, item: Item, number: int) -> None:
        target = css(f"#{item.name}-{item.steps[number]}")
        if item.dialogs:
            text = item.dialogs[number]
            await self._mission.perform(AnswerDialog(accept=text is not None, text=text or None))
        await self._mission.perform(Download(target=target) if item.downloads else Click(target=target))
        if number + 1 < len(item.steps):
            await self._mission.perform(WaitFor(condition=_lines(item.name, number + 1)))

    async def _wait_for(self, selector: str, *, timeout_ms: float) -> None:
        condition = SelectorCondition(target=css(selector), state="attached")
        await self._mission.perform(WaitFor(condition=condition, timeout_ms=timeout_ms))

    async def _close_window(self) -> None:
        self._opened += 1
        await self._mission.perform(SwitchPage(page=self._opened))
        await self._mission.perform(ClosePage(page=self._opened))
        await self._mission.perform(SwitchPage(page=0))


def _lines(name: str, count: int) -> FunctionCondition:
    """Return a condition that holds once a result has the given number of lines."""
    lines = f'document.getElementById("{name}-result").textContent.split("\\n").filter(Boolean)'
    return FunctionCondition(expression=f"{lines}.length >= {count}")
