"""The proxy of a live replay that may reach a few origins only."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.public_origins import PublicOrigins, connect_publicly
from eikon_engine.browser.traffic.sink import open_sink
from tests.browser.pages import Answer, serve_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.browser.traffic.public_origins import Connect, Streams
    from tests.browser.pages import PageSite


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve a greeting."""
    with serve_pages() as site:
        site.answers["/hello"] = Answer(body="hello")
        yield site


def leads_to(site: PageSite) -> Connect:
    """Connect to a site, whatever host is asked for."""

    async def connect(_host: str, _port: int) -> Streams:
        return await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))

    return connect


def ask(request: bytes, passage: PublicOrigins) -> tuple[bytes, list[tuple[str, str]]]:
    """Send a request to the port of the pages; return the response and what was listed."""

    async def ask_sink() -> tuple[bytes, list[tuple[str, str]]]:
        async with open_sink(passage=passage) as sink:
            reader, writer = await asyncio.open_connection("127.0.0.1", sink.port("page"))
            writer.write(request)
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            return answer, [(each.method, each.target) for each in sink.violations()]

    return asyncio.run(ask_sink())


def get(url: str) -> bytes:
    """Return a request as a browser sends it to a proxy."""
    return f"GET {url} HTTP/1.1\r\nHost: shop.example\r\nProxy-Connection: keep-alive\r\n\r\n".encode()


def test_a_request_for_its_origin_is_forwarded(site: PageSite) -> None:
    """The site gets a path, and no headers of the proxy; nothing is listed."""
    request = b"POST http://shop.example/hello?a=1 HTTP/1.1\r\nContent-Length: 4\r\nProxy-Connection: x\r\n\r\nbody"

    async def ask_open() -> tuple[bytes, int]:
        passage = PublicOrigins(["http://shop.example"], leads_to(site))
        async with open_sink(passage=passage) as sink:
            reader, writer = await asyncio.open_connection("127.0.0.1", sink.port("page"))
            writer.write(request)
            answer = await reader.read()
            writer.close()
            return answer, len(sink.violations())

    answer, listed = asyncio.run(ask_open())

    (asked,) = site.asked
    assert (asked.method, asked.path, asked.body, asked.header("proxy-connection")) == (
        "POST",
        "/hello?a=1",
        b"body",
        "",
    )
    assert answer.endswith(b"hello")
    assert listed == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://other.example/hello",
        "http://shop.example:8080/hello",
        "https://shop.example/hello",
        "http://shop.example.evil.example/hello",
        "http://shop.example@evil.example/hello",
    ],
)
def test_another_origin_is_refused_and_listed(site: PageSite, url: str) -> None:
    """No part of its name, and no other port or scheme, is enough."""
    answer, listed = ask(get(url), PublicOrigins(["http://shop.example"], leads_to(site)))

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert listed == [("GET", url)]
    assert site.asked == []


def test_a_name_with_a_private_address_is_refused(site: PageSite) -> None:
    """The address counts, not the name: here, `localhost` is the name that resolves without a name server."""
    port = site.url.rpartition(":")[2]

    answer, listed = ask(get(f"http://localhost:{port}/hello"), PublicOrigins([f"http://localhost:{port}"]))

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert listed == [("GET", f"http://localhost:{port}/hello")]
    assert site.asked == []
    assert asyncio.run(connect_publicly("127.0.0.1", int(port))) is None


def test_a_tunnel_leads_to_its_origin_only(site: PageSite) -> None:
    """For https and WebSockets, host and port must be those of an origin."""

    async def tunnel() -> tuple[bytes, bytes]:
        passage = PublicOrigins(["https://shop.example"], leads_to(site))
        async with open_sink(passage=passage) as sink:
            reader, writer = await asyncio.open_connection("127.0.0.1", sink.port("page"))
            writer.write(b"CONNECT shop.example:443 HTTP/1.1\r\n\r\n")
            established = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
            return established, answer

    established, answer = asyncio.run(tunnel())
    refused, listed = ask(
        b"CONNECT shop.example:80 HTTP/1.1\r\n\r\n", PublicOrigins(["https://shop.example"], leads_to(site))
    )

    assert established.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"hello")
    assert refused.startswith(b"HTTP/1.1 502 ")
    assert listed == [("CONNECT", "shop.example:80")]


def test_a_site_that_cannot_be_reached_gives_no_response() -> None:
    """The browser then reports an error, as without a proxy; nothing was blocked."""

    async def refuse(_host: str, _port: int) -> Streams:
        raise ConnectionRefusedError

    assert ask(get("http://shop.example/"), PublicOrigins(["http://shop.example"], refuse)) == (b"", [])
