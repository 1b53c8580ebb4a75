"""The project speaks the language of its field: names, docstrings and pages contain no retired word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.architecture.sources import PROJECT, Source, functions_of, sources

NAMES = {
    "agenda": "pending deliveries",
    "asking": "TargetProbe, request",
    "berth": "PoolSlot",
    "came": "response, received",
    "comes": "arrives, is received",
    "deaf": "ignore_sigint",
    "deed": "effect, action",
    "disguise": "error or login page with status 200",
    "doing": "PendingAction",
    "doings": "pending actions",
    "gallery": "snapshots",
    "happenings": "PageEvents",
    "heard": "observed, on_…",
    "hears": "observes",
    "journey": "DebugSession, history navigation",
    "judge": "evaluate, classify",
    "keeper": "store",
    "lacks": "missing",
    "lately": "recently",
    "ledger": "tracker",
    "looker": "inspector, observer",
    "lookers": "inspectors, observers",
    "loosened": "blanked",
    "mend": "fix (code), repair (a mission)",
    "mends": "fixes (code), repairs (a mission)",
    "misfit": "mismatch",
    "nobody": "no one; name the actor",
    "onlooker": "AgentRecorder",
    "overtaken": "superseded, skipped",
    "quiesce": "wait_until_idle",
    "said": "text, step_text",
    "say": "report, print, warn",
    "sight": "inspect",
    "sighted": "observed",
    "sighting": "observation, target candidate",
    "somebody": "name the actor",
    "sought": "target candidate",
    "standstill": "blocking request",
    "steady": "normalized",
    "strangers": "unknown files",
    "stray": "unexpected, invalid",
    "stride": "fast_forward",
    "surroundings": "environment, options",
    "told": "message, reported, listed",
    "torn": "truncated",
    "unheard": "ignored",
    "unkept": "NullStore",
    "unspoken": "UnsupportedCallError",
    "untamed": "uninstrumented",
    "untold": "unreported",
    "unwatch": "detach",
    "vain": "KnownTimeout, unanswered",
    "vet": "redact",
    "wanted": "expected, requested",
    "whoever": "the user, the caller, another process",
    "wild": "uninstrumented",
    "witness": "capture",
}
"""Words that no name contains, and what to write instead."""

PROSE = {
    "anew": "again, re-",
    "answered otherwise": "responded differently",
    "as asked": "as recorded, as requested",
    "berth": "pool slot",
    "brought home": "extracted",
    "by somebody": "name the actor",
    "come to rest": "become idle",
    "comes to rest": "becomes idle",
    "deed": "effect, action",
    "deeds": "effects, actions",
    "disguised": "error or login page with status 200",
    "do again": "re-run, replay",
    "does again": "re-runs, replays",
    "done again": "re-run, replayed",
    "gave up": "cancelled",
    "given up": "cancelled, discarded",
    "half a character": "a lone surrogate",
    "happenings": "page events",
    "have its time": "become idle",
    "in vain": "unanswered, timed out",
    "journey": "session, navigation",
    "journeys": "sessions, navigations",
    "keeper": "store",
    "kept aside": "backup",
    "left aside": "skipped",
    "let go": "stop",
    "looker": "inspector, observer",
    "lookers": "inspectors, observers",
    "mended": "fixed (code), repaired (a mission)",
    "mends": "fixes (code), repairs (a mission)",
    "misfit": "mismatch",
    "nobody": "no one; name the actor",
    "nobody can tell": "unknown",
    "onlooker": "AgentRecorder",
    "otherwise than": "different from",
    "quiesce": "wait until idle",
    "sighting": "observation",
    "somebody": "name the actor",
    "sought": "searched, requested",
    "stray": "unexpected",
    "stride": "fast forward",
    "torn": "truncated",
    "untamed": "uninstrumented",
    "untold": "unreported",
    "whoever": "the user, the caller, another process",
    "wild": "uninstrumented",
}
"""Phrases that neither docstrings nor pages contain, and what to write instead."""

DOCSTRINGS = {
    "anew": "again, re-",
    "by hand": "manually, interactive",
    "cut off": "truncated, unfinished",
    "go on": "continue, resume",
    "heard": "observed",
    "hears": "observes, listens",
    "left out": "omitted, skipped",
    "lies in": "is in",
    "likeness": "similarity",
    "mend": "fix (code), repair (a mission)",
    "mended": "fixed (code), repaired (a mission)",
    "mends": "fixes (code), repairs (a mission)",
    "nobody": "no one; name the actor",
    "put back": "restore",
    "standstill": "blocking request",
    "strangers": "unknown files, other sites",
    "taken back": "rolled back",
    "vetting": "redaction",
    "whoever": "the user, the caller, another process",
}
"""Phrases that docstrings do not contain, and what to write instead."""

PAGES = (*sorted((PROJECT / "docs").glob("*.md")), PROJECT / "README.md")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def test_names_contain_no_retired_word() -> None:
    """No module, class, function, parameter or attribute has a retired word in its name."""
    found = [
        f"{source.name}: {name}: instead of {word!r} write {NAMES[word]}"
        for source in sources()
        for name in (*source.name.split("."), *_names(source.tree))
        for word in _words(name)
        if word in NAMES
    ]

    assert sorted(set(found)) == []


def test_docstrings_contain_no_retired_phrase() -> None:
    """No docstring, nor description of a field, contains a retired phrase."""
    found = [
        f"{source.name}, line {line}: {advice}"
        for source in sources()
        for line, text in _docstrings(source)
        for advice in _retired(text, PROSE | DOCSTRINGS)
    ]

    assert found == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_contain_no_retired_phrase(path: Path) -> None:
    """Neither the README nor a page of docs/ contains a retired phrase."""
    assert list(_retired(path.read_text(encoding="utf-8"), PROSE)) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("_WAS_TOLD", ["was", "told"]),
        ("HTMLDeed2", ["html", "deed"]),
        ("on_callTold", ["on", "call", "told"]),
        ("storyteller", ["storyteller"]),
    ],
)
def test_names_are_split_at_underscores_and_capitals(name: str, words: list[str]) -> None:
    """A retired word is found at any position of a name, but not as a part of another word."""
    assert list(_words(name)) == words


def test_phrases_are_found_across_lines() -> None:
    """A phrase is found in any case and over a line break, with its replacement, but not as a part of another word."""
    found = list(_retired("Comes\nto rest: no wilderness, Journeyman", PROSE))

    assert found == ["instead of 'comes to rest' write becomes idle"]


def _names(tree: ast.Module) -> Iterator[str]:
    """Iterate over the names that a module defines."""
    for function in functions_of(tree):
        yield function.name
        arguments = function.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        yield from (argument.arg for argument in every if argument is not None)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        if isinstance(node, ast.ClassDef | ast.Module):
            yield from _assigned(node.body)


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))


def _words(name: str) -> Iterator[str]:
    return (word.lower() for word in WORD.findall(name))


def _docstrings(source: Source) -> Iterator[tuple[int, str]]:
    """Iterate over strings that are statements: docstrings, and the descriptions of fields below them."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def _retired(text: str, phrases: Mapping[str, str]) -> Iterator[str]:
    for phrase, instead in phrases.items():
        if re.search(r"\b" + r"\s+".join(phrase.split()) + r"\b", text, re.IGNORECASE):
            yield f"instead of {phrase!r} write {instead}"
