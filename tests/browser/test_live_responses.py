"""Live responses in a sealed session look to the page as they do in a replay of them."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.live_responses import LiveResponder
from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.store import NetworkAppender, read_network
from eikon_engine.secrets.search import RedactionRules
from eikon_engine.trace.actions import Action, Click, FileInput, Navigate, SetInputFiles
from tests.browser.desk import at
from tests.browser.pages import Answer, Asked, PageSite, redirect
from tests.browser.test_sealed import page, record, shows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.observation import Observation
    from tests.browser.desk import Desk, Room

pytestmark = pytest.mark.browser


@contextmanager
def open_live(room: Room, folder: Path, *, every: bool = False) -> Iterator[Desk]:
    """Open a sealed session with live requests; their responses are added to the recording."""
    recording = read_network(folder)
    traffic = SealedTraffic(recording)
    with NetworkAppender(folder) as keeper, room.sealed(folder, traffic=traffic) as desk:
        live = LiveResponder(room.requests, recording, keeper, sends_every_request=every, timeout_s=1.0)
        room.portal.call(traffic.set_live_responder, live)
        yield desk


def live_then_sealed(room: Room, folder: Path, actions: Sequence[Action]) -> tuple[list[Observation], NetworkOutcome]:
    """Act with live responses, then on the recording of them: both observations are equal."""
    with open_live(room, folder) as desk:
        seen = [desk.ok(action) for action in actions]
        network = desk.network()
    asked = len(room.site.asked)
    with room.sealed(folder) as desk:
        for action, expected in zip(actions, seen, strict=True):
            assert desk.do(action, expected, agrees=shows(expected)).observation == expected
        replayed = desk.network()
    assert len(room.site.asked) == asked
    assert replayed.misses == ()
    assert (replayed.served, replayed.live) == (network.served + network.live, 0)
    return seen, network


@pytest.fixture
def start(live_browser: Room, site: PageSite, tmp_path: Path) -> str:
    """Record the start page of a mission, which links to unrecorded pages; return its URL."""
    script = "document.cookie = 'kept=1; Path=/'"
    url = site.put(page(script, "<a id=a href=/next>Go</a><button id=b onclick=go()>Go</button>"))
    record(live_browser, tmp_path, [Navigate(url=url)])
    return url


def only(folder: Path, path: str) -> Exchange:
    """Return the one exchange of a path."""
    (found,) = (each for each in read_network(folder).exchanges if each.request.url.endswith(path))
    return found


def test_nothing_leaves_without_permission(sealed_browser: Room, site: PageSite, start: str, tmp_path: Path) -> None:
    """An unrecorded request is blocked before live mode and after it."""
    recording, traffic = read_network(tmp_path), SealedTraffic(read_network(tmp_path))
    asked = len(site.asked)
    with sealed_browser.sealed(tmp_path, traffic=traffic) as desk:
        desk.ok(Navigate(url=start))
        desk.do(Click(target=at("#a")))
        sealed_browser.portal.call(traffic.set_live_responder, LiveResponder(sealed_browser.requests, recording))
        sealed_browser.portal.call(traffic.set_live_responder, None)
        desk.do(Navigate(url=f"{site.url}/next"))
        network = desk.network()

    assert len(site.asked) == asked
    assert [miss.key for miss in network.misses] == [f"GET {site.url}/next"] * 2
    assert network.live == 0


def test_recorded_requests_are_answered_from_the_recording(
    sealed_browser: Room, site: PageSite, start: str, tmp_path: Path
) -> None:
    """Only unrecorded requests are sent."""
    site.answers["/next"] = Answer(body="<title>next</title>")
    site.asked.clear()

    seen, network = live_then_sealed(sealed_browser, tmp_path, [Navigate(url=start), Click(target=at("#a"))])

    assert seen[1].pages[0].title == "next"
    assert site.paths() == ("GET /next",)
    assert (network.misses, network.live) == ((), 1)


def test_a_document_is_redirected_with_cookies(
    sealed_browser: Room, site: PageSite, start: str, tmp_path: Path
) -> None:
    """Each hop is sent the cookies of the page and of earlier hops, and the page has all of them."""
    site.answers |= {
        "/next": redirect("/middle", cookie="first=1; Path=/; HttpOnly"),
        "/middle": redirect("/end?q#part", status=307, cookie="second=2; Path=/"),
        "/end": lambda asked: Answer(
            body=f"<p>{asked.header('cookie')}<p id=c><script>c.textContent = document.cookie</script>",
            headers=(("Set-Cookie", "third=3; Path=/"),),
        ),
    }

    seen, _ = live_then_sealed(sealed_browser, tmp_path, [Navigate(url=start), Click(target=at("#a"))])

    assert [asked.header("cookie") for asked in site.asked if not asked.path.startswith(("/page", "/fav"))] == [
        "kept=1",
        "kept=1; first=1",
        "kept=1; first=1; second=2",
    ]
    assert seen[1].pages[0].url == f"{site.url}/end?q#part"
    assert [hop.status for hop in seen[1].documents[0].hops] == [302, 307]


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirected_form_keeps_or_drops_its_body(
    sealed_browser: Room, site: PageSite, start: str, tmp_path: Path, status: int
) -> None:
    """A 302 after a POST sends GET, a 307 posts again."""
    site.answers["/next"] = Answer(body="<form method=post action=/post><input name=q value=1><button id=b>Send</form>")
    site.answers["/post"] = redirect("/end", status=status)
    site.answers["/end"] = lambda asked: Answer(body=f"<p>{asked.method} {asked.body.decode()}")

    live_then_sealed(sealed_browser, tmp_path, [Navigate(url=start), Click(target=at("#a")), Click(target=at("#b"))])

    end = next(asked for asked in site.asked if asked.path == "/end")
    assert (end.method, end.body) == (("GET", b"") if status == 302 else ("POST", b"q=1"))
    assert end.header("content-type") == ("" if status == 302 else "application/x-www-form-urlencoded")


BYTES = bytes(range(256))
BINARY = "const all = new Uint8Array(256).map((_, i) => i);"
SAME = "const same = b => all.every((each, i) => each === b[i]) && b.length === 256;"


def test_binary_bodies_are_complete_in_both_directions(
    sealed_browser: Room, site: PageSite, start: str, tmp_path: Path
) -> None:
    """Bytes are posted and returned unchanged; a status from 400 on is a response."""
    site.answers["/next"] = Answer(
        body=page(f"""{BINARY}{SAME}
            fetch('/echo', {{method: 'POST', body: all}}).then(async r =>
              say(r.status + ' ' + same(new Uint8Array(await r.arrayBuffer()))));
            fetch('/missing').then(r => say(r.status)).catch(say)""")
    )
    site.answers["/echo"] = lambda asked: Answer(body=asked.body, status=201, content_type="application/octet-stream")

    live_then_sealed(sealed_browser, tmp_path, [Navigate(url=start), Click(target=at("#a"))])

    echo, store = only(tmp_path, "/echo"), read_network(tmp_path)
    assert echo.request.body is not None
    assert echo.response is not None
    assert echo.response.body is not None
    assert (store.body(echo.request.body), store.body(echo.response.body)) == (BYTES, BYTES)
    missing = only(tmp_path, "/missing").response
    assert missing is not None
    assert missing.status == 404


def test_a_cross_origin_fetch_follows_cors(sealed_browser: Room, site: PageSite, start: str, tmp_path: Path) -> None:
    """A response that allows the origin is readable, another is not; credentials are those of the other origin."""
    allowed = (("Access-Control-Allow-Origin", "*"),)
    site.answers["/open"] = lambda asked: Answer(
        body=f"{asked.method} {asked.header('x-own')} [{asked.header('cookie')}]", headers=allowed
    )
    site.answers |= {"/closed": Answer(body="secret"), "/turn": redirect("/open")}
    site.answers |= {f"/to-{name}": redirect(f"{site.elsewhere}/{name}") for name in ("open", "closed")}
    site.answers["/next"] = Answer(
        body=page(f"""
            const other = '{site.elsewhere}';
            fetch(other + '/open', {{method: 'PUT', headers: {{'x-own': '1'}}}}).then(r => r.text()).then(say)
            .then(() => get(other + '/closed')).then(() => fetch('/turn')).then(r => say(r.url.split('/')[3]))
            .then(() => get('/to-open')).then(() => get('/to-closed'))""")
    )

    with open_live(sealed_browser, tmp_path) as desk:
        desk.ok(Navigate(url=start))
        desk.ok(Click(target=at("#a")))
        text = desk.js("p.textContent")

    assert text == "PUT 1 [] failed open GET  [] failed "
    origins = [asked.header("origin") for asked in site.asked if asked.path in {"/open", "/closed"}]
    assert origins == [site.url, site.url, "", site.url, site.url]
    assert "OPTIONS /open" not in site.paths()


def test_failures_have_the_errors_of_the_browser(
    sealed_browser: Room, site: PageSite, start: str, tmp_path: Path
) -> None:
    """A refused connection and a broken body fail for the page, live and in a replay."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused = f"http://127.0.0.1:{closed.getsockname()[1]}/refused"
    site.answers["/broken"] = Answer(pieces=(b"one", b"two"), ending="broken")
    site.answers["/next"] = Answer(body=page(f"get('{refused}').then(() => get('/broken'))"))

    _, network = live_then_sealed(sealed_browser, tmp_path, [Navigate(url=start), Click(target=at("#a"))])

    assert only(tmp_path, "/refused").failure == "net::ERR_CONNECTION_REFUSED"
    assert only(tmp_path, "/broken").failure is not None
    assert [note for note in network.notes if "ECONNREFUSED" in note]


