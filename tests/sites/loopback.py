"""Run an HTTP server on 127.0.0.1 until its block ends, and close its connections."""

from __future__ import annotations

import socketserver
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

HOST = "127.0.0.1"


class LoopbackServer(ThreadingHTTPServer):
    """A loopback server without name lookups that closes open connections when stopped."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        """Bind to the port; 0 takes a free one."""
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__((HOST, port), handler)

    @property
    def url(self) -> str:
        """Return the base URL without a trailing slash."""
        return f"http://{HOST}:{self.server_address[1]}"

    def server_bind(self) -> None:
        """Bind as a plain TCP server: the HTTP server's own version looks up the host's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's own signature
        """Track the connection, so that it can be closed with the server."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - typeshed's own signature
        """Stop tracking a connection that has ended."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's own signature
        """Ignore errors of browsers that disconnect, and report all others."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close_connections(self) -> None:
        """Close the connections that browsers keep alive: a stopped site must not send further responses."""
        with self._open_lock:
            still_open = tuple(self._open)
        for connection in still_open:
            super().shutdown_request(connection)


class QuietHandler(BaseHTTPRequestHandler):
    """A handler for HTTP/1.1 that writes no log and sends no Date or Server header, so that pages see no clock."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def send_response(self, code: int, message: str | None = None) -> None:
        """Send only the status line."""
        self.send_response_only(code, message)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the parent's
        """Write nothing."""


@contextmanager
def running(server: LoopbackServer) -> Iterator[str]:
    """Serve requests in a thread until the block ends; yields the address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.shutdown()
        server.server_close()
        server.close_connections()
        thread.join()
