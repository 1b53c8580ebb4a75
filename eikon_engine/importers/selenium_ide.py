"""Import Selenium IDE projects: `.side` files, JSON.

Commands: https://www.selenium.dev/selenium-ide/docs/en/api/commands
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from pydantic import ValidationError

from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.files.text import read_digits
from eikon_engine.importers.foreign_file import ForeignModel
from eikon_engine.importers.imported_mission import (
    ImportedEnvironment,
    ImportedMission,
    ImportedSubgoal,
    MissionBuilder,
)
from eikon_engine.importers.selectors import build_target, convert_selenium
from eikon_engine.trace.actions import AssertCount, AssertText, Point, SelectorCondition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.files.models import FileModel
    from eikon_engine.trace.actions import ReadKind
    from eikon_engine.trace.target import Target

_KEY: Final = re.compile(r"\$\{KEY_(\w+)\}")
_KEY_NAMES: Final = {
    "ENTER": "Enter",
    "RETURN": "Enter",
    "TAB": "Tab",
    "ESC": "Escape",
    "ESCAPE": "Escape",
    "BACKSPACE": "Backspace",
    "BKSP": "Backspace",
    "DELETE": "Delete",
    "DEL": "Delete",
    "SPACE": "Space",
    "UP": "ArrowUp",
    "DOWN": "ArrowDown",
    "LEFT": "ArrowLeft",
    "RIGHT": "ArrowRight",
    "PAGE_UP": "PageUp",
    "PGUP": "PageUp",
    "PAGE_DOWN": "PageDown",
    "PGDN": "PageDown",
    "HOME": "Home",
    "END": "End",
    "INSERT": "Insert",
    **{f"F{number}": f"F{number}" for number in range(1, 13)},
}
_MODIFIER_KEYS: Final = {
    "SHIFT": "Shift",
    "CONTROL": "Control",
    "CTRL": "Control",
    "ALT": "Alt",
    "META": "Meta",
    "COMMAND": "Meta",
}


def parse_keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield `("type", text)`, `("press", chord)` or `("unknown", key)` for a text with keys.

    A modifier stays held for the rest of the text.
    """
    held: list[str] = []
    place = 0
    for found in (*_KEY.finditer(text), None):
        plain = text[place : found.start() if found else len(text)]
        if held:
            yield from (("press", "+".join((*held, each))) for each in plain)
        elif plain:
            yield "type", plain
        if found is None:
            return
        place = found.end()
        if found[1] in _MODIFIER_KEYS:
            held.append(_MODIFIER_KEYS[found[1]])
        elif found[1] in _KEY_NAMES:
            yield "press", "+".join((*held, _KEY_NAMES[found[1]]))
        else:
            yield "unknown", found[1]


