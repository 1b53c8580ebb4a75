"""ARIA roles of elements of a stored document, as `inspect_elements.js` computes them for live elements.

The mapping covers the parts of HTML-AAM and of the accessible name computation used by forms and lists:
https://www.w3.org/TR/html-aam-1.0/#html-element-role-mappings, https://www.w3.org/TR/accname-1.2/
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import read_digits

if TYPE_CHECKING:
    from eikon_engine.dom.tree import DomNode

MAX_TEXT_LENGTH: Final = 200
"""Maximum number of characters of a text, or of a name computed from it, in an identity."""
FIELD_TAGS: Final = frozenset({"input", "textarea", "select"})
LABELABLE_TAGS: Final = frozenset({"button", "input", "meter", "output", "progress", "select", "textarea"})

_ROLES: Final = {
    "article": "article", "aside": "complementary", "button": "button", "details": "group", "dialog": "dialog",
    "fieldset": "group", "figure": "figure", "footer": "contentinfo", "form": "form", "h1": "heading", "h2": "heading",
    "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading", "header": "banner", "hr": "separator",
    "li": "listitem", "main": "main", "nav": "navigation", "ol": "list", "option": "option",
    "progress": "progressbar", "table": "table", "tbody": "rowgroup", "td": "cell", "textarea": "textbox",
    "th": "columnheader", "thead": "rowgroup", "tr": "row", "ul": "list",
}  # fmt: skip
_INPUT_ROLES: Final = {
    "button": "button", "checkbox": "checkbox", "image": "button", "number": "spinbutton", "radio": "radio",
    "range": "slider", "reset": "button", "search": "searchbox", "submit": "button", "hidden": "", "file": "",
    "color": "", "date": "", "time": "",
}  # fmt: skip
_BUTTON_TYPES: Final = frozenset({"button", "submit", "reset"})
ROLES_NAMED_BY_CONTENT: Final = frozenset(
    {"button", "cell", "checkbox", "columnheader", "heading", "link", "menuitem", "option", "radio", "row", "switch"}
    | {"tab", "treeitem"}
)
_WHITESPACE: Final = re.compile(r"[\s\ufeff]+")


def collapse_whitespace(text: str | None) -> str:
    """Collapse white space and strip it from both ends."""
    return _WHITESPACE.sub(" ", text or "").strip()


def role_of(node: DomNode) -> str:
    """Return the ARIA role of an element, explicit or implied; empty if it has none."""
    explicit = collapse_whitespace(node.attribute("role")).split(" ")[0]
    if explicit:
        return explicit
    match node.tag:
        case "a":
            return "link" if node.attribute("href") is not None else ""
        case "img":
            return "presentation" if node.attribute("alt") == "" else "img"
        case "select":
            return "listbox" if node.attribute("multiple") is not None or _size(node) > 1 else "combobox"
        case "input":
            return _INPUT_ROLES.get(input_type(node), "textbox")
        case _:
            return _ROLES.get(node.tag, "")


def input_type(node: DomNode) -> str:
    """Return the type of an input element, `text` by default."""
    return (node.attribute("type") or "text").lower()


def is_named_by_value(node: DomNode) -> bool:
    """Return whether an input element is named by its value."""
    return node.tag == "input" and input_type(node) in _BUTTON_TYPES


def is_labelable(node: DomNode) -> bool:
    """Return whether an element can have a label."""
    return node.tag in LABELABLE_TAGS and not (node.tag == "input" and input_type(node) == "hidden")


def _size(node: DomNode) -> int:
    size = node.attribute("size") or ""
    return read_digits(size) if size.isascii() and size.isdigit() else 0
