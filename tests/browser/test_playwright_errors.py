from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import eikon_engine.browser as browser_package
from eikon_engine.browser.playwright_errors import ERROR_PATTERNS, first_line, translate
from eikon_engine.errors import BrowserDiedError
from tests.browser.pages import Answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Page

    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SHORT = 300
"""For calls that time out whatever happens first, in ms."""
MEDIUM = 2_000
"""For calls that find their element at once, even on a busy machine, and then wait for what never happens."""
LONG = 30_000
"""For calls that fail at once."""
FILE: Any = [{"name": "a", "mimeType": "text/plain", "buffer": b"1"}]


async def close_and(page: Page, call: Awaitable[Any]) -> None:
    """Close a page before calling a method of it."""
    await page.close()
    await call


async def crashed(page: Page) -> None:
    """Crash the page's process during a call."""
    answer = asyncio.ensure_future(page.evaluate("new Promise(() => {})"))
    await asyncio.gather(page.goto("chrome://crash"), return_exceptions=True)
    await answer


async def overtaken(page: Page) -> None:
    """Start a second navigation during the first."""
    first = asyncio.ensure_future(page.goto(page.url + "held"))
    await page.wait_for_event("request", lambda request: request.url.endswith("held"))
    await asyncio.gather(first, page.goto(page.url + "other"))


PROVOKED: dict[str, tuple[str, Callable[[Page], Awaitable[Any]], str]] = {
    "crash": ("", crashed, "page-crashed"),
    "busy": (
        "<button id=b onclick='for (;;);'>Go</button>",
        lambda page: page.locator("#b").click(timeout=MEDIUM),
        "page-unresponsive",
    ),
    "closed": ("", lambda page: close_and(page, page.locator("b").click()), "page-missing"),
    "closed look": ("", lambda page: close_and(page, page.evaluate("1")), "page-missing"),
    "two": ("<p>1<p>2", lambda page: page.locator("p").click(timeout=LONG), "target-ambiguous"),
    "options": ("<select id=s>", lambda page: page.locator("#s").select_option("x", timeout=MEDIUM), "option-missing"),
    "covered": (
        "<b id=b>1</b><div style='position:fixed;inset:0'></div>",
        lambda page: page.locator("#b").click(timeout=MEDIUM),
        "target-not-actionable",
    ),
    "hidden": ("<b id=b hidden>", lambda page: page.locator("#b").click(timeout=MEDIUM), "target-not-actionable"),
    "disabled": (
        "<button id=b disabled>",
        lambda page: page.locator("#b").click(timeout=MEDIUM),
        "target-not-actionable",
    ),
    "read-only": (
        "<input id=b readonly>",
        lambda page: page.locator("#b").fill("x", timeout=MEDIUM),
        "target-not-actionable",
    ),
    "far away": (
        "<b id=b style='position:fixed;left:-900px'>1</b>",
        lambda page: page.locator("#b").click(timeout=MEDIUM),
        "target-not-actionable",
    ),
    "no box": ("<b id=b>1", lambda page: page.locator("#b").check(timeout=LONG), "action-rejected"),
    "refusing box": (
        "<input id=b type=checkbox onclick='event.preventDefault()'>",
        lambda page: page.locator("#b").check(timeout=LONG),
        "action-rejected",
    ),
    "no field": ("<button id=b>1", lambda page: page.locator("#b").fill("x", timeout=LONG), "action-rejected"),
    "number": ("<input type=number id=b>", lambda page: page.locator("#b").fill("x", timeout=LONG), "action-rejected"),
    "no list": ("<p id=b>1", lambda page: page.locator("#b").select_option("x", timeout=LONG), "action-rejected"),
    "no files": ("<p id=b>1", lambda page: page.locator("#b").set_input_files(FILE, timeout=LONG), "action-rejected"),
    "key": ("", lambda page: page.keyboard.press("Nokey"), "action-rejected"),
    "selector": ("", lambda page: page.locator("##").evaluate_all("e => 1"), "action-rejected"),
    "expression": ("", lambda page: page.evaluate("(("), "action-rejected"),
    "refused": ("", lambda page: page.goto("http://127.0.0.1:1/"), "navigation-failed"),
    "no address": ("", lambda page: page.goto("nowhere"), "navigation-failed"),
    "overtaken": ("", overtaken, "navigation-failed"),
    "slow": ("", lambda page: page.goto(page.url + "held", timeout=SHORT), "navigation-failed"),
    "missing": ("", lambda page: page.locator("#b").click(timeout=SHORT), "target-missing"),
    "waiting": ("", lambda page: page.wait_for_function("false", timeout=SHORT), "wait-timeout"),
}


@pytest.mark.parametrize("case", PROVOKED)
def test_a_playwright_error_is_translated(live_browser: Room, site: PageSite, case: str) -> None:
    """Each error has one code and one line."""
    html, call, code = PROVOKED[case]

    error = provoke(live_browser, site, html, call)
    ours = translate(error, "trying")

    assert ours.code == code, error.message
    assert ours.message.startswith("trying: ")
    assert "\n" not in ours.message


def provoke(room: Room, site: PageSite, html: str, call: Callable[[Page], Awaitable[Any]]) -> Any:  # noqa: ANN401 - Playwright's
    """Run a call in a plain page, and return the error."""
    from playwright.async_api import Error

    site.answers["/"] = Answer(body=f"<!doctype html>{html}")
    site.answers["/held"] = lambda _: Answer(body=str(site.released.wait(1)))

    async def run() -> object:
        page = await room.browser.new_page()
        await page.goto(site.url + "/")
        try:
            return await call(page)
        except Error as error:
            return error
        finally:
            await page.context.close()

    raised = room.portal.call(run)
    assert isinstance(raised, Error)
    return raised