def test_certificate_errors_are_errors(sealed_browser: Room, site: PageSite, start: str, tmp_path: Path) -> None:
    """A site with an untrusted certificate gets no request."""
    with untrusted(tmp_path) as (url, heard):
        site.answers["/next"] = Answer(body=page(f"get('{url}/secret')"))
        live_then_sealed(sealed_browser, tmp_path, [Navigate(url=start), Click(target=at("#a"))])

    assert only(tmp_path, "/secret").failure == "net::ERR_CERT_AUTHORITY_INVALID"
    assert heard == []


def test_a_slow_response_is_waited_for(sealed_browser: Room, site: PageSite, start: str, tmp_path: Path) -> None:
    """Page time stands still meanwhile; a response after the timeout counts as timed out and is reported."""

    def slow(asked: Asked) -> Answer:
        site.released.wait(0.4 if asked.path == "/slow" else 2.0)
        return Answer(body="came")

    site.answers |= {"/slow": slow, "/endless": slow}
    site.answers["/next"] = Answer(body=page("get('/slow').then(() => get('/endless'))"))

    seen, network = live_then_sealed(sealed_browser, tmp_path, [Navigate(url=start), Click(target=at("#a"))])

    assert "/endless: net::ERR_TIMED_OUT" in "".join(network.notes)
    assert seen[1].virtual_ms == seen[0].virtual_ms


