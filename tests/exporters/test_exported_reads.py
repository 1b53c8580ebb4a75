"""An exported test asserts what the agent read, and what it asserted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

from eikon_engine.browser.playwright_internals import connection_of, replace_sender, sender_of
from eikon_engine.trace.actions import Expect
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.masks import Mask, ReadPart, SelectorPart
from eikon_engine.trace.playwright_calls import CallContext, convert_read
from eikon_engine.trace.playwright_python import python_calls
from eikon_engine.trace.read_values import LONG_VALUE
from eikon_engine.trace.trace_file import TRACE_FILE, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.exporters.running import export, run
from tests.exporters.test_python_calls import Spy
from tests.exporters.traces import body
from tests.record.reading_page import HTML, expect_everything, read_everything
from tests.record.recorded_page import TWICE, recorded_actions, recorded_page, steps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from eikon_engine.browser.playwright_internals import SendCall
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

MORE: Final = "<iframe name=f srcdoc='<title>inner</title><p>one</p>'></iframe><script src=/total.js></script>"
VARIES: Final = "it contains a time, a date or a value that the server draws"
CHANGES: Final = (
    # what is changed on the site, and the step at which the exported test fails
    ("pears</h1>", "pears<b></b></h1>", "read inner html of #a"),
    ("id=c checked", "id=c", "read is checked of #c"),
    ("rgb(0, 0, 9)", "rgb(9, 0, 9)", "expect #a to have css 'color', 'rgb(0, 0, 9)'"),
    ("data-n=1", "data-n=1 data-m=1", "expect #a not to have attribute value 'data-m', '1'"),
    ("<p>one</p>", "<p>two</p>", "evaluate document.body.innerText"),
    ("total = 3", "total = 4", "evaluate total"),
    ("</body>", "<!-- new --></body>", "read content"),
)


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve an empty site."""
    with serve_pages() as serving:
        yield serving


def put(site: PageSite, before: str = "", now: str = "") -> str:
    """Serve the page, with a change, and return its URL."""
    html = f"<!doctype html><html><head><title>page</title></head><body>{HTML}{MORE}</body></html>"
    site.answers["/page-0"] = Answer(body=html.replace(before, now))
    site.answers["/total.js"] = Answer(body="total = 3".replace(before, now), content_type="text/javascript")
    return f"{site.url}/page-0"


def read_all(page: Page, url: str) -> None:
    """Read in each way, and assert in each way."""
    page.goto(url)
    read_everything(page)
    expect_everything(page)
    frame = page.frames[1]
    frame.wait_for_function("document.title === 'inner'")
    assert frame.title() == "inner"
    assert frame.evaluate("document.body.innerText") == "one"
    assert page.evaluate("total") == 3
    page.evaluate("({ today: new Date().toISOString() })")
    page.content()


def test_what_was_read_and_asserted_is_asserted(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The test passes on the recorded site, and fails at the step that read what has changed."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        read_all(agent.page, put(site))

    test = export(tmp_path / "b", tmp_path / "test")

    unchecked = [line for line in test.omitted if "is not checked" in line]
    assert unchecked == [
        f"evaluate new Date(0) is not checked: {VARIES}",
        f"evaluate ({{ today: new Date().toISOString() }}) is not checked: {VARIES}",
    ]
    unchanged = run(test, tmp_path / "test")
    assert unchanged.passed, unchanged.output
    labels = {step.sequence: action_label(step.action) for step in steps(tmp_path / "b")}
    for before, now, label in CHANGES:
        put(site, before, now)
        changed = run(test, tmp_path / "test")
        assert changed.step is not None, (now, changed.output)
        assert labels[changed.step[1]] == label, changed.output


def test_values_that_json_does_not_have_are_asserted(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """They are written as Playwright returns them, and what Python cannot compare is listed as not checked.

    The test passes on the recorded site and fails if a value is another one.
    """
    page = "<p>page</p><script src=/values.js></script>"
    site.answers["/"] = Answer(body=f"<!doctype html><title>page</title>{page}")
    values = ("NaN", "({ratio: -Infinity})", "/a+'\\d/im", "new URL(location.origin + '/x')", "({$date: 'x'})", "9")
    shown = f"values = [{', '.join(values)}]"
    site.answers["/values.js"] = Answer(body=shown, content_type="text/javascript")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.url)
        for place in range(len(values)):
            agent.page.evaluate(f"values[{place}]")
        agent.page.evaluate("[0, NaN]")
        agent.page.evaluate("new TypeError('x')")
        agent.page.evaluate(f"['x'.repeat({LONG_VALUE}), Infinity]")

    test = export(tmp_path / "b", tmp_path / "test")

    long = "it is long and contains a value that JSON does not have"
    assert [line for line in test.omitted if "is not checked" in line] == [
        "evaluate [0, NaN] is not checked: it contains NaN, which equals nothing",
        "evaluate new TypeError('x') is not checked: it contains an error, which equals no other",
        f"evaluate ['x'.repeat({LONG_VALUE}), Infinity] is not checked: {long}",
    ]
    unchanged = run(test, tmp_path / "test")
    assert unchanged.passed, unchanged.output
    changes = ("7", "({ratio: Infinity})", "/a+'\\d/i", "new URL(location.origin + '/y')", "({$date: 'y'})", "8")
    for place, (before, now) in enumerate(zip(values, changes, strict=True)):
        site.answers["/values.js"] = Answer(body=shown.replace(before, now), content_type="text/javascript")
        changed = run(test, tmp_path / "test")
        assert changed.step is not None, (now, changed.output)
        assert changed.step[1] == place + 2, changed.output


def test_an_exported_assertion_is_the_recorded_one(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Recording the exported assertion gives the same action again."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(put(site))
        expect_everything(agent.page)

    recorded = [action for action in recorded_actions(tmp_path / "b") if isinstance(action, Expect)]
    page = chromium.new_page()
    connection = connection_of(page)
    send: SendCall = sender_of(connection)
    spy = Spy(page)
    replace_sender(connection, spy.send)
    try:
        sent = [spy.run(call) for action in recorded for call in python_calls(action)]
    finally:
        replace_sender(connection, send)
        page.context.close()
    assert [convert_read(name, params, CallContext(timeout_ms=timeout)) for name, params, timeout in sent] == recorded


def test_what_a_mask_hides_is_not_asserted(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Neither a masked result of a script nor a text of a masked element is in the test; the script still runs."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<p id=n>x17</p><p id=m>two</p>"))
        assert agent.page.evaluate("n.textContent += '!'") == "x17!"
        assert agent.page.locator("#n").inner_text() == "x17!"
        assert agent.page.locator("#m").inner_text() == "two"
        expect(agent.page.locator("#n")).to_have_text("x17!")
    masks = (
        Mask(name="script", reason="it varies", part=ReadPart(action="evaluate *")),
        Mask(name="number", reason="it varies", part=SelectorPart(selector="#n")),
    )
    trace = open_bundle(tmp_path / "b").trace
    write_trace(trace.model_copy(update={"masks": masks}), tmp_path / "b" / TRACE_FILE)

    test = export(tmp_path / "b", tmp_path / "test")

    assert not any("x17" in line for line in body(test))
    assert "evaluate n.textContent += '!' is not checked: hidden by the mask script" in test.omitted
    assert "read inner text of #n is not checked: hidden by the mask number" in test.omitted
    site.answers = {
        path: Answer(body="<!doctype html><title>page</title><p id=n>y9</p><p id=m>two</p>") for path in site.answers
    }
    ran = run(test, tmp_path / "test")
    assert ran.passed, ran.output
