"""A site that does to a browser what the web does, item by item, the same way every time."""

from tests.sites.torture.items import ITEMS, PAGES, Item
from tests.sites.torture.server import TortureSite, serve_torture

__all__ = ["ITEMS", "PAGES", "Item", "TortureSite", "serve_torture"]