def test_streams_and_sockets_stay_blocked(sealed_browser: Room, site: PageSite, start: str, tmp_path: Path) -> None:
    """Endless responses are not requested live, and the miss says why."""
    site.answers["/next"] = Answer(
        body=page(f"new EventSource('/events'); new WebSocket('{site.url.replace('http', 'ws')}/socket')")
    )

    with open_live(sealed_browser, tmp_path) as desk:
        desk.ok(Navigate(url=start))
        desk.ok(Click(target=at("#a")))
        misses = desk.network().misses

    assert {miss.key.split("/")[-1] for miss in misses} == {"events", "socket"}
    assert "never end" in next(miss.reason for miss in misses if miss.key.endswith("events"))
    assert "GET /events" not in site.paths()


def test_uploads_are_whole(sealed_browser: Room, site: PageSite, start: str, tmp_path: Path) -> None:
    """A file given to a form reaches the site."""
    site.answers["/next"] = Answer(
        body="<form method=post action=/up enctype=multipart/form-data><input id=f type=file name=f><button id=b>Send"
    )
    site.answers["/up"] = Answer(body="<p>thanks")
    content = BlobStore(tmp_path / "files").put(BYTES)
    file = FileInput(name="a.bin", mime_type="application/octet-stream", content=content)

    with open_live(sealed_browser, tmp_path) as desk:
        desk.worker.session.uploads = BlobStore(tmp_path / "files")
        for action in (
            Navigate(url=start),
            Click(target=at("#a")),
            SetInputFiles(target=at("#f"), files=(file,)),
            Click(target=at("#b")),
        ):
            desk.ok(action)

    (sent,) = (asked for asked in site.asked if asked.path == "/up")
    assert BYTES in sent.body


