from __future__ import annotations

import socket

import pytest

from eikon_engine.trace.actions import GoBack, GoForward, Navigate, Reload
from eikon_engine.trace.observation import DocumentLoad, RedirectHop
from tests.browser.desk import Desk
from tests.browser.pages import Answer, redirect

pytestmark = pytest.mark.browser


def test_navigate_loads_a_document_and_observes_it(desk: Desk) -> None:
    """The observation has URL, title, status and the one request."""
    url = desk.site.put("<title>First</title><p>Hello")

    seen = desk.ok(Navigate(url=url))

    assert (seen.pages[0].page, seen.pages[0].url, seen.pages[0].title) == (0, url, "page")
    assert seen.documents == (DocumentLoad(page=0, url=url, status=200),)
    assert seen.requests == (f"GET {url}",)
    assert len(seen.pages[0].frames[0].digest) == 64


def test_navigate_names_every_redirect(desk: Desk) -> None:
    """Hops are listed in order, with their statuses."""
    site = desk.site
    site.answers |= {"/a": redirect("/b"), "/b": redirect("/c", status=307), "/c": Answer(body="end")}

    seen = desk.ok(Navigate(url=f"{site.url}/a"))

    hops = (RedirectHop(url=f"{site.url}/a", status=302), RedirectHop(url=f"{site.url}/b", status=307))
    assert seen.documents == (DocumentLoad(page=0, url=f"{site.url}/c", status=200, hops=hops),)
    assert seen.requests == (f"GET {site.url}/a",)


def test_navigate_to_a_404_succeeds_and_shows_the_status(desk: Desk) -> None:
    """A document with an error status is a document; detectors compare statuses."""
    seen = desk.ok(Navigate(url=f"{desk.site.url}/nowhere"))

    assert [document.status for document in seen.documents] == [404]


def test_navigate_to_a_closed_port_fails(desk: Desk) -> None:
    """The message has the browser's own error, and the worker can continue."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    message = desk.fails(Navigate(url=f"http://127.0.0.1:{port}/"), "navigation-failed")

    assert "net::ERR_CONNECTION_REFUSED" in message
    desk.show("<p>still alive")


def test_navigate_to_an_invalid_url_fails(desk: Desk) -> None:
    """It is a failed navigation."""
    assert "Cannot navigate to invalid URL" in desk.fails(Navigate(url="no url"), "navigation-failed")


def test_navigate_within_the_document_loads_nothing(desk: Desk) -> None:
    """A fragment is scrolled to, and no document load is reported."""
    url = desk.site.put("<p id=x>x")
    desk.ok(Navigate(url=url))

    seen = desk.ok(Navigate(url=f"{url}#x"))

    assert (seen.pages[0].url, seen.documents, seen.requests) == (f"{url}#x", (), ())


def test_navigate_to_a_slow_document_waits_for_it(desk: Desk) -> None:
    """The load event and subresources are waited for."""
    site = desk.site
    site.answers["/slow.js"] = lambda _: Answer(
        body=f"document.title = {'late' if not site.released.wait(0.2) else ''!r}", content_type="text/javascript"
    )

    seen = desk.ok(Navigate(url=site.put("<script src=/slow.js></script>")))

    assert seen.pages[0].title == "late"


def test_going_back_and_forward_moves_through_documents(desk: Desk) -> None:
    """Both move one entry and name the document."""
    first, second = desk.site.put("<p>1"), desk.site.put("<p>2")
    desk.ok(Navigate(url=first))
    desk.ok(Navigate(url=second))

    back = desk.ok(GoBack())
    forth = desk.ok(GoForward())

    assert (back.pages[0].url, forth.pages[0].url) == (first, second)
    assert back.documents[0].url == first


def test_going_back_through_pushed_states_loads_nothing(desk: Desk) -> None:
    """History states of an application are entries without a document load."""
    desk.show("<p id=p>0</p><script>onpopstate = e => p.textContent = 'popped ' + location.hash</script>")
    desk.js("history.pushState(1, '', '#1'); history.pushState(2, '', '#2')")

    seen = desk.ok(GoBack())

    assert (seen.pages[0].url.partition("#")[2], seen.documents) == ("1", ())
    assert desk.js("p.textContent") == "popped #1"


def test_going_back_through_pushed_states_of_one_url_is_no_failure(desk: Desk) -> None:
    """A step between two states with the same URL is a step."""
    desk.show("<p id=p>0</p><script>onpopstate = e => p.textContent = 'popped ' + e.state</script>")
    desk.js("history.replaceState(1, ''); history.pushState(2, '')")

    desk.ok(GoBack())

    assert desk.js("p.textContent") == "popped 1"


def test_going_beyond_the_history_is_a_failed_navigation(desk: Desk) -> None:
    """The message says that there is no such entry."""
    desk.show("<p>only")
    desk.ok(GoBack())  # to the blank document every page begins with

    assert "no such entry" in desk.fails(GoBack(), "navigation-failed")
    desk.ok(GoForward())
    assert "no such entry" in desk.fails(GoForward(), "navigation-failed")


def test_reload_loads_the_document_again(desk: Desk) -> None:
    """The page shows the current response, and typed text is gone."""
    site = desk.site
    site.answers["/count"] = lambda _: Answer(body=f"<p>{len(site.asked)}")
    desk.ok(Navigate(url=f"{site.url}/count"))

    seen = desk.ok(Reload())

    assert desk.js("document.body.innerText") == "2"
    assert [document.status for document in seen.documents] == [200]
