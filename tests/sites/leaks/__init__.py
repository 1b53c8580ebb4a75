"""A page that tries every way out of a browser, and servers that count what gets out."""

from tests.sites.leaks.classes import CLASSES, LeakClass
from tests.sites.leaks.counting import Contacts
from tests.sites.leaks.server import LeakSite, serve_leaks

__all__ = ["CLASSES", "Contacts", "LeakClass", "LeakSite", "serve_leaks"]
