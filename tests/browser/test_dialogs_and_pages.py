from __future__ import annotations

import hashlib

import pytest

from eikon_engine.trace.actions import (
    AnswerDialog,
    Click,
    ClosePage,
    Download,
    FunctionCondition,
    Navigate,
    SwitchPage,
    WaitFor,
)
from eikon_engine.trace.observation import ObservedDialog, ObservedDownload
from tests.browser.desk import Desk, at
from tests.browser.pages import Answer

pytestmark = pytest.mark.browser

ASKING = "<button id=b>Go</button><p id=p></p><script>b.onclick = () => p.textContent = String({})</script>"


@pytest.mark.parametrize(
    ("call", "answer", "kind", "taken", "result"),
    [
        ("alert('hi')", None, "alert", "accepted", "undefined"),
        ("confirm('hi')", None, "confirm", "dismissed", "false"),
        ("confirm('hi')", AnswerDialog(accept=True), "confirm", "accepted", "true"),
        ("confirm('hi')", AnswerDialog(accept=False), "confirm", "dismissed", "false"),
        ("prompt('hi', 'default')", None, "prompt", "dismissed", "null"),
        ("prompt('hi', 'default')", AnswerDialog(accept=True, text="me"), "prompt", "accepted", "me"),
        ("prompt('hi', 'default')", AnswerDialog(accept=True, text=""), "prompt", "accepted", ""),
        ("prompt('hi', 'default')", AnswerDialog(accept=True), "prompt", "accepted", "default"),
    ],
)
def test_a_dialog_gets_its_armed_answer(
    desk: Desk, call: str, answer: AnswerDialog | None, kind: str, taken: str, result: str
) -> None:
    """Alerts are accepted and other dialogs without an armed answer dismissed; the observation says which."""
    desk.show(ASKING.format(call))
    if answer is not None:
        desk.ok(answer)

    seen = desk.ok(Click(target=at("#b")))

    expected = ObservedDialog.model_validate({"page": 0, "kind": kind, "message": "hi", "answer": taken})
    assert seen.dialogs == (expected,)
    assert desk.js("p.textContent") == result


def test_several_dialogs_of_one_action_are_answered_in_the_order_of_arming(desk: Desk) -> None:
    """Each answer is for one dialog."""
    desk.show(ASKING.format("[confirm('1'), prompt('2'), confirm('3')]"))
    desk.ok(AnswerDialog(accept=True))
    desk.ok(AnswerDialog(accept=True, text="two"))

    seen = desk.ok(Click(target=at("#b")))

    assert [dialog.message for dialog in seen.dialogs] == ["1", "2", "3"]
    assert desk.js("p.textContent") == "true,two,false"


def test_an_unused_answer_fails_the_action(desk: Desk) -> None:
    """An expected dialog that does not open is a failure, and its answer is not kept for a later one."""
    desk.show("<button id=a>No</button>" + ASKING.format("confirm('hi')"))
    desk.ok(AnswerDialog(accept=True))

    desk.fails(Click(target=at("#a")), "dialog-missing")
    seen = desk.ok(Click(target=at("#b")))

    assert seen.dialogs[0].answer == "dismissed"


def test_an_answer_outlives_actions_that_fail(desk: Desk) -> None:
    """An action that cannot be performed opens no dialog; the next attempt may."""
    desk.show(ASKING.format("confirm('hi')"))
    desk.ok(AnswerDialog(accept=True))

    desk.fails(Click(target=at("#nowhere"), timeout_ms=100), "target-missing")
    seen = desk.ok(Click(target=at("#b")))

    assert seen.dialogs[0].answer == "accepted"


def test_a_dialog_at_load_is_answered_too(desk: Desk) -> None:
    """A dialog does not keep a navigation from ending."""
    desk.ok(AnswerDialog(accept=True))

    seen = desk.ok(Navigate(url=desk.site.put("<p id=p></p><script>p.textContent = confirm('sure?')</script>")))

    assert seen.dialogs == (ObservedDialog(page=0, kind="confirm", message="sure?", answer="accepted"),)
    assert desk.js("p.textContent") == "true"


def test_a_dialog_of_a_timer_belongs_to_the_action_that_waited(desk: Desk) -> None:
    """Dialogs open when page time advances, like any other event."""
    desk.show("<p id=p></p><script>setTimeout(() => p.textContent = confirm('late'), 1000)</script>")
    desk.ok(AnswerDialog(accept=True))

    seen = desk.ok(WaitFor(condition=FunctionCondition(expression="p.textContent")))

    assert [dialog.message for dialog in seen.dialogs] == ["late"]
    assert desk.js("p.textContent") == "true"


def test_a_beforeunload_dialog_is_accepted_and_observed(desk: Desk) -> None:
    """The dialog of a page that is being left is accepted, so that the navigation continues."""
    desk.show("<button id=b>x</button><script>onbeforeunload = e => { e.preventDefault(); return 'stay' }</script>")
    desk.ok(Click(target=at("#b")))

    seen = desk.ok(Navigate(url=desk.site.put("<p>next")))

    assert [(dialog.kind, dialog.answer) for dialog in seen.dialogs] == [("beforeunload", "accepted")]


