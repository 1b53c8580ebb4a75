"""The target of an action, the identity of the recorded element, and how two identities differ."""

import re
from collections.abc import Callable
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from eikon_engine.files.models import FileModel
from eikon_engine.files.text import read_digits
from eikon_engine.trace.generated_ids import is_generated_id


class Box(FileModel):
    """A rectangle in CSS pixels, relative to the viewport of the element's frame."""

    x: float
    y: float
    width: float
    height: float


class Ancestor(FileModel):
    """An ancestor of the target."""

    tag: str
    id: str = ""
    role: str = ""


class Identity(FileModel):
    """Identity of the element an action acted on: distinguishes it from all others, whatever selector found it."""

    tag: str
    role: str = ""
    """ARIA role, explicit or implied; empty if the element has none."""
    name: str = ""
    """Accessible name."""
    text: str = ""
    """Text content, white space collapsed, at most 200 characters; empty for form fields."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Stable attributes (`id`, `name`, `type`, `href`, `data-testid` …), sorted by name."""
    ancestors: tuple[Ancestor, ...] = ()
    ordinal: int = 0
    """Position among the elements with the same tag and text in its document or shadow root, from 0."""
    ordinal_of_kind: int | None = None
    """Position among those that also have its role, and the same tags and roles of the five nearest ancestors, from 0;
    compared instead of `ordinal`, which changes with elements elsewhere. None in older recordings."""
    box: Box | None = None
    """Evidence only: it depends on fonts and viewport and is never compared."""


