"""Bodies that scripts compress are compared and redacted as they were before."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.keys import MAX_UNPACKED_BYTES, unpack_body


@given(st.binary())
def test_compressed_bodies_are_unpacked(content: bytes) -> None:
    """Both formats that scripts produce, at any level."""
    for level in (1, 6, 9):
        assert unpack_body(gzip.compress(content, level)) == content
        assert unpack_body(zlib.compress(content, level)) == content


@given(st.binary() | st.text().map(str.encode))
def test_other_bodies_stay(content: bytes) -> None:
    """A text that begins like a compressed one is none."""
    assert unpack_body(b"x" + content) == b"x" + content
    assert unpack_body(content) == content


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b"text")[:-1],
        gzip.compress(b"text") + b"more",
        zlib.compress(b"text")[:-1] + b"\0",
        gzip.compress(bytes(MAX_UNPACKED_BYTES + 1)),
    ],
    ids=["truncated", "with more", "corrupt", "too large"],
)
def test_what_cannot_be_unpacked_stays(body: bytes) -> None:
    """It is compared byte by byte."""
    assert unpack_body(body) == body
