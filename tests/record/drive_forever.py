"""Record a mission that never ends, for a test that kills it: `drive_forever.py DIRECTORY URL`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from tests.missions.shop import css


async def main(directory: Path, url: str) -> None:
    """Print a line after every action."""
    async with (
        open_recorder(directory, mission_text="Walk in circles", mission_id="circles") as mission,
        mission.subgoal("Walk", subgoal_id="walk"),
    ):
        await mission.perform(Navigate(url=f"{url}/"))
        while True:
            await mission.perform(Click(target=css("#home")))
            print("walked", flush=True)  # noqa: T201 - read by the test


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
