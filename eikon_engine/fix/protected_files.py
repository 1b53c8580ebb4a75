"""Find the files that decide whether the tests pass, and reject fixes that change them.

A fix that changes what the test command runs, or shadows a module that the test runner imports, can make every test
pass. A Makefile, npm script or shell script can run any file, by names that only running it reveals. So the question is
inverted: a file is changeable if it is a module, i.e. source that another file imports, and the test command is not
known
to run it. Anything else can only be changed when it is named as a target file.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.allowed_files import is_test_file
from eikon_engine.fix.project_imports import (
    MANIFEST,
    entry_paths,
    find_imports,
    modules_run,
    package_name,
    scripts_run_by,
)
from eikon_engine.fix.retrieval.source_files import read_source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from eikon_engine.fix.models import Analysis

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


_TEST_RUNNERS: Final = frozenset(
    {"_pytest", "doctest", "iniconfig", "nose", "nose2", "pluggy", "pytest", "testtools", "tox", "unittest", "xdist"}
)
"""Modules of Python test runners and their dependencies; names starting with `pytest_` count, too."""
_AMBIGUOUS_RUNNERS: Final = frozenset({"coverage", "exceptiongroup", "green", "hypothesis", "py", "robot"})
"""Further such modules whose names are common: an existing file of that name belongs to the project."""
_MISSING_MODULE: Final = re.compile(r"No module named '(\w+)'")


def shadowed_modules(
    file: str, created: Collection[str], files: Collection[str], external: Collection[str]
) -> Iterator[str]:
    """Yield the modules that a file would shadow.

    `made` are the files that a fix creates, `files` those that existed before; `outside` are modules that the project
    imports but does not contain. A module inside a package shadows nothing.
    """
    path = PurePosixPath(file)
    new_packages = {each.parent for each in map(PurePosixPath, created) if each.name.partition(".")[0] == "__init__"}
    for number, name in enumerate(_module_names(path)):
        if number and (PurePosixPath(*path.parts[:number]) / "__init__.py").as_posix() in files:
            continue
        is_file = number == len(path.parts) - 1
        is_new = file in created if is_file else PurePosixPath(*path.parts[: number + 1]) in new_packages
        is_taken = name in _AMBIGUOUS_RUNNERS or name in sys.stdlib_module_names or name in external
        if name in _TEST_RUNNERS or name.startswith("pytest_") or (is_new and is_taken):
            yield name


def external_imports(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the modules that Python files import and that the project, tests excluded, does not contain."""
    wanted = {each.module.partition(".")[0] for text in texts.values() for each in find_imports(text) if not each.level}
    own = {
        name
        for path in map(PurePosixPath, texts)
        if not is_test_file(path)
        for number, name in enumerate(_module_names(path))
        if not number or (PurePosixPath(*path.parts[:number]) / "__init__.py").as_posix() not in texts
    }
    return frozenset(wanted - own)


def missing_modules(analysis: Analysis | None) -> frozenset[str]:
    """Return the modules that tests failed to import: creating one of them shadows nothing."""
    failures = () if analysis is None else analysis.failures
    return frozenset(name for each in failures for name in _MISSING_MODULE.findall(f"{each.message}\n{each.excerpt}"))


def _module_names(path: PurePosixPath) -> Iterator[str]:
    """Yield the module names of a file and of the folders around it."""
    if path.suffix in {".py", ".pyc", ".so"}:
        yield from path.parts[:-1]
        yield path.name.partition(".")[0]


