"""A mission in the control room of the delivery service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.actions import (
    AnswerDialog,
    Click,
    Download,
    Fill,
    Navigate,
    Screenshot,
    SelectorCondition,
    SwitchPage,
    WaitFor,
)
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.record import MissionRecorder


def _css(selector: str) -> Target:
    return Target(selector=selector)


async def ship_an_order(mission: MissionRecorder, url: str) -> None:
    """Log in, view an order, ship another one, ask for its location, and keep a note."""
    async with mission.subgoal("Log in", subgoal_id="log_in"):
        await mission.perform(Navigate(url=f"{url}/login"))
        await mission.perform(Fill(target=_css("#name"), text="Ada"))
        await mission.perform(Fill(target=_css("#code"), text="0815"))
        await mission.perform(Click(target=_css("#enter")))
        await mission.perform(WaitFor(condition=SelectorCondition(target=_css("tr[data-id='14']"))))
        await mission.perform(WaitFor(condition=SelectorCondition(target=_css("#feed li:nth-child(2)"))))
        await mission.perform(Screenshot())
    async with mission.subgoal("Look at an order", subgoal_id="look"):
        await mission.perform(Click(target=_css("tr[data-id='13'] a")))
        await mission.perform(SwitchPage(page=1))
        await mission.perform(Click(page=1, target=_css("#close")))
        await mission.perform(Download(target=_css("#report")))
    async with mission.subgoal("Ship an order", subgoal_id="ship"):
        await mission.perform(AnswerDialog(accept=True))
        await mission.perform(Click(target=_css("tr[data-id='12'] .ship")))
        await mission.perform(Fill(target=_css("#question"), text="Order 12"))
        await mission.perform(Click(target=_css("#ask")))
        await mission.perform(WaitFor(condition=SelectorCondition(target=_css("#answer:not(:empty)"))))
    async with mission.subgoal("Keep a note", subgoal_id="note"):
        await mission.perform(Fill(target=_css("#note"), text="Van 7 is full"))
        await mission.perform(Click(target=_css("#keep")))
        await mission.perform(WaitFor(condition=SelectorCondition(target=_css("#kept:not(:empty)"))))
