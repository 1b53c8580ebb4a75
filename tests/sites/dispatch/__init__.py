"""A control room of a delivery service: what comes by itself, behind a login."""

from tests.sites.dispatch.server import serve_dispatch

__all__ = ["serve_dispatch"]
