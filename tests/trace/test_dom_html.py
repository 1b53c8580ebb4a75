from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from eikon_engine.dom import DomNode, FrameExtras, FrameSnapshot, build_text_node, render_html, render_plain_html


def frame_of(*body: DomNode, path: str = "", url: str = "https://shop.test/a", **more: object) -> FrameSnapshot:
    """Make a frame with a head and a body."""
    root = DomNode(tag="html", children=(DomNode(tag="head"), DomNode(tag="body", children=body)))
    return FrameSnapshot(path=path, url=url, name="", doctype="html", root=root, **more)  # type: ignore[arg-type]


def element(tag: str, *children: DomNode | str, namespace: str = "", **attributes: str) -> DomNode:
    """Make an element."""
    nodes = tuple(build_text_node(child) if isinstance(child, str) else child for child in children)
    return DomNode(tag=tag, namespace=namespace, attributes=tuple(sorted(attributes.items())), children=nodes)


def test_texts_and_attributes_are_escaped() -> None:
    """Text is never served as markup."""
    hostile = '</p><script>alert(1)</script>"&lt;'

    page = LexborHTMLParser(render_plain_html(frame_of(element("p", hostile, title=hostile))))

    found = page.css_first("p")
    assert found is not None
    assert (found.text(), found.attributes["title"], page.css("script")) == (hostile, hostile, [])


@pytest.mark.parametrize(
    "node",
    [
        element("script", "alert(1)"),
        element("script", namespace="svg"),
        element("p", onclick="alert(1)"),
        element("a", href=" \n java\tscript:alert(1)"),
        element("a", href=" " * 300 + "JavaScript:alert(1)"),
        element("object", data="data:text/html,<script>alert(1)</script>"),
        element("iframe", srcdoc="<script>alert(1)</script>"),
        DomNode(tag="meta", attributes=(("content", "0;url=//alert(1)"), ("http-equiv", " Refresh"))),
        element("animate", namespace="svg", values="#;javascript:alert(1)"),
        DomNode(tag="p", attributes=(('x="" onload', "alert(1)"),)),
        DomNode(tag="img onerror=alert(1)"),
        element("svg", DomNode(tag="style", children=(build_text_node("<img onerror=alert(1)>", verbatim=True),))),
    ],
)
def test_nothing_in_a_served_page_can_run(node: DomNode) -> None:
    """Scripts, listeners, script URLs and refreshes are removed, whatever the snapshot contains."""
    html = render_plain_html(frame_of(node)).lower()

    assert "<script" not in html
    assert "javascript:" not in html.replace("\t", "")
    assert "alert(1)" not in html.replace("\\3c img onerror=alert(1)", "")


def test_a_style_sheet_cannot_end_early() -> None:
    """Markup inside a style element stays CSS with the same meaning."""
    style = DomNode(tag="style", children=(build_text_node("a::after{content:'</style><b>'}", verbatim=True),))

    html = render_plain_html(frame_of(style))

    assert r"content:'\3c /style>\3c b>'" in html


def test_form_state_becomes_attributes() -> None:
    """Typed values, checks and selections can be read in the served page."""
    nodes = (
        DomNode(tag="input", state=(("value", 'a"b'),)),
        DomNode(tag="input", attributes=(("type", "checkbox"),), state=(("checked", True),)),
        DomNode(tag="select", children=(element("option", "a"), element("option", "b")), state=(("selected", ("1",)),)),
        DomNode(tag="textarea", state=(("value", "\nx<y"),)),
        DomNode(tag="details", state=(("open", True),)),
    )

    page = LexborHTMLParser(render_plain_html(frame_of(*nodes)))

    values = [node.attributes.get("value") for node in page.css("input")]
    assert values == ['a"b', None]
    assert len(page.css("input[checked]")) == len(page.css("details[open]")) == 1
    assert [node.text() for node in page.css("option[selected]")] == ["b"]
    assert [node.text() for node in page.css("textarea")] == ["\nx<y"]


def test_a_password_is_served_as_a_mask_of_one_length() -> None:
    """The mask shows that a password was typed, but neither its value nor its length."""
    state = (("filled", True), ("masked", True), ("value", ""))

    html = render_plain_html(frame_of(DomNode(tag="input", state=state)))

    assert 'value="********"' in html


def test_a_base_is_added_only_where_the_page_has_none() -> None:
    """Relative links keep their target."""
    own = element("base", href="/own/")

    assert '<base href="https://shop.test/a"' in render_html(frame_of(), base_url="https://shop.test/a")
    assert render_html(frame_of(own), base_url="https://shop.test/a").count("<base") == 1
    assert "<base" not in render_plain_html(frame_of())


def test_frames_are_nested_in_their_own_elements() -> None:
    """Each frame element contains the document of its frame, also if frames were attached in another order."""
    main = frame_of(element("iframe", id="a"), element("iframe", id="b"), extras=FrameExtras(frames=((3, 1), (4, 0))))
    inner = frame_of(element("iframe", id="c"), path="0")
    frames = (main, inner, frame_of(element("p", 'deep "&'), path="0.0"), frame_of(element("p", "second"), path="1"))

    page = LexborHTMLParser(render_html(main, frames=frames))

    documents = {node.attributes["id"]: node.attributes["srcdoc"] or "" for node in page.css("iframe")}
    assert "second" in documents["a"]
    innermost = LexborHTMLParser(documents["b"]).css_first("#c")
    assert innermost is not None
    paragraph = LexborHTMLParser(innermost.attributes["srcdoc"] or "").css_first("p")
    assert paragraph is not None
    assert paragraph.text() == 'deep "&'


def test_shadow_roots_are_declared() -> None:
    """A shadow root of either mode is served as an open one."""
    host = DomNode(tag="x-a", shadow=(element("b", "in"),), shadow_mode="closed", children=(element("i"),))

    html = render_plain_html(frame_of(host))

    assert '<x-a><template shadowrootmode="open"><b>in</b></template><i></i></x-a>' in html


def test_a_legacy_doctype_is_preserved() -> None:
    """The page is laid out in its recorded compatibility mode."""
    frame = frame_of()
    old = FrameSnapshot(path="", url="", name="", doctype="html|-//W3C//DTD HTML 4.01//EN|", root=frame.root)

    assert render_plain_html(old).startswith('<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN"><html>')


def test_a_deep_document_is_rendered() -> None:
    """There is no limit of depth."""
    node = element("b", "deep")
    for _ in range(5000):
        node = element("div", node)

    assert render_plain_html(frame_of(node)).count("<div>") == 5000
