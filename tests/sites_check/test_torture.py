"""The torture site behaves as documented, and the same for the same requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from io import BytesIO

import pytest
from aiohttp import ClientConnectionError, ClientSession, FormData, WSMessageTypeError, WSMsgType
from fontTools.ttLib import TTFont

from tests.sites.torture import ITEMS, PAGES, TortureSite, serve_torture
from tests.sites.torture.bodies import BLOB, SIZE
from tests.sites.torture.documents import STATIC
from tests.sites.torture.parts import BUILT, build_font

Visit = Callable[[ClientSession], Awaitable[list[str]]]


def visit(visits: Visit, *, times: int = 1) -> list[list[str]]:
    """Visit a fresh site, and visit it again after a restart."""

    async def one(site: TortureSite) -> list[str]:
        async with ClientSession(base_url=site.url) as session:
            return await visits(session)

    with serve_torture() as site:
        seen = []
        for _ in range(times):
            site.restart()
            seen.append(asyncio.run(one(site)))
    return seen


async def text(session: ClientSession, method: str, path: str, **options: object) -> str:
    """Send a request; return status and text."""
    async with session.request(method, path, **options) as response:  # type: ignore[arg-type] # of the test
        return f"{response.status} {await response.text()}"


async def talk(session: ClientSession, path: str, *sent: str) -> list[str]:
    """Send texts to a socket, one after each received frame, and return all received frames."""
    left, heard = list(sent), []
    async with session.ws_connect(path) as socket:
        if left:
            await socket.send_str(left.pop(0))
        async for message in socket:
            heard.append(str(message.data))
            if not left:
                break
            await socket.send_str(left.pop(0))
    return heard


def test_every_item_has_a_button_and_a_script_for_each_step() -> None:
    """The pages have the buttons and scripts of the table."""
    for page in PAGES:
        script = (STATIC / f"{page}.js").read_text(encoding="utf-8")
        wanted = [item.name for item in ITEMS if item.page == page and not item.leaves]
        assert re.findall(r'^item\("([a-z0-9-]+)"', script, re.MULTILINE) == [*wanted], page

    assert len({item.name for item in ITEMS}) == len(ITEMS)


@pytest.mark.parametrize("page", [*PAGES, "", "summary"])
def test_every_page_is_there(page: str) -> None:
    """A page has a section for each of its items, with an idle result."""

    async def visits(session: ClientSession) -> list[str]:
        return re.findall(
            r'<section id="([^"]+)".*?data-state="idle"', await text(session, "GET", f"/{page}"), re.DOTALL
        )

    assert visit(visits) == [[item.name for item in ITEMS if item.page == page]]


def test_sockets_send_the_requested_messages() -> None:
    """Echo, turns, and connections that differ by their number are the same on both visits."""

    async def visits(session: ClientSession) -> list[str]:
        echoed = await talk(session, "/ws/echo", "one", "two")
        first, second = [await talk(session, "/ws/reconnect") for _ in range(2)]
        return [*echoed, *first, *second]

    one, other = visit(visits, times=2)

    assert one == ["echo 1: one", "echo 2: two", "connection 1 frame 1", "connection 2 frame 1"]
    assert one == other


def test_a_socket_is_closed_with_code_and_reason() -> None:
    """The last messages arrive before the close, which has our code."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.ws_connect("/ws/close") as socket:
            words = await socket.receive_str()
            end = await socket.receive()
            return [words, str(end.data), str(end.extra)]

    assert visit(visits) == [["last words", "4001", "enough for today"]]


def test_bytes_come_back_in_reverse_and_the_protocol_is_agreed_on() -> None:
    """Binary frames stay binary; of two subprotocols the site selects its own."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.ws_connect("/ws/binary") as socket:
            await socket.send_bytes(b"\x00\x01\xff")
            heard = await socket.receive_bytes()
        async with session.ws_connect("/ws/subprotocol", protocols=("v1.torture", "v2.torture")) as socket:
            return [heard.hex(), str(socket.protocol)]

    assert visit(visits) == [["ff0100", "v2.torture"]]


def test_the_notice_appears_after_the_third_action() -> None:
    """Two actions cause no frame; the third causes one."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.ws_connect("/ws/notify") as socket:
            seen = [await socket.receive_str()]
            seen += [await text(session, "POST", "/ws/act") for _ in range(2)]
            with pytest.raises(TimeoutError):
                await socket.receive(timeout=0.1)
        async with session.ws_connect("/ws/notify") as socket:
            await socket.receive_str()
            seen.append(await text(session, "POST", "/ws/act"))
            return [*seen, await socket.receive_str()]

    assert visit(visits) == [["listening", "200 action 1", "200 action 2", "200 action 3", "notice after action 3"]]


def test_a_stream_of_events_is_resumed_after_the_last_id() -> None:
    """Each connection gets two messages, numbered consecutively."""

    async def visits(session: ClientSession) -> list[str]:
        answers = [await text(session, "GET", "/sse/resume")]
        answers.append(await text(session, "GET", "/sse/resume", headers={"Last-Event-ID": "2"}))
        return [re.sub(r"\s+", " ", answer) for answer in answers]

    assert visit(visits) == [
        [
            "200 retry: 40 id: 1 data: message 1 (after 0) id: 2 data: message 2 (after 0) ",
            "200 retry: 40 id: 3 data: message 3 (after 2) id: 4 data: message 4 (after 2) ",
        ]
    ]


