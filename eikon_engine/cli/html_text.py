"""The text of a file of HTML, in the encoding that the file itself names.

A byte order mark decides, then a `<meta charset>` among the first 1024 bytes, as browsers have it
(https://html.spec.whatwg.org/#determining-the-character-encoding); a file that names none is UTF-8. Nothing is
guessed, and a byte that has no place in the encoding is an error.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import TraceError

if TYPE_CHECKING:
    from pathlib import Path

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LOOKED_AT: Final = 1024
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META: Final = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)
_LATIN: Final = frozenset({"ascii", "iso8859-1"})
"""Python's names of what browsers read as windows-1252 (https://encoding.spec.whatwg.org/#names-and-labels)."""


def html_text(data: bytes, path: Path) -> str:
    """Return the text of a file; `path` names it in messages.

    Raises:
        TraceError: it names an encoding that is not known, or is not written in the one that counts.
    """
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", None))
    if encoding is None:
        encoding = _named(data, path)
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        byte = data[len(mark) + error.start]
        message = (
            f"{path}: wanted HTML in {encoding}, found byte 0x{byte:02x} at {len(mark) + error.start}; "
            "name the encoding of the file in its first kilobyte, <meta charset=…>, or save it as UTF-8"
        )
        raise TraceError(message) from error


def _named(data: bytes, path: Path) -> str:
    found = _META.search(_COMMENT.sub(b"", data[:_LOOKED_AT]))
    if found is None:
        return "utf-8"
    label = found[1].decode("ascii", "backslashreplace")
    try:
        encoding = codecs.lookup(label).name
        if encoding.startswith("utf-16"):
            return "utf-8"  # who reads the tag reads bytes of ASCII
        b"<meta".decode(encoding)
    except (LookupError, ValueError) as error:  # no such name, no text, or no text that begins with a tag as bytes
        message = f"{path}: wanted an encoding that is known in <meta charset>, found {label!r}; save the file as UTF-8"
        raise TraceError(message) from error
    return "cp1252" if encoding in _LATIN else encoding
