"""Decode an HTML file with the encoding that it declares.

A byte order mark decides, then a `<meta charset>` in the first 1024 bytes, as in browsers
(https://html.spec.whatwg.org/#determining-the-character-encoding); the default is UTF-8. Encodings are never guessed,
and a byte that is invalid in the encoding is an error.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import TraceError

if TYPE_CHECKING:
    from pathlib import Path

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SCANNED_BYTES: Final = 1024
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META: Final = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)
_WINDOWS_1252_ALIASES: Final = frozenset({"ascii", "iso8859-1"})
"""Python's names of encodings that browsers read as windows-1252: https://encoding.spec.whatwg.org/#names-and-labels."""


def decode_html(data: bytes, path: Path) -> str:
    """Decode the content of an HTML file; `path` names it in messages.

    Raises:
        TraceError: the declared encoding is unknown, or the content is not valid in it.
    """
    mark, encoding = next(((mark, name) for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), (b"", None))
    if encoding is None:
        encoding = _declared_encoding(data, path)
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        byte = data[len(mark) + error.start]
        message = (
            f"{path}: expected HTML in {encoding}, got byte 0x{byte:02x} at offset {len(mark) + error.start}. "
            "Declare the encoding in the first 1024 bytes (<meta charset=…>), or save the file as UTF-8."
        )
        raise TraceError(message) from error


def _declared_encoding(data: bytes, path: Path) -> str:
    found = _META.search(_COMMENT.sub(b"", data[:_SCANNED_BYTES]))
    if found is None:
        return "utf-8"
    label = found[1].decode("ascii", "backslashreplace")
    try:
        encoding = codecs.lookup(label).name
        if encoding.startswith("utf-16"):
            return "utf-8"  # a tag that can be read as ASCII is not UTF-16
        b"<meta".decode(encoding)
    except (LookupError, ValueError) as error:  # unknown name, not a text encoding, or not ASCII-compatible
        message = f"{path}: unknown encoding in <meta charset>: {label!r}. Save the file as UTF-8."
        raise TraceError(message) from error
    return "cp1252" if encoding in _WINDOWS_1252_ALIASES else encoding
