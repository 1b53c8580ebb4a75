"""Mutants with changed scripts, style sheets or pictures."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.mutations.source import Answer
from benchmarks.mutations.truth import FAITHFUL, Mutant, Truth, diverges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.mutations.source import Place, Source
    from eikon_engine.network.exchange import Exchange

SCRIPTS = ("text/javascript", "application/javascript")
STYLES = "text/css"
PICTURES = "image/svg+xml"
ANYWHERE = "dom lifecycle network"
CHANGED = "site-changed"
APPENDED = (
    ("script asks for more", 'fetch("/api/tracking", { method: "POST", body: "{}" }).catch(() => {});', "network"),
    ("script writes an error", 'console.error("the build is broken");', "lifecycle"),
    ("script fails later", 'setTimeout(() => { throw new Error("too late"); }, 50);', "lifecycle"),
    ("script shows a dialog", 'alert("Welcome!");', "lifecycle"),
    ("script stores something", 'localStorage.setItem("visited", "yes");', "storage"),
    ("script sets a cookie", 'document.cookie = "visited=yes";', "storage"),
    ("script adds an element", 'document.documentElement.append(document.createElement("aside"));', "dom"),
    ("script changes the title", 'document.title += "!";', "lifecycle dom"),
)
"""Code appended to a script, and where it is noticed."""
ON_CLICK = (
    ("dialog extra", 'addEventListener("click", () => alert("Rate us!"), { once: true, capture: true });'),
    ("window extra", 'addEventListener("click", () => window.open("about:blank"), { once: true, capture: true });'),
)
"""Code appended to a script that is noticed at the first click."""


TWO_WRITES = re.compile(r'(.*await send\("P.*\n)(.*await send\("P.*\n)')
"""Two lines that each send a request and wait for the response."""
SHOUT = 'addEventListener("input", (event) => { event.target.value = event.target.value.toUpperCase(); }, true);'


def of_scripts(source: Source) -> Iterator[Mutant]:
    """Yield all mutants of scripts, style sheets and pictures."""
    for exchange, text in source.answered(*SCRIPTS):
        yield from _of_a_script(source, exchange, text)
    for exchange, _ in source.answered(STYLES):
        yield from _of_a_style(source, exchange)
    for exchange, _ in source.answered(PICTURES):
        screenshot = source.screenshot_after(exchange)
        if screenshot is not None:
            edit = _replacing("</svg>", '<rect width="40" height="40"/></svg>')
            yield _mutant("picture changed", diverges(screenshot, "pixels", CHANGED), exchange, edit)


def _mutant(operator: str, truth: Truth, exchange: Exchange, edit: Callable[[str], str]) -> Mutant:
    answers = {exchange.ordinal: Answer(edit=edit)}
    return Mutant(operator=operator, what=f"{exchange.key} ({exchange.ordinal})", truth=truth, answers=answers)


def _prepending(more: str) -> Callable[[str], str]:
    return lambda text: more + text


def _appending(more: str) -> Callable[[str], str]:
    return lambda text: f"{text}\n{more}\n"


def _replacing(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def _of_a_script(source: Source, exchange: Exchange, text: str) -> Iterator[Mutant]:
    place = source.place(exchange)
    observation = source.observation(place)
    yield _mutant("comment in a script", FAITHFUL, exchange, _prepending("// build 4711\n"))
    broken = _prepending("throw new Error('broken build');\n")
    yield _mutant("script fails", diverges(place, ANYWHERE, CHANGED), exchange, broken)
    for operator, more, layers in APPENDED:
        if layers != "storage" or (observation is not None and observation.storage is not None):
            yield _mutant(operator, diverges(place, layers, CHANGED), exchange, _appending(more))
    click = source.click_after(exchange) if exchange.request.frame == "" else None
    for operator, more in ON_CLICK if click is not None else ():
        assert click is not None
        yield _mutant(operator, diverges(click, "lifecycle", CHANGED), exchange, _appending(more))
    fill = source.fill_after(exchange) if exchange.request.frame == "" else None
    if fill is not None:
        yield _mutant("field changes what is typed", diverges(fill, "value", CHANGED), exchange, _appending(SHOUT))
    ordered = next((each for each in source.places_from(place) if source.writes(each)), None)
    if ordered is not None and source.is_in_force(exchange, ordered) and TWO_WRITES.search(text):
        turn = partial(TWO_WRITES.sub, r"\2\1", count=1)
        yield _mutant("requests in another order", diverges(ordered, "network", CHANGED), exchange, turn)
    yield from _of_dialogs(source, exchange, text, place)
    opened = next((each for each in source.places_from(place) if _opens(source, each)), None)
    if opened is not None and "window.open(" in text and source.is_in_force(exchange, opened):
        edit = _replacing("window.open(", "((..._) => null)(")
        yield _mutant("popup blocked", diverges(opened, "lifecycle network", CHANGED), exchange, edit)


def _of_dialogs(source: Source, exchange: Exchange, text: str, place: Place) -> Iterator[Mutant]:
    found = re.search(r"\bwindow\.(?:confirm|prompt)\(", text)
    dialog = next((each for each in source.places_from(place) if _has_dialog(source, each)), None)
    if found is None or dialog is None or not source.is_in_force(exchange, dialog):
        return
    worded = partial(re.compile(r"\bwindow\.(confirm|prompt)\(").sub, r'window.\1("Really: " + ')
    yield _mutant("dialog text changed", diverges(dialog, "lifecycle", CHANGED), exchange, worded)
    silent = partial(re.compile(r"\bwindow\.(?:confirm|prompt)\(").sub, '((..._) => "yes")(')
    yield _mutant("dialog missing", diverges(dialog, "lifecycle network result", CHANGED), exchange, silent)


def _of_a_style(source: Source, exchange: Exchange) -> Iterator[Mutant]:
    place = source.place(exchange)
    yield _mutant("comment in a style sheet", FAITHFUL, exchange, _prepending("/* build 4711 */\n"))
    heading = source.heading(place, exchange)
    if heading is not None:
        hidden = _appending(f"{heading} {{ display: none; }}")
        yield _mutant("element hidden by a style", diverges(place, "accessibility", CHANGED), exchange, hidden)
    screenshot = source.screenshot_after(exchange)
    if screenshot is not None:
        red = _appending("body { background: #fdd; }")
        yield _mutant("colour changed", diverges(screenshot, "pixels", CHANGED), exchange, red)


def _has_dialog(source: Source, place: Place) -> bool:
    observation = source.observation(place)
    return observation is not None and bool(observation.dialogs)


def _opens(source: Source, place: Place) -> bool:
    observation = source.observation(place)
    return observation is not None and bool(observation.opened)
