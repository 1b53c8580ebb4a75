"""Compare who an element was with who it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eikon_engine.trace.target import Identity

NAMING: Final = frozenset(
    {"action", "alt", "data-id", "data-test", "data-testid", "for", "formaction", "href", "id", "name", "placeholder"}
    | {"src", "title"}
)
"""Attributes that name an element; `role`, `type`, `method` and `target` only say of what kind it is."""


def identity_differences(recorded: Identity, observed: Identity) -> tuple[str, ...]:
    """Name the properties in which two elements differ, as `property: recorded -> observed`.

    The box is evidence, not identity: it depends on fonts and is left out.
    """
    plain = tuple(
        f"{name}: {getattr(recorded, name)!r} -> {getattr(observed, name)!r}"
        for name in ("tag", "role", "name", "text", "ordinal")
        if getattr(recorded, name) != getattr(observed, name)
    )
    return (*plain, *_attribute_differences(recorded, observed), *_ancestor_differences(recorded, observed))


def weakness(identity: Identity) -> str | None:
    """Say why an element could be taken for another one, or another for it; None if something names it.

    Its place alone - tag, ancestors, number among its like - changes with everything around it.
    """
    if identity.name or identity.text or any(name in NAMING for name, _ in identity.attributes):
        return None
    return "nothing names it (no accessible name, text, id, test id or address): only its place tells it from others"


def _attribute_differences(recorded: Identity, observed: Identity) -> tuple[str, ...]:
    before, after = dict(recorded.attributes), dict(observed.attributes)
    return tuple(
        f"attribute {name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _ancestor_differences(recorded: Identity, observed: Identity) -> tuple[str, ...]:
    if recorded.ancestors == observed.ancestors:
        return ()
    return (f"ancestors: {_path(recorded)} -> {_path(observed)}",)


def _path(identity: Identity) -> str:
    return " > ".join(
        ancestor.tag + (f"#{ancestor.id}" if ancestor.id else "") for ancestor in reversed(identity.ancestors)
    )
