"""The fast renderer of stored snapshots gives the same HTML as the full one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.dom import DomNode, FrameExtras, FrameSnapshot, PageSnapshot, build_text_node, render_plain_html
from eikon_engine.dom import fast_html as quick_html
from eikon_engine.dom.digest import snapshot_from_json, snapshot_json
from eikon_engine.dom.fast_html import render_stored_frames
from eikon_engine.errors import EikonError

DATA = Path(__file__).parents[1] / "data" / "traces"
STORED = sorted(DATA.glob("*/dom/*.zst"))
TAGS = (
    *("div", "p", "a", "img", "br", "input", "select", "option", "textarea", "style", "iframe", "noscript", "pre"),
    *(
        "template",
        "script",
        "meta",
        "head",
        "base",
        "object",
        "embed",
        "svg:script",
        "xmp",
        "no tag",
        "#document",
        "use",
    ),
)
ATTRIBUTES = (
    "class",
    "href",
    "onclick",
    "srcdoc",
    "shadowrootmode",
    "http-equiv",
    "data-%s",
    "bad name",
    "src",
    "type",
    "é",
)
VALUES = (
    "",
    "application/ld+json",
    "x",
    "a & b",
    '"<>',
    "javascript:alert(1)",
    "data:text/html,x",
    "Refresh",
    "100%",
    "java\nscript:x",
)
STATES: dict[str, st.SearchStrategy[str | bool | tuple[str, ...]]] = {
    "checked": st.booleans(),
    "open": st.booleans(),
    "value": st.sampled_from(("", "typed", "<b>")),
    "selected": st.sampled_from(((), ("0",), ("1", "2"))),
    "masked": st.just(value=True),
    "filled": st.just(value=True),
}
texts = st.builds(build_text_node, st.sampled_from(("text", " ", "a < b & c", "\r\0", '"')), verbatim=st.booleans())


def elements(below: st.SearchStrategy[DomNode]) -> st.SearchStrategy[DomNode]:
    """Generate elements with every possible property."""
    nodes = st.lists(below, max_size=4).map(tuple)
    return st.builds(
        lambda tag, namespace, attributes, state, children, shadow: DomNode(
            tag=tag,
            namespace=namespace,
            attributes=tuple(sorted(attributes.items())),
            state=tuple(sorted(state.items())),
            children=children,
            shadow=shadow,
            shadow_mode="" if shadow is None else "open",
        ),
        st.sampled_from(TAGS),
        st.sampled_from(("", "", "", "svg")),
        st.dictionaries(st.sampled_from(ATTRIBUTES), st.sampled_from(VALUES), max_size=3),
        st.one_of(st.just({}), st.fixed_dictionaries({}, optional=STATES)),
        nodes,
        st.one_of(st.none(), st.none(), st.none(), nodes),
    )


trees = st.recursive(texts, elements, max_leaves=14)
roots = st.builds(
    lambda head, children, tag: DomNode(tag=tag, children=((DomNode(tag="head"),) if head else ()) + children),
    st.booleans(),
    st.lists(trees, max_size=5).map(tuple),
    st.sampled_from(("html", "html", "html", "svg", "select")),
)


blocks = st.lists(st.tuples(st.integers(-1, 12), st.sampled_from(('{"a":"</script>"}', "{\r\n}", "", 300_000)))).map(
    tuple
)


@given(roots, st.sampled_from(("html", "", "html|-//W3C//DTD|x")), st.one_of(st.none(), blocks))
@settings(max_examples=300, deadline=None)
def test_both_renderers_give_the_same_page(
    root: DomNode, doctype: str, data: tuple[tuple[int, str | int], ...] | None
) -> None:
    """For every snapshot, the fast HTML equals the full one."""
    extras = FrameExtras(data=data)
    frame = FrameSnapshot(path="", url="https://shop.test/", name="", doctype=doctype, root=root, extras=extras)

    (page,) = render_stored_frames(snapshot_json(PageSnapshot(frames=(frame,)))).values()

    assert page == (render_plain_html(frame), frame.url)


@pytest.mark.parametrize("path", STORED[:12], ids=lambda path: path.name[:8])
def test_recorded_pages_use_the_fast_renderer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that a browser built never need the full renderer, and both agree on them."""
    raw = zstandard.ZstdDecompressor().decompress(path.read_bytes())
    expected = {frame.path: (render_plain_html(frame), frame.url) for frame in snapshot_from_json(raw).frames}
    monkeypatch.delattr(quick_html, "snapshot_from_json")

    assert render_stored_frames(raw) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame["nodes"].append("more"),
        lambda frame: frame["nodes"].pop(),
        lambda frame: frame["nodes"][0].__setitem__(4, -1),
        lambda frame: frame["nodes"][1].__setitem__(4, 99),
        lambda frame: frame["nodes"][1].__setitem__(2, ["class"]),
        lambda frame: frame["nodes"][1].__setitem__(0, ""),
        lambda frame: frame["nodes"].__setitem__(1, 5),
        lambda frame: frame["nodes"].clear(),
        lambda frame: frame["extras"].__setitem__("canvas", [[1]]),
        lambda frame: frame["extras"].__setitem__("data", None),
        lambda frame: frame["extras"].__setitem__("data", [[0, True]]),
        lambda frame: frame["extras"].__setitem__("data", [[0]]),
        lambda frame: frame.__setitem__("doctype", None),
        lambda frame: frame.pop("url"),
    ],
)
def test_an_invalid_snapshot_raises_the_same_error(change: object) -> None:
    """The fast renderer reports the same errors as the full one, in the same words."""
    root = DomNode(tag="html", children=(DomNode(tag="p", children=(build_text_node("x"),)),))
    frame = FrameSnapshot(path="", url="", name="", doctype="html", root=root)
    plain = json.loads(snapshot_json(PageSnapshot(frames=(frame,))))
    change(plain["frames"][0])  # type: ignore[operator]
    raw = json.dumps(plain).encode()

    with pytest.raises(EikonError) as slow:
        snapshot_from_json(raw)
    with pytest.raises(EikonError) as quick:
        render_stored_frames(raw)

    assert (type(quick.value), quick.value.message) == (type(slow.value), slow.value.message)