_OTHER_LANGUAGES: Final = frozenset(
    {
        *(".c", ".cc", ".cpp", ".cs", ".cxx", ".d", ".dart", ".erl", ".ex", ".fs", ".go", ".h", ".hh", ".hpp", ".hrl"),
        *(".hs", ".java", ".jl", ".kt", ".lua", ".m", ".ml", ".mli", ".mm", ".nim", ".php", ".pl", ".pm", ".pyx", ".r"),
        *(".rb", ".rs", ".scala", ".swift", ".vb", ".zig", ".clj", ".cljs", ".sql", ".css", ".less", ".sass", ".scss"),
        *(".ejs", ".hbs", ".j2", ".jinja", ".jinja2", ".tmpl", ".graphql", ".proto"),
    }
)
"""Languages whose files need not be imported by name, and templates."""
_SOURCE: Final = PYTHON | JAVASCRIPT | PAGES | _OTHER_LANGUAGES
_BUILD_SCRIPTS: Final = frozenset({"build.rs", "setup.py"})
_SKIPPED_FOLDERS: Final = frozenset({".git", "node_modules", "site-packages", "dist-packages"})
_EXECUTE_BITS: Final = 0o111
_CONFIG_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "npm": ("package.json",),
    "npx": ("package.json",),
    "yarn": ("package.json",),
    "pnpm": ("package.json",),
    "bun": ("package.json",),
    "tox": ("tox.ini", "tox.toml", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "just": ("justfile", "Justfile", ".justfile"),
    "rake": ("Rakefile", "rakefile"),
    "invoke": ("tasks.py",),
    "poe": ("pyproject.toml",),
    "pdm": ("pyproject.toml",),
    "hatch": ("pyproject.toml", "hatch.toml"),
}
"""Configuration files read by programs that run other programs."""
_CHANGE_FOLDER: Final = re.compile(r"(?:\bcd|\bpushd|-C|--chdir|--directory|--prefix)[\s=]+([\w.@+/-]+)")
_PATH: Final = re.compile(r"[\w.@+/-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFiles:
    """A project as it was when the loop started."""

    files: frozenset[str]
    imported: frozenset[str]
    """Files that others import, load or name."""
    executed: frozenset[str]
    """Files that the test command is known to run or read."""
    executable: frozenset[str]
    """Source files that are executable or start with `#!`."""
    external_modules: frozenset[str]
    """Python modules that the project imports but does not contain."""

    def protection_reason(self, file: str) -> str | None:
        """Return why a file may decide about tests; None if it is a plain module."""
        path = PurePosixPath(file)
        if (
            path.suffix not in _SOURCE
            or path.name in _BUILD_SCRIPTS
            or any(part.startswith(".") for part in path.parts)
        ):
            return "a file that is not source code: a script, configuration or data"
        if file in self.executed:
            return "a file that the test command runs"
        if file not in self.files or file in self.imported:
            return None
        if path.suffix in PYTHON | JAVASCRIPT:
            return "a file that no other file imports, which may be a test program"
        return "a program" if file in self.executable else None


def scan_project(tree: Path, command: str, cwd: str) -> ProjectFiles:
    """Scan the unmodified project; `cwd` is the working directory of the command, relative to the tree."""
    files = frozenset(_list_files(tree))
    texts = {name: read_source(tree, name) for name in sorted(files) if PurePosixPath(name).suffix in _SOURCE}
    plain = {name: text or "" for name, text in texts.items()}
    manifests = {name: read_source(tree, name) or "" for name in files if PurePosixPath(name).name == MANIFEST}
    run = _executed_files(tree, files, command, cwd)
    runners = {name for name in run if not is_test_file(PurePosixPath(name))}
    python = {name: text for name, text in plain.items() if PurePosixPath(name).suffix in PYTHON}
    return ProjectFiles(
        external_modules=external_imports(python),
        files=files,
        imported=imported_files({name: "" if name in runners else text for name, text in plain.items()} | manifests),
        executed=run,
        executable=frozenset(
            name
            for name, text in plain.items()
            if text.startswith("#!") or (tree / name).lstat().st_mode & _EXECUTE_BITS
        ),
    )


def _list_files(tree: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(tree):
        folders[:] = [each for each in folders if each not in _SKIPPED_FOLDERS]
        yield from ((Path(folder) / name).relative_to(tree).as_posix() for name in names)


def _executed_files(tree: Path, files: frozenset[str], command: str, cwd: str) -> frozenset[str]:
    """Follow the files that a command names, transitively except through tests: what tests name is what they test."""
    found: set[str] = set()
    texts = [(command, cwd)]
    while texts:
        text, here = texts.pop()
        folders = {here, cwd, ".", *(normpath(f"{here}/{each}") for each in _CHANGE_FOLDER.findall(text))}
        new = {
            name for word in _PATH.findall(text) for name in _path_candidates(word, folders) if name in files
        } - found
        new |= {name for path in modules_run(text) for name in _module_candidates(path, files)} - found
        found |= new
        texts += (
            (_executed_part(name, read_source(tree, name) or "", text), PurePosixPath(name).parent.as_posix())
            for name in new
            if not _is_test_code(name)
        )
    return frozenset(found)


def _executed_part(name: str, text: str, caller: str) -> str:
    """Return the part of a file that the text naming it runs or reads."""
    return scripts_run_by(text, caller) if PurePosixPath(name).name == MANIFEST else text


def _module_candidates(path: str, files: frozenset[str]) -> Iterator[str]:
    """Yield the files that a module name may refer to, for any import root."""
    yield from (name for name in files if name == path or name.endswith(f"/{path}"))


def _is_test_code(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in _SOURCE and is_test_file(path)


def _path_candidates(word: str, folders: Collection[str]) -> Iterator[str]:
    """Yield the paths that a word may refer to."""
    for name in (word, *_CONFIG_FILES.get(PurePosixPath(word).name, ())):
        yield from (normpath(f"{folder}/{name}") for folder in folders)


_PACKAGE_FOLDERS: Final = frozenset({"node_modules", "site-packages", "dist-packages"})
_WORD_BREAK: Final = re.compile(r"""[\s"'`;&|()<>{}=$:,]+""")
_CONFIG_MODULE: Final = re.compile(r".*\.conf(?:ig)?\.[cm]?[jt]s")
"""Configuration modules that Node tools look for. Only new ones are rejected: an existing `app.config.ts` may be code.
"""
_CD_WORDS: Final = frozenset({"cd", "pushd", "-C", "--chdir", "--directory"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalProject:
    """The unmodified project, against which a fix without target files is checked."""

    command: str
    cwd: str
    """Working directory of the command, relative to the tree."""
    files: ProjectFiles


def require_unprotected(
    changed: Sequence[str], created: Collection[str], missing: Collection[str], project: OriginalProject
) -> None:
    """Check that a fix without target files changes no file that decides whether the tests pass.

    `made` are the changed files that are new; `missing` are modules that the tests failed to import.

    Raises:
        PatchRejectedError: the fix changes such a file.
    """
    programs = project.files
    for file in changed:
        path = PurePosixPath(file)
        if is_test_file(path):
            raise _rejected(file, "a test")
        if _is_in_command(path, project.command, project.cwd):
            raise _rejected(file, "a file that the test command names")
        if file in created and _CONFIG_MODULE.fullmatch(path.name):
            raise _rejected(file, "a new configuration file, which a test runner may read")
        if _PACKAGE_FOLDERS.intersection(path.parts):
            raise _rejected(file, "a file of an installed package")
        other = next(shadowed_modules(file, created, programs.files, programs.external_modules - set(missing)), None)
        if other is not None:
            raise _rejected(file, f"a file that shadows the module {other}")
        role = programs.protection_reason(file)
        if role is not None:
            raise _rejected(file, role)


def _is_in_command(path: PurePosixPath, command: str, cwd: str) -> bool:
    """Return whether a command names a file: by path, by glob pattern, or as a module after `-m`."""
    words = [each for each in _WORD_BREAK.split(command) if each]
    named = [normpath(f"{cwd}/{each}") for each in (*words, *modules_run(command))]
    if any(fnmatchcase(path.as_posix(), each) for each in named):
        return True
    if _CD_WORDS.isdisjoint(words):
        return False
    return any(path.match(each) for each in (normpath(word).lstrip("/.") for word in words) if each)


def _rejected(file: str, found: str) -> PatchRejectedError:
    return PatchRejectedError(
        f"fix for {file!r}: expected a file that does not decide whether the tests pass, got {found}. To let a fix "
        "change it, name it with --target-file."
    )