@pytest.mark.parametrize(
    "opener", ["<button id=b onclick=\"window.open('{}')\">Go</button>", "<a id=b target=_blank href='{}'>Go</a>"]
)
def test_a_popup_is_the_next_page(desk: Desk, opener: str) -> None:
    """It has the next ordinal, is observed with its document, and can be acted on."""
    popup = desk.site.put("<button id=in onclick='document.title = \"hit\"'>In</button>")
    desk.show(opener.format(popup))

    opened = desk.ok(Click(target=at("#b")))
    hit = desk.ok(Click(page=1, target=at("#in")))

    assert opened.opened == (1,)
    assert [(page.page, page.url) for page in opened.pages][1] == (1, popup)
    assert [(document.page, document.status) for document in opened.documents] == [(1, 200)]
    assert hit.pages[1].title == "hit"


def test_a_popup_without_a_url_is_a_page(desk: Desk) -> None:
    """A blank window that its opener writes into is observed with the result."""
    desk.show(
        "<button id=b>Go</button><script>b.onclick = () => open('').document.write('<title>written</title>')</script>"
    )

    seen = desk.ok(Click(target=at("#b")))

    assert [page.title for page in seen.pages] == ["page", "written"]


def test_switch_page_waits_for_a_page_that_opens_late(desk: Desk) -> None:
    """Page time advances until the page is open."""
    popup = desk.site.put("<p>popup")
    desk.show(f"<script>setTimeout(() => open('{popup}'), 1500)</script>")

    action = SwitchPage(page=1)

    seen = desk.ok(action)

    assert seen.opened == (1,)
    assert seen.virtual_ms is not None
    assert 1300 <= seen.virtual_ms < action.timeout_ms  # on a loaded machine, the browser takes its time


def test_switch_to_a_page_that_never_opens_fails(desk: Desk) -> None:
    """The message lists the open pages."""
    desk.show("<p>alone")

    assert "is not open; open pages: 0" in desk.fails(SwitchPage(page=1, timeout_ms=300), "page-missing")
    desk.fails(Click(page=3, target=at("p")), "page-missing")


def test_close_page_keeps_the_ordinals(desk: Desk) -> None:
    """An ordinal is never reused."""
    popup = desk.site.put("<p>popup")
    desk.show(f"<button id=b onclick=\"window.open('{popup}')\">Go</button>")
    desk.ok(Click(target=at("#b")))

    closed = desk.ok(ClosePage(page=1))
    again = desk.ok(Click(target=at("#b")))

    assert (closed.closed, [page.page for page in closed.pages]) == ((1,), [0])
    assert (again.opened, [page.page for page in again.pages]) == ((2,), [0, 2])
    desk.fails(ClosePage(page=1), "page-missing")


@pytest.mark.parametrize("close", ["window.close()", "setTimeout(() => window.close(), 50)"])
def test_a_page_that_closes_itself_is_no_failure(desk: Desk, close: str) -> None:
    """The click that closed the page succeeded, and the page is gone."""
    popup = desk.site.put(f"<button id=in onclick='{close}'>In</button>")
    desk.show(f"<button id=b onclick=\"window.open('{popup}')\">Go</button>")
    desk.ok(Click(target=at("#b")))

    seen = desk.ok(Click(page=1, target=at("#in")))

    assert (seen.closed, [page.page for page in seen.pages]) == ((1,), [0])


def test_the_last_page_can_be_closed(desk: Desk) -> None:
    """There is nothing left to observe, and no action finds a page."""
    seen = desk.ok(ClosePage())

    assert (seen.pages, seen.closed) == ((), (0,))
    desk.fails(Click(target=at("b")), "page-missing")


def serve_file(desk: Desk) -> str:
    """Serve something that is not shown but saved."""
    desk.site.answers["/file"] = Answer(
        body=b"\x00\x01content",
        content_type="application/octet-stream",
        headers=(("Content-Disposition", 'attachment; filename="report.bin"'),),
    )
    return "/file"


@pytest.mark.parametrize("kind", ["link", "blank", "blob"])
def test_a_download_has_its_name_and_digest(desk: Desk, kind: str) -> None:
    """Name and digest are those of the file, whether a server or a script made it."""
    path = serve_file(desk)
    desk.show(
        {
            "link": f"<a id=a href={path}>Get</a>",
            "blank": f"<a id=a href={path} target=_blank>Get</a>",
            "blob": "<a id=a download=report.bin>Get</a><script>"
            "a.href = URL.createObjectURL(new Blob([new Uint8Array([0, 1]), 'content']))</script>",
        }[kind]
    )

    seen = desk.ok(Download(target=at("#a")))

    digest = hashlib.sha256(b"\x00\x01content").hexdigest()
    assert [(each.name, each.sha256, each.size) for each in seen.downloads] == [("report.bin", digest, 9)]
    assert seen.documents == ()


def test_a_download_that_does_not_begin_fails(desk: Desk) -> None:
    """A click after which nothing is downloaded fails a `download` action."""
    desk.show("<button id=a>Get</button>")

    desk.fails(Download(target=at("#a"), timeout_ms=300), "download-missing")

    assert desk.trail().count("click") == 1


def test_a_navigation_to_a_file_is_a_download(desk: Desk) -> None:
    """The page stays where it is, and the file is observed."""
    path = serve_file(desk)
    shown = desk.show("<p>page")

    seen = desk.ok(Navigate(url=desk.site.url + path))

    assert isinstance(seen.downloads[0], ObservedDownload)
    assert seen.pages[0].url == shown.pages[0].url