def test_every_request_is_sent_from_a_given_moment_on(
    sealed_browser: Room, site: PageSite, start: str, tmp_path: Path
) -> None:
    """Recorded requests are sent as well, and their responses compared with the recorded ones."""
    site.answers[start.removeprefix(site.url)] = Answer(body="<title>page</title><p>new")
    recording = read_network(tmp_path)
    traffic = SealedTraffic(recording)
    with sealed_browser.sealed(tmp_path, traffic=traffic) as desk:
        live = LiveResponder(sealed_browser.requests, recording, sends_every_request=True)
        sealed_browser.portal.call(traffic.set_live_responder, live)
        desk.ok(Navigate(url=start))
        network = desk.network()
        text = desk.js("document.body.innerText")

    assert text == "new"
    assert (network.served, network.unmatched) == (0, ())
    assert network.live >= 1
    assert [change.key for change in network.response_changes] == [f"GET {start}"]


TOKEN = "q7Zr4KxW2mNv8TbY6sLp3cHd9fGj5aRe"


def test_detected_secrets_are_replaced_and_restored(
    sealed_browser: Room, site: PageSite, start: str, tmp_path: Path
) -> None:
    """Pages and files have the stand-in of a token, the site gets the token again."""
    site.answers["/next"] = Answer(
        body=page("""fetch('/login').then(r => r.json()).then(({token}) => (say(token),
            fetch('/me', {headers: {authorization: 'Bearer ' + token}}))).then(r => r.text()).then(say)"""),
        headers=(("Set-Cookie", f"session={TOKEN[::-1]}; Path=/; HttpOnly"),),
    )
    site.answers["/login"] = Answer(body=f'{{"token": "{TOKEN}"}}', content_type="application/json")
    site.answers["/me"] = Answer(body="welcome")

    with open_live(sealed_browser, tmp_path) as desk:
        found = desk.worker.session.start_secret_detection(RedactionRules(), b"key")
        desk.ok(Navigate(url=start))
        desk.ok(Click(target=at("#a")))
        shown = desk.js("p.textContent")

    (me,) = (asked for asked in site.asked if asked.path == "/me")
    assert f"session={TOKEN[::-1]}" in me.header("cookie")
    assert me.header("authorization") == f"Bearer {TOKEN}"
    stand_in = next(each.stand_in for each in found.table if each.name == "token")
    assert shown == f"{stand_in} welcome "
    store = read_network(tmp_path)
    kept = (tmp_path / "index.jsonl").read_bytes() + b"".join(map(store.body, store.refs))
    assert TOKEN.encode() not in kept
    assert TOKEN[::-1].encode() not in kept


@contextmanager
def untrusted(folder: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Serve TLS with a self-signed certificate; return the URL, and the requests received."""
    pem = folder / "own.pem"
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    name = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    command = ("openssl", "req", "-x509", *kind, *name, "-keyout", str(pem), "-out", str(folder / "own.crt"))
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "own.crt", pem)
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                try:
                    with context.wrap_socket(connection, server_side=True) as secure:
                        heard.append(secure.recv(1000))
                except OSError:
                    continue

        threading.Thread(target=accept, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}", heard
        server.shutdown(socket.SHUT_RDWR)
