"""Inline scripts are found in documents, and their texts are given to snapshots that have only digests."""

from __future__ import annotations

import pytest

from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot
from eikon_engine.dom.html import block_texts
from eikon_engine.dom.inline_scripts import differing_scripts, find_inline_scripts, script_digest, with_script_texts


@pytest.mark.parametrize(
    ("document", "scripts"),
    [
        ("<p>No</p>", []),
        ("<script src=a.js></script><SCRIPT type=module>one\r\ntwo</Script>", ["", "one\ntwo"]),
        ("<scripted>no</scripted><script>İ < 3</script>", ["İ < 3"]),
        ("<script>open", []),
        ("<script " * 50_000, []),
        ("<script>" * 50_000, []),
    ],
)
def test_the_scripts_of_a_document_are_found(document: str, scripts: list[str]) -> None:
    """Also in other letters, with characters that have other lengths in small letters; an open one is none."""
    assert list(find_inline_scripts(document)) == scripts


def test_snapshots_get_the_texts_that_differ() -> None:
    """Scripts that both documents have keep their digests alone."""
    texts = differing_scripts("<script>same</script><script>1</script>", "<script>2</script><script>same</script>")
    nodes = tuple(DomNode(tag="script", state=(("script", script_digest(each)),)) for each in ("same", "2"))
    root = DomNode(tag="html", children=nodes)
    page = PageSnapshot(frames=(FrameSnapshot(path="", url="", name="", doctype="html", root=root),))

    assert sorted(texts.values()) == ["1", "2"]
    assert list(block_texts(with_script_texts(page, texts).frames[0].extras).values()) == ["2"]
    assert with_script_texts(page, {}) is page
