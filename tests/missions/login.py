"""A mission behind a login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.actions import Assert, AssertText, Click, Fill, Navigate, SelectorCondition, WaitFor
from eikon_engine.trace.target import Target
from tests.sites.login import PASSWORD

if TYPE_CHECKING:
    from eikon_engine.record import MissionRecorder


async def see_the_account(mission: MissionRecorder, url: str) -> None:
    """Sign in, view the account, and extract what the page shows."""
    async with mission.subgoal("sign in"):
        await mission.perform(Navigate(url=f"{url}/login"))
        await mission.perform(Fill(target=_css("#name"), text="Ada"))
        await mission.perform(Fill(target=_css("#password"), text=PASSWORD))
        await mission.perform(Click(target=_css("#enter")))
        await mission.perform(_shows("#expires", "until 1900000000"))
    async with mission.subgoal("look at the account"):
        await mission.perform(Click(target=_css("#account")))
        await mission.perform(WaitFor(condition=SelectorCondition(target=_css("#heard:not(:empty)"))))
        await mission.perform(_shows("#echo", "same device for Ada"))
        await mission.perform(_shows("#heard", "heard, 40"))
    async with mission.subgoal("keep it"):
        await mission.perform(Click(target=_css("#keep")))


def _shows(selector: str, text: str) -> Assert:
    return Assert(expectation=AssertText(target=_css(selector), text=text))


def _css(selector: str) -> Target:
    return Target(selector=selector)
