"""Order a banana with browser-use and a scripted model, and save its history; runs in a separate environment.

benchmarks.agent_history runs it as `python agent_history_script.py URL HISTORY BROWSER`. The model's answers are
scripted here; it finds the elements they refer to in the prompt of browser-use, as a real model does.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ["ANONYMIZED_TELEMETRY"] = "false"

PASSWORD = "correct-horse-battery"
ELEMENT = re.compile(r"\[(\d+)\]<")


def steps(url: str) -> list[tuple[str, list[tuple[str, str, dict[str, Any]]]]]:
    """Return goals with their actions: a name, the text of the element's line, and parameters."""
    return [
        ("Open the product", [("navigate", "", {"url": f"{url}/product/1", "new_tab": False})]),
        ("Put it into the cart", [("click", "Add to cart", {})]),
        ("Open the checkout", [("navigate", "", {"url": f"{url}/login?next=/checkout", "new_tab": False})]),
        ("Type", [("input", "id=username", {"text": "ada"}), ("input", "type=password", {"text": PASSWORD})]),
        ("Sign in", [("click", "id=sign-in ", {})]),
        ("Type the name", [("input", "<input id=name ", {"text": "Ada Lovelace"})]),
        ("Type the address", [("input", "id=address", {"text": "12 St James's Square"})]),
        ("Choose", [("select_dropdown", "id=delivery", {"text": "Express"}), ("click", "id=pay-invoice", {})]),
        ("Type the date", [("input", "id=date", {"text": "2026-12-24"})]),
        ("Order", [("click", "id=place-order", {})]),
        ("End", [("done", "", {"text": "ordered", "success": True})]),
    ]


class ScriptedModel:
    """A model that returns one scripted step at a time."""

    model = provider = name = model_name = "scripted"
    _verified_api_keys = True

    def __init__(self, url: str) -> None:
        """Start at the first step."""
        self._steps = iter(steps(url))

    async def ainvoke(self, messages: list[Any], output_format: Any, **_: object) -> Any:  # noqa: ANN401 - its protocol
        """Return the next step."""
        from browser_use.llm.views import ChatInvokeCompletion  # type: ignore[import-not-found] # it has an environment of its own

        shown = [text for text in map(_text, messages) if "Interactive elements" in text][-1]
        goal, asked = next(self._steps)
        actions = [{name: {**_index(shown, line), **parameters}} for name, line, parameters in asked]
        answer = {"evaluation_previous_goal": "done", "memory": "", "next_goal": goal, "action": actions}
        return ChatInvokeCompletion(completion=output_format.model_validate(answer), usage=None)


def _text(message: Any) -> str:  # noqa: ANN401 - as above
    return str(getattr(message, "text", message))


def _index(shown: str, line: str) -> dict[str, int]:
    """Return the number of the element whose line, or the next one, contains the text."""
    if not line:
        return {}
    lines = shown.splitlines()
    for number, each in enumerate(lines):
        found = ELEMENT.search(each)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if found and line in f"{each} {'' if '[' in following else following}":
            return {"index": int(found[1])}
    raise LookupError(f"wanted an element whose line says {line!r}, found none in:\n{shown}")


async def main(url: str, history: Path, browser: str) -> None:
    """Run the mission, and save the history of browser-use."""
    from browser_use import Agent, BrowserProfile, BrowserSession  # type: ignore[import-not-found] # as above

    profile = BrowserProfile(
        executable_path=browser,
        headless=True,
        chromium_sandbox=os.geteuid() != 0,
        enable_default_extensions=False,
        user_data_dir=None,
    )
    agent = Agent(
        task="Order a banana",
        llm=ScriptedModel(url),
        browser_session=BrowserSession(browser_profile=profile),
        use_vision=False,
        use_judge=False,
        calculate_cost=False,
    )
    done = await agent.run(max_steps=15)
    done.save_to_file(str(history))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
