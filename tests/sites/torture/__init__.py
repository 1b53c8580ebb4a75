"""A site with every feature that a browser has to handle, item by item, deterministic on every run."""

from tests.sites.torture.items import ITEMS, PAGES, Item
from tests.sites.torture.server import TortureSite, serve_torture

__all__ = ["ITEMS", "PAGES", "Item", "TortureSite", "serve_torture"]
