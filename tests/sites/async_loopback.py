"""Run an aiohttp application on 127.0.0.1, in a thread, on several ports; each port is a separate origin."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HOST = "127.0.0.1"
_STOP_SECONDS = 0.05


@contextmanager
def running_application(application: web.Application, ports: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Serve until the block ends, then close open connections; yields the ports, with free ones in place of 0."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        runner, bound = asyncio.run_coroutine_threadsafe(_start(application, ports), loop).result()
        try:
            yield bound
        finally:
            asyncio.run_coroutine_threadsafe(_stop(runner), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _start(application: web.Application, ports: Sequence[int]) -> tuple[web.AppRunner, tuple[int, ...]]:
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_STOP_SECONDS)
    await runner.setup()
    for port in ports:
        await web.TCPSite(runner, HOST, port).start()
    return runner, tuple(address[1] for address in runner.addresses)


async def _stop(runner: web.AppRunner) -> None:
    """Cancel pending work: a stopped site must not send further responses."""
    await runner.cleanup()
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


async def hide_the_server(_request: web.Request, response: web.StreamResponse) -> None:
    """Remove the Date and Server headers, so that pages see no clock. A signal handler for ``on_response_prepare``."""
    response.headers.popall("Date", None)
    response.headers.popall("Server", None)
    response.headers.setdefault("Cache-Control", "no-store")
