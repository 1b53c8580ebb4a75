"""Decide which files a fix may change: the target files, or without any those that glob patterns allow.

A fix that changes the tests, or what runs and configures them, proves nothing. So a file must match an allowed pattern
and no protected one. Some files are protected whatever the patterns say: those that the test command names, programs,
files with failing tests, and new modules that would be imported instead of installed ones. Only naming a file as a
target file overrides this.

Patterns are those of gitignore: https://git-scm.com/docs/gitignore#_pattern_format, read by the library pathspec.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import FixError, UsageError
from eikon_engine.files.limits import MAX_SETTINGS_BYTES, parse_toml, read_file
from eikon_engine.files.paths import escapes_bundle
from eikon_engine.fix.retrieval.source_files import read_source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pathspec import GitIgnoreSpec

    from eikon_engine.fix.models import Analysis
    from eikon_engine.fix.options import LoopOptions

_SUFFIXES: Final = (
    *("py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte", "html", "htm", "css", "less"),
    *("sass", "scss", "ejs", "hbs", "j2", "jinja", "jinja2", "tmpl", "graphql", "proto", "sql", "c", "cc", "cpp"),
    *("cxx", "h", "hh", "hpp", "m", "mm", "cs", "fs", "vb", "d", "dart", "ex", "erl", "hrl", "go", "hs", "java", "kt"),
    *("scala", "clj", "cljs", "jl", "lua", "ml", "mli", "nim", "php", "pl", "pm", "pyx", "r", "rb", "rs", "swift"),
    "zig",
)
DEFAULT_ALLOW: Final = tuple(f"*.{suffix}" for suffix in _SUFFIXES)
"""Source code and templates."""
TEST_PATTERNS: Final = (
    *("test/", "tests/", "__tests__/", "__mocks__/", "spec/"),
    *("test.*", "tests.*", "test_*.*", "test-*.*", "*_test.*", "*_tests.*", "*-test.*", "*-tests.*"),
    *("*.test.*", "*.spec.*"),
    *(f"*[_-]spec.{suffix}" for suffix in ("cr", "ex", "lua", "php", "rb", "[jt]s", "[cm][jt]s", "[jt]sx")),
    *(f"*{name}.{suffix}" for name in ("Test", "Tests") for suffix in ("java", "kt", "cs", "php")),
)
CONFIG_PATTERNS: Final = (
    *(
        "conftest.py",
        "pytest.ini",
        "pytest.toml",
        "pytest.py",
        "pytest_*.py",
        "pytest/",
        "pytest_*/",
        "_pytest/",
        "tox.ini",
        "tox.toml",
    ),
    *("noxfile.py", "pyproject.toml", "setup.cfg", "setup.py", "/tasks.py", "/manage.py", "dodo.py", "fabfile.py"),
    *("Makefile", "makefile", "GNUmakefile", "*.mk", "Justfile", "justfile", "Rakefile", "rakefile", "CMakeLists.txt"),
    *("package.json", "*.config.*", "*.conf.*", "*.setup.*", "*.workspace.*", "setupTests.*", "gulpfile.*"),
    *("Gruntfile.*", "Cargo.toml", "build.rs", "go.mod", "pom.xml", "*.gradle", "*.gradle.kts", "meson.build"),
)
"""Configuration of test runners and builds, and the plugins that pytest finds by name."""
_TESTS_AND_CONFIG: Final = (*TEST_PATTERNS, *CONFIG_PATTERNS)
DEFAULT_PROTECT: Final = (
    *TEST_PATTERNS,
    *CONFIG_PATTERNS,
    *("sitecustomize.py", "sitecustomize/", "usercustomize.py", "usercustomize/", "*.pth", "*.pyc", "*.pyd", "*.so"),
    *(".*", "node_modules/", "site-packages/", "dist-packages/"),
    *("script/", "scripts/", "tools/", "bin/", "*.sh", "*.bash", "*.bat", "*.ps1"),
)
"""Tests, what configures, starts or builds them, what Python runs at its start, hidden files, installed packages, and
folders of programs."""


@cache
def compile_patterns(patterns: tuple[str, ...], option: str) -> GitIgnoreSpec:
    """Compile gitignore patterns.

    Raises:
        UsageError: a pattern is invalid; `option` says where it comes from.
    """
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - an extra

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the regular expressions that it makes of them
            return GitIgnoreSpec.from_lines(patterns)
    except (ValueError, re.error, OverflowError, RecursionError) as error:
        message = f"{option}: expected patterns as in .gitignore, got {', '.join(patterns)} ({error}). Correct them."
        raise UsageError(message) from error


def _matched(patterns: tuple[str, ...], file: str) -> str | None:
    """Return the pattern that matches a file."""
    found = compile_patterns(patterns, "patterns").check_file(file)
    return patterns[found.index] if found.include and found.index is not None else None


def protecting_pattern(file: str) -> str | None:
    """Return the default pattern that protects a file, if any."""
    return _matched(DEFAULT_PROTECT, file)


def is_test_file(path: PurePosixPath) -> bool:
    """Return whether a file is a test, or configures tests, by the names that test runners look for."""
    return _matched(_TESTS_AND_CONFIG, path.as_posix()) is not None


_MAX_NAME_BYTES: Final = 230
"""Bytes of a name; file systems take 255, and temporary names are up to 25 longer."""
_MAX_PATH_BYTES: Final = 1024
_SHOWN_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedFiles:
    """The files that may change: the targets, or without any all unprotected ones; the loop restricts these further.

    A fix that changes tests proves nothing. To allow it, name them as targets.
    """

    tree: Path
    targets: tuple[str, ...]
    """Files and folders, relative to the tree; empty for all files that no default pattern protects."""

    def require(self, name: str) -> str:
        """Return a file name in normalized form.

        Raises:
            FixError: the name is invalid, leads out of the tree, into `.git` or through a symlink, is not a
                regular file, or is not allowed.
        """
        _require_valid_name(name)
        if escapes_bundle(name):
            raise _rejected(name, "a path inside the tree", "one outside")
        plain = PurePosixPath(name)
        if not plain.parts:
            raise _rejected(name, "the path of a file", "the tree itself")
        if any(part.lower().rstrip(". ") == ".git" for part in plain.parts):
            raise _rejected(name, "a file of the project", "a file of git")
        self._require_regular(plain, name)
        self._require_allowed(plain, name)
        return plain.as_posix()

    def _require_regular(self, plain: PurePosixPath, name: str) -> None:
        """Reject symlinks in any part of the path."""
        *folders, path = (self.tree.joinpath(*plain.parts[:length]) for length in range(1, len(plain.parts) + 1))
        for each in (*folders, path):
            if each.is_symlink():
                raise _rejected(name, "a file itself", f"a symlink at {each.relative_to(self.tree).as_posix()}")
        if any(each.exists() and not each.is_dir() for each in folders) or (path.exists() and not path.is_file()):
            raise _rejected(name, "a regular file", "something else")

    def _require_allowed(self, plain: PurePosixPath, name: str) -> None:
        targets = [PurePosixPath(each) for each in self.targets]
        if targets and not any(plain.is_relative_to(each) for each in targets):
            raise _rejected(name, f"one of the target files ({', '.join(self.targets)})", "another file")
        pattern = None if targets else protecting_pattern(plain.as_posix())
        if pattern is not None:
            found = f"one protected by the pattern {pattern!r}; to allow it, name it with --target-file"
            raise _rejected(name, "a file that a fix may change", found)


def _require_valid_name(name: str) -> None:
    """Check that the file system can store the name, and a temporary name derived from it."""
    try:
        data = name.encode()
    except UnicodeEncodeError:
        raise _rejected(name, "a file name", "invalid characters") from None
    if len(data) > _MAX_PATH_BYTES or any(len(part) > _MAX_NAME_BYTES for part in data.split(b"/")):
        found = f"a path of {len(data)} bytes"
        raise _rejected(name, f"up to {_MAX_PATH_BYTES} bytes, {_MAX_NAME_BYTES} between slashes", found)


def _rejected(name: str, expected: str, found: str) -> FixError:
    shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
    return FixError(f"fix for {shown!r}: expected {expected}, got {found}. Nothing was changed.", code="patch-rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePolicy:
    """Patterns of files that a fix may change, relative to the tree."""

    allow: tuple[str, ...] = ()
    """Empty for `DEFAULT_ALLOW`."""
    protect: tuple[str, ...] = ()
    """In addition to `DEFAULT_PROTECT`; protection always wins."""

    def __post_init__(self) -> None:
        """Check the patterns."""
        compile_patterns(self.allow, "--allow")
        compile_patterns(self.protect, "--protect")

    def objection(self, file: str) -> str | None:
        """Return why a file must not change; None if it may."""
        pattern = protecting_pattern(file) or _matched(self.protect, file)
        if pattern is not None:
            return f"one protected by the pattern {pattern!r}"
        if _matched(self.allow or DEFAULT_ALLOW, file) is None:
            return f"one that --allow {', '.join(self.allow)} does not match" if self.allow else "no source code"
        return None


def read_policy(tree: Path, options: LoopOptions) -> ChangePolicy:
    """Return the patterns of the options and of `[tool.eikon.fix]` in the `pyproject.toml` of a tree.

    `allow` of the options replaces that of the file, `protect` is added to it.

    Raises:
        UsageError: a pattern, or the table, is invalid.
    """
    table = _read_table(tree / "pyproject.toml")
    unknown = sorted(table.keys() - {"allow", "protect"})
    if unknown:
        message = f"[tool.eikon.fix]: expected the keys allow and protect, got {unknown[0]!r}. Remove it."
        raise UsageError(message)
    return ChangePolicy(
        allow=options.allow or _globs(table, "allow"), protect=(*_globs(table, "protect"), *options.protect)
    )


def _read_table(path: Path) -> dict[str, object]:
    try:
        content = read_file(path, limit=MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error}; it may protect files from fixes") from error
    try:
        found: object = parse_toml(content)
    except ValueError as error:
        raise UsageError(f"{path}: expected TOML, got {error}; it may protect files from fixes") from error
    for key in ("tool", "eikon", "fix"):
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def _globs(table: dict[str, object], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        message = f"[tool.eikon.fix] {key}: expected a list of patterns, got {value!r}. Correct it."
        raise UsageError(message)
    return tuple(value)


_SKIPPED_FOLDERS: Final = frozenset({".git", "node_modules", "site-packages", "dist-packages"})
_EXECUTE_BITS: Final = 0o111
_PYTEST_CONFIGS: Final = (
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip
_RUNNER_MODULES: Final = frozenset(
    {"_pytest", "doctest", "iniconfig", "nose", "nose2", "pluggy", "pytest", "testtools", "tox", "unittest", "xdist"}
)
"""Modules of Python test runners and their dependencies."""
_AMBIGUOUS_RUNNER_MODULES: Final = frozenset({"coverage", "exceptiongroup", "green", "hypothesis", "py", "robot"})
"""Further such modules whose names are common: an existing file of that name belongs to the project."""
_IMPORTS: Final = re.compile(r"(?:^|[;:])[ \t]*(?:import[ \t]+([^\n;#]+)|from[ \t]+(\w+))", re.MULTILINE)
_IMPORT_CALL: Final = re.compile(r"""\b(?:import_module|importorskip|__import__)\(\s*["'](\w+)""")
_MISSING_MODULE: Final = re.compile(r"No module named '([\w.]+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalProject:
    """A project as it was when the loop started; fixes are checked against it."""

    command: str
    cwd: str
    """Working directory of the command, relative to the tree."""
    files: frozenset[str]
    programs: frozenset[str]
    """Files that are executable or start with `#!`."""
    imported: frozenset[str]
    """Top-level Python modules that the project imports."""
    plugins: frozenset[str]
    """Files of modules that the configuration of pytest loads with `-p`, relative to an import root."""

    def objection(self, file: str, *, is_new: bool, missing: Collection[str], failing: Collection[str]) -> str | None:
        """Return why a file must not change, whatever the patterns say; None if nothing is known against it."""
        path = PurePosixPath(file)
        shadowed = next(self._shadowed_modules(path, missing, is_new=is_new), None)
        reasons = {
            "one that the test command names": _is_in_command(path, self.command, self.cwd, self.files),
            "a plugin of pytest": any(file == each or file.endswith(f"/{each}") for each in self.plugins),
            "a program: it is executable or starts with #!": file in self.programs,
            "one with failing tests": any(file == each or file.endswith(f"/{each}") for each in failing),
            f"one that shadows the module {shadowed}": shadowed is not None,
            f"a new file in a folder without {path.suffix} files": is_new
            and not self._has_neighbour(path)
            and not _belongs_to_missing(path, missing),
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _has_neighbour(self, path: PurePosixPath) -> bool:
        """Return whether its folder contains source code of the same suffix."""
        others = (each for each in map(PurePosixPath, self.files) if each.parent == path.parent)
        return any(each.suffix == path.suffix and not protecting_pattern(each.as_posix()) for each in others)

    def _shadowed_modules(self, path: PurePosixPath, missing: Collection[str], *, is_new: bool) -> Iterator[str]:
        """Yield the modules that a file would be imported instead of; a module of a package shadows nothing."""
        if path.suffix not in {".py", ".pyi"}:
            return
        module = _module_path(path)
        taken = _AMBIGUOUS_RUNNER_MODULES | sys.stdlib_module_names | (self.imported - set(missing))
        for number, name in enumerate(module.parts):
            if number and PurePosixPath(*module.parts[:number], "__init__.py").as_posix() in self.files:
                continue
            if name in _RUNNER_MODULES or (is_new and number == len(module.parts) - 1 and name in taken):
                yield name


def _module_path(path: PurePosixPath) -> PurePosixPath:
    """Return the path of a module without extension; a package is its folder."""
    return path.parent if path.stem == "__init__" else path.with_suffix("")


def scan_project(tree: Path, command: str, cwd: str) -> OriginalProject:
    """Scan the unmodified project; `cwd` is the working directory of the command, relative to the tree."""
    files = frozenset(_list_files(tree))
    texts = {name: read_source(tree, name) or "" for name in files}
    configs = "\n".join(text for name, text in texts.items() if PurePosixPath(name).name in _PYTEST_CONFIGS)
    return OriginalProject(
        command=command,
        cwd=cwd,
        files=files,
        programs=frozenset(
            name
            for name, text in texts.items()
            if text.startswith("#!") or (tree / name).lstat().st_mode & _EXECUTE_BITS
        ),
        imported=frozenset(
            module for name, text in texts.items() if name.endswith((".py", ".pyi")) for module in _imports(text)
        ),
        plugins=frozenset(each for module in _PLUGIN.findall(configs) for each in _module_files(module)),
    )


def _list_files(tree: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(tree):
        folders[:] = [each for each in folders if each not in _SKIPPED_FOLDERS]
        yield from ((Path(folder) / name).relative_to(tree).as_posix() for name in names)


def _imports(text: str) -> Iterator[str]:
    for modules, module in _IMPORTS.findall(text.replace("\\\n", " ")):
        yield from (each.strip().partition(".")[0].partition(" ")[0] for each in modules.split(",") if each.strip())
        if module:
            yield module
    yield from _IMPORT_CALL.findall(text)


def _belongs_to_missing(path: PurePosixPath, missing: Collection[str]) -> bool:
    """Return whether a file is a module that could not be imported, or a part of such a package."""
    module = f".{'.'.join(_module_path(path).parts)}."
    return any(f".{name}." in module for name in missing)


def missing_modules(analysis: Analysis | None) -> frozenset[str]:
    """Return the modules that tests failed to import: creating one of them shadows nothing."""
    failures = () if analysis is None else analysis.failures
    return frozenset(name for each in failures for name in _MISSING_MODULE.findall(f"{each.message}\n{each.excerpt}"))


def require_allowed_changes(
    changed: Collection[str],
    created: Collection[str],
    project: OriginalProject,
    policy: ChangePolicy,
    *,
    missing: Collection[str] = (),
    failing: Collection[str] = (),
) -> None:
    """Check that a fix without target files changes only files that cannot decide whether the tests pass.

    `created` are the changed files that are new, `missing` modules that the tests failed to import, `failing` ids of
    tests that failed.

    Raises:
        FixError: the fix changes another file.
    """
    tests = {each.partition("::")[0] for each in failing}
    for file in changed:
        found = policy.objection(file) or project.objection(
            file, is_new=file in created, missing=missing, failing=tests
        )
        if found is not None:
            message = (
                f"fix for {file!r}: expected a file that a fix may change, got {found}. To let a fix change it, name "
                "it with --target-file."
            )
            raise FixError(message, code="patch-rejected")


_WORD_BREAK: Final = re.compile(r"""[\s"'`;&|()<>{}=$:,]+""")
_CD_WORDS: Final = frozenset({"cd", "pushd", "-C", "--chdir", "--directory"})
_PLUGIN: Final = re.compile(r"(?<![\w-])-p[\s=\"',]*([A-Za-z_][\w.]*)")
_NO_PLUGIN_OPTION: Final = re.compile(
    r"""(?:^|[;&|({"'`]|(?<!\\)\n|\b(?:then|do|else|sudo)\s)[ \t]*(?:\w+=[^\s;&|]*[ \t]+)*(?:/\S*/)?"""
    r"""(?:cp|mkdir|rmdir|scp|tar|touch)[ \t][^;&|\n"'`)}]*"""
)
"""Commands of the shell whose `-p` is another option, with their arguments."""
_RUN_OPTION: Final = re.compile(
    r"""(?P<end>[;&|])|(?P<marks>\b(?:pytest|py\.test|git)\b(?=[\s"']))"""
    r"""|(?<![\w-])-[bBdEhiIOPqRsSuvVx]*m[\s"',]*(?P<module>[A-Za-z_][\w.]*)(?=(?P<more>[^;&|\n]*))"""
)
_UNITTEST_OPTION: Final = re.compile(
    r"""[\s"',]-(?:-pattern|-start-directory|-top-level-directory|[kpst])[\s"',=]+[^\s"',]+"""
)
"""Options of unittest whose value is not a module; source: https://docs.python.org/3/library/unittest.html."""
_MODULE_NAME: Final = re.compile(r"(?<![\w./=-])[A-Za-z_]\w*(?:\.\w+)*(?![\w/-])")


def _is_in_command(path: PurePosixPath, command: str, cwd: str, files: Collection[str]) -> bool:
    """Return whether a command names a file: by path, by shell pattern, or as a module that it runs or loads."""
    file = path.as_posix()
    if any(each.names(file, files) for each in _modules_run(command)):
        return True
    words = [each for each in _WORD_BREAK.split(command) if each]
    if any(
        fnmatchcase(file, normpath(f"{cwd}/{each}")) for each in (*words, *(f"{word}/__main__.py" for word in words))
    ):
        return True
    if _CD_WORDS.isdisjoint(words):
        return False
    return any(path.match(each) for each in (normpath(word).lstrip("/.") for word in words) if each)


@dataclass(frozen=True, slots=True)
class _ModuleFile:
    """A file of a module that a command runs or loads, relative to an import root."""

    path: str
    inner: tuple[str, ...] = ()
    """If the module may be just a package of the one that runs: the possible files of that one."""

    def names(self, file: str, files: Collection[str]) -> bool:
        """Return whether this is `file`, and not just the existing package of a module that runs."""
        if file != self.path and not file.endswith(f"/{self.path}"):
            return False
        root = file.removesuffix(self.path)
        return file not in files or not any(f"{root}{each}" in files for each in self.inner)


def _modules_run(command: str) -> Iterator[_ModuleFile]:
    """Yield the files of the modules that a command runs or loads.

    `-m` of pytest takes a marker and `-m` of git a message, so these are skipped. Arguments of unittest are modules,
    or classes and functions in modules.
    """
    for module in _PLUGIN.findall(_NO_PLUGIN_OPTION.sub(" ", command)):
        yield from map(_ModuleFile, _module_files(module))
    takes_marks = False
    for found in _RUN_OPTION.finditer(command):
        module = found["module"]
        if module is None:
            takes_marks = found["marks"] is not None
        elif not takes_marks:
            takes_marks = module == "pytest"
            yield from map(_ModuleFile, _module_files(module))
            if module == "unittest":
                for name in _MODULE_NAME.findall(_UNITTEST_OPTION.sub(" ", found["more"])):
                    yield from _unittest_files(name)


def _unittest_files(name: str) -> Iterator[_ModuleFile]:
    """Yield the files that an argument of unittest may run: `a.b.C` is a module, or a class of `a.b` or of `a`."""
    parts = name.split(".")
    inner: tuple[str, ...] = ()
    for end in range(len(parts), 0, -1):
        module, main, package = _module_files(".".join(parts[:end]))
        yield from (_ModuleFile(module), _ModuleFile(main), _ModuleFile(package, inner))
        inner = (*inner, module, main, package)


def _module_files(module: str) -> tuple[str, str, str]:
    path = module.strip(".").replace(".", "/")
    return f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py"
