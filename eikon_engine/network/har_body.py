"""Bodies as HAR files hold them: text, base64, or a file beside."""

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
_UTF_8: Final = frozenset({"utf-8", "utf8"})
_URLENCODED: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarBody:
    """What a HAR says of one body."""

    data: bytes | None = None
    missing: str | None = None
    """Why there is none although there was one."""


def written_body(data: bytes, media_type: str) -> dict[str, str]:
    """Write a body as `text`, with `encoding` where plain text would not read back as the same bytes."""
    if _charset(media_type) in _UTF_8:
        try:
            return {"text": data.decode()}
        except UnicodeDecodeError:
            pass
    return {"text": base64.b64encode(data).decode("ascii"), "encoding": "base64"}


def response_body(content: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody:
    """Read the `content` of a response.

    Raises:
        TraceFieldError: it is said to be base64 and is not.
    """
    found = _body(content, media_type, read_attachment)
    if found is not None:
        return found
    size = content.number_if_there("size")
    if size == 0:
        return HarBody()
    told = content.text_if_there("comment") or "the HAR holds no body, perhaps it was exported without content"
    return HarBody(missing=told)


def request_body(post_data: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody:
    """Read the `postData` of a request.

    Raises:
        TraceFieldError: it is said to be base64 and is not.
    """
    found = _body(post_data, media_type, read_attachment)
    if found is not None:
        return found
    parameters = [(each.text("name"), each.text_if_there("value") or "") for each in post_data.nodes("params")]
    if parameters and media_type.partition(";")[0].strip().lower() == _URLENCODED:
        return HarBody(data=urlencode(parameters).encode())
    told = "the HAR holds no text of the request's body" if parameters else post_data.text_if_there("comment")
    return HarBody(missing=told)


def _body(node: HarNode, media_type: str, read_attachment: AttachmentReader) -> HarBody | None:
    """Read what is there; None if nothing is."""
    name = node.text_if_there("_file")
    if name is not None:
        data = read_attachment(name, f"{node.source}: {node.path}._file")
        missing = f"the HAR names the file {name}, which is not there"
        return HarBody(data=data) if data is not None else HarBody(missing=missing)
    text = node.text_if_there("text")
    if text is None or (text == "" and (node.number_if_there("size") or 0) > 0):
        return None
    if (node.text_if_there("encoding") or "").lower() == "base64":
        try:
            return HarBody(data=base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise field_error(node.source, f"{node.path}.text", "base64", text) from error
    return HarBody(data=_encoded(text, _charset(media_type)))


def _charset(media_type: str) -> str:
    found = _CHARSET.search(media_type)
    return found[1].lower() if found else "utf-8"


def _encoded(text: str, charset: str) -> bytes:
    """Encode as the type says it is encoded, or as UTF-8 where that cannot be.

    mitmproxy writes a byte that is no text as half of a character, as Python's `surrogateescape` does.
    """
    for encoding, errors in ((charset, "strict"), ("utf-8", "surrogateescape")):
        try:
            return text.encode(encoding, errors)
        except (LookupError, UnicodeError):
            continue
    return text.encode("utf-8", "replace")
