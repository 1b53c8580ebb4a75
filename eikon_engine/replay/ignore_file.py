"""Read the masks of `--ignore FILE`: a TOML file of `[[ignore]]` tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from eikon_engine.errors import UsageError
from eikon_engine.files.limits import MAX_SETTINGS_BYTES, parse_toml, read_file
from eikon_engine.files.models import describe_fault
from eikon_engine.trace.masks import Mask

if TYPE_CHECKING:
    from pathlib import Path

_KINDS: Final = ("selector", "request", "storage", "read", "console_error", "title")
_KEYS: Final = frozenset({"name", "reason", "url", "frame", "attribute", *_KINDS})


def read_ignore_file(path: Path) -> tuple[Mask, ...]:
    """Return the masks of a file; unnamed ones are numbered.

    Raises:
        UsageError: the file cannot be read, or a table is not a valid mask with a reason.
    """
    try:
        data: dict[str, Any] = parse_toml(read_file(path, limit=MAX_SETTINGS_BYTES))
    except OSError as error:
        message = f"{path}: expected a TOML file of [[ignore]] tables, got: {error.strerror}; check the path"
        raise UsageError(message) from error
    except ValueError as error:
        raise UsageError(f"{path}: expected a TOML file of [[ignore]] tables, got: {error}") from error
    tables = data.pop("ignore", [])
    if data or not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        found = ", ".join(sorted(data)) or "another type of ignore"
        raise UsageError(f"{path}: expected only [[ignore]] tables, got {found}")
    masks = tuple(_mask(each, f"{path}, ignore {number}", number) for number, each in enumerate(tables, start=1))
    names = [mask.name for mask in masks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: duplicate name {twice!r}. Give each ignore its own name.")
    return masks


def _mask(table: dict[str, Any], where: str, number: int) -> Mask:
    unknown = sorted(table.keys() - _KEYS)
    if unknown:
        raise UsageError(f"{where}: unknown key {unknown[0]!r}: expected one of {', '.join(sorted(_KEYS))}")
    what = [name for name in _KINDS if name in table]
    if len(what) != 1:
        raise UsageError(f"{where}: expected one of {', '.join(_KINDS)}, got {', '.join(what) or 'none'}")
    if "reason" not in table:
        raise UsageError(f"{where}: reason: this field is missing; add why the {what[0]} may differ")
    kind = what[0]
    if "attribute" in table and kind != "selector":
        raise UsageError(f"{where}: attribute requires selector, got {kind}")
    if kind == "title" and table[kind] is not True:
        raise UsageError(f"{where}: title: expected true, got {table[kind]!r}")
    fields: dict[str, Any] = {name: table[name] for name in ("url", "frame") if name in table}
    try:
        named = {"name": table.get("name", f"ignore-{number}"), "reason": table["reason"]}
        return Mask.model_validate({**fields, **named, "part": _part(kind, table)})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"] if each not in {"part", kind})
        raise UsageError(f"{where}: {place or kind}: {describe_fault([first])}") from error


def _part(kind: str, table: dict[str, Any]) -> dict[str, Any]:
    match kind:
        case "selector":
            return {"kind": kind, "selector": table[kind], "attribute": table.get("attribute")}
        case "request":
            return {"kind": kind, "key": table[kind]}
        case "read":
            return {"kind": kind, "action": table[kind]}
        case "storage":
            return {"kind": kind, "name": table[kind]}
        case "console_error":
            return {"kind": kind, "prefix": table[kind]}
        case _:
            return {"kind": kind}