class Target(FileModel):
    """A selector that must match exactly one element, in one frame of one page."""

    selector: str = Field(min_length=1)
    """Playwright selector, as recorded."""
    frames: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Selectors of the enclosing iframes, outermost first; empty for the main frame."""
    alternatives: tuple[str, ...] = ()
    """Other selectors known at recording; shown in explanations, never tried."""
    identity: Identity | None = None
    """None if the recording did not identify the element (older formats, edits)."""

    def __str__(self) -> str:
        """Return the frame selectors and the selector, joined by ` >> `."""
        return " >> ".join((*self.frames, self.selector))


IDENTIFYING_ATTRIBUTES: Final = frozenset(
    {"action", "alt", "data-id", "data-test", "data-testid", "for", "formaction", "href", "id", "name", "placeholder"}
    | {"src", "title"}
)
"""Attributes that identify an element; `role`, `type`, `method` and `target` only describe its kind."""
_ID_ATTRIBUTES: Final = frozenset({"for", "id", "name"})
"""Attributes whose values may be different in each run; such values are not compared, nor are URLs of blobs."""


def identity_differences(recorded: Identity, observed: Identity) -> tuple[str, ...]:
    """Return the properties in which two elements differ, as `property: recorded -> observed`.

    The box is not compared: it depends on fonts. Generated ids are not compared: they vary from run to run.
    """
    plain = tuple(
        f"{name}: {getattr(recorded, name)!r} -> {getattr(observed, name)!r}"
        for name in ("tag", "role", "name", "text")
        if getattr(recorded, name) != getattr(observed, name)
    )
    before, after = compared_positions(recorded, observed)
    position = () if before == after else (f"ordinal: {before} -> {after}",)
    return (*plain, *position, *_attribute_differences(recorded, observed), *_ancestor_differences(recorded, observed))


def compared_positions(recorded: Identity, observed: Identity) -> tuple[int, int]:
    """Return the positions of two elements by the narrowest count that both have."""
    if recorded.ordinal_of_kind is None or observed.ordinal_of_kind is None:
        return recorded.ordinal, observed.ordinal
    return recorded.ordinal_of_kind, observed.ordinal_of_kind


IsSameText: TypeAlias = Callable[[str, str], bool]
"""Whether two different texts, recorded and observed, count as the same."""


def target_differences(target: Target, observed: Identity, is_same_text: IsSameText | None = None) -> tuple[str, ...]:
    """Return the properties in which the element of a target differs from the recorded one, as above.

    Name, text and attributes for which `is_same_text` holds are the same.

    Unless the selector counts elements, too: the position of an element without text, which counts others whatever
    their names, is not compared if the selector finds the element by its name or its id; and ages in the text of such
    an element, as in `saved 14 s ago`, may differ by up to a minute. An element with an id may have been wrapped, and a
    title that names an element may have been taken away for a tooltip, as scripts do once a page is loaded.
    """
    recorded = target.identity
    if recorded is None:
        return ()
    if is_same_text is not None:
        recorded = _with_same_texts(recorded, observed, is_same_text)
    if _has_moved_title(recorded, observed):
        recorded, observed = map(_without_title, (recorded, observed))
    if _is_wrapped(recorded, observed):
        recorded = recorded.model_copy(update={"ordinal_of_kind": None, "ancestors": observed.ancestors})
    if not _POSITION.search(_QUOTED.sub("", target.selector)):
        named_by = _compared_attributes(recorded).get("id")
        is_named = (named_by and named_by in target.selector) or _has_name(target.selector, recorded.name)
        has_aged = recorded.text != observed.text and _has_aged(recorded, observed)
        if is_named and (has_aged or not recorded.text):
            place = {"ordinal": observed.ordinal, "ordinal_of_kind": observed.ordinal_of_kind}
            recorded = recorded.model_copy(update={**place, "text": observed.text if has_aged else ""})
    return identity_differences(recorded, observed)


def _with_same_texts(recorded: Identity, observed: Identity, is_same_text: IsSameText) -> Identity:
    """Return the recorded element with the observed texts where they count as the same."""

    def text(ours: str, theirs: str) -> str:
        return theirs if ours != theirs and is_same_text(ours, theirs) else ours

    now = dict(observed.attributes)
    attributes = tuple((name, text(value, now.get(name, value))) for name, value in recorded.attributes)
    texts = {"name": text(recorded.name, observed.name), "text": text(recorded.text, observed.text)}
    return recorded.model_copy(update={**texts, "attributes": attributes})


def _has_moved_title(recorded: Identity, observed: Identity) -> bool:
    """Return whether one of two elements lacks a title that is the name of both."""
    titles = {dict(each.attributes).get("title") for each in (recorded, observed)}
    return bool(recorded.name) and recorded.name == observed.name and titles == {None, recorded.name}


def _without_title(identity: Identity) -> Identity:
    return identity.model_copy(update={"attributes": tuple(each for each in identity.attributes if each[0] != "title")})


_POSITION: Final = re.compile(r"\bnth\b|:(?:first|last|only)-|\b(?:position|last)\(|\[\d+\]")
"""What counts elements in a selector, in CSS, XPath and Playwright."""
_QUOTED: Final = re.compile(r"""(["']).*?\1""")
_NAMED: Final = re.compile(r"""\b(?:label|name|placeholder|title|alt)=(["'])(.+?)\1""")
"""What finds elements by their accessible name or a part of it: a role with a name, a label and the like."""


def _has_name(selector: str, name: str) -> bool:
    """Return whether a selector has an accessible name, or finds elements by a part of it."""
    parts = (match[2] for match in _NAMED.finditer(selector))
    return bool(name) and (name.lower() in selector.lower() or any(part.lower() in name.lower() for part in parts))


MAX_TEXT: Final = 200
"""Characters of `Identity.text`; longer texts are cut."""
AGE_TOLERANCE_S: Final = 60
"""How much two ages may differ, in seconds."""
_AGE: Final = re.compile(
    r"(?P<count>(?<!\d)\d{1,3}|\b(?:an?|one|a few|less than a))\s?(?P<unit>s|sec(?:ond)?s?|m|min(?:ute)?s?)\sago\b"
    r"|\bjust now\b",
    re.IGNORECASE,
)


def _has_aged(recorded: Identity, observed: Identity) -> bool:
    """Return whether the texts of two elements of one name differ only in ages."""
    ours, theirs = (tuple(map(_age_s, _AGE.finditer(each.text))) for each in (recorded, observed))
    if not recorded.name or recorded.name != observed.name or not ours or len(ours) != len(theirs):
        return False
    one, other = (_AGE.sub("", each.text) for each in (recorded, observed))
    if max(len(recorded.text), len(observed.text)) >= MAX_TEXT:
        one, other = (each[: min(len(one), len(other))] for each in (one, other))
    return one == other and all(abs(a - b) <= AGE_TOLERANCE_S for a, b in zip(ours, theirs, strict=True))


def _age_s(match: re.Match[str]) -> int:
    """Return an age in seconds; words such as `a few` count as 1, and `just now` as 0."""
    count, unit = match["count"], match["unit"]
    if unit is None:
        return 0
    return (read_digits(count) if count.isdecimal() else 1) * (60 if unit[0] in "mM" else 1)


def identity_weakness(identity: Identity) -> str | None:
    """Return why an element could be confused with another one; None if an attribute or text identifies it.

    Its position alone (tag, ancestors, ordinal) changes with everything around it.
    """
    identifying = (each for each in identity.attributes if each[0] in IDENTIFYING_ATTRIBUTES)
    if identity.name or identity.text or not all(_is_generated(*each) for each in identifying):
        return None
    return "it has no accessible name, text, id, test id or address: only its position identifies it"


def _attribute_differences(recorded: Identity, observed: Identity) -> tuple[str, ...]:
    before, after = _compared_attributes(recorded), _compared_attributes(observed)
    return tuple(
        f"attribute {name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _compared_attributes(identity: Identity) -> dict[str, str]:
    return {name: value for name, value in identity.attributes if not _is_generated(name, value)}


def _is_generated(name: str, value: str) -> bool:
    return (name in _ID_ATTRIBUTES and is_generated_id(value)) or value.startswith("blob:")


def _ancestor_differences(recorded: Identity, observed: Identity) -> tuple[str, ...]:
    if recorded.ancestors == observed.ancestors:
        return ()
    if _ancestor_keys(recorded) == _ancestor_keys(observed):
        return ()
    return (f"ancestors: {_ancestor_path(recorded)} -> {_ancestor_path(observed)}",)


_WRAPPERS: Final = frozenset({"div", "span"})
_MIN_KNOWN_ANCESTORS: Final = 2
"""Recorded ancestors that must be left among the nearest ones, if there were as many."""


def _is_wrapped(recorded: Identity, observed: Identity) -> bool:
    """Return whether two elements have one id, and the second one more elements without a meaning around it."""
    named_by, other = (_compared_attributes(each).get("id") for each in (recorded, observed))
    if not named_by or named_by != other or recorded.ancestors == observed.ancestors:
        return False
    ours, known = _ancestor_keys(recorded), 0
    for tag, name, role in _ancestor_keys(observed):
        if known < len(ours) and ours[known] == (tag, name, role):
            known += 1
        elif tag not in _WRAPPERS or name or role:
            return False
    return known >= min(_MIN_KNOWN_ANCESTORS, len(ours))


def _ancestor_keys(identity: Identity) -> list[tuple[str, str, str]]:
    """Return tag, id and role of each ancestor, nearest first, without generated ids."""
    return [(each.tag, "" if is_generated_id(each.id) else each.id, each.role) for each in identity.ancestors]


def _ancestor_path(identity: Identity) -> str:
    return " > ".join(
        ancestor.tag + (f"#{ancestor.id}" if ancestor.id else "") for ancestor in reversed(identity.ancestors)
    )
