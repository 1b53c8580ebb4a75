"""Load the scripts that run in pages."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

STORED_SCRIPTS: Final = {
    "inspect_elements.js": "inspect",
    "dom_snapshot.js": "snapshot",
    "observe_document.js": "observe",
}
"""Scripts that every document keeps loaded, with their names there: sending them each time takes longer than running
them."""


_KEPT_GLOBALS: Final = (
    *("Array", "Error", "JSON", "Map", "Math", "Number", "Object", "Promise", "Proxy", "Reflect", "RegExp", "Set"),
    *("String", "Symbol", "TypeError", "Uint8Array", "WeakMap", "WeakRef", "WeakSet", "reportError"),
)


@cache
def load_script(name: str) -> str:
    """Read a page script."""
    return files("eikon_engine.browser.page_scripts").joinpath(name).read_text(encoding="utf-8")


@cache
def stored_scripts_init() -> str:
    """Return the init script that puts `STORED_SCRIPTS` into `window.__eikon__`, which an earlier script creates."""
    functions = {name: load_script(file).strip().rstrip(";") for file, name in STORED_SCRIPTS.items()}
    return "\n".join(f"window.__eikon__.{name} = window.__eikon__.guard({body});" for name, body in functions.items())


def join_scripts(scripts: Iterable[str]) -> str:
    """Join init scripts: the browser takes a message for each, for each page. One that fails does not stop the next.

    They keep the global objects of the language that they begin with, whatever the page has instead later.
    """
    joined = "\n".join(f"try {{\n{script}\n}} catch (error) {{ reportError(error); }}" for script in scripts)
    return f"(({{ {', '.join(_KEPT_GLOBALS)} }}) => {{\n{joined}\n}})(window);"


@cache
def standalone_script(name: str) -> str:
    """Return a stored script as a function that needs no init script."""
    if name != "observe_document.js":
        return load_script(name)
    return f"handed => ({load_script(name)})(handed, {load_script('dom_snapshot.js')})"


def call_script(name: str, *arguments: object) -> str:
    """Return a script that calls the function of a page script with JSON values."""
    source = load_script(name)
    begin = source.index("\n((") + 1
    return f"{source[begin:].strip()}({', '.join(map(json.dumps, arguments))});"


CALL_STORED_SCRIPT: Final = "([name, handed]) => window.__eikon__?.[name]?.(handed)"
"""Calls a stored script; null where our init scripts did not run."""


def worker_script(seed: int, *, draws_math: bool, stepped: bool) -> str:
    """Return the script, to be added after `init_determinism.js`, in recording and replay alike.

    `draws_math` means that no flag of the browser seeds `Math.random`.
    `stepped` means that the page clock is paused and stepped by us; otherwise it runs, like those of workers.
    """
    source = load_script("init_workers.js")
    settings = json.dumps({"seed": seed, "drawsMath": draws_math, "stepped": stepped})
    begin = source.index("(function")
    return f"{source[:begin]}{source[begin:].strip()}(window.__eikon__.makeDeterministic, {settings});"
