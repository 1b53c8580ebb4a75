"""Render a snapshot as an HTML page without scripts, for people and for skills; JSON data blocks are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eikon_engine.dom.tree import DomNode, FrameExtras, FrameSnapshot

OMITTED_LENGTH_ATTRIBUTE: Final = "data-eikon-left-out"
"""Attribute of a rendered block whose text was too long to store: its length in UTF-16 code units."""
_JSON_TYPE: Final = re.compile(r"\s*(application/json|text/json|[^\s;/]+/[^\s;/]+\+json)\s*(;|\Z)", re.IGNORECASE)


def block_texts(extras: FrameExtras) -> dict[int, str | int]:
    """Return the text of each data block, or its length if it was not stored, by the index of its node."""
    return dict(extras.data or ())


def rendered_block(node: DomNode, text: str | int) -> tuple[DomNode, str] | None:
    """Return the element and the content to render for a data block; None for anything a browser may run.

    `<` is written as a JSON escape, so that no text closes the block.
    """
    kind = node.attribute("type")
    if node.tag != "script" or node.namespace or kind is None or not _JSON_TYPE.match(kind):
        return None
    others = tuple(
        (name, value) for name, value in node.attributes if name.lower() not in {"type", OMITTED_LENGTH_ATTRIBUTE}
    )
    attributes = (("type", kind), *others)
    if isinstance(text, int):
        return replace(node, attributes=(*attributes, (OMITTED_LENGTH_ATTRIBUTE, str(text)))), ""
    content = text.replace("<", "\\u003c").replace("\r\n", "\n").replace("\r", "\n")
    return replace(node, attributes=attributes), content


def without_unrecorded_blocks(recorded: FrameSnapshot, observed: FrameSnapshot) -> FrameSnapshot:
    """Return an observed document without what the recorded snapshot could not contain.

    Older snapshots have no data blocks, so a block in the observed document is not a difference to them.
    """
    if recorded.extras.data is not None or not observed.extras.data:
        return observed
    return replace(observed, extras=replace(observed.extras, data=None))


VOID_ELEMENTS: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
EMPTIED_ELEMENTS: Final = frozenset({"iframe", "noscript", "noembed", "noframes"})
_RAW_TEXT_ELEMENTS: Final = frozenset({"plaintext", "xmp"})
"""Elements whose content HTML does not escape; rendered as `pre`."""
LEADING_NEWLINE_TAGS: Final = frozenset({"pre", "textarea", "listing"})
EMBEDDERS: Final = frozenset({"object", "embed", "iframe", "frame"})
_TAG: Final = re.compile(r"[A-Za-z][\w:.\-]*")
_ATTRIBUTE: Final = re.compile(r"[^\s\x00-\x20\x7f\"'<>/=]+")
_SCRIPT_URL: Final = re.compile(
    "|".join("".join(rf"{letter}[\t\n\r]*" for letter in scheme) for scheme in ("javascript:", "vbscript:")),
    re.IGNORECASE,
)
_DATA_URL: Final = re.compile("".join(rf"{letter}[\t\n\r]*" for letter in "data:"), re.IGNORECASE)
_BLANKS_BEFORE_URL: Final = "".join(map(chr, range(0x21)))
_MARKUP_IN_STYLE: Final = re.compile(r"<(?=[a-zA-Z/!?])")
_LISTENER: Final = re.compile(r"on[a-z]+", re.IGNORECASE)
_MASKED_VALUE: Final = "********"
_GENERATED_ATTRIBUTE: Final = "data-eikon-own"
CHARSET_META: Final = f'<meta charset="utf-8" {_GENERATED_ATTRIBUTE}="">'
"""First element of every rendered head."""
SHADOW_START: Final = '<template shadowrootmode="open">'
SHADOW_END: Final = "</template>"
EMPTY_DOCUMENT: Final = "#document"
"""Tag of the root of an empty document."""


OUTLINED_ATTRIBUTE: Final = "data-eikon-outlined"
"""Marks the elements to outline."""


def render_html(
    frame: FrameSnapshot,
    *,
    frames: Iterable[FrameSnapshot] = (),
    base_url: str | None = None,
    outlined: frozenset[int] = frozenset(),
) -> str:
    """Return a page that shows a frame and the frames inside it, and runs no code.

    `frames` are all frames of the page. `base_url` is the base of relative links, unless the page has a `base` element.
    The elements whose `id(node)` is in `outlined` get an attribute.
    """
    inner = [each for each in frames if _is_inside(each.path, frame.path)]
    rendered: dict[str, str] = {}
    # Innermost first: the document of a child frame becomes an attribute of its frame element.
    for each in sorted(inner, key=lambda one: one.path.count("."), reverse=True):
        own_url = each.url if each.url.startswith(("http:", "https:")) else ""
        rendered[each.path] = _render(each, rendered, own_url, outlined)
    return _render(frame, rendered, base_url or "", outlined)


def render_plain_html(frame: FrameSnapshot) -> str:
    """Return the page of one frame, without a base URL and without child frames."""
    return _render(frame, {}, "")


def _is_inside(path: str, outer: str) -> bool:
    """Return whether a frame is a descendant of another."""
    return path != outer and (outer == "" or path.startswith(f"{outer}."))


@dataclass(slots=True)
class _HtmlPage:
    """State of rendering one document."""

    head: str
    """First elements of the head."""
    srcdocs: dict[int, str]
    """Documents of child frames, by `id(node)`."""
    blocks: dict[int, str]
    """Rendered data blocks, by `id(node)`."""
    out: list[str] = field(default_factory=list)
    selected: set[int] = field(default_factory=set)
    """Selected options, by `id(node)`."""
    outlined: frozenset[int] = frozenset()
    """Elements to mark, by `id(node)`."""


def _render(
    frame: FrameSnapshot, rendered: Mapping[str, str], base_url: str, outlined: frozenset[int] = frozenset()
) -> str:
    """Render one document; `rendered` holds its child documents by frame path."""
    has_base = any(node.tag == "base" and node.attribute("href") is not None for node in frame.root.walk())
    base = f'<base href="{escape_html(base_url)}" {_GENERATED_ATTRIBUTE}="">' if base_url and not has_base else ""
    page = _HtmlPage(
        head=f"{CHARSET_META}{base}",
        srcdocs=find_child_documents(frame, rendered),
        blocks=_rendered_blocks(frame),
        outlined=outlined,
    )
    page.out.append(render_doctype(frame.doctype))
    has_head = any(node.tag == "head" for node in frame.root.children)
    waiting: list[DomNode | str] = [frame.root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            page.out.append(item)
        elif item.text is not None:
            page.out.append(escape_html(item.text))
        elif is_omitted(item):
            page.out.append(page.blocks.get(id(item), ""))
        elif item.tag != EMPTY_DOCUMENT:
            below = list(_element(item, page))
            if item is frame.root and not has_head:
                page.out.append(generated_head(page.head))
            waiting.extend(reversed(below))
    return join_markup(page.out)


def render_start_tag(node: DomNode, *, srcdoc: str = "", selected: bool = False, outlined: bool = False) -> str:
    """Render the start tag of an element; `srcdoc` is the document of a frame element."""
    attributes = "".join(
        f' {name}="{escape_html(value)}"' for name, value in _attributes(node, srcdoc, selected=selected)
    )
    mark = f" {OUTLINED_ATTRIBUTE}" if outlined else ""
    return f"<{rendered_tag(node.tag, node.namespace)}{attributes}{mark}>"


def rendered_tag(tag: str, namespace: str) -> str:
    """Return the tag name that an element is rendered with."""
    if not _TAG.fullmatch(tag):
        return "x-unknown"
    return "pre" if namespace == "" and tag in _RAW_TEXT_ELEMENTS else tag


def generated_head(head: str) -> str:
    """Render a head element for a document that has none."""
    return f"<head {_GENERATED_ATTRIBUTE}>{head}</head>"


def join_markup(parts: Iterable[str]) -> str:
    """Join the parts of a page; escape or drop characters that a parser would change."""
    return "".join(parts).replace("\r", "&#13;").replace("\x00", "")


def _element(node: DomNode, page: _HtmlPage) -> Iterator[DomNode | str]:
    """Append the start tag of an element; yield its content and its end tag."""
    is_html = node.namespace == ""
    tag = rendered_tag(node.tag, node.namespace)
    if is_html and tag == "select":
        page.selected |= _selected_options(node)
    page.out.append(
        render_start_tag(
            node,
            srcdoc=page.srcdocs.get(id(node), ""),
            selected=id(node) in page.selected,
            outlined=id(node) in page.outlined,
        )
    )
    if is_html and tag == "head":
        page.out.append(page.head)
    if is_html and tag in VOID_ELEMENTS:
        return
    if node.shadow is not None:
        yield SHADOW_START
        yield from node.shadow
        yield SHADOW_END
    if is_html and tag in LEADING_NEWLINE_TAGS:
        yield "\n"
    if is_html and tag == "style":
        yield safe_style_text(child.text for child in node.children if child.text is not None)
    elif is_html and tag == "textarea":
        yield escape_html(text_state(node, "value"))
    elif not (is_html and tag in EMPTIED_ELEMENTS):
        yield from node.children
    yield f"</{tag}>"


def _attributes(node: DomNode, srcdoc: str, *, selected: bool) -> Iterator[tuple[str, str]]:
    """Yield the attributes that are safe to render, then those that represent the state."""
    for name, value in node.attributes:
        low = name.lower()
        if not is_safe_attribute(name):
            continue
        if node.tag == "template" and low.startswith("shadowroot"):
            continue
        yield name, _neutralized(node, low, value)
    if node.tag == "iframe":
        # Without `srcdoc`, the browser would load `src`.
        yield "srcdoc", srcdoc
    yield from _state_attributes(node)
    if selected:
        yield "selected", ""


def is_safe_attribute(name: str) -> bool:
    """Return whether an attribute is safe to render: not an event handler, and with a name that parses as one."""
    low = name.lower()
    return (
        not _LISTENER.fullmatch(low)
        and low not in {"srcdoc", _GENERATED_ATTRIBUTE}
        and bool(_ATTRIBUTE.fullmatch(name))
    )


def has_script_url(value: str) -> bool:
    """Return whether a value contains a script URL; what to do about it depends on the attribute."""
    return ":" in value and _SCRIPT_URL.search(value) is not None


def _state_attributes(node: DomNode) -> Iterator[tuple[str, str]]:
    """Yield attributes that restore the recorded state of an element."""
    if node.state_value("checked") is True:
        yield "checked", ""
    if node.state_value("open") is True:
        yield "open", ""
    if node.tag == "input" and node.state_value("value") is not None:
        value = text_state(node, "value")
        if node.state_value("masked") and node.state_value("filled"):
            value = _MASKED_VALUE
        if value:
            yield "value", value


def text_state(node: DomNode, name: str) -> str:
    """Return the value of a text state; empty if it is missing."""
    value = node.state_value(name)
    return value if isinstance(value, str) else ""


def _selected_options(select: DomNode) -> set[int]:
    """Return the selected options of a select box, by `id(node)`."""
    selected = select.state_value("selected")
    expected = frozenset(selected) if isinstance(selected, tuple) else frozenset()
    options = (node for node in select.walk() if node.tag == "option")
    return {id(option) for place, option in enumerate(options) if str(place) in expected}


def _neutralized(node: DomNode, name: str, value: str) -> str:
    """Return an attribute value that runs no script when followed or loaded, and loads no frame."""
    start = value.lstrip(_BLANKS_BEFORE_URL)
    if _SCRIPT_URL.match(start) or (node.namespace and _SCRIPT_URL.search(value)):
        return "about:blank"
    if node.tag in EMBEDDERS and (_DATA_URL.match(start) or (node.tag == "frame" and name == "src")):
        return "about:blank"
    return value


def is_omitted(node: DomNode) -> bool:
    """Return whether an element is omitted: scripts, and `meta` elements that navigate."""
    tag = node.tag.lower()
    if tag == "script" or tag.endswith(":script"):
        return True
    return tag == "meta" and (node.attribute("http-equiv") or "").strip().lower() == "refresh"


def render_data_block(node: DomNode, text: str | int) -> str:
    """Render a data block, without its text if only the length is known; empty for scripts that run."""
    served = rendered_block(node, text)
    return "" if served is None else f"{render_start_tag(served[0])}{served[1]}</script>"


def safe_style_text(texts: Iterable[str]) -> str:
    """Return a style sheet in which a parser finds no markup."""
    return _MARKUP_IN_STYLE.sub(r"\\3c ", "".join(texts))


def find_child_documents(frame: FrameSnapshot, rendered: Mapping[str, str]) -> dict[int, str]:
    """Return the document of each frame element: by the recorded index, else in document order."""
    prefix = f"{frame.path}." if frame.path else ""
    noted = dict(frame.extras.frames)
    found: dict[int, str] = {}
    order = 0
    for index, node in enumerate(frame.root.walk()):
        if node.tag not in EMBEDDERS and index not in noted:
            continue
        place = noted.get(index, order if not noted else -1)
        order += 1
        found[id(node)] = rendered.get(f"{prefix}{place}", "")
    return found


def _rendered_blocks(frame: FrameSnapshot) -> dict[int, str]:
    texts = block_texts(frame.extras)
    if not texts:
        return {}
    return {
        id(node): render_data_block(node, texts[place])
        for place, node in enumerate(frame.root.walk())
        if place in texts
    }


def render_doctype(doctype: str) -> str:
    """Render a doctype from its name, public and system id; empty if there is none."""
    if not doctype:
        return ""
    name, public, system = (*(part.replace('"', "").replace(">", "") for part in doctype.split("|")), "", "")[:3]
    if public:
        return f'<!DOCTYPE {name} PUBLIC "{public}"' + (f' "{system}">' if system else ">")
    return f'<!DOCTYPE {name} SYSTEM "{system}">' if system else f"<!DOCTYPE {name}>"


def escape_html(text: str) -> str:
    """Escape a text for element content and quoted attribute values."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    return text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
