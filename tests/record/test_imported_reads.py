"""What a Playwright trace contains of reads, scripts and assertions is imported as it is recorded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import Error, expect

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.redact.scan import find_in_files
from eikon_engine.trace.actions import Evaluate, Expect, Navigate, Read, ReadValue
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.read_values import to_read_value
from eikon_engine.trace.target import Target
from tests.browser.pages import Answer
from tests.record.order_shop import read_divergence
from tests.record.reading_page import HTML, expect_everything, read_everything
from tests.record.recorded_page import recorded_actions, recorded_page, steps, warnings
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from eikon_engine.trace.actions import Action
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

CHANGES: Final = (
    # what is changed on the page, and the first divergence
    ("<li>one", "<li>three", ("read", "read-changed", '["one", "two"]', '["three", "two"]')),
    ("rgb(0, 0, 9)", "rgb(9, 0, 9)", ("expect", "assertion-failed")),
    ("data-n=1", "data-m=1", ("expect", "assertion-failed")),
)


@contextmanager
def traced_page(browser: Browser, path: Path) -> Iterator[Page]:
    """Trace what is done to a page of a new context, with what a replay needs."""
    context = browser.new_context()
    context.tracing.start(snapshots=True, live=True)
    try:
        yield context.new_page()
        context.tracing.stop(path=path)
    finally:
        context.close()


def run(*arguments: object) -> int:
    """Run a command in a thread of its own: that of the test runs the loop of its browser."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        return threads.submit(run_command, eikon, list(map(str, arguments)), "eikon").result()


def imported(path: Path, bundle: Path) -> list[Action]:
    """Import a trace, and return its actions after the navigation."""
    assert run("import", path, "-o", bundle) == 0
    return [action for action in (step.action for step in steps(bundle)) if not isinstance(action, Navigate)]


