"""Browsers that are launched one after the other may share one driver."""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from anyio import to_thread

from eikon_engine.browser.launch import (
    LaunchOptions,
    browser_starting,
    launch_browser,
    run_in_loop,
    shared_driver,
    take_prepared_browser,
)
from eikon_engine.errors import BrowserMissingError, UsageError
from eikon_engine.files.state_folder import private_cache_folder
from eikon_engine.files.writing import make_folders

if TYPE_CHECKING:
    from playwright.async_api import APIRequest

pytestmark = pytest.mark.browser


async def launched() -> APIRequest:
    """Launch a browser, open a page and close it; return the identity of its driver."""
    async with launch_browser(LaunchOptions()) as running:
        page = await running.browser.new_page()
        assert await page.evaluate("1 + 1") == 2
        return running.api_request


def test_browsers_of_a_block_share_one_driver() -> None:
    """Nested and concurrent launches share it, too; the first launch after the block gets another."""

    async def launch() -> None:
        async with shared_driver():
            first = await launched()
            async with shared_driver():
                assert await launched() is first
            assert {*await asyncio.gather(launched(), launched())} == {first}
        assert await launched() is not first

    asyncio.run(launch())


def test_no_driver_is_started_without_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block in which no browser is launched starts no process."""
    monkeypatch.delattr(asyncio, "create_subprocess_exec")

    async def launch_none() -> None:
        async with shared_driver():
            pass

    asyncio.run(launch_none())


def test_a_loop_in_another_thread_has_a_driver_of_its_own() -> None:
    """Threads inherit context variables, but a driver belongs to one event loop."""

    async def launch() -> None:
        async with shared_driver():
            first = await launched()
            assert await to_thread.run_sync(asyncio.run, launched()) is not first

    asyncio.run(launch())


async def _take_twice(options: LaunchOptions) -> tuple[str, bool]:
    """Return the version of the prepared browser, and whether there is a second one."""
    first = await take_prepared_browser(options)
    second = await take_prepared_browser(options)
    return first.browser.version if first is not None else "", second is not None


def test_a_browser_starts_while_other_things_are_prepared() -> None:
    """It is there for one run with the same options, and closed with the block."""
    options = LaunchOptions(sealed=True)

    with browser_starting(options):
        version, has_second = run_in_loop(_take_twice, options)

    assert version
    assert not has_second


@pytest.mark.parametrize("prepared", [LaunchOptions(sealed=True, random_seed=2), None])
def test_a_browser_with_other_options_is_not_used(prepared: LaunchOptions | None) -> None:
    """A run that needs another kind of browser launches its own."""
    with browser_starting(prepared):
        assert run_in_loop(_take_twice, LaunchOptions(sealed=True)) == ("", False)


def test_a_browser_that_cannot_start_is_an_error_where_it_is_needed(tmp_path: Path) -> None:
    """It is not searched for a second time; a run that needs another one launches that."""
    options = LaunchOptions(sealed=True, browser_path=tmp_path / "missing")

    with browser_starting(options), pytest.raises(BrowserMissingError, match="missing"):
        run_in_loop(_take_twice, options)
    with browser_starting(options):
        assert run_in_loop(_take_twice, LaunchOptions(sealed=True)) == ("", False)


def test_a_browser_that_no_run_may_use_is_closed() -> None:
    """A replay that reaches some public origins has a browser of its own."""

    async def discard(options: LaunchOptions) -> bool:
        assert await take_prepared_browser(None) is None
        return await take_prepared_browser(options) is None

    with browser_starting(LaunchOptions(sealed=True)):
        assert run_in_loop(discard, LaunchOptions(sealed=True))


@pytest.mark.parametrize("delay_s", [0, 0.001, 0.002, 0.005, 0.3])
def test_an_error_does_not_wait_for_the_browser(delay_s: float) -> None:
    """Its launch is cancelled, at whatever point it is, and leaves no socket: a warning of one would be an error."""

    def fail() -> None:
        with browser_starting(LaunchOptions(sealed=True)):
            Event().wait(delay_s)
            raise UsageError("no such bundle")

    with pytest.raises(UsageError):
        fail()
    gc.collect()


def test_the_compiled_code_of_the_driver_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that only the user can read and write."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NODE_COMPILE_CACHE", raising=False)
    asyncio.run(launched())
    folder = tmp_path / "eikon" / "driver"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert any(each.is_file() for each in folder.rglob("*"))


@pytest.mark.parametrize(
    ("name", "mode"), [("eikon/driver", 0o750), ("eikon/driver", 0o705), ("eikon", 0o770), (".", 0o707)]
)
def test_compiled_code_that_others_can_replace_is_not_used(
    name: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file there would be run as the driver. What Node.js makes in a folder has the modes of the umask."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "eikon" / "driver"
    make_folders(folder)
    (tmp_path / name).chmod(mode)
    assert private_cache_folder(tmp_path, os.environ, "driver") is None
    (tmp_path / name).chmod(0o700)
    assert private_cache_folder(tmp_path, os.environ, "driver") == folder


def test_no_folder_is_made_where_others_could_replace_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be in the home of another user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tmp_path.chmod(0o777)
    assert private_cache_folder(tmp_path, os.environ, "driver") is None
    assert not [*tmp_path.iterdir()]


def test_no_compiled_code_is_kept_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that is not absolute would be there."""
    monkeypatch.chdir(tmp_path)
    assert private_cache_folder(Path(), {}, "driver") is None
    assert not [*tmp_path.iterdir()]


def test_compiled_code_in_a_link_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can replace the link decides what is run."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "link"))
    assert private_cache_folder(tmp_path, os.environ, "driver") is None


def test_compiled_code_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the home of a user who becomes root."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert private_cache_folder(tmp_path, os.environ, "driver") is None


def test_a_cache_of_the_user_is_used_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NODE_COMPILE_CACHE is a variable of Node.js."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NODE_COMPILE_CACHE", str(tmp_path / "own"))
    asyncio.run(launched())
    assert [*(tmp_path / "own").iterdir()]
    assert not (tmp_path / "cache").exists()


def test_a_driver_starts_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache folder cannot be made."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.delenv("NODE_COMPILE_CACHE", raising=False)
    asyncio.run(launched())
