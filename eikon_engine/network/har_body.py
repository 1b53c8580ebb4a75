"""Read the bodies of a HAR: text, base64, or attached files."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from eikon_engine.trace.field_errors import field_error

if TYPE_CHECKING:
    from eikon_engine.network.har_file import AttachmentReader
    from eikon_engine.network.har_node import HarNode

_CHARSET: Final = re.compile(r";\s*charset=\"?([^;\s\"]+)", re.IGNORECASE)
_URLENCODED: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarBody:
    """One body of a HAR."""

    data: bytes | None = None
    missing: str | None = None
    """Why the HAR does not contain the body; None if it does, or there was none."""


def response_body(content: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody:
    """Read the `content` of a response.

    Raises:
        TraceFieldError: the declared base64 is invalid.
    """
    found = _body(content, media_type, read_attachment)
    if found is not None:
        return found
    size = content.optional_number("size")
    if size == 0:
        return HarBody()
    reason = content.optional_text("comment") or "the HAR does not contain the body; it may have been exported without"
    return HarBody(missing=reason)


def request_body(post_data: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody:
    """Read the `postData` of a request.

    Raises:
        TraceFieldError: the declared base64 is invalid.
    """
    found = _body(post_data, media_type, read_attachment)
    if found is not None:
        return found
    parameters = [(each.text("name"), each.optional_text("value") or "") for each in post_data.nodes("params")]
    if parameters and media_type.partition(";")[0].strip().lower() == _URLENCODED:
        return HarBody(data=urlencode(parameters).encode())
    reason = "the HAR does not contain the body of the request" if parameters else post_data.optional_text("comment")
    return HarBody(missing=reason)


def _body(node: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody | None:
    """Read the body; None if there is none."""
    name = node.optional_text("_file")
    if name is not None:
        data = read_attachment(name, f"{node.source}: {node.path}._file")
        missing = f"the attached file {name} is missing"
        return HarBody(data=data) if data is not None else HarBody(missing=missing)
    text = node.optional_text("text")
    if text is None or (text == "" and (node.optional_number("size") or 0) > 0):
        return None
    if (node.optional_text("encoding") or "").lower() == "base64":
        try:
            return HarBody(data=base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise field_error(node.source, f"{node.path}.text", "base64", text) from error
    return HarBody(data=_encode(text, _charset(media_type)))


def _charset(media_type: str) -> str:
    found = _CHARSET.search(media_type)
    return found[1].lower() if found else "utf-8"


def _encode(text: str, charset: str) -> bytes:
    """Encode with the declared charset, or as UTF-8 if that is impossible.

    mitmproxy writes invalid bytes as lone surrogates, like Python's `surrogateescape`.
    """
    for encoding, errors in ((charset, "strict"), ("utf-8", "surrogateescape")):
        try:
            return text.encode(encoding, errors)
        except (LookupError, UnicodeError):
            continue
    return text.encode("utf-8", "replace")