_VARIABLE: Final = re.compile(r"\$\{(?!KEY_)(\w+)\}")
_POINT: Final = re.compile(r"\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*")
_SIZE: Final = re.compile(r"\s*(\d+)\s*x\s*(\d+)\s*")
_MAX_DEPTH: Final = 20
"""Maximum depth of tests that run other tests."""
_SKIPPED_COMMANDS: Final = {
    "echo": "it only writes to the log",
    "debugger": "it only pauses for a debugger",
    "setSpeed": "a replay has no speed",
    "pause": "a replay advances page time as recorded",
    "mouseOut": "the next action moves the pointer",
    "assertAlert": "replays compare dialog messages",
    "assertConfirmation": "replays compare dialog messages",
    "assertPrompt": "replays compare dialog messages",
}
"""Commands that are not imported, with the reason."""
_TEXT: Final = "to.have.text"
_EXPECTATIONS: Final[Mapping[str, tuple[str, bool]]] = {
    "Checked": ("to.be.checked", False),
    "NotChecked": ("to.be.checked", True),
    "Editable": ("to.be.editable", False),
    "NotEditable": ("to.be.editable", True),
    "NotText": (_TEXT, True),
    "Value": ("to.have.value", False),
    "NotValue": ("to.have.value", True),
    "SelectedValue": ("to.have.value", False),
    "NotSelectedValue": ("to.have.value", True),
    "SelectedLabel": (_TEXT, False),
    "NotSelectedLabel": (_TEXT, True),
}
"""Playwright's assertions by what `assert…` and `verify…` check, and whether they are negated."""
_ASSERTION_VERBS: Final = ("assert", "verify")
_STATE_EXPECTATIONS: Final = frozenset({"to.be.checked", "to.be.editable"})
"""Assertions without an expected text."""
_SELECTED_OPTION: Final = " >> css=option:checked"
_WAIT_EXPECTATIONS: Final[Mapping[str, tuple[str, bool]]] = {
    "waitForElementEditable": ("to.be.editable", False),
    "waitForElementNotEditable": ("to.be.editable", True),
    "waitForText": (_TEXT, False),
}
_WAIT_TIMEOUT_MS: Final = 30_000.0
"""Deadline of a wait without one of its own."""
_READS: Final[Mapping[str, ReadKind]] = {
    "storeAttribute": "attribute",
    "storeText": "inner_text",
    "storeTitle": "title",
    "storeValue": "input_value",
    "storeXpathCount": "count",
}
"""Commands that store what they read in a variable, and what they read."""
_WAIT_STATES: Final = {
    "waitForElementVisible": "visible",
    "waitForElementPresent": "attached",
    "waitForElementNotVisible": "hidden",
    "waitForElementNotPresent": "detached",
}
_DIALOG_COMMANDS: Final[Mapping[str, tuple[bool, bool]]] = {
    "chooseOkOnNextConfirmation": (True, False),
    "chooseCancelOnNextConfirmation": (False, False),
    "chooseCancelOnNextPrompt": (False, False),
    "answerOnNextPrompt": (True, False),
    "webdriverChooseOkOnVisibleConfirmation": (True, True),
    "webdriverChooseCancelOnVisibleConfirmation": (False, True),
    "webdriverChooseCancelOnVisiblePrompt": (False, True),
    "webdriverAnswerOnVisiblePrompt": (True, True),
}
"""Whether the dialog is accepted, and whether the command follows the one that opens it."""


class _Command(ForeignModel):
    command: str
    target: str = ""
    value: str = ""
    targets: tuple[tuple[str, str], ...] = ()
    opensWindow: bool = False  # noqa: N815 - the name in the file
    windowHandleName: str = ""  # noqa: N815 - the name in the file


class _Test(ForeignModel):
    name: str
    commands: tuple[_Command, ...]


class _Project(ForeignModel):
    url: str = ""
    tests: tuple[_Test, ...]


def is_selenium_ide(data: object) -> bool:
    """Whether parsed JSON is a Selenium IDE project."""
    return isinstance(data, dict) and isinstance(data.get("tests"), list) and "suites" in data


def import_selenium_ide(data: object, test: str | None = None) -> ImportedMission:
    """Import one test of a project from parsed JSON; `test` is optional if there is only one.

    Raises:
        ForeignFormatError: the data is not a project.
        UsageError: the test does not exist, or is required because there are several.
    """
    try:
        project = _Project.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"]) or "top level"
        raise ForeignFormatError(f"Selenium IDE project: {place}: {first['msg']}. Save the project again.") from error
    names = [each.name for each in project.tests]
    expected = test if test is not None or len(names) != 1 else names[0]
    chosen = next((each for each in project.tests if each.name == expected), None)
    if chosen is None:
        found = ", ".join(map(repr, names)) or "none"
        raise UsageError(f"expected one test in the project, got {found}. Pass one with --test.")
    return _Converter(project).mission(chosen)