def test_every_pattern_is_provoked() -> None:
    """Each pattern is backed by a real error of the table above; test_browser_death.py kills browsers."""
    provoked = {code for _, _, code in PROVOKED.values()}

    assert {code for _, code in ERROR_PATTERNS} - {BrowserDiedError.code} <= provoked


UNGUARDED = {
    ("actions/fields.py", "_focus_to_type"),
    ("actions/pointer.py", "_click_at_once"),
    ("actions/pointer.py", "_click_locator"),
    ("actions/raw_input.py", "_is_secret_focused"),
    ("actions/reads.py", "_read_document"),
    ("actions/reads.py", "_run_script"),
    ("actions/targets.py", "_inspect_native_css"),
    ("actions/targets.py", "_point_through_frames"),
    ("attach/context.py", "_blank_page"),
    ("attach/context.py", "_clock_offset_ms"),
    ("attach/context.py", "_describe_blank_page"),
    ("browser_storage.py", "_fulfill_blank"),
    ("browser_storage.py", "open_page_with_session_storage"),
    ("environment.py", "_fulfill_blank"),
    ("environment.py", "read_native_browser"),
    ("environment.py", "read_page_view"),
    ("interactive/window.py", "open_window"),
    ("launch.py", "launch_browser"),
    ("launch.py", "take_browser"),
    ("traffic/socket_replay.py", "_deliver"),
    ("worker.py", "screenshot"),
}
"""Functions by module: opening and closing; callers that translate; listeners whose errors end in a task that is
checked; and calls of our own functions of the same names."""
CALLS = {
    "blur", "bring_to_front", "check", "click", "close", "continue_", "count", "dblclick", "dispose", "drag_to",
    "evaluate", "evaluate_all", "failure", "fill", "frame_element", "fulfill", "go_back", "go_forward", "goto", "hover",
    "new_page", "path", "press", "press_sequentially", "reload", "run_for", "screenshot", "scroll_into_view_if_needed",
    "select_option", "select_text", "set_checked", "set_content", "set_input_files", "tap", "title",
}  # fmt: skip
"""Every call by which the worker drives a page."""


def test_every_call_of_the_worker_is_translated() -> None:
    """Errors of every Playwright call are caught or translated where it is made, or by the callers listed above."""
    folder = Path(next(iter(browser_package.__path__)))
    bare = {
        (path.relative_to(folder).as_posix(), function)
        for path in sorted(folder.rglob("*.py"))
        for function in bare_calls(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert bare == UNGUARDED


def bare_calls(tree: ast.AST, function: str = "", *, guarded: bool = False) -> list[str]:
    """Return the functions that await a call of Playwright without handling its `Error`."""
    found: list[str] = []
    for node in ast.iter_child_nodes(tree):
        inside = guarded
        if isinstance(node, ast.Try):
            inside |= any("Error" in ast.unparse(handler.type) for handler in node.handlers if handler.type)
        if isinstance(node, ast.AsyncWith):
            inside |= any("translated" in ast.unparse(item.context_expr) for item in node.items)
        if isinstance(node, ast.With):
            inside |= any("suppress(Error" in ast.unparse(item.context_expr) for item in node.items)
        call = node.value if isinstance(node, ast.Await) else None
        called = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        is_call = called == "call_in_frame" or ("." in called and called.rpartition(".")[2] in CALLS)
        if is_call and not inside:
            found.append(function)
        within = node.name if isinstance(node, ast.AsyncFunctionDef) else function
        found.extend(bare_calls(node, within, guarded=inside))
    return found


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("Page.goto: net::ERR_FAILED at http://x/\nCall log:\n  - navigating", "net::ERR_FAILED at http://x/"),
        ("Locator.fill: Error: Element is not an <input>\nCall log:\n- x", "Element is not an <input>"),
        (
            "Locator.click: Timeout 1ms exceeded.\nCall log:\n  - <div id=over>x</div> intercepts pointer events\n",
            "Timeout 1ms exceeded. (<div id=over>x</div> intercepts pointer events)",
        ),
        (
            "Locator.click: Timeout 1ms exceeded.\nCall log:\n - element is not enabled\n",
            "Timeout 1ms exceeded. (element is not enabled)",
        ),
        ("  \nfirst\nsecond", "first"),
        ("Call log:\n  - nothing before it", "no message"),
        ("", "no message"),
    ],
)
def test_the_first_line_gives_the_reason(message: str, line: str) -> None:
    """The message contains neither the name of the call nor its log."""
    assert first_line(message) == line


@pytest.mark.parametrize(
    ("waited", "code"),
    [
        ('locator("#q")', "target-missing"),
        ('get_by_role("button", name="Buy")', "target-missing"),
        ('locator("iframe").content_frame.get_by_label("q")', "target-missing"),
        ('locator("#q") to be visible', "wait-timeout"),
        ('get_by_text("to be or not")', "target-missing"),
        ("navigation to finish", "wait-timeout"),
    ],
)
def test_a_timeout_names_the_missing_target(waited: str, code: str) -> None:
    """An action that waits for an element lacks its target; any other wait times out."""
    text = f"Locator.click: Timeout 5ms exceeded.\nCall log:\n  - waiting for {waited}\n"

    assert next(found for pattern, found in ERROR_PATTERNS if re.search(pattern, text)) == code


def test_patterns_are_tried_in_order() -> None:
    """The more specific pattern wins: a problem of the target explains more than a timeout."""
    text = "Locator.click: Timeout 5ms exceeded.\nCall log:\n  - waiting for locator\n  - element is not visible"

    assert [code for pattern, code in ERROR_PATTERNS if re.search(pattern, text)] == [
        "target-not-actionable",
        "target-missing",
        "wait-timeout",
    ]
