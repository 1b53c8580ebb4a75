"""A proxy that lists and refuses traffic: all that bypasses the routes of a sealed session, as it forwards nothing.

In a live session that may reach a few origins only, all traffic arrives here, and what is not for them is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from eikon_engine.outcome.outcomes import HermeticityViolation, ViolationKind

SINK_HOST: Final = "eikon-sink.invalid"
"""Host name of the proxy of a sealed browser, the only one that it resolves."""
BROWSER_SERVICE_HOSTS: Final = frozenset(
    {
        "clientservices.googleapis.com",
        "content-autofill.googleapis.com",
        "edgedl.me.gvt1.com",
        "mtalk.google.com",
        "optimizationguide-pa.googleapis.com",
        "passwordsleakcheck-pa.googleapis.com",
        "redirector.gvt1.com",
        "safebrowsing.googleapis.com",
        "safebrowsingohttpgateway.googleapis.com",
        "update.googleapis.com",
    }
)
"""Hosts that Chromium and Chrome contact themselves, and that serve no page."""
HTTP_PORTS: Final = frozenset({"80", "443"})
MAX_TARGET_CHARS: Final = 2000
"""Characters of a target that are stored."""
UNREADABLE_TARGET: Final = "(no HTTP request)"
HEAD_END: Final = b"\r\n\r\n"
REFUSAL: Final = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkLimits:
    """Limits of one sink."""

    head_bytes: int = 65_536
    """Longest request head that is read."""
    connections: int = 256
    """Most concurrent connections; further ones are closed unread, and counted."""
    head_timeout_s: float = 5.0
    """Wall time for a client to send the head of its request."""
    violations: int = 1000
    """Most distinct violations that are listed."""


class Passage(Protocol):
    """Forwards some requests of pages."""

    async def forward(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Forward a request until it ends, if it may pass; `head` is what was read of it. Return whether it may."""


class Sink:
    """Listen on loopback, on one port for the pages of a context and one for the browser itself."""

    def __init__(self, limits: SinkLimits, passage: Passage | None = None) -> None:
        """Prepare; `start` opens the ports. Without a `passage`, nothing is forwarded."""
        self._limits = limits
        self._passage = passage
        self._servers: dict[ViolationKind, asyncio.Server] = {}
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._violations: dict[tuple[ViolationKind, str, str], int] = {}

    @property
    def page_proxy(self) -> str:
        """Return the proxy of a context."""
        return self._address("page")

    @property
    def browser_proxy(self) -> str:
        """Return the proxy of the browser, for traffic outside our contexts."""
        return self._address("browser")

    def port(self, kind: ViolationKind) -> int:
        """Return the port on 127.0.0.1 for one kind of violation."""
        port: int = self._servers[kind].sockets[0].getsockname()[1]
        return port

    def violations(self) -> tuple[HermeticityViolation, ...]:
        """List the violations so far, in order of first appearance."""
        from eikon_engine.outcome.outcomes import HermeticityViolation

        return tuple(
            HermeticityViolation(kind=kind, method=method, target=target, times=times)
            for (kind, method, target), times in self._violations.items()
        )

    async def start(self) -> None:
        """Start listening."""
        kinds: tuple[ViolationKind, ...] = ("page", "browser")
        for kind in kinds:
            accept = partial(self._accept, kind)
            limit = self._limits.head_bytes
            server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=limit, start_serving=False)
            self._servers[kind] = server  # before the next interruption
            await server.start_serving()

    async def stop(self) -> None:
        """Close every connection."""
        for server in self._servers.values():
            server.close()
        still_open = dict(self._open)
        for task, writer in still_open.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*still_open, return_exceptions=True)
        for server in self._servers.values():
            await server.wait_closed()

    def _address(self, kind: ViolationKind) -> str:
        return f"http://{SINK_HOST}:{self.port(kind)}"

    def _accept(self, kind: ViolationKind, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= self._limits.connections:
            self._note(kind, "", f"(more than {self._limits.connections} connections at once)")
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._reject(kind, reader, writer))
        self._open[task] = writer
        task.add_done_callback(self._open.pop)

    async def _reject(self, kind: ViolationKind, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """List one request, or the part that arrived in time, and reject it, unless it may pass."""
        head = bytearray()
        try:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._limits.head_timeout_s):
                    await self._read(reader, head)
            if kind == "page" and self._passage is not None and HEAD_END in head:
                with contextlib.suppress(OSError):
                    if await self._passage.forward(bytes(head), reader, writer):
                        return
            if head:  # a connection without data reveals nothing
                self._note(kind, *_method_and_target(bytes(head.partition(b"\r\n")[0])))
                writer.write(REFUSAL)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader, head: bytearray) -> None:
        """Read up to the end of a head, or up to the size limit."""
        while HEAD_END not in head and len(head) < self._limits.head_bytes:
            piece = await reader.read(self._limits.head_bytes - len(head))
            if not piece:
                return
            head += piece

    def _note(self, kind: ViolationKind, method: str, target: str) -> None:
        place = (
            "browser" if kind == "page" and _is_browser_service(target) else kind,
            method,
            target[:MAX_TARGET_CHARS],
        )
        if place not in self._violations and len(self._violations) >= self._limits.violations:
            place = (kind, "", f"(targets beyond the first {self._limits.violations})")
        self._violations[place] = self._violations.get(place, 0) + 1


@asynccontextmanager
async def open_sink(limits: SinkLimits | None = None, passage: Passage | None = None) -> AsyncIterator[Sink]:
    """Listen until the block ends."""
    sink = Sink(limits or SinkLimits(), passage)
    try:
        await sink.start()
        yield sink
    finally:
        await sink.stop()


def _method_and_target(line: bytes) -> tuple[str, str]:
    words = line.decode("latin-1").split(" ")
    return (words[0], words[1]) if len(words) == len(("method", "target", "version")) else ("", UNREADABLE_TARGET)


def _is_browser_service(target: str) -> bool:
    """Whether a target is one of `BROWSER_SERVICE_HOSTS`, on a port that browsers use."""
    site = target.removeprefix("http://").partition("/")[0]
    host, _, port = site.partition(":")
    return host in BROWSER_SERVICE_HOSTS and (not port or port in HTTP_PORTS)