def test_a_mission_is_the_same_recorded_and_imported(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The steps of a trace are those that a recording of the same calls has, with the same values."""
    url = site.put(HTML)
    with recorded_page(chromium, tmp_path / "recorded") as agent:
        agent.page.context.tracing.start(snapshots=True, live=True)
        agent.page.goto(url)
        read_everything(agent.page)
        agent.page.content()
        expect_everything(agent.page)
        agent.page.context.tracing.stop(path=tmp_path / "trace.zip")

    actions = imported(tmp_path / "trace.zip", tmp_path / "imported")

    assert actions == recorded_actions(tmp_path / "recorded")
    assert [type(each) for each in actions].count(Read) == 21
    assert [type(each) for each in actions].count(Evaluate) == 6
    assert [type(each) for each in actions].count(Expect) == 28
    assert "skipped" not in warnings(tmp_path / "imported")


def test_an_import_diverges_where_a_read_or_an_assertion_does(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Certified by sealed replays, an imported mission is faithful on the same site, and not on another one."""
    url = site.put(HTML)
    with traced_page(chromium, tmp_path / "trace.zip") as page:
        page.goto(url)
        read_everything(page)
        page.locator("#b").click()
        expect_everything(page)
        assert page.locator("#b").inner_text() == "Ordered"

    bundle = tmp_path / "bundle"
    assert run("import", tmp_path / "trace.zip", "-o", bundle) == 0
    assert run("certify", bundle, "--accept", "--runs", "2") == 0

    assert replay(bundle, tmp_path / "sealed").verdict == "faithful"
    assert replay(bundle, tmp_path / "live", network="live").verdict == "faithful"
    for number, (before, now, found) in enumerate(CHANGES):
        html = HTML.replace(before, now)
        site.answers[url.removeprefix(site.url)] = Answer(body=f"<!doctype html><title>page</title>{html}")
        changed = replay(bundle, tmp_path / f"changed-{number}", network="live", policy="effects")
        assert read_divergence(changed)[: len(found)] == found


def test_a_mission_that_is_recorded_again_reads_what_the_site_shows_now(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The values of the new recording are those that it read, also a long one, so that its replays are faithful."""
    site.answers["/n"] = Answer(body="<!doctype html><title>n</title><p id=n>one</p>")
    with traced_page(chromium, tmp_path / "trace.zip") as page:
        page.goto(f"{site.url}/n")
        page.locator("#n").inner_text()
        page.evaluate("n.textContent")
        page.content()
    before = imported(tmp_path / "trace.zip", tmp_path / "imported")
    long = f"two{' pears' * 1000}"
    site.answers["/n"] = Answer(body=f"<!doctype html><title>n</title><p id=n>{long}</p>")

    assert run("record", "--trace", tmp_path / "imported", "-o", tmp_path / "b") == 0

    text, script, content = recorded_actions(tmp_path / "b")
    assert [each.type for each in before] == ["read", "evaluate", "read"]
    assert isinstance(text, Read)
    assert isinstance(script, Evaluate)
    assert isinstance(content, Read)
    assert text.value == script.value == to_read_value(long)
    assert content.value is not None
    assert content.value.long is not None
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


def test_failures_and_repetitions_are_imported(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What failed for the test must fail again; a read that it repeated is one step, with the last value."""
    script = "<script>setInterval(() => { n.textContent = Math.min(5, +n.textContent + 1) }, 150)</script>"
    with traced_page(chromium, tmp_path / "trace.zip") as page:
        page.goto(site.put(f"<p id=n>1</p>{script}"))
        while page.locator("#n").inner_text() != "5":
            page.wait_for_timeout(30)
        with pytest.raises(AssertionError):
            expect(page.locator("#n")).to_have_text("6", timeout=200)
        with pytest.raises(Error):
            page.locator("#none").inner_text(timeout=200)
        with pytest.raises(Error):
            page.evaluate("none.such")

    bundle = tmp_path / "bundle"
    polled, *failed = imported(tmp_path / "trace.zip", bundle)
    assert isinstance(polled, Read)
    assert polled.value == ReadValue(value="5")
    assert polled.times > 1
    assert polled.timeout_ms > 5_000
    assert [each.type for each in failed] == ["expect", "read", "evaluate"]
    assert [type(step.result) for step in steps(bundle)[2:]] == [Failed, Failed, Failed]
    assert run("certify", bundle, "--accept", "--runs", "2") == 0
    results = [step.result for step in steps(bundle)[2:]]
    codes = [result.code for result in results if isinstance(result, Failed)]
    assert codes == ["assertion-failed", "target-missing", "action-rejected"]


def test_reads_in_frames_are_imported(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The snapshots mark the element that was read; where none is marked, the page itself is assumed, and noted."""
    with traced_page(chromium, tmp_path / "trace.zip") as page:
        page.goto(site.put("<p>outer</p><iframe id=f name=inner srcdoc='<p id=z>one</p>'></iframe>"))
        frame = page.frame(name="inner")
        assert frame is not None
        assert frame.locator("#z").inner_text() == "one"
        expect(frame.locator("#z")).to_have_text("one")
        assert page.frame_locator("#f").locator("p").count() == 1
        assert page.title() == "page"
        assert page.evaluate("document.title") == "page"

    actions = imported(tmp_path / "trace.zip", tmp_path / "bundle")

    read, expected, count = actions[:3]
    assert isinstance(read, Read)
    assert read.target == Target(selector="#z", frames=('iframe[id="f"]',))
    assert isinstance(expected, Expect)
    assert expected.target == read.target
    assert isinstance(count, Read)
    assert count.target == Target(selector="p", frames=("#f",))
    assert warnings(tmp_path / "bundle").count("the trace does not say in which frame") == 2
    assert [each.type for each in actions] == ["read", "expect", "read", "read", "evaluate"]
    assert run("certify", tmp_path / "bundle", "--accept", "--runs", "2") == 0


def test_a_long_value_is_stored_without_secrets(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A typed password becomes a secret, also where the test read it again, in a long value too."""
    lines = "".join(f"<p>line {number}</p>" for number in range(400))
    with traced_page(chromium, tmp_path / "trace.zip") as page:
        page.goto(site.put(f"<input id=password oninput='this.title = this.value'>{lines}"))
        page.locator("#password").fill("plum-orchard-77")
        assert page.locator("#password").input_value() == "plum-orchard-77"
        page.content()
        page.evaluate("document.documentElement.outerHTML.replace('<html>', '<!DOCTYPE html><html>')")

    actions = imported(tmp_path / "trace.zip", tmp_path / "bundle")

    long = [each.value.long for each in actions if isinstance(each, Read | Evaluate) and each.value is not None]
    assert long[0] is None
    assert long[1] is not None
    assert long[1] == long[2]
    assert long[1].size > 4_000
    assert find_in_files(tmp_path / "bundle" / "files", {b"plum-orchard-77"}) == set()
    assert find_in_files(tmp_path / "bundle" / "trace.json", {b"plum-orchard-77"}) == set()
    open_bundle(tmp_path / "bundle")
