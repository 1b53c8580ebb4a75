"""Data scripts are stored with their text, and served to skills only as data."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.masks import mask_page
from eikon_engine.dom import (
    DomNode,
    FrameExtras,
    FrameReader,
    FrameSnapshot,
    PageSnapshot,
    map_strings,
    page_digest,
    render_plain_html,
)
from eikon_engine.dom.digest import snapshot_from_json, snapshot_json
from eikon_engine.dom.html import OMITTED_LENGTH_ATTRIBUTE, without_unrecorded_blocks
from eikon_engine.skills import default_skills
from eikon_engine.skills.skill import SkillInput
from eikon_engine.trace.masks import Mask, SelectorPart

OFFER = '{"@type":"Product","name":"Banana","offers":{"price":"1.20"}}'


def script(digest: str = "0" * 16, **attributes: str) -> DomNode:
    """Make a script."""
    named = tuple(sorted({"type": "application/ld+json", **attributes}.items()))
    return DomNode(tag="script", attributes=named, state=(("script", digest),))


def page_of(*nodes: DomNode, data: tuple[tuple[int, str | int], ...] | None) -> PageSnapshot:
    """Make a page with these nodes in its body; the first one is node 2."""
    root = DomNode(tag="html", children=(DomNode(tag="body", children=nodes),))
    frame = FrameSnapshot(
        path="", url="https://shop.test/", name="", doctype="html", root=root, extras=FrameExtras(data=data)
    )
    return PageSnapshot(frames=(frame,))


def metadata(page: PageSnapshot) -> dict[str, object]:
    """Run the skill that reads JSON-LD."""
    html = render_plain_html(page.main)
    output = default_skills().get("extract_metadata").run(SkillInput(html=html, url=page.main.url))
    assert isinstance(output, dict)
    return dict(output)


@given(st.recursive(st.text() | st.integers(), lambda below: st.lists(below) | st.dictionaries(st.text(), below)))
def test_a_skill_parses_the_json_of_the_page(value: object) -> None:
    """Any JSON in a data block, markup included, reaches the skill unchanged."""
    page = page_of(script(), data=((2, json.dumps(value, ensure_ascii=False)),))

    tree = LexborHTMLParser(render_plain_html(page.main).encode("utf-8", "surrogatepass"))

    assert [json.loads(each.text()) for each in tree.css("script")] == [value]


@pytest.mark.parametrize("text", ["</script><img src=x onerror=run()>", "<!--<script>", "</SCRIPT\n>"])
def test_a_block_cannot_be_left(text: str) -> None:
    """Text that would end a script element, or keep it open, is escaped in the served page."""
    page = page_of(script(), DomNode(tag="p"), data=((2, json.dumps(text)),))

    tree = LexborHTMLParser(render_plain_html(page.main))

    assert tree.css("img") == []
    assert len(tree.css("body > p")) == 1


@pytest.mark.parametrize(
    "node",
    [
        script(type="module"),
        script(type="text/javascript"),
        DomNode(tag="script"),
        DomNode(tag="script", namespace="svg", attributes=(("type", "application/json"),)),
        DomNode(tag="iframe", attributes=(("type", "application/json"),)),
    ],
    ids=["module", "javascript", "no type", "svg", "no script"],
)
def test_executable_scripts_are_never_served_as_data(node: DomNode) -> None:
    """A bundle that declares code as data cannot get it into a page."""
    assert "run()" not in render_plain_html(page_of(node, data=((2, "run()"),)).main)


def test_of_duplicate_type_attributes_the_checked_one_is_served() -> None:
    """An attribute name in another case cannot turn a data block into a script."""
    node = DomNode(tag="script", attributes=(("TYPE", "module"), ("type", "application/json")))

    (served,) = LexborHTMLParser(render_plain_html(page_of(node, data=((2, "{}"),)).main)).css("script")

    assert served.attributes == {"type": "application/json"}


def test_json_ld_of_a_stored_page_is_found() -> None:
    """The skill finds it in a snapshot that was written and read back."""
    page = snapshot_from_json(snapshot_json(page_of(script(), data=((2, OFFER),))))

    assert metadata(page)["json_ld"] == [json.loads(OFFER)]


def test_an_omitted_block_is_reported() -> None:
    """The skill reports a block that was too long to store, with its length; a page cannot forge this report."""
    page = page_of(script(), script(**{OMITTED_LENGTH_ATTRIBUTE: "7"}), data=((2, 300_000), (3, OFFER)))

    said = metadata(page)

    assert said["json_ld"] == [json.loads(OFFER)]
    assert said["json_ld_errors"] == [
        {"block": 1, "error": "left out of the snapshot, which keeps no block of 300000 characters"}
    ]


def test_older_snapshots_are_written_as_they_were() -> None:
    """A snapshot without data blocks keeps its bytes, and so its name; skills see no script in it."""
    older = page_of(script(), data=None)

    assert b'"data"' not in snapshot_json(older)
    assert snapshot_from_json(snapshot_json(older)) == older
    assert "<script" not in render_plain_html(older.main)


def test_data_blocks_are_not_part_of_the_digest() -> None:
    """An older recording of a page has the same digests as a new one."""
    assert page_digest(page_of(script(), data=None)) == page_digest(page_of(script(), data=((2, OFFER),)))


def test_against_an_older_snapshot_data_is_not_new() -> None:
    """Data blocks are ignored in a comparison with a recording that could not store them."""
    older, newer = page_of(script(), data=None), page_of(script(), data=((2, OFFER),))

    assert without_unrecorded_blocks(older.main, newer.main).extras.data is None
    assert without_unrecorded_blocks(page_of(data=()).main, newer.main).extras.data == ((2, OFFER),)


def test_secrets_are_redacted_in_data_blocks() -> None:
    """A function that replaces texts is also applied to the texts of data blocks."""
    page = page_of(script(), script(), data=((2, '{"token":"abc"}'), (3, 300_000)))

    clean = map_strings(page, lambda text: text.replace("abc", "xyz"))

    assert clean.main.extras.data == ((2, '{"token":"xyz"}'), (3, 300_000))


def test_a_mask_removes_the_data_blocks_of_its_nodes() -> None:
    """Removing a part of a page removes its data blocks; later blocks keep their texts."""
    cut = DomNode(tag="aside", children=(script(),))
    page = page_of(cut, script(), data=((3, "{}"), (4, OFFER)))

    left = mask_page(page, "http://a/", [Mask(name="m", reason="ours", part=SelectorPart(selector="aside"))])[0]

    assert left.main.extras.data == ((2, OFFER),)


def test_a_changed_block_shows_its_json() -> None:
    """The difference of two blocks shows their values, not their digests."""
    before = page_of(script("1" * 16), data=((2, OFFER),))
    after = page_of(script("2" * 16), data=((2, OFFER.replace("1.20", "1.35")),))

    (change,) = diff_snapshots(before, after)

    assert (change.kind, change.name) == ("state", "script")
    assert (change.expected, change.observed) == ('$.offers.price "1.20"', '$.offers.price "1.35"')


def test_a_changed_block_that_is_not_known_shows_its_digest() -> None:
    """Against an older recording, or one that omitted the block, only digests are shown."""
    for unknown in (None, ((2, 300_000),)):
        (change,) = diff_snapshots(
            page_of(script("1" * 16), data=unknown), page_of(script("2" * 16), data=((2, OFFER),))
        )

        assert (change.expected, change.observed) == ("1" * 16, "2" * 16)


def test_a_block_of_invalid_json_shows_its_text() -> None:
    """If JSON parsing fails, the difference shows the texts."""
    before, after = page_of(script("1" * 16), data=((2, "{a"),)), page_of(script("2" * 16), data=((2, "{ a"),))

    (change,) = diff_snapshots(before, after)

    assert (change.expected, change.observed) == ("{a", "{ a")


def test_unchanged_data_is_not_transferred_again() -> None:
    """A page with `null` has the data of the previous response; without one it is rejected."""
    reader = FrameReader()
    head = '{{"doctype":"html","extras":{{"canvas":[],"data":{},"flips":[],"frames":[],"scroll":[]}},"same":{}}}'
    line = '["html","",[],[],0,"",0]'

    def read(text: str) -> FrameSnapshot:
        return reader.parse_response(text, reader.prepare_request("t"), path="", url="", name="")

    rows = '[[0,"{}"]]'
    first = read(f"{head.format(rows, '[0,0]')}\n{line}")
    second = read(head.format("null", "[1,0]"))

    assert first.extras.data == second.extras.data == ((0, "{}"),)
