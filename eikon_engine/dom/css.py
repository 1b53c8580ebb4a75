"""Match CSS selectors against a stored document.

`cssselect` parses the selectors. Supported are types, ids, classes, attributes, the four combinators, `:not()`,
`:is()`, `:where()` and the structural pseudo-classes; each shadow root is a separate tree, as for `querySelectorAll`.
https://www.w3.org/TR/selectors-4/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cssselect import SelectorError, parse
from cssselect import parser as css

from eikon_engine.errors import TraceFieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.dom.tree import DomNode


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementPosition:
    """An element and its position in its tree."""

    node: DomNode
    parent: ElementPosition | None
    """None for the root of a document or shadow root."""
    siblings: tuple[DomNode, ...]
    """All child elements of the parent."""
    index: int
    """Index among the siblings, from 0."""

    @property
    def preceding_siblings(self) -> Iterator[ElementPosition]:
        """Yield the preceding siblings, nearest first."""
        for place in reversed(range(self.index)):
            yield ElementPosition(node=self.siblings[place], parent=self.parent, siblings=self.siblings, index=place)

    @property
    def ancestors(self) -> Iterator[ElementPosition]:
        """Yield the ancestors, nearest first."""
        here = self.parent
        while here is not None:
            yield here
            here = here.parent


class CssSelector:
    """A parsed CSS selector."""

    def __init__(self, text: str) -> None:
        """Parse a selector.

        Raises:
            TraceFieldError: the selector is invalid or uses unsupported syntax.
        """
        try:
            self._alternatives = tuple(parse(text))
        except SelectorError as error:
            message = f"expected a CSS selector, got {text!r}: {error}"
            raise TraceFieldError(message) from error
        for each in self._alternatives:
            if each.pseudo_element is not None:
                message = f"expected a CSS selector of elements, got {text!r}: pseudo-elements are not in a document"
                raise TraceFieldError(message)
            _require_supported(each.parsed_tree, text)

    def matches(self, position: ElementPosition) -> bool:
        """Return whether the selector matches an element."""
        return any(_matches(each.parsed_tree, position) for each in self._alternatives)


def element_positions(nodes: tuple[DomNode, ...], parent: ElementPosition | None = None) -> tuple[ElementPosition, ...]:
    """Return the elements among the child nodes of one parent, with their positions."""
    elements = tuple(node for node in nodes if not node.is_text)
    return tuple(
        ElementPosition(node=node, parent=parent, siblings=elements, index=place) for place, node in enumerate(elements)
    )


_STRUCTURAL: Final[dict[str, Callable[[ElementPosition], bool]]] = {
    "first-child": lambda spot: spot.index == 0,
    "last-child": lambda spot: spot.index == len(spot.siblings) - 1,
    "only-child": lambda spot: len(spot.siblings) == 1,
    "first-of-type": lambda spot: spot.node.tag not in {each.tag for each in spot.siblings[: spot.index]},
    "last-of-type": lambda spot: spot.node.tag not in {each.tag for each in spot.siblings[spot.index + 1 :]},
    "only-of-type": lambda spot: [each.tag for each in spot.siblings].count(spot.node.tag) == 1,
    "empty": lambda spot: not spot.node.children,
    "root": lambda spot: spot.parent is None,
}


_INDEXED: Final[dict[str, Callable[[ElementPosition], int]]] = {
    "nth-child": lambda spot: spot.index + 1,
    "nth-last-child": lambda spot: len(spot.siblings) - spot.index,
    "nth-of-type": lambda spot: [each.tag for each in spot.siblings[: spot.index + 1]].count(spot.node.tag),
    "nth-last-of-type": lambda spot: [each.tag for each in spot.siblings[spot.index :]].count(spot.node.tag),
}
"""Pseudo-classes with an `An+B` argument: they map an element to its index, from 1."""


def _require_supported(tree: css.Tree, text: str) -> None:
    """Reject syntax that `_matches` does not support."""
    match tree:
        case css.Element(namespace=None):
            return
        case css.Function(selector=inner, name=name, arguments=arguments) if name in _INDEXED and _is_nth_argument(
            arguments
        ):
            _require_supported(inner, text)
        case css.Pseudo(selector=inner, ident=name) if name in _STRUCTURAL:
            _require_supported(inner, text)
        case css.Hash(selector=inner) | css.Class(selector=inner):
            _require_supported(inner, text)
        case css.Attrib(selector=inner, namespace=None, operator=operator, flag=None) if (
            operator in _ATTRIBUTE_OPERATORS
        ):
            _require_supported(inner, text)
        case css.Negation(selector=inner, subselector=other) | css.CombinedSelector(selector=inner, subselector=other):
            _require_supported(inner, text)
            _require_supported(other, text)
        case (
            css.Matching(selector=inner, selector_list=others)
            | css.SpecificityAdjustment(selector=inner, selector_list=others)
        ):
            _require_supported(inner, text)
            for other in others:
                _require_supported(other, text)
        case _:
            message = f"the CSS selector {text!r} uses unsupported syntax: {tree!r}"
            raise TraceFieldError(message)


def _matches(tree: css.Tree, spot: ElementPosition) -> bool:  # noqa: PLR0911 - one case a kind of selector
    node = spot.node
    match tree:
        case css.Element(element=name):
            return name is None or node.tag.lower() == name.lower()
        case css.Hash(selector=inner, id=name):
            return node.attribute("id") == name and _matches(inner, spot)
        case css.Class(selector=inner, class_name=name):
            return name in (node.attribute("class") or "").split() and _matches(inner, spot)
        case css.Attrib(selector=inner, attrib=name, operator=operator, value=value):
            found = node.attribute(name)
            expected = "" if value is None else value.value or ""
            return found is not None and _ATTRIBUTE_OPERATORS[operator](found, expected) and _matches(inner, spot)
        case css.Pseudo(selector=inner, ident=name):
            return _STRUCTURAL[name](spot) and _matches(inner, spot)
        case css.Function(selector=inner, name=name, arguments=arguments):
            step, first = css.parse_series(arguments)
            return _matches_nth(_INDEXED[name](spot), step, first) and _matches(inner, spot)
        case css.Negation(selector=inner, subselector=other):
            return not _matches(other, spot) and _matches(inner, spot)
        case (
            css.Matching(selector=inner, selector_list=others)
            | css.SpecificityAdjustment(selector=inner, selector_list=others)
        ):
            return any(_matches(other, spot) for other in others) and _matches(inner, spot)
        case css.CombinedSelector(selector=inner, combinator=combinator, subselector=own):
            return _matches(own, spot) and any(_matches(inner, each) for each in _related(spot, combinator))
        case _:
            message = f"{tree!r} should have been rejected by the parser"
            raise AssertionError(message)


def _is_nth_argument(arguments: Sequence[css.Token]) -> bool:
    try:
        css.parse_series(arguments)
    except ValueError:
        return False
    return True


def _matches_nth(number: int, step: int, first: int) -> bool:
    """Return whether a number is `first` plus a non-negative multiple of `step`."""
    distance = number - first
    return distance == 0 if step == 0 else distance % step == 0 and distance // step >= 0


def _related(spot: ElementPosition, combinator: str) -> Iterator[ElementPosition]:
    match combinator:
        case " ":
            yield from spot.ancestors
        case ">":
            yield from () if spot.parent is None else (spot.parent,)
        case "+":
            yield from (each for each in spot.preceding_siblings if each.index == spot.index - 1)
        case _:
            yield from spot.preceding_siblings


_ATTRIBUTE_OPERATORS: Final[dict[str, Callable[[str, str], bool]]] = {
    "exists": lambda _found, _expected: True,
    "=": lambda found, expected: found == expected,
    "~=": lambda found, expected: expected in found.split(),
    "|=": lambda found, expected: found == expected or found.startswith(f"{expected}-"),
    "^=": lambda found, expected: expected != "" and found.startswith(expected),
    "$=": lambda found, expected: expected != "" and found.endswith(expected),
    "*=": lambda found, expected: expected != "" and expected in found,
}
