"""Import the agent cache of Stagehand 3: the recorded steps of its agent.

Shape: `CachedAgentEntry` and `AgentReplayStep` in https://github.com/browserbase/stagehand, packages/core/lib/v3/types
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import Field, ValidationError

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.foreign_file import ForeignModel
from eikon_engine.importers.imported_mission import ImportedMission, ImportedSubgoal, MissionBuilder
from eikon_engine.importers.selectors import build_target, css, xpath

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from eikon_engine.files.models import FileModel

CACHE_VERSION: Final = 1
_SKIPPED_STEPS: Final = frozenset({"extract", "observe", "screenshot", "ariaTree", "think", "search", "done", "close"})
"""Agent tools that do not act on the page."""
_WAITS: Final = {"networkidle": "load"}
_VARIABLE: Final = re.compile(r"%(\w+)%")
_FRAME_SEPARATOR: Final = ">>"
"""Enters the document of an iframe: `xpath=/html/body/iframe >> xpath=/html/body/a`."""


class _Action(ForeignModel):
    selector: str = Field(min_length=1)
    method: str = ""
    arguments: tuple[str, ...] = ()


class _Keys(ForeignModel):
    method: str
    text: str = ""
    keys: str = ""
    times: int = Field(default=1, ge=1, le=1_000)


class _Step(ForeignModel):
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


class _Cache(ForeignModel):
    version: int
    instruction: str
    startUrl: str = ""  # noqa: N815 - the name in the file
    steps: tuple[_Step, ...]


def is_stagehand(data: object) -> bool:
    """Whether parsed JSON is an entry of the agent cache."""
    return isinstance(data, dict) and {"version", "instruction", "startUrl", "steps"} <= data.keys()


def import_stagehand(data: object) -> ImportedMission:
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
    if cache.version != CACHE_VERSION:
        message = f"Stagehand agent cache: expected version {CACHE_VERSION}, got {cache.version}. Update Eikon."
        raise ForeignFormatError(message)
    return _Converter(cache).mission()


class _Converter:
    """Converts a cache entry to a mission."""

    def __init__(self, cache: _Cache) -> None:
        self._cache = cache
        self._builder = MissionBuilder()
        self._step = 0
        self._methods: Mapping[str, Callable[[_Action], None]] = {
            "click": lambda action: self._add_on_target("click", action),
            "doubleClick": lambda action: self._add_on_target("double_click", action),
            "hover": lambda action: self._add_on_target("hover", action),
            "fill": lambda action: self._add_on_target("fill", action, text=_first_argument(action)),
            "type": lambda action: self._add_on_target("type", action, text=_first_argument(action)),
            "press": lambda action: self._add_on_target("press", action, key=_first_argument(action)),
            "selectOption": lambda action: self._add_on_target(
                "select_option", action, by="label", options=[_first_argument(action)]
            ),
            "selectOptionFromDropdown": lambda action: self._add_on_target(
                "select_option", action, by="label", options=[_first_argument(action)]
            ),
            "dragAndDrop": self._drag,
        }

    def mission(self) -> ImportedMission:
        if self._cache.startUrl:
            self._add("navigate", url=self._cache.startUrl)
        for number, step in enumerate(self._cache.steps, start=1):
            self._step = number
            self._convert(step)
        text = self._cache.instruction
        return ImportedMission(
            source="stagehand",
            text=text,
            subgoals=(ImportedSubgoal(description=text, actions=tuple(self._builder.actions)),),
            unsupported=tuple(self._builder.unsupported),
            notes=tuple(self._builder.notes),
        )

    def _convert(self, step: _Step) -> None:
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
                    self._builder.add_note(self._step, "scroll: pointer position ignored")
                self._add("scroll", dx=step.deltaX, dy=step.deltaY)
            case "wait":
                self._builder.add_note(self._step, "wait skipped: a replay advances page time as recorded")
            case kind if kind in _SKIPPED_STEPS:
                self._builder.add_note(self._step, f"{kind} skipped: it does not act on the page")
            case kind:
                self._builder.add_unsupported(self._step, kind, "unknown step type")

    def _actions(self, step: _Step) -> None:
        actions = step.actions or step.observeResults
        if not actions:
            self._builder.add_unsupported(
                self._step, step.type, f"the cache contains no actions for {step.instruction!r}"
            )
        for action in actions:
            carry = self._methods.get(action.method)
            variable = next((found for each in action.arguments if (found := _VARIABLE.search(each))), None)
            if carry is None:
                self._builder.add_unsupported(self._step, action.method or "act", "unknown method")
            elif variable is not None:
                why = f"the cache does not contain the value of variable {variable[1]}"
                self._builder.add_unsupported(self._step, action.method, why)
            else:
                carry(action)

    def _keys(self, step: _Step) -> None:
        """Press keys on the focused element; text is typed key by key and must fit a US keyboard."""
        given = step.playwrightArguments
        if given is None or given.method not in {"press", "type"}:
            self._builder.add_unsupported(self._step, "keys", "the cache does not contain the keys")
        elif given.method == "type" and not (given.text.isascii() and given.text.isprintable()):
            self._builder.add_unsupported(self._step, "keys", f"not all characters of {given.text!r} have a key")
        else:
            keys = given.text.replace(" ", "\n") if given.method == "type" else [given.keys] * given.times
            for key in keys:
                self._add("press", key="Space" if key == "\n" else key)

    def _drag(self, action: _Action) -> None:
        to = self._target(_first_argument(action))
        self._add_on_target("drag", action, to=to)

    def _add_on_target(self, kind: str, action: _Action, **fields: JsonValue | FileModel | None) -> None:
        self._add(kind, target=self._target(action.selector), **fields)

    def _target(self, selector: str) -> FileModel:
        *frames, own = (each.strip() for each in selector.split(_FRAME_SEPARATOR))
        converted = [xpath(each.removeprefix("xpath=")) if _is_xpath(each) else css(each) for each in (*frames, own)]
        return build_target(converted[-1], (), self._builder, self._step, tuple(each.text for each in converted[:-1]))

    def _add(self, kind: str, **fields: JsonValue | FileModel | None) -> None:
        self._builder.add_action(self._step, kind, **fields)


def _is_xpath(selector: str) -> bool:
    return selector.startswith(("xpath=", "/", "("))


def _first_argument(action: _Action) -> str:
    return action.arguments[0] if action.arguments else ""
