"""Find files that are executed or read rather than imported: they may decide whether the tests pass.

A Makefile, npm script or shell script can run any file, by names that only running it reveals. So the question is
inverted: a file is changeable if it is a module, i.e. source that another file imports. Anything else needs to be a
target file; so does a module that the test command is known to run.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.bounds import is_test_file
from eikon_engine.fix.memory.source_files import read_source
from eikon_engine.fix.named_modules import modules_run
from eikon_engine.fix.node_packages import MANIFEST, scripts_run_by
from eikon_engine.fix.shadowed import external_imports
from eikon_engine.fix.used_files import JAVASCRIPT, PAGES, PYTHON, imported_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

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
