"""Stored DOM: document trees, digests, and the HTML rendered from them."""

from __future__ import annotations

from eikon_engine.dom.digest import (
    content_address,
    decode_snapshot,
    encode_snapshot,
    frame_digest,
    map_strings,
    node_digest,
    page_digest,
    visibility_digest,
)
from eikon_engine.dom.html import render_html, render_plain_html
from eikon_engine.dom.snapshot_format import FrameReader
from eikon_engine.dom.tree import (
    DomNode,
    FrameExtras,
    FrameSnapshot,
    PageSnapshot,
    StateValue,
    build_text_node,
    child_frame_path,
)

__all__ = [
    "DomNode",
    "FrameExtras",
    "FrameReader",
    "FrameSnapshot",
    "PageSnapshot",
    "StateValue",
    "build_text_node",
    "child_frame_path",
    "content_address",
    "decode_snapshot",
    "encode_snapshot",
    "frame_digest",
    "map_strings",
    "node_digest",
    "page_digest",
    "render_html",
    "render_plain_html",
    "visibility_digest",
]
