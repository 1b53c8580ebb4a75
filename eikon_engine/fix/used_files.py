"""Find the files of a project that other files import, load or name: modules, as opposed to standalone programs.

Python is parsed where possible; other languages are matched by patterns. An ambiguous name counts for all files it may
refer to.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.bounds import is_test_file
from eikon_engine.fix.named_modules import modules_run
from eikon_engine.fix.node_packages import MANIFEST, entry_paths, package_name
from eikon_engine.fix.python_imports import find_imports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PYTHON: Final = frozenset({".py", ".pyi"})
JAVASCRIPT: Final = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"})
PAGES: Final = frozenset({".html", ".htm"})
_DOTTED: Final = re.compile(r"""["']([A-Za-z_]\w*(?:\.\w+)+)(?::\w+)?["']""")
_SPECIFIER: Final = re.compile(r"""(?:\bfrom|\bimport|\brequire|\bimport\.meta\.\w+)\s*\(?\s*["'`]([^"'`\n]+)["'`]""")
_FILE: Final = re.compile(r"""["'`]([\w./@~-]+\.\w+)["'`]""")


def imported_files(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the files that others use, given texts by file name."""
    names = {package_name(text): PurePosixPath(name).parent for name, text in texts.items() if _is_manifest(name)}
    known = _FileIndex(texts, {name: folder.as_posix() for name, folder in names.items() if name is not None})
    found: set[str] = set()
    for name, text in texts.items():
        here = PurePosixPath(name).parent.as_posix()
        suffix = PurePosixPath(name).suffix
        if suffix in PYTHON:
            found.update(each for path in _imported_modules(text, here) for each in known.modules(path, name))
        if suffix in PYTHON | JAVASCRIPT and is_test_file(PurePosixPath(name)):
            run = (path.removesuffix(".py") for path in modules_run(text))
            found.update(each for path in run for each in known.modules(path, name))
        if suffix in JAVASCRIPT:
            found.update(each for path in _SPECIFIER.findall(text) for each in known.specifiers(path, here, name))
        if _is_manifest(name):
            found.update(each for path in entry_paths(name, text) for each in known.entries(path))
        if suffix in PYTHON | JAVASCRIPT | PAGES:
            found.update(each for path in _FILE.findall(text) for each in known.files(path, here, name))
    return frozenset(found)


def _is_manifest(name: str) -> bool:
    return PurePosixPath(name).name == MANIFEST


def _imported_modules(text: str, here: str) -> Iterator[str]:
    """Yield the modules that a Python file may import, as paths; relative imports start with `./`."""
    for found in find_imports(text):
        path = found.module.replace(".", "/")
        if found.level:
            path = "./" + normpath("/".join((here, *[".."] * (found.level - 1), path or ".")))
        yield path
        yield from (f"{path}/{name}" for name in found.names)
    yield from (name.replace(".", "/") for name in _DOTTED.findall(text))


class _FileIndex:
    """The files of a project, indexed by the names they may be referred to."""

    def __init__(self, names: Iterable[str], packages: Mapping[str, str]) -> None:
        """Index files, and folders of Node packages by package name."""
        self._packages = packages
        self._by_tail: dict[str, list[str]] = {}
        self._by_stem: dict[str, list[str]] = {}
        for name in names:
            path = PurePosixPath(name)
            self._by_tail.setdefault(path.name, []).append(name)
            self._by_stem.setdefault(path.parent.name if path.stem in {"__init__", "index"} else path.stem, []).append(
                name
            )

    def modules(self, path: str, importer: str) -> Iterator[str]:
        """Yield the files of a Python module, and of its parent packages."""
        is_near = path.startswith("./")
        plain = normpath(path)
        while plain not in {"", "."}:
            yield from (
                name
                for name in self._by_stem.get(PurePosixPath(plain).name, ())
                if name != importer
                and PurePosixPath(name).suffix in PYTHON
                and _matches_path(_import_path(name), plain, is_near=is_near)
            )
            plain = plain.rpartition("/")[0]

    def specifiers(self, path: str, here: str, importer: str) -> Iterator[str]:
        """Yield the files that a JavaScript specifier may refer to."""
        package = next((each for each in self._packages if path == each or path.startswith(f"{each}/")), None)
        if package is not None:
            path, here = f".{path.removeprefix(package)}", self._packages[package]
        is_near = path.startswith(".")
        plain = normpath(f"{here}/{path}") if is_near else path.lstrip("@~/")
        stems = {plain, re.sub(r"\.[cm]?[jt]sx?$", "", plain)}
        for stem in stems | {normpath(f"{each}/..") for each in stems if PurePosixPath(each).name == "index"}:
            names = self._by_stem.get(PurePosixPath(stem).name, ())
            yield from (
                name for name in names if name != importer and _matches_path(_import_path(name), stem, is_near=is_near)
            )

    def entries(self, path: str) -> Iterator[str]:
        """Yield the files of a package for a path relative to the tree, which may contain `*` or omit the extension."""
        if "*" in path:
            names = (name for below in self._by_tail.values() for name in below)
            yield from (name for name in names if fnmatchcase(name, path))
        yield from self.specifiers(f"./{path}", ".", "")

    def files(self, path: str, here: str, importer: str) -> Iterator[str]:
        """Yield the files that a quoted text may refer to."""
        wanted = {normpath(path).lstrip("/"), normpath(f"{here}/{path}")}
        for name in self._by_tail.get(PurePosixPath(path).name, ()):
            if name != importer and any(_matches_path(name, each, is_near=False) for each in wanted):
                yield name


def _import_path(name: str) -> str:
    """Return the import path of a file: without extension; a package is its folder."""
    path = PurePosixPath(name)
    return (path.parent if path.stem in {"__init__", "index"} else path.with_suffix("")).as_posix()


def _matches_path(name: str, wanted: str, *, is_near: bool) -> bool:
    return name == wanted or (not is_near and name.endswith(f"/{wanted}"))
