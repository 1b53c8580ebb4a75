"""One mission from five sources: each is recorded, certified, faithful, and diverges on a changed site."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from eikon_engine.browser.executable import find_browser
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.record import record_mission
from eikon_engine.record.options import AttachOptions
from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import certificate_state
from tests.missions.agents import order_asynchronously, write_script, write_test
from tests.missions.foreign import devtools_flow, side_project
from tests.missions.shop import SHOP_PASSWORD
from tests.replay.conftest import replay
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites.shop import ShopServer

pytestmark = pytest.mark.browser

SOURCES = ("script", "agent", "test", "devtools", "side")
SECRET = ("--secret", f"PASSWORD={SHOP_PASSWORD}")


class Recorded(NamedTuple):
    """Bundles by the source of their recording."""

    shop: ShopServer
    folder: Path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Record the order from five sources, each on a restarted shop."""
    folder = tmp_path_factory.mktemp("sources")
    with serve_shop() as shop, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        patch.setenv("SHOP", shop.url)
        _run("record", "--script", write_script(folder), "-o", folder / "script", "--no-certify", "--", shop.url)
        shop.restart()
        asyncio.run(_agent(shop.url, folder / "agent"))
        shop.restart()
        _run("record", "--script", write_test(folder), "-o", folder / "test", "--no-certify")
        for name, write in (("devtools", devtools_flow), ("side", side_project)):
            shop.restart()
            foreign = folder / f"{name}.json"
            foreign.write_bytes(write(shop.url, SHOP_PASSWORD))
            _run("import", foreign, "-o", folder / f"{name}-imported")
            _run("record", "--trace", folder / f"{name}-imported", "-o", folder / name, *SECRET)
            _run("certify", folder / name, "--runs", "2", "--accept", *SECRET)
        for name in ("script", "test"):
            _run("certify", folder / name, "--runs", "2", "--accept")
        yield Recorded(shop, folder)


def _run(*arguments: str | Path) -> None:
    assert run_command(eikon, list(map(str, arguments)), "eikon") == 0


async def _agent(url: str, directory: Path) -> None:
    from playwright.async_api import async_playwright

    options = AttachOptions(certify=CertifyOptions(runs=2))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        page = await browser.new_page()
        async with record_mission(page, mission_text="Order a banana", directory=directory, options=options) as mission:
            await order_asynchronously(page, url)
        await browser.close()
    assert mission.report is not None
    assert mission.report.status == "certified", mission.report.findings


@pytest.mark.parametrize("source", SOURCES)
def test_each_recording_is_certified_and_faithful(recorded: Recorded, source: str, tmp_path: Path) -> None:
    """A sealed replay needs neither the shop nor the password, which is in no file."""
    bundle = open_bundle(recorded.folder / source)
    recorded.shop.restart("error-on-submit")

    outcome = replay(bundle.root, tmp_path / "run", secrets={})

    assert certificate_state(bundle.root, bundle.trace).status == "certified"
    assert find_in_files(bundle.root, {SHOP_PASSWORD.encode()}) == set()
    assert outcome.verdict == "faithful"
    assert outcome.network_mode == "sealed"


@pytest.mark.parametrize("source", SOURCES)
def test_each_recording_diverges_where_the_site_has_changed(recorded: Recorded, source: str, tmp_path: Path) -> None:
    """In all five recordings, placing the order is the first divergence."""
    recorded.shop.restart("error-on-submit")

    outcome = replay(recorded.folder / source, tmp_path / "run", network="live")

    assert outcome.verdict == "diverged"
    first = outcome.divergences[0]
    step = next(step for subgoal in outcome.subgoals for step in subgoal.steps if step.sequence == first.sequence)
    assert first.code == "status-changed"
    assert isinstance(step, ActionOutcome)
    assert "Place order" in step.label


@pytest.mark.parametrize("source", SOURCES)
def test_each_recording_is_faithful_to_the_site_as_it_was(recorded: Recorded, source: str, tmp_path: Path) -> None:
    """A live replay on the unchanged site has no findings; requests pending in the recording do not count."""
    recorded.shop.restart()

    outcome = replay(recorded.folder / source, tmp_path / "run", network="live")

    assert [divergence.message for divergence in outcome.divergences] == []
    assert outcome.verdict == "faithful"
