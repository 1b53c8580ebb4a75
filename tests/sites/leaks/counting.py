"""Count contacts on a TCP and a UDP port per leak class, so that the port identifies contacts without a request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.sites.async_loopback import HOST

if TYPE_CHECKING:
    from collections.abc import Iterable

_TRIES = 20
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Allow-Methods: *\r\n"
    b"Access-Control-Allow-Headers: *\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


@dataclass(slots=True)
class Contacts:
    """The contacts of one target."""

    connections: int = 0
    datagrams: int = 0
    requests: list[str] = field(default_factory=list)
    """Request lines, including requests that this class caused to the site's own origin."""

    @property
    def total(self) -> int:
        """Return the number of contacts; a connection with a request counts twice."""
        return self.connections + self.datagrams + len(self.requests)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, contacts: Contacts) -> None:
        self._contacts = contacts

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:  # noqa: ARG002 - the parent's own signature
        """Count the datagram without a response."""
        self._contacts.datagrams += 1


class Counting:
    """Listeners on a TCP and a UDP port for each name."""

    def __init__(self) -> None:
        self.contacts: dict[str, Contacts] = {}
        self.ports: dict[str, int] = {}
        self._servers: list[asyncio.Server] = []
        self._transports: list[asyncio.DatagramTransport] = []

    async def start(self, names: Iterable[str]) -> None:
        """Open the ports."""
        for name in names:
            self.contacts[name] = Contacts()
            self.ports[name] = await self._listen(self.contacts[name])

    def stop(self) -> None:
        """Close the ports."""
        for transport in self._transports:
            transport.close()
        for server in self._servers:
            server.close()

    async def _listen(self, contacts: Contacts) -> int:
        """Bind a port that is free for both protocols."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            contacts.connections += 1
            with suppress(OSError):
                line = await reader.readline()
                if line:
                    contacts.requests.append(line.decode("latin-1").rpartition(" HTTP/")[0] or "no HTTP")
                    writer.write(_ANSWER)
                    await writer.drain()
                writer.close()

        loop = asyncio.get_running_loop()
        for _ in range(_TRIES):
            server = await asyncio.start_server(answer, HOST, 0)
            port: int = server.sockets[0].getsockname()[1]
            try:
                transport, _ = await loop.create_datagram_endpoint(
                    lambda: _Datagrams(contacts), local_addr=(HOST, port)
                )
            except OSError:
                server.close()
                continue
            self._servers.append(server)
            self._transports.append(transport)
            return port
        raise RuntimeError(f"no port of {_TRIES} was free for TCP and UDP both; close some programs that listen")
