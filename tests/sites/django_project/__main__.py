"""Create the database and serve: ``python -m tests.sites.django_project PORT``, until standard input is closed.

The site therefore never outlives the process that started it.
"""

from __future__ import annotations

import os
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

SAMPLES = (("Water the plants", "high", True), ("Order tea", "normal", False), ("Paint the door", "low", False))


class QuietHandler(WSGIRequestHandler):
    """A request handler that writes no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the parent's
        """Write nothing."""


class Server(ThreadingMixIn, WSGIServer):
    """A server with a thread per connection, because browsers open some that they never use."""

    daemon_threads = True
    request_queue_size = 128


def fill_database() -> None:
    """Create the tables, the superuser and three notes."""
    from tests.sites.django_project.notes.models import Note

    call_command("migrate", run_syncdb=True, verbosity=0)
    if Note.objects.exists():
        return
    get_user_model().objects.create_superuser("admin", "admin@example.invalid", "tr1cky-Horse-9")
    for title, priority, pinned in SAMPLES:
        Note.objects.create(title=title, body=f"{title}, soon.", priority=priority, pinned=pinned)


def end_with_input() -> None:
    """Exit when the parent process closes standard input or has ended."""
    sys.stdin.read()
    os._exit(0)


def main(port: int) -> None:
    """Serve until the process is stopped; print the address as the only line on standard output."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.sites.django_project.settings"
    django.setup()
    fill_database()
    application = StaticFilesHandler(get_wsgi_application())
    with make_server("127.0.0.1", port, application, server_class=Server, handler_class=QuietHandler) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
        sys.stdout.flush()
        threading.Thread(target=end_with_input, daemon=True).start()
        server.serve_forever()


main(int(sys.argv[1]))
