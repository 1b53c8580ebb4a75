"""Styles, scripts and pictures."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.sites.shop.messages import Answer
from tests.sites.shop.templates import STATIC
from tests.sites.static import content_type

if TYPE_CHECKING:
    from tests.sites.shop.messages import Request

_REWORDED: dict[str, tuple[str, str, str]] = {
    "dialog-text": ("cart.js", "`Remove ${name} from the cart?`", "`Do you really want to give up ${name}?`"),
    "no-dialog": ("cart.js", "const ASKS = true;", "const ASKS = false;"),
    "popup-blocked": ("shop.js", "const HELP_OPENS = true;", "const HELP_OPENS = false;"),
    "shadow-text": ("product.js", '"In stock: "', '"Pieces left: "'),
}
"""By change: the script, the text in it, and its replacement."""


def send_asset(request: Request) -> Answer:
    """Return one file of the static folder."""
    name = request.arguments[0]
    found = STATIC / name
    if not found.is_file():
        return Answer(status=HTTPStatus.NOT_FOUND, content_type="text/plain", body=b"Not found\n")
    text = found.read_text(encoding="utf-8")
    script, words, instead = _REWORDED.get(request.shop.change or "", ("", "", ""))
    if name == script:
        text = text.replace(words, instead)
    return Answer(content_type=content_type(name), body=text.encode())


def send_picture(request: Request) -> Answer:
    """Return a product's picture as SVG."""
    number = int(request.arguments[0])
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        f'<circle cx="32" cy="32" r="28" fill="hsl({number * 36} 60% 60%)"/>'
        f'<text x="32" y="40" text-anchor="middle" font-size="24" fill="white">{number}</text></svg>'
    )
    return Answer(content_type="image/svg+xml", body=drawing.encode())
