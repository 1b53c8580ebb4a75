"""File uploads."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.templates import fill, fill_each, page

if TYPE_CHECKING:
    from tests.sites.shop.messages import Answer, Request


def show_import(request: Request) -> Answer:
    """Show the form."""
    return page(request, "Import", fill("import.html", result=""))


def _find_upload(request: Request) -> tuple[str, bytes] | None:
    head = f"Content-Type: {request.content_type}\r\n\r\n".encode()
    for part in BytesParser(policy=HTTP).parsebytes(head + request.body).iter_parts():
        name, content = part.get_filename(), part.get_payload(decode=True)
        if name and isinstance(content, bytes):
            return name, content
    return None


def take_upload(request: Request) -> Answer:
    """Show name, size and SHA-256 of the file, or answer 422 if none was chosen."""
    found = _find_upload(request)
    if found is None:
        alert = fill("alert.html", id="import-error", text="Choose a file first.")
        return page(request, "Import", fill("import.html", result=alert), status=HTTPStatus.UNPROCESSABLE_ENTITY)
    name, content = found
    values = {"name": name, "size": f"{len(content)} bytes", "sha256": sha256(content).hexdigest()}
    rows = tuple({"name": key.title(), "id": f"import-{key}", "value": value} for key, value in values.items())
    result = f'<dl id="import-result">{fill_each("field.html", rows)}</dl>'
    return page(request, "Import", fill("import.html", result=result))
