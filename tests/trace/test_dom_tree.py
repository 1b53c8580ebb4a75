from __future__ import annotations

import gc
import json
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.dom import (
    DomNode,
    FrameExtras,
    FrameReader,
    FrameSnapshot,
    PageSnapshot,
    build_text_node,
    content_address,
    decode_snapshot,
    encode_snapshot,
    frame_digest,
    map_strings,
    page_digest,
)
from eikon_engine.dom.snapshot_format import ElementHeader, frame_from_data, tree_from_flat, tree_to_flat
from eikon_engine.errors import TraceError, TraceFieldError, TraceSyntaxError
from tests.error_codes import has_code

GOLD = "7071d02bb5af628b188e93598b4876bedf1794a9d391a99c1b751a0e26b13691"
P = ["p", "", [], [], 0, "", 0]
NO_EXTRAS: dict[str, list[object]] = {"canvas": [], "frames": [], "scroll": []}
TOKENS = count()
DOCUMENT = {"doctype": "html", "extras": NO_EXTRAS, "same": [0, 0]}
words = st.text(alphabet=st.characters(codec="utf-8"), max_size=6)
names = st.sampled_from(("class", "id", "title", "data-x"))
states = st.dictionaries(
    st.sampled_from(("checked", "value", "selected")),
    st.one_of(words, st.booleans(), st.lists(words, max_size=2).map(tuple)),
    max_size=2,
)


def read(text: str) -> FrameSnapshot:
    """Parse the first response of a page."""
    reader = FrameReader()
    return reader.parse_response(text, reader.prepare_request("a"), path="", url="", name="")


def elements(below: st.SearchStrategy[DomNode]) -> st.SearchStrategy[DomNode]:
    """Generate elements with the given child nodes."""
    nodes = st.lists(below, max_size=3).map(tuple)
    return st.builds(
        lambda tag, attributes, state, children, shadow: DomNode(
            tag=tag,
            attributes=tuple(sorted(attributes.items())),
            state=tuple(sorted(state.items())),
            children=children,
            shadow=shadow,
            shadow_mode="" if shadow is None else "open",
        ),
        st.sampled_from(("div", "p", "input")),
        st.dictionaries(names, words, max_size=3),
        states,
        nodes,
        st.one_of(st.none(), nodes),
    )


texts = st.builds(build_text_node, words.map(lambda word: f"x{word}x"), verbatim=st.booleans())
trees = elements(st.recursive(texts, elements, max_leaves=8))


def page_of(root: DomNode, *, url: str = "https://shop.test/") -> PageSnapshot:
    """Make a page of one frame."""
    return PageSnapshot(frames=(FrameSnapshot(path="", url=url, name="", doctype="html", root=root),))


def chain_of(depth: int) -> DomNode:
    """Make a tree of nested single elements."""
    node = DomNode(tag="b", children=(build_text_node("deep"),))
    for _ in range(depth):
        node = DomNode(tag="div", children=(node,))
    return node


@given(trees)
def test_a_tree_survives_its_flat_form(tree: DomNode) -> None:
    """A tree survives a round trip through its flat form."""
    assert tree_from_flat(json.loads(json.dumps(tree_to_flat(tree)))) == tree


@given(trees)
def test_a_page_survives_its_stored_form(tree: DomNode) -> None:
    """Encoding and decoding preserve the tree and its accompanying data."""
    extras = FrameExtras(canvas=((1, "a"),), frames=((2, 0),), scroll=((3, 1.5, 2),))
    page = PageSnapshot(frames=(replace(page_of(tree).main, extras=extras),))

    read = decode_snapshot(encode_snapshot(page))

    assert read == page
    assert content_address(read) == content_address(page)


@given(trees, trees)
def test_digests_are_equal_exactly_when_trees_are(one: DomNode, other: DomNode) -> None:
    """Different trees have different digests, and equal trees have equal ones."""
    assert (page_digest(page_of(one)) == page_digest(page_of(other))) == (one == other)


@given(trees, st.data())
def test_any_single_change_changes_the_digest(tree: DomNode, data: st.DataObject) -> None:
    """A change of one attribute of any node changes the digest of the page."""
    flat = tree_to_flat(tree)
    places = [place for place, entry in enumerate(flat) if isinstance(entry, list) and len(entry) == 7]
    place = data.draw(st.sampled_from(places))
    flat[place][2] = [*flat[place][2], "zz", "1"]  # type: ignore[index]

    assert page_digest(page_of(tree_from_flat(flat))) != page_digest(page_of(tree))


@given(st.permutations([("class", "a"), ("id", "b"), ("title", "c")]))
def test_the_order_of_attributes_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    """Attributes are an unordered set."""
    flat = ["p", "", [part for pair in pairs for part in pair], [], 0, "", 0]

    assert tree_from_flat([flat]).attributes == (("class", "a"), ("id", "b"), ("title", "c"))