def test_an_event_waits_for_the_action() -> None:
    """The first event arrives at once, the other one after the request for it."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.get("/sse/news") as response:
            first = await response.content.readuntil(b"\n\n")
            made = await text(session, "POST", "/sse/news")
            return [first.decode(), made, (await response.content.readuntil(b"\n\n")).decode()]

    assert visit(visits) == [
        ["data: waiting for news\n\n", "200 made", "event: news\ndata: here it is\n\n"],
    ]


def test_a_body_arrives_in_pieces() -> None:
    """The five chunks arrive separately, and one character is split."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.get("/stream/chunks") as response:
            return [repr(chunk) async for chunk, _ in response.content.iter_chunks() if chunk]

    (chunks,) = visit(visits)

    assert chunks == ["b'first|'", "b'second|'", r"b'third \xc3'", r"b'\xbc|'", "b'last'"]


def test_answers_depend_on_the_requests_before() -> None:
    """Notes, queries, polls and counters are a function of the order of the requests."""

    async def visits(session: ClientSession) -> list[str]:
        add = {"operationName": "Add", "variables": {"count": 2}}
        return [
            await text(session, "PUT", "/notes/1", data="a"),
            await text(session, "PATCH", "/notes/1", data="b"),
            await text(session, "DELETE", "/notes/1"),
            await text(session, "GET", "/notes/1"),
            await text(session, "POST", "/graphql", json={"operationName": "Cart"}),
            await text(session, "POST", "/graphql", json=add),
            await text(session, "POST", "/graphql", json={"operationName": "Cart"}),
            *[await text(session, "GET", "/poll") for _ in range(4)],
        ]

    one, other = visit(visits, times=2)

    assert one[:4] == ["200 a", "200 ab", "200 deleted ab", "404 no such note"]
    assert [re.sub(r"\D+", "", answer)[3:] for answer in one[4:7]] == ["0", "2", "2"]
    assert [re.search(r"pending|done", answer)[0] for answer in one[7:]] == ["pending"] * 3 + ["done"]  # type: ignore[index] # of the test
    assert one == other


def test_answers_depend_on_headers() -> None:
    """Accept, Range, If-None-Match and preflight headers are honoured."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.get("/bytes/ranged", headers={"Range": "bytes=-50"}) as part:
            ranged = f"{part.status} {part.headers['Content-Range']} {(await part.read()) == BLOB[-50:]}"
        async with session.options("/cors/open", headers={"Origin": "http://a"}) as flight:
            allowed = f"{flight.status} {flight.headers['Access-Control-Allow-Origin']}"
        return [
            ranged,
            allowed,
            await text(session, "GET", "/tagged", headers={"If-None-Match": '"v1"'}),
            *[await text(session, "GET", "/negotiated", headers={"Accept": kind}) for kind in ("text/html", "x/y")],
        ]

    assert visit(visits) == [
        [f"206 bytes {SIZE - 50}-{SIZE - 1}/{SIZE} True", "204 http://a", "304 ", "200 <p>html</p>", "200 plain text"]
    ]


def test_redirects_keep_or_change_the_method_and_set_cookies() -> None:
    """302 twice, 307 with its body, 303 to a page, and cookies set by redirects."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.get("/redirect/cookie", allow_redirects=False) as response:
            cookies = response.headers.getall("Set-Cookie")
        landed = await text(session, "GET", "/redirect/document/1")
        thanks = await text(session, "POST", "/redirect/form", data={"who": "Ada"})
        return [
            *cookies,
            await text(session, "POST", "/redirect/fetch", data="kept"),
            *re.findall(r'data-state="done">([^<]*)', landed + thanks),
        ]

    assert visit(visits) == [
        [
            "on_the_way=yes; Path=/",
            "hidden_way=yes; Path=/; HttpOnly",
            "200 POST kept",
            "landed after 2 hops",
            "thanks for who=Ada",
        ]
    ]


def test_uploads_are_described() -> None:
    """The response has name, size and digest of the file."""

    async def visits(session: ClientSession) -> list[str]:
        form = FormData({"note": "n"})
        form.add_field("file", b"abc", filename="a.bin")
        return [await text(session, "POST", "/upload/fetch", data=form)]

    assert visit(visits) == [["200 upload 1: note: n; file: a.bin, 3 bytes, ba7816bf8f01"]]


def test_a_broken_connection_is_broken() -> None:
    """No response arrives, and a rejected handshake opens no socket."""

    async def visits(session: ClientSession) -> list[str]:
        with pytest.raises(ClientConnectionError):
            await session.post("/broken")
        return [await text(session, "GET", "/ws/refused")]

    assert visit(visits) == [["403 no sockets here\n"]]


def test_no_answer_has_a_clock() -> None:
    """Neither Date nor Server is sent, because a page could read them."""

    async def visits(session: ClientSession) -> list[str]:
        async with session.get("/exchanges") as response:
            return sorted(response.headers)

    assert visit(visits) == [["Cache-Control", "Content-Length", "Content-Type"]]


def test_the_font_knows_no_time() -> None:
    """A font is built without a clock, so that its bytes are always the same."""
    head = TTFont(BytesIO(build_font()))["head"]

    assert (head.created, head.modified) == (BUILT, BUILT)


def test_a_stopped_site_does_not_wait_for_those_who_wait() -> None:
    """Pending requests and open sockets are closed with the site."""

    async def waits(url: str) -> None:
        async with ClientSession(base_url=url) as session, session.ws_connect("/ws/notify") as socket:
            await socket.receive_str()
            waiting.set()
            assert (await socket.receive()).type in {WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING}
            with pytest.raises((ClientConnectionError, WSMessageTypeError)):
                await session.get("/poll")

    async def stops() -> None:
        with serve_torture() as site:
            task = asyncio.create_task(waits(site.url))
            await waiting.wait()
        await task

    waiting = asyncio.Event()
    asyncio.run(asyncio.wait_for(stops(), 10))
