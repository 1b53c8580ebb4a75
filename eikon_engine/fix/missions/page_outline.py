"""Outline of a page for a model: one line for each interactive element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.identities import locate_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.identities import Located
    from eikon_engine.trace.dom.tree import PageSnapshot

MOST_ELEMENTS: Final = 150
_LONGEST: Final = 80
_ACTED_ON: Final = frozenset(
    {"button", "checkbox", "combobox", "link", "listbox", "menuitem", "option", "radio", "searchbox", "slider"}
    | {"spinbutton", "switch", "tab", "textbox"}
)


def outline(page: PageSnapshot) -> str:
    """List fields, buttons and links; the last line counts omitted ones."""
    lines = list(_lines(page))
    left = len(lines) - MOST_ELEMENTS
    return "\n".join((*lines[:MOST_ELEMENTS], *((f"and {left} more",) if left > 0 else ())))


def _lines(page: PageSnapshot) -> Iterator[str]:
    for frame in page.frames:
        for each in locate_all(frame):
            if each.role in _ACTED_ON or each.node.tag == "input":
                yield f"{f'frame {frame.path}: ' if frame.path else ''}{_line(each)}"


def _line(each: Located) -> str:
    attributes = "".join(f' {name}="{value[:_LONGEST]}"' for name, value in each.attributes)
    return f"<{each.node.tag}{attributes}> {each.role} {each.name[:_LONGEST]!r}"