PARTS: st.SearchStrategy[object] = st.sampled_from(
    (
        "",
        "x",
        "div",
        "open",
        "&",
        0,
        1,
        2,
        -1,
        1.0,
        0.0,
        True,
        False,
        None,
        [],
        ["a"],
        ["a", "b"],
        ["a", 1],
        [[], ""],
        {},
    )
)
ENTRIES = st.one_of(PARTS, st.tuples(*[PARTS] * 7).map(list))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), PARTS), max_size=2), st.lists(ENTRIES, max_size=1))
@settings(max_examples=300, deadline=None)
def test_both_renderers_report_the_same_faults(changes: list[tuple[int, int, object]], more: list[object]) -> None:
    """For any malformed node, both renderers give the same page or the same error."""
    below = (DomNode(tag="p", attributes=(("class", "a"),), children=(build_text_node("x"), DomNode(tag="br"))),)
    root = DomNode(tag="html", children=(DomNode(tag="noscript", children=below), *below))
    frame = FrameSnapshot(path="", url="", name="", doctype="html", root=root)
    plain = json.loads(snapshot_json(PageSnapshot(frames=(frame,))))
    nodes = plain["frames"][0]["nodes"]
    for node, part, value in changes:
        if isinstance(nodes[node], list):
            nodes[node][part] = value
    nodes += more
    raw = json.dumps(plain).encode()

    assert _outcome(lambda: {"": (render_plain_html(snapshot_from_json(raw).frames[0]), "")}) == _outcome(
        lambda: render_stored_frames(raw)
    )


def _outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except EikonError as error:
        return type(error), error.message


def test_lone_surrogates_use_the_full_renderer() -> None:
    """A text that is invalid Unicode, which pages can create, is read by the full renderer."""
    root = DomNode(tag="html", children=(build_text_node("\ud800"),))
    frame = FrameSnapshot(path="", url="", name="", doctype="", root=root)

    assert render_stored_frames(snapshot_json(PageSnapshot(frames=(frame,))))[""].html == render_plain_html(frame)
