"""Small missions recorded on our own pages; the site has stopped when they are replayed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.missions.shop import css
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.trace.execution import ActionTrace

STABLE = "<h1>Bread</h1><p id=state>none</p><button onclick=\"state.textContent = 'bought'\">Buy</button>"
RANDOM_KEY = """<h1 id=bread>Bread</h1><p id=key></p><button onclick="bread.textContent = 'Rye'">Buy</button>
<script>
  const newKey = async () => {
    const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt']);
    return (await crypto.subtle.exportKey('jwk', key)).k;
  };
</script>"""
"""Keys come from the browser itself, and do not depend on our seed."""
SHOWS_KEY = (
    f"{RANDOM_KEY}<script>newKey().then(key => {{ document.getElementById('key').textContent = key; }});</script>"
)
ASKS_WITH_KEY = f"{RANDOM_KEY}<script>newKey().then(key => fetch(`/price?_=${{key}}`));</script>"
PAGES = {"stable": STABLE, "shows_key": SHOWS_KEY, "asks_with_key": ASKS_WITH_KEY}


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Record the same mission on each page, once."""
    root = tmp_path_factory.mktemp("recorded")
    with serve_pages() as site:
        site.answers["/price"] = Answer(body="310", content_type="text/plain")
        for name, page in PAGES.items():
            site.answers[f"/{name}"] = Answer(body=f"<!doctype html><title>{name}</title>{page}")
            SHARED.run(_buy(root / name, name, f"{site.url}/{name}"))
    return {name: root / name for name in PAGES}


@pytest.fixture
def bundle(recorded: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a bundle, so that a test can change it."""
    return lambda name: shutil.copytree(recorded[name], tmp_path / name)


def change_actions(bundle: Path, change: Callable[[ActionTrace], ActionTrace], **trace_changes: object) -> None:
    """Change all actions of a trace, and fields of the trace."""
    trace = read_trace(bundle)
    subgoals = tuple(
        each.model_copy(update={"actions_taken": tuple(change(action) for action in each.actions_taken)})
        for each in trace.subgoal_traces
    )
    write_trace(trace.model_copy(update={"subgoal_traces": subgoals, **trace_changes}), bundle)


async def _buy(folder: Path, name: str, url: str) -> None:
    async with open_recorder(folder, mission_text="Buy bread", mission_id=name) as mission, mission.subgoal("Buy"):
        await mission.perform(Navigate(url=url))
        await mission.perform(Click(target=css("button")))
