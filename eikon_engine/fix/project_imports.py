"""Find what source files import, and what commands, scripts and `package.json` run.

Sources: https://docs.python.org/3/using/cmdline.html, https://nodejs.org/api/packages.html,
https://docs.npmjs.com/cli/configuring-npm/package-json
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_START: Final = r"(?:^|[;:])[ \t]*"
_IMPORT: Final = re.compile(_START + r"import[ \t]+([^\n;]+)", re.MULTILINE)
_FROM: Final = re.compile(
    _START + r"from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n;]+)", re.MULTILINE
)
_COMMENT: Final = re.compile(r"#[^\n]*")
_CALL: Final = re.compile(r"""\b(?:import_module|importorskip|__import__)\(\s*["']([\w.]+)["']""")
_IDENTIFIER: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module, and the names imported from it."""

    module: str
    """Dotted name; may be empty if `level` is not 0."""
    level: int = 0
    """Number of leading dots."""
    names: tuple[str, ...] = ()


def find_imports(text: str) -> tuple[Import, ...]:
    """Return the imports of a source text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = _match_imports(_COMMENT.sub("", text.replace("\\\n", " ")))
    else:
        found = _parse_imports(tree)
    return (*found, *(Import(module=name) for name in _CALL.findall(text)))


def _parse_imports(tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(module=each.name) for each in names)
            case ast.ImportFrom(module=module, level=level, names=names):
                yield Import(module=module or "", level=level, names=tuple(each.name for each in names))
            case _:
                pass


def _match_imports(text: str) -> Iterator[Import]:
    for names in _IMPORT.findall(text):
        yield from (Import(module=each.split(" as ")[0].strip()) for each in names.split(","))
    for found in _FROM.finditer(text):
        yield Import(module=found["module"], level=len(found["dots"]), names=tuple(_IDENTIFIER.findall(found["names"])))


_RUN_OPTION: Final = re.compile(
    r"""(?P<end>[;&|])|(?P<marks>\b(?:pytest|py\.test|git)\b(?=[\s"']))"""
    r"""|(?<![\w-])-[bBdEhiIOPqRsSuvVx]*m[\s"',]*(?P<module>[A-Za-z_][\w.]*)(?=(?P<more>[^;&|\n]*))"""
)
_UNITTEST_OPTION: Final = re.compile(
    r"""[\s"',]-(?:-pattern|-start-directory|-top-level-directory|[kpst])[\s"',=]+[^\s"',]+"""
)
"""Options of unittest whose value is not a module; source: https://docs.python.org/3/library/unittest.html."""
_MODULE_NAME: Final = re.compile(r"(?<![\w./=-])[A-Za-z_]\w*(?:\.\w+)*(?![\w/-])")


def modules_run(text: str) -> Iterator[str]:
    """Yield the files of the modules that are run, as paths relative to an import root.

    `-m` of pytest takes a marker and `-m` of git a message, so these are skipped. Arguments of unittest are modules.
    """
    takes_marks = False
    for found in _RUN_OPTION.finditer(text):
        module = found["module"]
        if module is None:
            takes_marks = found["marks"] is not None
        elif not takes_marks:
            takes_marks = module == "pytest"
            yield from _module_files(module)
            if module == "unittest":
                for name in _MODULE_NAME.findall(_UNITTEST_OPTION.sub(" ", found["more"])):
                    parts = name.split(".")
                    yield from (
                        each for end in range(1, len(parts) + 1) for each in _module_files(".".join(parts[:end]))
                    )


def _module_files(module: str) -> tuple[str, str]:
    path = module.strip(".").replace(".", "/")
    return f"{path}.py", f"{path}/__main__.py"


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