@given(st.text(alphabet=" \t\n", max_size=4), st.text(alphabet=" \t\n", max_size=4))
def test_white_space_around_texts_does_not_matter(before: str, after: str) -> None:
    """White space at the ends of texts, and texts of only white space, are not part of a digest."""
    plain = DomNode(tag="p", children=(build_text_node("label"), DomNode(tag="b")))
    spaced = DomNode(
        tag="p", children=(build_text_node(f"{before}label{after}"), DomNode(tag="b"), build_text_node(after))
    )

    assert page_digest(page_of(spaced)) == page_digest(page_of(plain))


def test_an_element_with_only_white_space_equals_an_empty_one() -> None:
    """A blank text does not change the digest of an element."""
    assert frame_digest(page_of(DomNode(tag="p", children=(build_text_node(" "),))).main) == frame_digest(
        page_of(DomNode(tag="p")).main
    )


def test_white_space_in_verbatim_text_matters() -> None:
    """In `pre` and `style` every space counts."""
    one = DomNode(tag="pre", children=(build_text_node("a", verbatim=True),))
    other = DomNode(tag="pre", children=(build_text_node("a ", verbatim=True),))

    assert page_digest(page_of(one)) != page_digest(page_of(other))


def test_a_url_is_not_part_of_the_digest() -> None:
    """Equal documents at two URLs have one digest; the observation compares URLs itself."""
    assert page_digest(page_of(DomNode(tag="p"), url="a:")) == page_digest(page_of(DomNode(tag="p"), url="b:"))


def test_name_position_and_doctype_of_a_frame_are_part_of_the_digest() -> None:
    """Frames with equal documents still have different digests."""
    page = page_of(DomNode(tag="html"))
    others = [replace(page.main, name="x"), replace(page.main, path="x"), replace(page.main, doctype="x")]

    digests = {page_digest(PageSnapshot(frames=(frame,))) for frame in (page.main, *others)}

    assert len(digests) == 4


def test_a_digest_stays_what_it_is() -> None:
    """Stored traces contain digests, so the digest of a page must never change."""
    root = DomNode(tag="p", attributes=(("id", "a"),), state=(("checked", True),), children=(build_text_node("hi"),))

    assert page_digest(page_of(root)) == GOLD


def test_depth_has_no_limit() -> None:
    """A document of 5,000 levels is read, compared, hashed, masked and stored."""
    page = page_of(chain_of(5000))

    read = decode_snapshot(encode_snapshot(page))

    assert read == page
    assert page_digest(read) == page_digest(page)
    assert page_digest(map_strings(page, lambda text: text.replace("deep", "***"))) != page_digest(page)


def test_masking_reaches_every_string() -> None:
    """A secret is removed from texts, attributes, states, names and URLs, also in shadow roots."""
    secret = "hunter2"
    inner = DomNode(tag="p", attributes=(("title", secret),), children=(build_text_node(f"is {secret}"),))
    state = (("files", (secret,)), ("value", secret))
    root = DomNode(tag="div", state=state, shadow=(inner,), shadow_mode="open")
    frame = FrameSnapshot(path="", url=f"https://x.test/?q={secret}", name=secret, doctype="html", root=root)
    page = PageSnapshot(frames=(frame,))

    masked = map_strings(page, lambda text: text.replace(secret, "***"))

    assert secret.encode() not in zstd_free(masked)
    assert page.main.root.shadow is not None


def zstd_free(page: PageSnapshot) -> bytes:
    """Return all strings of a page as bytes."""
    frame = page.main
    return json.dumps([tree_to_flat(frame.root), frame.url, frame.name, frame.doctype]).encode()


def test_masking_returns_the_page_itself_when_nothing_matches() -> None:
    """No tree is rebuilt if nothing changes."""
    page = page_of(chain_of(3))

    assert map_strings(page, str) is page


def test_masking_shares_what_it_leaves_alone() -> None:
    """Only the path to the secret is rebuilt."""
    kept = DomNode(tag="p", children=(build_text_node("kept"),))
    page = page_of(DomNode(tag="div", children=(kept, DomNode(tag="p", children=(build_text_node("secret"),)))))

    masked = map_strings(page, lambda text: text.replace("secret", "***"))

    assert masked.main.root.children[0] is kept


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        {},
        ["text"],
        [1],
        [["p", "", [], [], 1, "", 0]],
        [["p", "", [], [], -1, "", 0]],
        [["p", "", [], [], True, "", 0]],
        [["p", "", [], [], 0, "half", 0]],
        [["p", "", [], [], 0, "", 1], "a"],
        [["p", "", ["id"], [], 0, "", 0]],
        [["p", "", ["id", 1], [], 0, "", 0]],
        [["p", "", [], ["value", 1], 0, "", 0]],
        [["p", "", [], ["value"], 0, "", 0]],
        [["", "", [], [], 0, "", 0]],
        [["#text", "", [], [], 0, "", 0]],
        [["p", "", [], [], 0, "", 0], "a"],
        [["p", "", [], [], 0, "", 0, 0]],
    ],
)
def test_another_shape_is_refused(nodes: object) -> None:
    """Data that does not fit the format is an error that names the field."""
    lines = [json.dumps(DOCUMENT)]
    lines += map(json.dumps, nodes) if isinstance(nodes, list) else [json.dumps(nodes)]

    with pytest.raises(TraceFieldError, match="nodes"):
        read("\n".join(lines))
    with pytest.raises(TraceFieldError, match="nodes"):
        tree_from_flat(nodes)