class _Converter:
    """Converts a test to a mission."""

    def __init__(self, project: _Project) -> None:
        self._project = project
        self._builder = MissionBuilder()
        self._step = 0
        self._screen: ImportedEnvironment | None = None
        self._viewports: dict[int, tuple[int, int]] = {}
        """Sizes by page, of pages that were resized during the mission."""
        self._frames: list[str] = []
        self._windows = {"root": 0}
        self._page = 0
        self._stored: dict[str, str] = {}
        self._converters: Mapping[str, Callable[[_Command], None]] = {
            "open": self._open,
            "click": self._click,
            "clickAt": self._click,
            "doubleClick": self._click,
            "doubleClickAt": self._click,
            "mouseOver": lambda command: self._add_on_target("hover", command),
            "check": lambda command: self._add_on_target("check", command),
            "uncheck": lambda command: self._add_on_target("uncheck", command),
            "type": lambda command: self._add_on_target("fill", command, text=command.value),
            "sendKeys": self._send_keys,
            "select": self._select,
            "dragAndDropToObject": self._drag,
            "selectFrame": self._select_frame,
            "selectWindow": self._select_window,
            "storeWindowHandle": self._store_window_handle,
            "store": lambda command: self._stored.update({command.value: command.target}),
            "close": lambda command: self._add("close_page"),  # noqa: ARG005 - it has no arguments
            "setWindowSize": self._set_window_size,
            "assertText": self._assert_text,
            "verifyText": self._assert_text,
            "assertElementPresent": lambda command: self._add_wait(command, "attached"),
            "verifyElementPresent": lambda command: self._add_wait(command, "attached"),
            "assertElementNotPresent": self._assert_absent,
            "verifyElementNotPresent": self._assert_absent,
            **{f"{verb}{what}": self._expect for what in (*_EXPECTATIONS, "Title") for verb in _ASSERTION_VERBS},
            **dict.fromkeys(_WAIT_EXPECTATIONS, self._wait_for_expectation),
            **dict.fromkeys(_READS, self._read),
            **dict.fromkeys(_WAIT_STATES, self._wait_for_state),
            **dict.fromkeys(_DIALOG_COMMANDS, self._answer),
        }

    def mission(self, test: _Test) -> ImportedMission:
        self._convert_test(test, 0)
        return ImportedMission(
            source="side",
            text=test.name,
            subgoals=(ImportedSubgoal(description=test.name, actions=tuple(self._builder.actions)),),
            environment=self._screen,
            unsupported=tuple(self._builder.unsupported),
            notes=tuple(self._builder.notes),
        )

    def _convert_test(self, test: _Test, depth: int) -> None:
        for raw in test.commands:
            self._step += 1
            name = raw.command
            command = self._substitute(raw)
            if name == "run":
                self._run(raw, depth)
            elif not name:
                continue  # a comment
            elif name.startswith("//"):
                self._builder.add_note(self._step, f"{name[2:]} skipped: it is disabled")
            elif name in _SKIPPED_COMMANDS:
                self._builder.add_note(self._step, f"{name} skipped: {_SKIPPED_COMMANDS[name]}")
            elif command is None:
                self._add_unsupported(raw, "it uses a variable that has a value only at run time")
            elif name in self._converters:
                if raw.opensWindow and raw.windowHandleName:
                    self._windows[raw.windowHandleName] = len(self._windows)
                self._converters[name](command)
            else:
                self._add_unsupported(raw, "unknown command")

    def _run(self, command: _Command, depth: int) -> None:
        test = next((each for each in self._project.tests if each.name == command.target), None)
        if test is None or depth == _MAX_DEPTH:
            self._add_unsupported(command, "unknown test" if test is None else "tests run each other recursively")
        else:
            self._convert_test(test, depth + 1)

    def _substitute(self, command: _Command) -> _Command | None:
        """Substitute stored variables; None if one is unknown. Window handles are resolved separately."""
        if command.command in {"selectWindow", "storeWindowHandle"}:
            return command
        texts = (command.target, command.value, *(target for target, _ in command.targets))
        if any(found[1] not in self._stored for text in texts for found in _VARIABLE.finditer(text)):
            return None
        fill = self._substitute_text
        targets = tuple((fill(target), kind) for target, kind in command.targets)
        return command.model_copy(
            update={"target": fill(command.target), "value": fill(command.value), "targets": targets}
        )

    def _substitute_text(self, text: str) -> str:
        return _VARIABLE.sub(lambda found: self._stored[found[1]], text)

    def _open(self, command: _Command) -> None:
        try:
            self._add("navigate", url=urljoin(self._project.url, command.target))
        except ValueError as error:
            self._add_unsupported(command, f"expected a URL, got {command.target!r}: {error}")

    def _click(self, command: _Command) -> None:
        point = _POINT.fullmatch(command.value) if command.command.endswith("At") else None
        position = None if point is None else Point(x=float(point[1]), y=float(point[2]))
        self._add_on_target(
            "double_click" if command.command.startswith("double") else "click", command, position=position
        )

    def _send_keys(self, command: _Command) -> None:
        target = self._target(command)
        if target is None:
            return
        for kind, text in parse_keys(command.value):
            if kind == "unknown":
                self._add_unsupported(command, f"unknown key {text}")
            else:
                self._add(kind, target=target, **{"text" if kind == "type" else "key": text})

    def _select(self, command: _Command) -> None:
        by, _, option = command.value.partition("=")
        if by not in {"label", "value", "index"}:
            self._add_unsupported(command, f"expected an option by label, value or index, got {command.value!r}")
        else:
            self._add_on_target("select_option", command, by=by, options=[option])

    def _drag(self, command: _Command) -> None:
        to = self._resolve_target(command, command.value)
        if to is not None:
            self._add_on_target("drag", command, to=to)

    def _select_frame(self, command: _Command) -> None:
        kind, _, value = command.target.partition("=")
        if (kind, value) == ("relative", "top"):
            self._frames.clear()
        elif (kind, value) == ("relative", "parent"):
            del self._frames[-1:]
        elif kind == "index" and value.isdigit():
            self._builder.add_note(self._step, "the frame is identified by its index only")
            self._frames.append(f"iframe >> nth={value}")
        elif (frame := convert_selenium(command.target)) is not None:
            self._frames.append(frame.text)
        else:
            self._add_unsupported(command, "unsupported frame locator")

    def _store_window_handle(self, command: _Command) -> None:
        self._windows[command.target] = self._page

    def _select_window(self, command: _Command) -> None:
        found = re.fullmatch(r"handle=\$\{(\w+)\}", command.target)
        if found is None or found[1] not in self._windows:
            self._add_unsupported(command, "the window was not opened by a command")
            return
        self._page = self._windows[found[1]]
        self._frames.clear()
        self._add("switch_page")

    def _set_window_size(self, command: _Command) -> None:
        size = _SIZE.fullmatch(command.target)
        if size is None:
            self._add_unsupported(command, f"expected a size such as 1280x720, got {command.target!r}")
            return
        width, height = read_digits(size[1]), read_digits(size[2])
        if self._screen is None and not self._has_acted:
            self._screen = ImportedEnvironment(width=width, height=height)
        elif (width, height) != self._viewports.get(
            self._page, self._screen and (self._screen.width, self._screen.height)
        ):
            self._viewports[self._page] = (width, height)
            self._add("set_viewport", width=width, height=height)
        self._builder.add_note(self._step, "setWindowSize: the viewport gets the size of the window, borders included")

    @property
    def _has_acted(self) -> bool:
        """Whether there is any action besides navigations."""
        return any(each.type != "navigate" for each in self._builder.actions)

    def _assert_text(self, command: _Command) -> None:
        target = self._target(command)
        if target is not None:
            self._add("assert", expectation=AssertText(target=target, text=command.value))

    def _assert_absent(self, command: _Command) -> None:
        target = self._target(command)
        if target is not None:
            self._add("assert", expectation=AssertCount(target=target, count=0))

    def _expect(self, command: _Command) -> None:
        """Add an assertion; it waits, as that of Playwright does."""
        what = command.command.removeprefix("assert").removeprefix("verify")
        if what == "Title":
            text: dict[str, JsonValue] = {"string": command.target, "normalize_white_space": True}
            self._add("expect", expression="to.have.title", texts=[text])
            return
        expression, is_not = _EXPECTATIONS[what]
        target = self._target(command)
        if target is not None and what.endswith("SelectedLabel"):
            target = target.model_copy(update={"selector": target.selector + _SELECTED_OPTION, "alternatives": ()})
        self._add_expectation(target, expression, command.value, is_not=is_not)

    def _wait_for_expectation(self, command: _Command) -> None:
        expression, is_not = _WAIT_EXPECTATIONS[command.command]
        timeout = None if expression == _TEXT else _milliseconds(command.value)
        self._add_expectation(
            self._target(command), expression, command.value, is_not=is_not, timeout_ms=timeout or _WAIT_TIMEOUT_MS
        )

    def _add_expectation(
        self, target: Target | None, expression: str, text: str, *, is_not: bool, timeout_ms: float | None = None
    ) -> None:
        if target is None:
            return
        fields: dict[str, JsonValue] = {"is_not": is_not, "timeout_ms": timeout_ms}
        if expression == "to.be.checked":
            fields["expected"] = {}
        elif expression not in _STATE_EXPECTATIONS:
            fields["texts"] = [{"string": text, "normalize_white_space": expression == _TEXT}]
        self._add("expect", expression=expression, target=target, use_inner_text=expression == _TEXT or None, **fields)

    def _read(self, command: _Command) -> None:
        """Add a read without its value, which a project does not contain."""
        what = _READS[command.command]
        locator, at, name = command.target.rpartition("@") if what == "attribute" else (command.target, "", None)
        if what == "attribute" and not at:
            self._add_unsupported(command, f"expected a locator and an attribute, got {command.target!r}")
            return
        target = None if what == "title" else self._resolve_target(command, locator)
        if target is None and what != "title":
            return
        self._builder.add_note(
            self._step, f"{command.command}: the project does not contain the value; that of the first recording counts"
        )
        self._add("read", what=what, target=target, name=name)

    def _wait_for_state(self, command: _Command) -> None:
        self._add_wait(command, _WAIT_STATES[command.command])

    def _add_wait(self, command: _Command, state: str) -> None:
        target = self._target(command)
        if target is not None:
            timeout = _milliseconds(command.value)
            condition = SelectorCondition.model_validate({"target": target, "state": state})
            self._add("wait_for", condition=condition, timeout_ms=timeout)

    def _answer(self, command: _Command) -> None:
        accept, comes_after = _DIALOG_COMMANDS[command.command]
        text = (command.value or command.target) if "Answer" in command.command or "answer" in command.command else None
        self._add("answer_dialog", accept=accept, text=text)
        if comes_after and len(self._builder.actions) > 1:
            actions = self._builder.actions
            actions[-2:] = [actions[-1], actions[-2]]

    def _add_on_target(self, kind: str, command: _Command, **fields: JsonValue | FileModel | None) -> None:
        target = self._target(command)
        if target is not None:
            self._add(kind, target=target, **fields)

    def _target(self, command: _Command) -> Target | None:
        return self._resolve_target(command, command.target, *(locator for locator, _ in command.targets))

    def _resolve_target(self, command: _Command, locator: str, *others: str) -> Target | None:
        """Return the target of a locator, with the other recorded locators as alternatives."""
        chosen = convert_selenium(locator)
        if chosen is None:
            self._add_unsupported(command, f"the locator {locator!r} has no Playwright equivalent")
            return None
        converted = [each for each in map(convert_selenium, others) if each is not None]
        return build_target(chosen, converted, self._builder, self._step, tuple(self._frames))

    def _add(self, kind: str, **fields: JsonValue | FileModel | None) -> None:
        self._builder.add_action(self._step, kind, page=self._page, **fields)

    def _add_unsupported(self, command: _Command, why: str) -> None:
        self._builder.add_unsupported(self._step, command.command, why)


def _milliseconds(text: str) -> float | None:
    """Return a deadline; None if the command has none of its own."""
    return float(text) if text.isdecimal() and read_digits(text) else None
