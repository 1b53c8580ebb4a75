"""Keep a note in Django's admin: sign in, add, edit, find, delete, sign out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.trace.actions import (
    Assert,
    AssertCount,
    AssertText,
    AssertUrl,
    Check,
    Click,
    Fill,
    Navigate,
    Press,
    SecretRef,
    SelectOption,
    TypeText,
)
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.record import MissionRecorder

PASSWORD_NAME: Final = "DJANGO_PASSWORD"
"""Name of the password secret; its value is given to recorder and replay."""
TITLE: Final = "Call the bank"
EDITED_TITLE: Final = "Call the bank & ask about 5 %"
_ROWS: Final = "#result_list tbody tr"
_MESSAGE: Final = ".messagelist li"
_SAVE: Final = "[name=_save]"


async def keep_a_note(mission: MissionRecorder, url: str, user: str) -> None:
    """Record the life cycle of one note, with each step verified by what the admin shows."""
    async with mission.subgoal("sign in"):
        await _sign_in(mission, url, user)
    async with mission.subgoal("add a note"):
        await _add(mission)
    async with mission.subgoal("edit the note"):
        await _edit(mission)
    async with mission.subgoal("find the note"):
        await _find(mission)
    async with mission.subgoal("delete the note and confirm"):
        await _delete(mission)
    async with mission.subgoal("sign out"):
        await mission.perform(_click("#logout-form button"))
        await mission.perform(_text("#content h1", "Logged out"))


async def _sign_in(mission: MissionRecorder, url: str, user: str) -> None:
    await mission.perform(Navigate(url=f"{url}/admin/"))
    await mission.perform(Fill(target=_at("#id_username"), text=user))
    await mission.perform(Fill(target=_at("#id_password"), text=SecretRef(secret=PASSWORD_NAME)))
    await mission.perform(_click("input[type=submit]"))
    await mission.perform(Assert(expectation=AssertUrl(url=f"{url}/admin/")))


async def _add(mission: MissionRecorder) -> None:
    await mission.perform(_click(".model-note .addlink"))
    await mission.perform(TypeText(target=_at("#id_title"), text=TITLE))
    await mission.perform(Fill(target=_at("#id_body"), text="About the transfer\nof last week"))
    await mission.perform(SelectOption(target=_at("#id_priority"), by="label", options=("High",)))
    await mission.perform(Check(target=_at("#id_pinned")))
    await mission.perform(_click(_SAVE))
    await mission.perform(_text(_MESSAGE, f"“{TITLE}” was added successfully."))
    await mission.perform(_count(_ROWS, 4))
    await mission.skill("extract_table", parameters={"selector": "#result_list"})


async def _edit(mission: MissionRecorder) -> None:
    await mission.perform(_click(f'{_ROWS} th a:text-is("{TITLE}")'))
    await mission.perform(Fill(target=_at("#id_title"), text=EDITED_TITLE))
    await mission.perform(SelectOption(target=_at("#id_priority"), options=("low",)))
    await mission.perform(_click(_SAVE))
    await mission.perform(_text(_MESSAGE, f"“{EDITED_TITLE}” was changed successfully."))


async def _find(mission: MissionRecorder) -> None:
    await mission.perform(Fill(target=_at("#searchbar"), text="transfer"))
    await mission.perform(Press(key="Enter", target=_at("#searchbar")))
    await mission.perform(_count(_ROWS, 1))


async def _delete(mission: MissionRecorder) -> None:
    await mission.perform(_click(f"{_ROWS} th a"))
    await mission.perform(_click(".deletelink"))
    await mission.perform(_text("#content h1", "Delete"))
    await mission.perform(_click("#content input[type=submit]"))
    await mission.perform(_text(_MESSAGE, f"“{EDITED_TITLE}” was deleted successfully."))
    await mission.perform(_count(f'{_ROWS} th a:text-is("{EDITED_TITLE}")', 0))


def _at(selector: str) -> Target:
    return Target(selector=selector)


def _click(selector: str) -> Click:
    return Click(target=_at(selector))


def _text(selector: str, text: str) -> Assert:
    return Assert(expectation=AssertText(target=_at(selector), text=text, contains=True))


def _count(selector: str, count: int) -> Assert:
    return Assert(expectation=AssertCount(target=_at(selector), count=count))
