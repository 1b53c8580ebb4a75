"""JSON-LD of a real page is recorded, read by a skill, replayed and compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from selectolax.lexbor import LexborHTMLParser

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.dom import DomNode, FrameExtras, FrameSnapshot, PageSnapshot
from eikon_engine.record import open_recorder
from eikon_engine.redact.scan import scan_folder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.bundle import load_snapshot, open_bundle
from tests.missions.shop import css
from tests.redact.test_login import left_in
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED
from tests.sites.async_loopback import hide_the_server, running_application
from tests.skills.rerun.recorded import use, write_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

TOKEN = "kJ83hdPq0zLmWv7TnXy2Rb5c"
TOO_LONG = 262_145


class Shop:
    """A page with several kinds of data blocks, and its address."""

    price = "1.20"
    url = ""

    async def page(self, _request: web.Request) -> web.Response:
        """Return the page."""
        offer = {"@type": "Product", "name": "Banana & </b>", "offers": {"price": self.price}, "access_token": TOKEN}
        said = json.dumps(offer).replace("</", "<\\/")
        blocks = (
            f'<script type="Application/LD+JSON; charset=utf-8">{said}</script>'
            f'<script type="application/json" id=state>{{"step": 1}}</script>'
            f'<script type="importmap">{{"imports": {{}}}}</script>'
            f'<script type="application/ld+json">"{"x" * (TOO_LONG - 2)}"</script>'
        )
        code = "document.querySelector('button').onclick = () => { state.textContent = '{\"step\": 2}' }"
        text = f"<!doctype html><title>Shop</title>{blocks}<button>Next</button><script>{code}</script>"
        return web.Response(text=text, content_type="text/html")

    async def many(self, _request: web.Request) -> web.Response:
        """Return more data than the limit of one document, followed by a small block."""
        blocks = f'<script type="text/json">"{"x" * 249_998}"</script>' * 5
        return web.Response(text=f'{blocks}<script type="a/b+json">1</script>', content_type="text/html")


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """Serve the page; its price can be changed."""
    shop = Shop()
    application = web.Application()
    application.on_response_prepare.append(hide_the_server)
    application.add_routes([web.get("/", shop.page), web.get("/many", shop.many)])
    with running_application(application, (0,)) as ports:
        shop.url = f"http://127.0.0.1:{ports[0]}/"
        yield shop


@pytest.fixture(scope="module")
def bundle(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a mission that reads the metadata of the page."""
    folder = tmp_path_factory.mktemp("data") / "b"

    async def record() -> None:
        async with open_recorder(folder, mission_text="Read it") as mission, mission.subgoal("Read"):
            await mission.perform(Navigate(url=shop.url))
            await mission.skill("extract_metadata")
            await mission.perform(Click(target=css("button")))

    SHARED.run(record())
    return folder


def test_a_skill_finds_json_ld_while_it_is_recorded(bundle: Path) -> None:
    """The output has the block as in the page, and reports the one that was too long to store."""
    (subgoal,) = open_bundle(bundle).trace.subgoal_traces
    output: Any = subgoal.skills_used[0].output
    (product,) = output["json_ld"]

    assert (product["name"], product["offers"]) == ("Banana & </b>", {"price": "1.20"})
    assert output["json_ld_errors"] == [
        {"block": 2, "error": f"left out of the snapshot, which keeps no block of {TOO_LONG} characters"}
    ]


def test_snapshots_keep_data_and_nothing_that_runs(bundle: Path) -> None:
    """Blocks of a JSON type are stored at each step; browser directives and code are not."""
    opened = open_bundle(bundle)
    (subgoal,) = opened.trace.subgoal_traces
    shown = [step.observation.pages[0].snapshot for step in subgoal.actions_taken if step.observation is not None]
    data = [load_snapshot(opened.dom, ref).main.extras.data or () for ref in shown if ref is not None]

    assert [[row[1] for row in rows][1:] for rows in data] == [['{"step": 1}', TOO_LONG], ['{"step": 2}', TOO_LONG]]


def test_a_sealed_replay_produces_the_same_output(bundle: Path, tmp_path: Path) -> None:
    """The skill runs again on the stored page, and the pages equal the recorded ones."""
    outcome = replay(bundle, tmp_path / "run", secrets={})

    assert outcome.verdict == "faithful"


def test_rerunning_skills_produces_the_same_output(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`eikon skills rerun`, which rebuilds the page differently, returns the same output."""
    assert run_command(eikon, ["skills", "rerun", str(bundle)], "eikon") == 0
    assert "1 unchanged, 0 changed, 0 not rerun" in capsys.readouterr().err


def test_data_blocks_beyond_the_limit_of_a_document_are_left_out(shop: Shop, tmp_path: Path) -> None:
    """The block that exceeds the limit is omitted completely; a later small one is kept."""

    async def record() -> str:
        async with open_recorder(tmp_path / "b", mission_text="Read it") as mission, mission.subgoal("Read"):
            await mission.perform(Navigate(url=f"{shop.url}many"))
            return await mission.html()

    scripts = LexborHTMLParser(SHARED.run(record())).css("script")

    assert [len(each.text()) for each in scripts] == [250_000] * 4 + [0, 1]
    assert scripts[4].attributes["data-eikon-left-out"] == "250000"


def test_a_token_in_json_ld_is_in_no_file(bundle: Path, tmp_path: Path) -> None:
    """The token is found as in any text and replaced by a stand-in, also in the files of a replay."""
    replay(bundle, tmp_path / "run", secrets={})

    assert left_in(bundle, {"token": TOKEN}) == set()
    assert left_in(tmp_path / "run", {"token": TOKEN}) == set()
    (subgoal,) = open_bundle(bundle).trace.subgoal_traces
    assert '"access_token"' in subgoal.skills_used[0].model_dump_json()


def test_changed_json_ld_diverges_and_is_shown(shop: Shop, bundle: Path, tmp_path: Path) -> None:
    """A live replay on a site with another price names the changed value."""
    shop.price = "1.35"
    try:
        outcome = replay(bundle, tmp_path / "run", secrets={}, network="live")
    finally:
        shop.price = "1.20"

    found = [(each.layer, each.expected, each.observed) for each in outcome.divergences]
    assert found[0][0] == "dom"
    assert '$.offers.price "1.20"' in found[0][1]
    assert '$.offers.price "1.35"' in found[0][2]


def test_a_token_in_a_stored_block_is_found(tmp_path: Path) -> None:
    """`eikon scan` finds a plain-text token even if only a snapshot has it."""
    extras = FrameExtras(data=((0, json.dumps({"access_token": TOKEN})),))
    root = DomNode(tag="script", attributes=(("type", "application/json"),))
    frame = FrameSnapshot(path="", url="", name="", doctype="", root=root, extras=extras)
    write_bundle(tmp_path / "b", [(use(1, "extract_metadata", None), PageSnapshot(frames=(frame,)))])

    (found,) = scan_folder(tmp_path / "b", allow_rules=())

    assert "access_token" in str(found)
