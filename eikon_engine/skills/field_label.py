"""The labels of form controls, by HTML and ARIA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.skills.document import normalize_text, parent_element, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document

_CONTROL_TAGS: Final = frozenset({"select", "textarea", "button", "input", "datalist"})


class FormLabels:
    """The labels of the form controls of one page."""

    def __init__(self, document: Document) -> None:
        """Index labels and ids; if ids repeat, the first element counts, as in a browser."""
        self._document = document
        self._labels_by_id: dict[str, list[LexborNode]] = {}
        for label in document.tree.css("label[for]"):
            self._labels_by_id.setdefault(label.attributes.get("for") or "", []).append(label)
        self._by_id: dict[str, LexborNode] = {}
        for node in document.tree.css("[id]"):
            self._by_id.setdefault(node.attributes.get("id") or "", node)
        # Compare nodes by `mem_id`: `==` compares their HTML.

    def label_of(self, control: LexborNode) -> str | None:
        """Return the first of `aria-labelledby`, `aria-label`, labels, title, placeholder; None if all are missing."""
        attributes = control.attributes
        texts = (
            self._texts(self._by_id.get(name) for name in (attributes.get("aria-labelledby") or "").split()),
            normalize_text(attributes.get("aria-label") or ""),
            self._texts(self._labels(control, attributes)),
            normalize_text(attributes.get("title") or ""),
            normalize_text(attributes.get("placeholder") or ""),
        )
        return next((text for text in texts if text), None)

    def _labels(self, control: LexborNode, attributes: Mapping[str, str | None]) -> list[LexborNode]:
        identity = attributes.get("id")
        first = self._by_id.get(identity or "")
        named = (
            self._labels_by_id.get(identity or "", []) if first is not None and first.mem_id == control.mem_id else []
        )
        around = parent_element(control)
        while around is not None and around.tag != "label":
            around = parent_element(around)
        wraps = around is not None and "for" not in around.attributes
        return [*named, *((around,) if wraps and around is not None else ())]

    @staticmethod
    def _texts(nodes: Iterable[LexborNode | None]) -> str:
        found = [text_of(node, excluded=_CONTROL_TAGS) for node in nodes if node is not None]
        return " ".join(text for text in found if text)


def group_label(control: LexborNode) -> str | None:
    """Return the legend of the nearest `<fieldset>` around a control, or None."""
    current = parent_element(control)
    while current is not None:
        if current.tag == "fieldset":
            legend = next((child for child in current.iter() if child.tag == "legend"), None)
            return text_of(legend) or None if legend is not None else None
        current = parent_element(current)
    return None
