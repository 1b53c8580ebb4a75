from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.browser.traffic.sink import UNREADABLE_TARGET, SinkLimits, open_sink
from eikon_engine.outcome.outcomes import HermeticityViolation, NetworkOutcome
from tests.sites.loopback import HOST

if TYPE_CHECKING:
    from eikon_engine.browser.traffic.sink import Sink
    from eikon_engine.outcome.outcomes import ViolationKind


def caught(
    *sent: bytes, kind: ViolationKind = "page", limits: SinkLimits | None = None
) -> tuple[tuple[HermeticityViolation, ...], list[bytes]]:
    """Send each text on its own connection; return the listed targets and the responses."""

    async def talk() -> tuple[tuple[HermeticityViolation, ...], list[bytes]]:
        async with open_sink(limits) as sink:
            answers = [await ask(sink, text, kind) for text in sent]
            return sink.violations(), answers

    return asyncio.run(talk())


async def ask(sink: Sink, text: bytes, kind: ViolationKind = "page") -> bytes:
    """Send a text and read until the sink closes the connection."""
    reader, writer = await asyncio.open_connection(HOST, sink.port(kind))
    writer.write(text)
    try:
        if text.endswith(b"\r\n\r\n"):
            return await reader.read()
        writer.write_eof()
        return await reader.read()
    except OSError:
        return b""  # closed without reading everything that we sent
    finally:
        writer.close()


def test_a_request_is_refused_and_listed() -> None:
    """It gets 502, and its method and URL are kept."""
    violations, (answer,) = caught(b"POST http://a.test/x?y=1 HTTP/1.1\r\nHost: a.test\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert violations == (HermeticityViolation(kind="page", method="POST", target="http://a.test/x?y=1"),)


def test_a_tunnel_is_refused_and_counted() -> None:
    """Nothing is tunnelled, and equal attempts share one line."""
    head = b"CONNECT a.test:443 HTTP/1.1\r\n\r\n"

    violations, answers = caught(head, head, b"CONNECT b.test:443 HTTP/1.1\r\n\r\n")

    assert [answer.split()[1] for answer in answers] == [b"502"] * 3
    assert [(each.target, each.times) for each in violations] == [("a.test:443", 2), ("b.test:443", 1)]


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("CONNECT update.googleapis.com:443", "browser"),
        ("GET http://edgedl.me.gvt1.com/edgedl/x", "browser"),
        ("CONNECT update.googleapis.com:8443", "page"),
        ("CONNECT update.googleapis.com.a.test:443", "page"),
        ("GET http://a.test/update.googleapis.com/", "page"),
        ("GET http://update.googleapis.com@a.test/", "page"),
    ],
)
def test_hosts_of_the_browser_itself_are_distinguished(target: str, kind: str) -> None:
    """A host that only the browser contacts is not the page's violation, but one with a similar name is."""
    violations, _ = caught(f"{target} HTTP/1.1\r\n\r\n".encode())

    assert [each.kind for each in violations] == [kind]
    assert NetworkOutcome(violations=violations).page_violations == (violations if kind == "page" else ())


def test_requests_of_the_browser_itself_are_no_violation_of_a_page() -> None:
    """The second port belongs to the browser, whatever it requests."""
    violations, _ = caught(b"CONNECT a.test:443 HTTP/1.1\r\n\r\n", kind="browser")

    assert [each.kind for each in violations] == ["browser"]


def test_an_empty_connection_is_not_listed() -> None:
    """Opening a connection to the sink and closing it sends nothing."""
    violations, answers = caught(b"")

    assert (violations, answers) == ((), [b""])


@given(text=st.binary(min_size=1, max_size=300))
@settings(max_examples=50, deadline=None)
def test_any_data_is_listed(text: bytes) -> None:
    """Whatever arrives, a line is listed and the sink continues."""
    violations, answers = caught(text, b"GET http://a.test/ HTTP/1.1\r\n\r\n")

    assert sum(each.times for each in violations) == 2
    assert violations[-1].target == "http://a.test/"
    assert answers[-1].startswith(b"HTTP/1.1 502 ")


def test_an_endless_head_is_cut_off() -> None:
    """A head beyond the limit is not read further, but it is listed."""
    limits = SinkLimits(head_bytes=1024)

    violations, _ = caught(b"GET http://a.test/ HTTP/1.1\r\nX: " + b"x" * 5000, b"y" * 5000, limits=limits)

    assert [each.target for each in violations] == ["http://a.test/", UNREADABLE_TARGET]


def test_a_slow_client_is_refused() -> None:
    """A head that does not end in time is listed with the part received."""

    async def talk() -> tuple[bytes, tuple[HermeticityViolation, ...]]:
        async with open_sink(SinkLimits(head_timeout_s=0.05)) as sink:
            reader, writer = await asyncio.open_connection(HOST, sink.port("page"))
            writer.write(b"GET http://a.test/ HTTP/1.1\r\nX")
            answer = await reader.read()
            writer.close()
            return answer, sink.violations()

    answer, violations = asyncio.run(talk())

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert [each.target for each in violations] == ["http://a.test/"]


def test_connections_beyond_the_limit_are_closed_and_counted() -> None:
    """Connections within the limit are still served."""

    async def talk() -> tuple[bytes, tuple[HermeticityViolation, ...]]:
        async with open_sink(SinkLimits(connections=1)) as sink:
            _, first = await asyncio.open_connection(HOST, sink.port("page"))
            refused = await ask(sink, b"GET http://b.test/ HTTP/1.1\r\n\r\n")
            first.close()
            return refused, sink.violations()

    refused, violations = asyncio.run(talk())

    assert refused == b""
    assert [each.target for each in violations] == ["(more than 1 connections at once)"]


def test_the_list_is_bounded() -> None:
    """Targets beyond the limit are counted together."""
    heads = [f"GET http://a.test/{number} HTTP/1.1\r\n\r\n".encode() for number in range(4)]

    violations, _ = caught(*heads, limits=SinkLimits(violations=2))

    assert [(each.target, each.times) for each in violations[2:]] == [("(targets beyond the first 2)", 2)]


def test_closing_the_sink_closes_open_connections() -> None:
    """A client that keeps its connection does not delay the end."""

    async def talk() -> None:
        async with open_sink() as sink:
            reader, writer = await asyncio.open_connection(HOST, sink.port("page"))
            writer.write(b"GET")
            await writer.drain()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()

    asyncio.run(asyncio.wait_for(talk(), 5))
