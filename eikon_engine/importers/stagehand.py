"""Import the agent cache of Stagehand 3: the recorded steps of its agent.

Shape: `CachedAgentEntry` and `AgentReplayStep` in https://github.com/browserbase/stagehand, packages/core/lib/v3/types
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import Field, ValidationError

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.foreign_shape import ForeignShape
from eikon_engine.importers.mission import Gathering, ImportedMission, ImportedSubgoal
from eikon_engine.importers.selectors import css, xpath
from eikon_engine.importers.target import target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.record import Record

VERSION: Final = 1
_LEFT_OUT: Final = frozenset({"extract", "observe", "screenshot", "ariaTree", "think", "search", "done", "close"})
"""Agent tools that do not act on the page."""
_WAITS: Final = {"networkidle": "load"}
_VARIABLE: Final = re.compile(r"%(\w+)%")
_INTO: Final = ">>"
"""Enters the document of an iframe: `xpath=/html/body/iframe >> xpath=/html/body/a`."""


class _Action(ForeignShape):
    selector: str = Field(min_length=1)
    method: str = ""
    arguments: tuple[str, ...] = ()


class _Keys(ForeignShape):
    method: str
    text: str = ""
    keys: str = ""
    times: int = Field(default=1, ge=1, le=1_000)


class _Step(ForeignShape):
    type: str
    instruction: str = ""
    actions: tuple[_Action, ...] = ()
    observeResults: tuple[_Action, ...] = ()  # noqa: N815 - the name in the file
    url: str = ""
    waitUntil: str = "load"  # noqa: N815 - the name in the file
    deltaX: float = 0.0  # noqa: N815 - the name in the file
    deltaY: float = 0.0  # noqa: N815 - the name in the file
    anchor: dict[str, float] | None = None
    playwrightArguments: _Keys | None = None  # noqa: N815 - the name in the file


class _Cache(ForeignShape):
    version: int
    instruction: str
    startUrl: str = ""  # noqa: N815 - the name in the file
    steps: tuple[_Step, ...]


def looks_like_stagehand(data: object) -> bool:
    """Whether parsed JSON is an entry of the agent cache."""
    return isinstance(data, dict) and {"version", "instruction", "startUrl", "steps"} <= data.keys()


def read_stagehand(data: object) -> ImportedMission:
    """Import one entry of the agent cache from parsed JSON.

    Raises:
        ForeignFormatError: the data is not a cache entry, or has an unknown version.
    """
    try:
        cache = _Cache.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"]) or "top level"
        raise ForeignFormatError(f"Stagehand agent cache: {place}: {first['msg']}. Run the agent again.") from error
    if cache.version != VERSION:
        message = f"Stagehand agent cache: expected version {VERSION}, got {cache.version}. Update Eikon."
        raise ForeignFormatError(message)
    return _Reading(cache).mission()


class _Reading:
    """Converts a cache entry to a mission."""

    def __init__(self, cache: _Cache) -> None:
        self._cache = cache
        self._gathered = Gathering()
        self._step = 0
        self._methods: Mapping[str, Callable[[_Action], None]] = {
            "click": lambda action: self._act("click", action),
            "doubleClick": lambda action: self._act("double_click", action),
            "hover": lambda action: self._act("hover", action),
            "fill": lambda action: self._act("fill", action, text=_first(action)),
            "type": lambda action: self._act("type", action, text=_first(action)),
            "press": lambda action: self._act("press", action, key=_first(action)),
            "selectOption": lambda action: self._act("select_option", action, by="label", options=[_first(action)]),
            "selectOptionFromDropdown": lambda action: self._act(
                "select_option", action, by="label", options=[_first(action)]
            ),
            "dragAndDrop": self._drag,
        }

    def mission(self) -> ImportedMission:
        if self._cache.startUrl:
            self._add("navigate", url=self._cache.startUrl)
        for number, step in enumerate(self._cache.steps, start=1):
            self._step = number
            self._carry(step)
        text = self._cache.instruction
        return ImportedMission(
            source="stagehand",
            text=text,
            subgoals=(ImportedSubgoal(description=text, actions=tuple(self._gathered.actions)),),
            lost=tuple(self._gathered.lost),
            notes=tuple(self._gathered.notes),
        )

    def _carry(self, step: _Step) -> None:
        wait = _WAITS.get(step.waitUntil, step.waitUntil)
        match step.type:
            case "goto":
                self._add("navigate", url=step.url, wait_until=wait)
            case "navback":
                self._add("go_back", wait_until=wait)
            case "act" | "fillForm":
                self._actions(step)
            case "keys":
                self._keys(step)
            case "scroll":
                if step.anchor is not None:
                    self._gathered.note(self._step, "scroll: pointer position ignored")
                self._add("scroll", dx=step.deltaX, dy=step.deltaY)
            case "wait":
                self._gathered.note(self._step, "wait skipped: a replay advances page time as recorded")
            case kind if kind in _LEFT_OUT:
                self._gathered.note(self._step, f"{kind} skipped: it does not act on the page")
            case kind:
                self._gathered.lose(self._step, kind, "unknown step type")

    def _actions(self, step: _Step) -> None:
        actions = step.actions or step.observeResults
        if not actions:
            self._gathered.lose(self._step, step.type, f"the cache contains no actions for {step.instruction!r}")
        for action in actions:
            carry = self._methods.get(action.method)
            variable = next((found for each in action.arguments if (found := _VARIABLE.search(each))), None)
            if carry is None:
                self._gathered.lose(self._step, action.method or "act", "unknown method")
            elif variable is not None:
                why = f"the cache does not contain the value of variable {variable[1]}"
                self._gathered.lose(self._step, action.method, why)
            else:
                carry(action)

    def _keys(self, step: _Step) -> None:
        """Press keys on the focused element; text is typed key by key and must fit a US keyboard."""
        given = step.playwrightArguments
        if given is None or given.method not in {"press", "type"}:
            self._gathered.lose(self._step, "keys", "the cache does not contain the keys")
        elif given.method == "type" and not (given.text.isascii() and given.text.isprintable()):
            self._gathered.lose(self._step, "keys", f"not all characters of {given.text!r} have a key")
        else:
            keys = given.text.replace(" ", "\n") if given.method == "type" else [given.keys] * given.times
            for key in keys:
                self._add("press", key="Space" if key == "\n" else key)

    def _drag(self, action: _Action) -> None:
        to = self._target(_first(action))
        self._act("drag", action, to=to)

    def _act(self, kind: str, action: _Action, **fields: JsonValue | Record | None) -> None:
        self._add(kind, target=self._target(action.selector), **fields)

    def _target(self, selector: str) -> Record:
        *frames, own = (each.strip() for each in selector.split(_INTO))
        converted = [xpath(each.removeprefix("xpath=")) if _is_xpath(each) else css(each) for each in (*frames, own)]
        return target_of(converted[-1], (), self._gathered, self._step, tuple(each.text for each in converted[:-1]))

    def _add(self, kind: str, **fields: JsonValue | Record | None) -> None:
        self._gathered.add(self._step, kind, **fields)


def _is_xpath(selector: str) -> bool:
    return selector.startswith(("xpath=", "/", "("))


def _first(action: _Action) -> str:
    return action.arguments[0] if action.arguments else ""