@pytest.mark.parametrize(
    "change",
    [
        {"doctype": None},
        {"extras": {}},
        {"extras": {**NO_EXTRAS, "scroll": [[1, 2]]}},
        {"extras": {**NO_EXTRAS, "canvas": [[1, 2]]}},
        {"more": 1},
        {"same": [1, 0]},
    ],
)
def test_another_frame_is_refused(change: dict[str, object]) -> None:
    """Missing, unknown and mistyped fields of a frame are errors."""
    data = {**DOCUMENT, **change}
    stored = {"doctype": "html", "nodes": [P], "extras": NO_EXTRAS, **change}

    with pytest.raises(TraceFieldError):
        read(f"{json.dumps(data)}\n{json.dumps(P)}")
    with pytest.raises(TraceFieldError):
        frame_from_data(stored, path="", url="", name="")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_a_snapshot_of_invalid_json_is_refused(text: str) -> None:
    """Truncated or hostile text is an error of the trace, not a crash."""
    with pytest.raises(TraceSyntaxError):
        read(text)


class Frame:
    """A fake page that shows one tree after another, and returns what changed."""

    def __init__(self, reader: FrameReader) -> None:
        """Start without a tree."""
        self.reader = reader
        self.token = "none"
        self.lines: list[str] = []

    def show(self, tree: DomNode) -> FrameSnapshot:
        """Return the response for a tree."""
        asked = self.reader.prepare_request(str(next(TOKENS)))
        lines = [json.dumps(line) for line in tree_to_flat(tree)]
        last = self.lines if asked.previous_token == self.token else []
        self.token, self.lines = asked.token, lines
        most = min(len(last), len(lines))
        start = next((place for place in range(most) if lines[place] != last[place]), most)
        ends = range(most - start)
        end = next((place for place in ends if lines[-1 - place] != last[-1 - place]), most - start)
        answer = [json.dumps({**DOCUMENT, "same": [start, end]}), *lines[start : len(lines) - end]]
        return self.reader.parse_response("\n".join(answer), asked, path="", url="", name="")


@given(st.lists(trees, min_size=2, max_size=4))
def test_earlier_reads_do_not_affect_a_snapshot(seen: list[DomNode]) -> None:
    """A tree that shares nodes with the previous one equals, with its digests, one that is read from scratch."""
    frame = Frame(FrameReader())

    for tree in (*seen, *seen):
        again, alone = frame.show(tree), Frame(FrameReader()).show(tree)

        assert again.root == tree
        assert frame_digest(again) == frame_digest(alone) == frame_digest(replace(alone, root=tree))


@given(trees, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.one_of(texts, trees)), max_size=5))
def test_changed_places_are_read_like_whole_documents(tree: DomNode, edits: list[tuple[int, int, DomNode]]) -> None:
    """Wherever children were replaced, inserted or removed; elements are used once, and unchanged ones again."""
    frame = Frame(FrameReader())
    last = frame.show(tree).root
    for parent, place, child in edits:
        tree = _with_child(tree, parent, place, child)
        before, seen = last, frame.show(tree)
        last = seen.root

        assert last == tree
        assert frame_digest(seen) == frame_digest(Frame(FrameReader()).show(tree))
        elements_seen = [node for node in last.walk() if not node.is_text]
        assert len({id(node) for node in elements_seen}) == len(elements_seen)
        assert frame.show(tree).root is last
        assert (last is before) is (last == before)


def _with_child(root: DomNode, parent: int, place: int, child: DomNode) -> DomNode:
    """Return a tree with a child of an element, both given by number, replaced; removed if it is the same."""
    chosen = [node for node in root.walk() if not node.is_text]
    changed = chosen[parent % len(chosen)]

    def copy(node: DomNode) -> DomNode:
        children = list(map(copy, node.children))
        if node is changed:
            children[place : place + 1] = [] if children[place : place + 1] == [child] else [child]
        shadow = None if node.shadow is None else tuple(map(copy, node.shadow))
        return node if node.is_text else replace(node, children=tuple(children), shadow=shadow)

    return copy(root)


