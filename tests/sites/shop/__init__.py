"""A small shop with the features of real sites, deterministic on every run."""

from __future__ import annotations

from tests.sites.shop.changes import CHANGE_TABLE, CHANGES, Change
from tests.sites.shop.server import ShopServer, serve_shop

__all__ = ["CHANGES", "CHANGE_TABLE", "Change", "ShopServer", "serve_shop"]
