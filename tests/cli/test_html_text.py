"""An HTML file is decoded with its declared encoding only."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from eikon_engine.dom.html_encoding import decode_html
from eikon_engine.errors import TraceError

FILE = Path("page.html")


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("", "utf-8"),
        ('<meta charset="utf-8">', "utf-8"),
        ("<META CHARSET=iso-8859-1>", "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">', "cp1252"),
        ("<!-- <meta charset=utf-7> --><meta charset='us-ascii' />", "cp1252"),
        ('<meta charset="iso-8859-15">', "iso-8859-15"),
        ('<meta charset="utf-16">', "utf-8"),
        (" " * 1024 + '<meta charset="iso-8859-1">', "utf-8"),
    ],
)
def test_the_encoding_that_a_file_names_counts(head: str, encoding: str) -> None:
    """The declared encoding is used; without one it is UTF-8."""
    text = f"{head}<p>12 €, é</p>"

    assert decode_html(text.encode(encoding), FILE) == text


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_a_byte_order_mark_counts_before_all_else(mark: bytes, encoding: str) -> None:
    """A byte order mark takes precedence over a declaration, and is not part of the text."""
    text = "<meta charset=iso-8859-1><p>é</p>"

    assert decode_html(mark + text.encode(encoding), FILE) == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            "<p>é</p>".encode("latin-1"),
            r"page.html: expected HTML in utf-8, got byte 0xe9 at offset 3\. Declare the encoding",
        ),
        (codecs.BOM_UTF8 + b"<p>\xe9</p>", r"expected HTML in utf-8, got byte 0xe9 at offset 6"),
        (b"<meta charset=shift_jis>\xa0", r"expected HTML in shift_jis, got byte 0xa0 at offset 24"),
        (b"<meta charset=klingon>", r"unknown encoding in <meta charset>: 'klingon'"),
        (b"<meta charset=rot13>", r"unknown encoding in <meta charset>: 'rot13'"),
        (b"<meta charset=\xff>", r"<meta charset>: '\\\\xff'"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, message: str) -> None:
    """An undecodable byte or an unknown encoding is rejected with its byte or name."""
    with pytest.raises(TraceError, match=message):
        decode_html(data, FILE)
