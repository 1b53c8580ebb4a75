"""Run an HTTP server on 127.0.0.1 that ends with its block, connections included."""

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
    """Answer on loopback without asking a name server, and close what is still open when stopped."""

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
        """Tell the address without a slash at its end."""
        return f"http://{HOST}:{self.server_address[1]}"

    def server_bind(self) -> None:
        """Bind as a plain TCP server: the HTTP server's own version looks up the host's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's own signature
        """Remember the connection, so that it can be closed with the server."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - typeshed's own signature
        """Forget a connection that has ended."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's own signature
        """Stay quiet about browsers that hang up, and report anything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close_connections(self) -> None:
        """End the connections that browsers keep alive: a stopped site must not go on answering."""
        with self._open_lock:
            still_open = tuple(self._open)
        for connection in still_open:
            super().shutdown_request(connection)


class QuietHandler(BaseHTTPRequestHandler):
    """Speak HTTP/1.1, write no log, and send neither date nor version: no clock may be seen by a page."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def send_response(self, code: int, message: str | None = None) -> None:
        """Send the status line alone."""
        self.send_response_only(code, message)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the parent's
        """Write nothing."""


@contextmanager
def running(server: LoopbackServer) -> Iterator[str]:
    """Answer requests in a thread until the block ends; yields the address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.shutdown()
        server.server_close()
        server.close_connections()
        thread.join()
