"""Selectors match the same elements of a stored document as a browser's engine does."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from eikon_engine.dom import DomNode, build_text_node
from eikon_engine.dom.css import CssSelector, ElementPosition, element_positions
from eikon_engine.errors import TraceFieldError

SELECTORS = (
    "*", "div", "SPAN", "#n2", ".a", ".a.b", "div.a > span", "div span", "i + div", "i ~ div", "[lang]", "[lang=en]",
    "[lang|=en]", "[lang^=e]", "[lang$=S]", "[lang*=n-]", "[class~=b]", "div, .b", "div:not(.a)", ":is(i, .a)",
    "div :where(span, i)", ":first-child", "i:last-child", ":only-child", "i:first-of-type", "div:last-of-type",
    ":only-of-type", ":root", ":nth-child(2)", ":nth-child(2n+1)", ":nth-last-child(-n+2)", "i:nth-of-type(even)",
    "div:nth-last-of-type(odd)", "div > div ~ i.a", ":not(:is(div, i)) > *",
)  # fmt: skip
leaf = st.builds(
    lambda tag, classes, lang: (tag, classes, lang, ()),
    st.sampled_from(("div", "span", "i")),
    st.sampled_from(("", "a", "b", "a b")),
    st.sampled_from((None, "en", "en-US", "de")),
)
trees = st.recursive(
    leaf,
    lambda inner: st.tuples(
        st.just("div"), st.sampled_from(("", "a")), st.none(), st.lists(inner, max_size=4).map(tuple)
    ),
    max_leaves=12,
)


def built(tree: tuple[str, str, str | None, tuple[object, ...]], numbers: itertools.count[int]) -> DomNode:
    """Build a tree of elements, each with a number as its id."""
    tag, classes, lang, inner = tree
    attributes = {"id": f"n{next(numbers)}", "class": classes, "lang": lang}
    kept = tuple(sorted((name, value) for name, value in attributes.items() if value))
    children = (build_text_node("x"), *(built(each, numbers) for each in inner))  # type: ignore[arg-type] # trees alone
    return DomNode(tag=tag, attributes=kept, children=children)


def html(node: DomNode) -> str:
    """Return the HTML of a tree."""
    if node.text is not None:
        return node.text
    attributes = "".join(f' {name}="{value}"' for name, value in node.attributes)
    return f"<{node.tag}{attributes}>{''.join(map(html, node.children))}</{node.tag}>"


def found(nodes: tuple[DomNode, ...], selector: CssSelector, parent: ElementPosition | None = None) -> list[str]:
    """Return the ids of the selected elements in document order."""
    names = []
    for spot in element_positions(nodes, parent):
        if selector.matches(spot):
            names.append(spot.node.attribute("id") or spot.node.tag)
        names += found(spot.node.children, selector, spot)
    return names


_Tree = tuple[str, str, str | None, tuple[object, ...]]
"""Tag, classes, language, children."""


@pytest.mark.parametrize("text", SELECTORS)
@given(tree=trees)
def test_selectors_find_what_an_engine_finds(text: str, tree: _Tree) -> None:
    """On any tree, a selector matches the same elements as the engine."""
    body = DomNode(tag="body", children=(built(tree, itertools.count()),))
    root = DomNode(tag="html", children=(DomNode(tag="head"), body))

    wanted = [node.attributes.get("id") or node.tag for node in LexborHTMLParser(html(root)).css(text)]

    assert sorted(found((root,), CssSelector(text))) == sorted(set(map(str, wanted)))  # engines may return duplicates


@pytest.mark.parametrize(
    "text", ["", "div[", "a:hover", "a::before", "a:has(b)", "ns|a", "[a=b i]", "a:nth-child(2 of b)"]
)
def test_unsupported_selectors_are_refused(text: str) -> None:
    """Unsupported selectors are rejected immediately with their name."""
    with pytest.raises(TraceFieldError) as caught:
        CssSelector(text)

    assert repr(text) in caught.value.message
