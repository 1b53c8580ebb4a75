"""Forward the requests of pages to a few origins, where these have public addresses."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.files.origins import host_and_port, is_public_address, split_url, url_origin
from eikon_engine.files.text import read_digits

if TYPE_CHECKING:
    from collections.abc import Iterable

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect: TypeAlias = Callable[[str, int], Awaitable[Streams | None]]
"""Connects to a host and port; returns None if that is no public address.

Raises:
    OSError: the host is unknown, or does not answer.
"""

_HEAD_END: Final = b"\r\n\r\n"
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection Established\r\n\r\n"
_PIECE_BYTES: Final = 65_536
_CONNECT_TIMEOUT_S: Final = 30.0
_OWN_HEADERS: Final = frozenset({b"connection", b"keep-alive", b"proxy-authorization", b"proxy-connection"})
"""Headers of the connection to the proxy."""


async def connect_publicly(host: str, port: int) -> Streams | None:
    """Connect to a host whose addresses are all public, at one of these: no second look-up may name another."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not addresses or not all(map(is_public_address, addresses)):
        return None
    failed: OSError | None = None
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                return await asyncio.open_connection(address, port)
        except OSError as error:  # a TimeoutError, too
            failed = error
    raise failed or OSError(host)


class PublicOrigins:
    """The origins that a session may reach."""

    def __init__(self, origins: Iterable[str], connect: Connect = connect_publicly) -> None:
        """Forward to `origins`, in the form of `url_origin`."""
        self._origins = frozenset(origins)
        self._tunnels = frozenset(map(host_and_port, self._origins))
        self._connect = connect

    async def forward(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Forward one request, or a tunnel; return False if its origin is another, or has no public address.

        A site that cannot be reached gets no answer, so that the browser reports an error and no page.
        """
        begin, _, rest = head.partition(_HEAD_END)
        method, target = _method_and_target(begin)
        is_tunnel = method == "CONNECT"
        place = self._tunnel_end(target) if is_tunnel else self._request_end(target)
        length = 0 if is_tunnel else _body_length(begin)
        if place is None or length is None:
            return False
        try:
            streams = await self._connect(*place)
        except OSError:
            return True
        if streams is None:
            return False
        site_writer = streams[1]
        try:
            if is_tunnel:
                writer.write(_ESTABLISHED)
                site_writer.write(rest)
                await _pump_both((reader, writer), streams)
            else:
                site_writer.write(_request_head(begin, method, target) + rest)
                await _send_and_receive((reader, writer), streams, length - len(rest))
        finally:
            site_writer.close()
            with contextlib.suppress(OSError):
                await site_writer.wait_closed()
        return True

    def _tunnel_end(self, target: str) -> tuple[str, int] | None:
        """Return host and port of a tunnel, for https and WebSockets, if it leads to one of the origins."""
        host, _, port = target.rpartition(":")
        place = (host.strip("[]").lower(), int(port)) if re.fullmatch("[0-9]{1,5}", port) else None
        return place if place in self._tunnels else None

    def _request_end(self, target: str) -> tuple[str, int] | None:
        origin = url_origin(target)
        return host_and_port(origin) if origin in self._origins else None


def _method_and_target(begin: bytes) -> tuple[str, str]:
    words = begin.partition(b"\r\n")[0].decode("latin-1").split(" ")
    return (words[0], words[1]) if len(words) == len(("method", "target", "version")) else ("", "")


def _body_length(begin: bytes) -> int | None:
    """Return the bytes of a request's body; None if they are not announced, as browsers always do."""
    headers = dict(_headers(begin))
    if b"transfer-encoding" in headers:
        return None
    value = headers.get(b"content-length", b"0").strip()
    return read_digits(value.decode()) if value.isdigit() else None


def _headers(begin: bytes) -> Iterable[tuple[bytes, bytes]]:
    for line in begin.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        yield name.strip().lower(), value


def _request_head(begin: bytes, method: str, target: str) -> bytes:
    """Return the head of a request as the site gets it: one request per connection."""
    parts = split_url(target)
    path = target[len(f"{parts.scheme}://{parts.netloc}") :] or "/"
    lines = begin.split(b"\r\n")[1:]
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in _OWN_HEADERS]
    first = f"{method} {path if path.startswith('/') else f'/{path}'} HTTP/1.1".encode("latin-1")
    return b"\r\n".join((first, *kept, b"Connection: close")) + _HEAD_END


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None = None) -> None:
    """Copy what arrives until the end, or up to `limit` bytes."""
    while limit is None or limit > 0:
        piece = await reader.read(_PIECE_BYTES if limit is None else min(limit, _PIECE_BYTES))
        if not piece:
            return
        writer.write(piece)
        await writer.drain()
        limit = None if limit is None else limit - len(piece)


async def _pump_both(browser: Streams, site: Streams) -> None:
    """Copy in both directions until one of them ends."""
    await _until_first((_pump(browser[0], site[1]), _pump(site[0], browser[1])))


async def _send_and_receive(browser: Streams, site: Streams, missing: int) -> None:
    """Send the rest of a request's body, and receive the response until the site closes the connection."""

    async def send_then_watch() -> None:
        await _pump(browser[0], site[1], missing)
        await browser[0].read(1)  # a browser that closes the connection does not want the response

    await _until_first((send_then_watch(), _pump(site[0], browser[1])))


async def _until_first(works: tuple[Awaitable[None], Awaitable[None]]) -> None:
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
