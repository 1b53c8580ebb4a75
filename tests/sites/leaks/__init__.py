"""A page that tries every way to leak a request, and servers that count what arrives."""

from tests.sites.leaks.classes import CLASSES, LeakClass
from tests.sites.leaks.counting import Contacts
from tests.sites.leaks.server import LeakSite, serve_leaks

__all__ = ["CLASSES", "Contacts", "LeakClass", "LeakSite", "serve_leaks"]
