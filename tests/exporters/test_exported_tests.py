"""An exported test passes on the recorded site, and fails if the site changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from eikon_engine.record import RecordOptions, open_recorder
from tests.exporters.changes import GREEN, RED, SHORT
from tests.exporters.running import export, run
from tests.missions.dispatch import ship_an_order
from tests.missions.django_admin import PASSWORD_NAME, keep_a_note
from tests.missions.shop import import_a_file
from tests.missions.torture import torture
from tests.replay.conftest import MISSIONS, SECRETS, record
from tests.replay.shared_browsers import SHARED
from tests.sites.dispatch import serve_dispatch
from tests.sites.django_site import DJANGO_PASSWORD, DJANGO_USER, serve_django
from tests.sites.shop import serve_shop
from tests.sites.torture import ITEMS, serve_torture

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from eikon_engine.exporters.playwright_test import ExportedTest
    from eikon_engine.record import MissionRecorder
    from tests.sites.shop import ShopServer

pytestmark = pytest.mark.browser

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"


class Exported(NamedTuple):
    """Exported tests of missions in a running shop."""

    shop: ShopServer
    tests: dict[str, tuple[ExportedTest, Path]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    """Record the missions of the shop, and export them."""
    folder = tmp_path_factory.mktemp("exported")
    with serve_shop() as shop:
        tests = {}
        for name in MISSIONS:
            shop.restart()
            SHARED.run(record(name, shop.url, folder / name))
            tests[name] = export(folder / name, folder / f"{name}-test"), folder / f"{name}-test"
        yield Exported(shop, tests)


def test_it_passes_on_an_unchanged_site(exported: Exported) -> None:
    """The test passes on the recorded site, with secrets from the environment."""
    exported.shop.restart()

    ran = run(*exported.tests["order"], secrets=SECRETS)

    assert ran.passed, ran.output


@pytest.mark.parametrize(("change", "mission", "subgoal", "sequence"), [row for row in RED if row[0] in SHORT])
def test_it_fails_where_the_site_changed(
    exported: Exported, change: str, mission: str, subgoal: str, sequence: int
) -> None:
    """On a site with one change, the test fails at the step that depends on the changed part."""
    exported.shop.restart(change)

    ran = run(*exported.tests[mission], secrets=SECRETS)

    assert ran.step == (subgoal, sequence), ran.output
    assert "in step: " in ran.output


@pytest.mark.parametrize(("change", "mission"), [row for row in GREEN if row[0] in SHORT])
def test_it_passes_where_nothing_changed_that_it_checks(exported: Exported, change: str, mission: str) -> None:
    """The test passes on a site whose change its header lists as unchecked."""
    exported.shop.restart(change)

    ran = run(*exported.tests[mission], secrets=SECRETS)

    assert ran.passed, ran.output


def test_a_missing_secret_ends_it(exported: Exported) -> None:
    """Without the variable the test fails at the step that types the secret, and names the variable."""
    exported.shop.restart()

    ran = run(*exported.tests["order"])

    assert ran.step == ("sign_in", 3)
    assert "EIKON_SECRET_PASSWORD" in ran.output


@pytest.mark.parametrize("name", ["shop_passing", "shop_failing"])
def test_the_bundles_of_the_tests_pass(tmp_path: Path, name: str) -> None:
    """A test of a stored bundle passes at another address given by --base-url."""
    test = export(TRACES / name, tmp_path / "test")

    with serve_shop() as shop:
        ran = run(test, tmp_path / "test", shop.url)

    assert ran.passed, ran.output


def test_an_upload_is_stored_beside_the_test(tmp_path: Path) -> None:
    """The test uploads a file from its own folder."""
    file = tmp_path / "list.csv"
    file.write_bytes(b"name,amount\nbanana,3\n")
    with serve_shop() as shop:
        _record(tmp_path / "bundle", lambda mission: import_a_file(mission, shop.url, file))
        test = export(tmp_path / "bundle", tmp_path / "test")
        ran = run(test, tmp_path / "test")

    assert test.files == {"list.csv": file.read_bytes()}
    assert ran.passed, ran.output


def test_a_control_room_with_sockets_passes(tmp_path: Path) -> None:
    """Popups, confirmations, downloads and WebSocket messages work on a fresh site."""
    with serve_dispatch() as url:
        _record(tmp_path / "bundle", lambda mission: ship_an_order(mission, url))
    test = export(tmp_path / "bundle", tmp_path / "test")

    with serve_dispatch() as url:
        ran = run(test, tmp_path / "test", url)

    assert ran.passed, ran.output


def test_a_foreign_admin_passes(tmp_path: Path) -> None:
    """Creating, changing and deleting a note in Django's admin works on a fresh database, with a secret."""
    secrets = {PASSWORD_NAME: DJANGO_PASSWORD}
    with serve_django(tmp_path / "first") as url:
        _record(tmp_path / "bundle", lambda mission: keep_a_note(mission, url, DJANGO_USER), secrets)
    test = export(tmp_path / "bundle", tmp_path / "test")

    with serve_django(tmp_path / "second") as url:
        ran = run(test, tmp_path / "test", url, secrets)

    assert ran.passed, ran.output
    assert DJANGO_PASSWORD not in test.source


@pytest.mark.parametrize("page", ["parts", "frames"])
def test_pages_of_the_torture_site_pass(tmp_path: Path, page: str) -> None:
    """Redirects, files, shadow roots, frames, windows and dialogs are supported."""
    file = tmp_path / "list.csv"
    file.write_bytes(b"name,amount\nbanana,3\n")
    items = [each for each in ITEMS if each.page == page and not each.races]
    with serve_torture() as site:
        _record(tmp_path / "bundle", lambda mission: torture(mission, site.url, file, items=items))
    test = export(tmp_path / "bundle", tmp_path / "test")

    with serve_torture() as site:
        ran = run(test, tmp_path / "test", site.url)

    assert ran.passed, ran.output


def _record(
    folder: Path, drive: Callable[[MissionRecorder], Awaitable[None]], secrets: dict[str, str] | None = None
) -> None:
    async def go() -> None:
        options = RecordOptions(secrets=secrets or {})
        async with open_recorder(folder, mission_text="A mission", mission_id="mission", options=options) as mission:
            await drive(mission)

    asyncio.run(go())
