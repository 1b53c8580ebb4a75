"""A mission on a page that keeps its state in a closure, where no document shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.trace.actions import Click, Fill, FunctionCondition, Navigate, SecretRef, WaitFor
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.record import MissionRecorder

COUNTER: Final = "counter.html"
COUNTER_PAGE: Final = """<!doctype html><title>Counter</title>
<button id=more>More</button> <button id=ask>Ask</button> <input id=who>
<output id=shown></output>
<script>
{
  let count = 0, ticks = 0;
  const drawn = [];
  setInterval(() => { ticks += 1 }, 40);
  more.onclick = () => {
    count += 1;
    drawn.push(Math.random());
    if (count === 3) setTimeout(() => { shown.textContent = `three at ${ticks}` }, 150);
    if (count === 4) { console.error('four'); localStorage.setItem('count', count) }
  };
  ask.onclick = async () => {
    shown.textContent = confirm(`${count}?`) ? 'yes' : await (await fetch('answer.txt')).text();
  };
  who.oninput = () => localStorage.setItem('who', who.value);
  window.asked = () => [count, ticks, ...drawn];
}
</script>"""
SECRET: Final = "WHO"
"""Name of the value that the mission types."""
ANSWER: Final = ("answer.txt", "forty-two")
ASKED: Final = "asked()"
"""Expression that reads the state of the closure, which the document does not contain."""


async def count_up(mission: MissionRecorder, url: str) -> None:
    """Click and wait in twelve steps that change the counter."""
    async with mission.subgoal("Count to three"):
        await mission.perform(Navigate(url=f"{url}/{COUNTER}"))
        for _ in range(3):
            await mission.perform(Click(target=Target(selector="#more")))
        await mission.perform(WaitFor(condition=FunctionCondition(expression="shown.textContent !== ''")))
    async with mission.subgoal("Ask, and count on"):
        await mission.perform(Click(target=Target(selector="#ask")))
        await mission.perform(Fill(target=Target(selector="#who"), text=SecretRef(secret=SECRET)))
        for _ in range(5):
            await mission.perform(Click(target=Target(selector="#more")))
