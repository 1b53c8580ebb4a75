"""Compare the recorded identity of an element with the observed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eikon_engine.trace.target import Identity

IDENTIFYING_ATTRIBUTES: Final = frozenset(
    {"action", "alt", "data-id", "data-test", "data-testid", "for", "formaction", "href", "id", "name", "placeholder"}
    | {"src", "title"}
)
"""Attributes that identify an element; `role`, `type`, `method` and `target` only describe its kind."""


def identity_differences(recorded: Identity, observed: Identity) -> tuple[str, ...]:
    """Return the properties in which two elements differ, as `property: recorded -> observed`.

    The box is not compared: it depends on fonts.
    """
    plain = tuple(
        f"{name}: {getattr(recorded, name)!r} -> {getattr(observed, name)!r}"
        for name in ("tag", "role", "name", "text", "ordinal")
        if getattr(recorded, name) != getattr(observed, name)
    )
    return (*plain, *_attribute_differences(recorded, observed), *_ancestor_differences(recorded, observed))


def identity_weakness(identity: Identity) -> str | None:
    """Return why an element could be confused with another one; None if an attribute or text identifies it.

    Its position alone (tag, ancestors, ordinal) changes with everything around it.
    """
    if identity.name or identity.text or any(name in IDENTIFYING_ATTRIBUTES for name, _ in identity.attributes):
        return None
    return "it has no accessible name, text, id, test id or address: only its position identifies it"


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
    return (f"ancestors: {_ancestor_path(recorded)} -> {_ancestor_path(observed)}",)


def _ancestor_path(identity: Identity) -> str:
    return " > ".join(
        ancestor.tag + (f"#{ancestor.id}" if ancestor.id else "") for ancestor in reversed(identity.ancestors)
    )