def test_a_new_document_is_transferred_completely() -> None:
    """Nodes are only reused if the last response was received: documents are replaced and responses get lost."""
    reader = FrameReader()
    old, new = (DomNode(tag="p", children=(build_text_node(text),)) for text in ("old", "new"))
    frame = Frame(reader)
    frame.show(old)
    frame.reader = FrameReader()
    frame.show(new)
    frame.reader = reader

    assert frame.show(old).root == old
    assert Frame(reader).show(new).root == new


def test_unchanged_parts_are_shared() -> None:
    """Only changed nodes and their ancestors are rebuilt; no element occurs twice."""
    rows = [DomNode(tag="p", children=(DomNode(tag="br"), build_text_node(text))) for text in "abc"]
    frame = Frame(FrameReader())
    first = frame.show(DomNode(tag="div", children=tuple(rows))).root
    rows[1] = DomNode(tag="p", children=(DomNode(tag="br"), build_text_node("x")))

    second = frame.show(DomNode(tag="div", children=tuple(rows))).root

    same = [one is other for one, other in zip(first.children, second.children, strict=True)]
    assert same == [True, False, True]
    assert len({id(row.children[0]) for row in second.children}) == 3


def test_moved_parts_are_shared() -> None:
    """Also if the number of lines changes: what was elsewhere in the last document is used again."""
    rows = [DomNode(tag="p", children=(build_text_node(text),)) for text in "abc"]
    frame = Frame(FrameReader())
    first = frame.show(DomNode(tag="div", children=tuple(rows))).root

    second = frame.show(DomNode(tag="div", children=(DomNode(tag="hr"), rows[2], rows[0]))).root

    assert second.children[1] is first.children[2]
    assert second.children[2] is first.children[0]


def test_a_text_in_place_of_an_element_has_nothing_below() -> None:
    """The document has as many lines as before, and what follows changes later."""
    x, y, z = map(build_text_node, "xyz")
    frame = Frame(FrameReader())
    for children in ((DomNode(tag="p", children=(x,)), y), (z, x, y), (z, x, z)):
        tree = DomNode(tag="div", children=children)

        assert frame.show(tree).root == tree


def test_a_response_is_read_with_the_document_that_it_was_requested_with() -> None:
    """Even if that of a later request was read first."""
    reader = FrameReader()
    trees = [
        DomNode(tag="p", children=(build_text_node(text[0]), build_text_node(text[1]))) for text in ("xa", "xb", "yc")
    ]
    lines = [[json.dumps(line) for line in tree_to_flat(tree)] for tree in trees]
    answers = [
        json.dumps({**DOCUMENT, "extras": {**NO_EXTRAS, "data": data}, "same": [same, 0]})
        for data, same in (([[1, "x"]], 0), (None, 2), ([], 0))
    ]
    texts = ["\n".join([answer, *own[same:]]) for answer, own, same in zip(answers, lines, (0, 2, 0), strict=True)]
    reader.parse_response(texts[0], reader.prepare_request("1"), path="", url="", name="")
    early, late = reader.prepare_request("2"), reader.prepare_request("3")

    reader.parse_response(texts[2], late, path="", url="", name="")
    seen = reader.parse_response(texts[1], early, path="", url="", name="")

    assert seen.root == trees[1]
    assert seen.extras.data == ((1, "x"),)


def test_large_lines_of_earlier_documents_are_forgotten() -> None:
    """A picture that changes is inline in its element, and each would stay in memory."""
    frame = Frame(FrameReader())
    for number in range(5):
        picture = DomNode(tag="inline-picture", attributes=(("src", f"data:{number}" + "x" * 100_000),))
        frame.show(DomNode(tag="p", children=(picture,)))

    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, ElementHeader) and each.tag == "inline-picture"]

    assert len(kept) == 1


def test_stored_bytes_that_are_damaged_are_refused() -> None:
    """Bytes that do not decompress are reported as such."""
    with pytest.raises(TraceError, check=has_code("attachment-corrupt")):
        decode_snapshot(b"no zstd")


def test_a_snapshot_that_would_fill_the_memory_is_refused() -> None:
    """The announced size of a frame is checked before it is decompressed."""
    magic, announces_eight_bytes = b"\x28\xb5\x2f\xfd", b"\xe0"

    with pytest.raises(TraceError, match="at most", check=has_code("too-large")):
        decode_snapshot(magic + announces_eight_bytes + (1 << 40).to_bytes(8, "little"))


def test_a_newer_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot of a newer format is not read in part."""
    monkeypatch.setattr("eikon_engine.dom.digest.SNAPSHOT_FORMAT", 99)
    data = encode_snapshot(page_of(DomNode(tag="p")))
    monkeypatch.undo()

    with pytest.raises(TraceError, match="99", check=has_code("trace-version")):
        decode_snapshot(data)
