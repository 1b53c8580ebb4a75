"""Scripts that are really recorded, several at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.cli.suite import suite_command
from eikon_engine.suite.missions import find_missions
from tests.commands import run_here

pytestmark = pytest.mark.browser

SCRIPT = """
import os
from playwright.sync_api import sync_playwright
from eikon_engine.browser.executable import find_browser

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=str(find_browser(None, environ=os.environ).path))
    page = browser.new_page()
    page.route("**/*", lambda route: route.fulfill(body="<h1>{text}", content_type="text/html"))
    page.goto("http://shop.example/")
    page.get_by_role("heading", name="{text}").click()
    browser.close()
{more}
"""


def test_scripts_become_certified_bundles(tmp_path: Path) -> None:
    """One that fails is recorded, too, and fails alone; everything that they print is kept."""
    for name, more in (("cart", "print('bought')"), ("login", "raise SystemExit(7)")):
        (tmp_path / f"{name}.py").write_text(SCRIPT.format(text=name.title(), more=more))

    words = ["record", tmp_path / "cart.py", tmp_path / "login.py", "--output", tmp_path / "traces", "-j", "2"]
    done = run_here(suite_command, words, "eikon suite")

    assert done.returncode == 7, done.stderr
    assert "2 scripts: 1 recorded, 1 failed" in done.stdout
    assert f"recorded     {tmp_path / 'cart.py'}" in done.stdout
    assert f"failed (7)   {tmp_path / 'login.py'}" in done.stderr
    assert [each.bundle.name for each in find_missions([tmp_path / "traces"])] == ["cart", "login"]
    assert (tmp_path / "traces" / "cart" / "certificate.json").is_file()
    assert "bought" in (tmp_path / "traces" / "cart.log").read_text()


def test_names_that_clash_are_refused(tmp_path: Path) -> None:
    """Before anything is recorded."""
    same = run_here(suite_command, ["record", "a/shop.py", "b/shop.py", "-o", tmp_path / "traces"], "eikon suite")
    (tmp_path / "traces" / "shop").mkdir(parents=True)
    there = run_here(suite_command, ["record", "shop.py", "-o", tmp_path / "traces"], "eikon suite")

    assert same.returncode == there.returncode == 2
    assert "a/shop.py and b/shop.py would both be recorded into" in same.stderr
    assert "expected a new bundle, got an existing one; add --force to replace it" in there.stderr
