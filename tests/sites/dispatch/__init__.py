"""The control room of a delivery service, behind a login and with server-sent updates."""

from tests.sites.dispatch.server import serve_dispatch

__all__ = ["serve_dispatch"]
