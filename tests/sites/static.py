"""Serve a folder unchanged, with correct content types."""

from __future__ import annotations

import mimetypes
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tests.sites.loopback import LoopbackServer, QuietHandler, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Content types that the system's table may lack or define differently on each machine."""


def content_type(name: str) -> str:
    """Return the content type of a file by its suffix."""
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    return CONTENT_TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def find_file(folder: Path, url_path: str) -> Path | None:
    """Return the file for a URL's path: ``index.html`` for a folder, None outside of it."""
    root = folder.resolve()
    found = (root / unquote(urlsplit(url_path).path).lstrip("/")).resolve()
    if found.is_dir():
        found /= "index.html"
    return found if found.is_relative_to(root) and found.is_file() else None


@contextmanager
def serve_folder(folder: Path, *, port: int = 0) -> Iterator[str]:
    """Serve a folder on loopback; yields the base URL without a trailing slash."""

    class FolderHandler(QuietHandler):
        """Answer GET and HEAD with files of the folder."""

        def do_GET(self) -> None:  # noqa: N802 - the name is the parent's
            self._answer(with_body=True)

        def do_HEAD(self) -> None:  # noqa: N802 - the name is the parent's
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            found = find_file(folder, self.path)
            body = found.read_bytes() if found else b"Not found\n"
            self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", content_type(found.name if found else "error.txt"))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if with_body:
                self.wfile.write(body)

    with running(LoopbackServer(port, FolderHandler)) as url:
        yield url
