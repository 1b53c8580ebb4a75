"""Read from `package.json` which files belong to the package, and what its scripts and test tool settings run.

Source: https://nodejs.org/api/packages.html, https://docs.npmjs.com/cli/configuring-npm/package-json
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANIFEST: Final = "package.json"
_ENTRY_FIELDS: Final = ("main", "module", "exports", "imports", "bin", "browser", "source", "types", "typings")
"""Fields that list the files of a package."""
_TOOL_SETTINGS: Final = ("ava", "babel", "config", "cypress", "jest", "karma", "mocha", "nyc", "tap", "vitest", "wtr")
"""Settings of test runners and of tools they load."""
_INSTALL_SCRIPTS: Final = frozenset({"preinstall", "install", "postinstall", "prepublish", "prepare"})
"""Scripts that an installation runs; source: https://docs.npmjs.com/cli/using-npm/scripts."""
_TOKEN: Final = re.compile(r"""[^\s"'`;&|(),\[\]{}=]+""")


def entry_paths(name: str, text: str) -> Iterator[str]:
    """Yield the entry paths of a package; they may contain `*` and omit extensions."""
    manifest = _parse_manifest(text)
    folder = PurePosixPath(name).parent.as_posix()
    for key in _ENTRY_FIELDS:
        yield from (normpath(f"{folder}/{each}") for each in _strings(manifest.get(key)))


def package_name(text: str) -> str | None:
    """Return the name by which other files import a package."""
    name = _parse_manifest(text).get("name")
    return name if isinstance(name, str) and name else None


def scripts_run_by(manifest: str, caller: str) -> str:
    """Return the parts of a `package.json` that run if a text names its scripts, including scripts they call.

    If no script is named or the file cannot be parsed, return all of it.
    """
    read = _parse_manifest(manifest)
    told = read.get("scripts")
    scripts = {key: each for key, each in told.items() if isinstance(each, str)} if isinstance(told, dict) else {}
    wanted: set[str] = set()
    texts = [caller]
    while texts:
        new = _named_scripts(texts.pop(), scripts) - wanted
        wanted |= new
        texts += (scripts[key] for key in new)
    if not wanted:
        return manifest
    words = set(_TOKEN.findall(caller)) | {word for key in wanted for word in _TOKEN.findall(scripts[key])}
    tools = (each for key in _TOOL_SETTINGS for each in _strings(read.get(key)))
    return "\n".join((*(scripts[key] for key in sorted(wanted)), *tools, *_bin_programs(read, words)))


def _named_scripts(text: str, scripts: Mapping[str, str]) -> set[str]:
    """Return the scripts that a text names, including glob patterns, and their `pre` and `post` scripts."""
    words = set(_TOKEN.findall(text))
    if words & {"t", "tst", "it", "install-test", "cit"}:
        words.add("test")
    if words & {"i", "install", "ci"}:
        words |= _INSTALL_SCRIPTS
    named = {key for key in scripts if any(key == word or ("*" in word and fnmatchcase(key, word)) for word in words)}
    return named | {f"{side}{key}" for key in named for side in ("pre", "post") if f"{side}{key}" in scripts}


def _bin_programs(manifest: Mapping[str, Any], words: set[str]) -> Iterator[str]:
    """Yield the programs of a package that `npx` would run for one of these words."""
    programs = manifest.get("bin")
    if isinstance(programs, str) and str(manifest.get("name")) in words:
        yield programs
    if isinstance(programs, dict):
        yield from (str(path) for key, path in programs.items() if key in words)


def _parse_manifest(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _strings(value: object) -> Iterator[str]:
    """Yield the strings of a JSON value at any depth, without keys."""
    match value:
        case str():
            yield value
        case list():
            yield from (each for item in value for each in _strings(item))
        case dict():
            yield from (each for item in value.values() for each in _strings(item))
        case _:
            pass
