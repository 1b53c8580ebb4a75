"""Outline of a page for a model: one line for each interactive element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.identities import locate_elements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.identities import LocatedElement
    from eikon_engine.trace.dom.tree import PageSnapshot

MAX_ELEMENTS: Final = 150
_MAX_TEXT_LENGTH: Final = 80
_INTERACTIVE_ROLES: Final = frozenset(
    {"button", "checkbox", "combobox", "link", "listbox", "menuitem", "option", "radio", "searchbox", "slider"}
    | {"spinbutton", "switch", "tab", "textbox"}
)


def page_outline(page: PageSnapshot) -> str:
    """List fields, buttons and links; the last line counts omitted ones."""
    lines = list(_element_lines(page))
    left = len(lines) - MAX_ELEMENTS
    return "\n".join((*lines[:MAX_ELEMENTS], *((f"and {left} more",) if left > 0 else ())))


def _element_lines(page: PageSnapshot) -> Iterator[str]:
    for frame in page.frames:
        for each in locate_elements(frame):
            if each.role in _INTERACTIVE_ROLES or each.node.tag == "input":
                yield f"{f'frame {frame.path}: ' if frame.path else ''}{_element_line(each)}"


def _element_line(each: LocatedElement) -> str:
    attributes = "".join(f' {name}="{value[:_MAX_TEXT_LENGTH]}"' for name, value in each.attributes)
    return f"<{each.node.tag}{attributes}> {each.role} {each.name[:_MAX_TEXT_LENGTH]!r}"
