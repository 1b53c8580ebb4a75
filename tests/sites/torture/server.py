"""Run the torture site."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiohttp import web

from tests.sites.async_loopback import HOST, hide_the_server, running_application
from tests.sites.torture import bodies, documents, event_streams, exchanges, parts, redirects, sockets
from tests.sites.torture.state import MEMORY, Memory, TortureState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

_TOPICS = (bodies, documents, event_streams, exchanges, parts, redirects, sockets)


class TortureSite:
    """A running site: its two origins, the requests it received, and its state."""

    def __init__(self, memory: Memory, ports: tuple[int, ...]) -> None:
        self._memory = memory
        self._ports = ports

    @property
    def url(self) -> str:
        """Return the base URL of the pages without a trailing slash."""
        return f"http://{HOST}:{self._ports[0]}"

    @property
    def other_url(self) -> str:
        """Return the base URL of the second origin without a trailing slash."""
        return f"http://{HOST}:{self._ports[1]}"

    @property
    def requests(self) -> tuple[str, ...]:
        """List the requests seen so far as ``METHOD path``, the query included, in order of arrival."""
        return tuple(self._memory.requests)

    @property
    def state(self) -> TortureState:
        """Return the state of the site."""
        return self._memory.state

    def restart(self) -> None:
        """Reset the state and continue at the same addresses."""
        self._memory.requests.clear()
        self._memory.state = TortureState()


@web.middleware
async def _note(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    request.app[MEMORY].requests.append(f"{request.method} {request.path_qs}")
    return await handler(request)


def build_application(memory: Memory) -> web.Application:
    """Return an application with the routes of all topics."""
    application = web.Application(middlewares=[_note])
    application[MEMORY] = memory
    application.on_response_prepare.append(hide_the_server)
    for topic in _TOPICS:
        application.add_routes(topic.ROUTES)
    return application


@contextmanager
def serve_torture(*, port: int = 0, other_port: int = 0) -> Iterator[TortureSite]:
    """Run a fresh site on two loopback ports, which are two origins."""
    memory = Memory()
    with running_application(build_application(memory), (port, other_port)) as ports:
        site = TortureSite(memory, ports)
        memory.other_origin = site.other_url
        yield site
