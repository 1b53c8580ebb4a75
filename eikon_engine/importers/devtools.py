"""Import recordings of the Chrome DevTools Recorder: user flows as JSON.

Schema: https://github.com/puppeteer/replay/blob/main/src/Schema.ts
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, assert_never, cast

from pydantic import Field, TypeAdapter, ValidationError

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.foreign_file import ForeignModel, unknown_fields
from eikon_engine.importers.imported_mission import (
    ImportedEnvironment,
    ImportedMission,
    ImportedSubgoal,
    MissionBuilder,
)
from eikon_engine.importers.selectors import TEST_IDS, best_selector, build_target, convert_devtools
from eikon_engine.trace.actions import FunctionCondition, Point, SelectorCondition, UrlCondition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.files.models import FileModel
    from eikon_engine.trace.actions import Condition
    from eikon_engine.trace.target import Target

_BUTTONS: Final = {"primary": "left", "auxiliary": "middle", "secondary": "right"}
_SELECTOR_STATES: Final[dict[bool | None, Literal["attached", "visible", "hidden"]]] = {
    None: "attached",
    True: "visible",
    False: "hidden",
}
"""Selector state by the property `visible` of a step."""
_MAIN_TARGET: Final = "main"
_MAX_DESCRIBED: Final = 20
"""Maximum number of elements whose properties are checked one by one."""
_MAX_PATH: Final = 10
"""Maximum depth of a property."""


MODIFIERS: Final = {
    "Alt": "Alt",
    "AltLeft": "Alt",
    "AltRight": "Alt",
    "Control": "Control",
    "ControlLeft": "Control",
    "ControlRight": "Control",
    "Meta": "Meta",
    "MetaLeft": "Meta",
    "MetaRight": "Meta",
    "Shift": "Shift",
    "ShiftLeft": "Shift",
    "ShiftRight": "Shift",
}
_KEY_NAMES: Final = {"\r": "Enter", "\n": "Enter", " ": "Space"}


class Keyboard:
    """The keys that are currently held (mutable)."""

    def __init__(self) -> None:
        """Start with no key held."""
        self._modifiers: dict[str, bool] = {}
        """Held modifiers, and whether an action used them."""
        self._down: list[str] = []

    @property
    def modifiers(self) -> tuple[str, ...]:
        """Return the held modifiers and mark them as used."""
        self._modifiers = dict.fromkeys(self._modifiers, True)
        return tuple(dict.fromkeys(MODIFIERS[key] for key in self._modifiers))

    def down(self, key: str) -> str | None:
        """Press a key; return the completed chord, or None for a modifier."""
        if key in MODIFIERS:
            self._modifiers[key] = False
            return None
        self._down.append(key)
        return "+".join((*self.modifiers, _KEY_NAMES.get(key, key)))

    def up(self, key: str) -> str | None:
        """Release a key; return it if it is a modifier that no action used, which means it was pressed alone.

        Raises:
            KeyError: the key is not down.
        """
        if key in MODIFIERS:
            return None if self._modifiers.pop(key) else MODIFIERS[key]
        if key not in self._down:
            raise KeyError(key)
        self._down.remove(key)
        return None

    @property
    def held(self) -> tuple[str, ...]:
        """The keys that are still held."""
        return (*self._modifiers, *self._down)


class _Event(ForeignModel):
    type: Literal["navigation"]
    url: str | None = None
    title: str | None = None


class _Step(ForeignModel):
    timeout: float | None = Field(default=None, gt=0)
    target: str = _MAIN_TARGET
    frame: tuple[int, ...] = ()
    assertedEvents: tuple[_Event, ...] = ()  # noqa: N815 - the name in the file


class _SelectorStep(_Step):
    selectors: tuple[str | tuple[str, ...], ...] = Field(min_length=1)


class _PointerStep(_SelectorStep):
    deviceType: Literal["mouse", "pen", "touch"] = "mouse"  # noqa: N815 - the name in the file
    button: Literal["primary", "auxiliary", "secondary", "back", "forward"] = "primary"
    offsetX: float | None = None  # noqa: N815 - the name in the file
    offsetY: float | None = None  # noqa: N815 - the name in the file
    duration: float = Field(default=0.0, ge=0)


class _Click(_PointerStep):
    type: Literal["click"]


class _DoubleClick(_PointerStep):
    type: Literal["doubleClick"]


class _Hover(_SelectorStep):
    type: Literal["hover"]


class _Change(_SelectorStep):
    type: Literal["change"]
    value: str


class _Key(_Step):
    type: Literal["keyDown", "keyUp"]
    key: str = Field(min_length=1)


class _Close(_Step):
    type: Literal["close"]


class _Viewport(_Step):
    type: Literal["setViewport"]
    width: int = Field(gt=0)
    height: int = Field(gt=0)
    deviceScaleFactor: float = 1.0  # noqa: N815 - the name in the file
    isMobile: bool = False  # noqa: N815 - the name in the file
    hasTouch: bool = False  # noqa: N815 - the name in the file
    isLandscape: bool = False  # noqa: N815 - the name in the file


class _Scroll(_Step):
    type: Literal["scroll"]
    selectors: tuple[str | tuple[str, ...], ...] = ()
    x: float = 0.0
    y: float = 0.0


class _Navigate(_Step):
    type: Literal["navigate"]
    url: str = Field(min_length=1)


class _Network(_Step):
    type: Literal["emulateNetworkConditions"]


class _WaitForElement(_SelectorStep):
    type: Literal["waitForElement"]
    operator: Literal[">=", "==", "<="] = ">="
    """The default is that of the runner of `@puppeteer/replay`; the comment in its schema names another one."""
    count: int = Field(default=1, ge=0)
    visible: bool | None = None
    properties: dict[str, object] | None = None
    attributes: dict[str, str] | None = None


class _WaitForExpression(_Step):
    type: Literal["waitForExpression"]
    expression: str


_KnownStep: TypeAlias = (
    _Click
    | _DoubleClick
    | _Hover
    | _Change
    | _Key
    | _Close
    | _Viewport
    | _Scroll
    | _Navigate
    | _Network
    | _WaitForElement
    | _WaitForExpression
)
_STEP_ADAPTER: Final[TypeAdapter[_KnownStep]] = TypeAdapter(Annotated[_KnownStep, Field(discriminator="type")])


class _Flow(ForeignModel):
    title: str = "recording"
    timeout: float | None = None
    selectorAttribute: str | None = None  # noqa: N815 - the name in the file
    steps: tuple[dict[str, object], ...]


def is_devtools(data: object) -> bool:
    """Whether parsed JSON is a user flow."""
    return isinstance(data, dict) and isinstance(data.get("steps"), list) and "title" in data


def import_devtools(data: object) -> ImportedMission:
    """Import a user flow from parsed JSON.

    Raises:
        ForeignFormatError: the data is not a user flow, or a step of a known type violates the schema.
    """
    try:
        flow = _Flow.model_validate(data)
    except ValidationError as error:
        raise _invalid_recording("user flow", error) from error
    return _Converter(flow).mission()


class _Converter:
    """Converts a user flow to a mission."""

    def __init__(self, flow: _Flow) -> None:
        self._flow = flow
        self._builder = MissionBuilder()
        self._test_ids = (*TEST_IDS, *((flow.selectorAttribute,) if flow.selectorAttribute else ()))
        self._pages = [_MAIN_TARGET]
        self._keyboard = Keyboard()
        self._scroll_positions: dict[tuple[int, str], tuple[float, float]] = {}
        self._screen: ImportedEnvironment | None = None
        self._viewports: dict[int, tuple[int, int]] = {}
        """Sizes by page, of pages that were resized during the mission."""

    def mission(self) -> ImportedMission:
        for number, data in enumerate(self._flow.steps, start=1):
            self._convert_step(number, data)
        for key in self._keyboard.held:
            self._builder.add_unsupported(len(self._flow.steps), f"keyDown {key!r}", "the key is never released")
        subgoal = ImportedSubgoal(description=self._flow.title, actions=tuple(self._builder.actions))
        return ImportedMission(
            source="devtools",
            text=self._flow.title,
            subgoals=(subgoal,),
            environment=self._screen,
            unsupported=tuple(self._builder.unsupported),
            notes=tuple(self._builder.notes),
        )

    def _convert_step(self, number: int, data: dict[str, object]) -> None:
        kind = str(data.get("type"))
        if kind == "customStep":
            self._builder.add_unsupported(
                number, f"customStep {data.get('name')!r}", "only its own extension can run it"
            )
            return
        try:
            step = _STEP_ADAPTER.validate_python(data)
        except ValidationError as error:
            if error.errors()[0]["type"] == "union_tag_invalid":
                self._builder.add_unsupported(number, kind, "unknown step type")
                return
            raise _invalid_recording(f"step {number}, {kind}", error) from error
        for name in unknown_fields(type(step), data):
            self._builder.add_note(number, f"{kind}: unknown property {name!r} ignored")
        self._convert(number, step)
        self._add_asserted_events(number, step)

    def _convert(self, number: int, step: _KnownStep) -> None:
        page = self._page(step)
        match step:
            case _Navigate():
                self._scroll_positions.clear()
                self._add(number, "navigate", page=page, url=step.url, timeout_ms=self._timeout(step))
            case _Click() | _DoubleClick():
                self._add_click(number, step)
            case _Hover() | _Change():
                self._add_hover_or_change(number, step)
            case _Key():
                self._add_key(number, step)
            case _Scroll():
                self._add_scroll(number, step)
            case _WaitForElement() | _WaitForExpression():
                self._add_wait(number, step)
            case _Close():
                self._add(number, "close_page", page=page)
            case _Viewport():
                self._set_viewport(number, step)
            case _Network():
                self._builder.add_note(number, "emulateNetworkConditions: a replay does not emulate network speed")
            case _:
                assert_never(step)

    def _add_click(self, number: int, step: _Click | _DoubleClick) -> None:
        button = _BUTTONS.get(step.button)
        if button is None:
            self._builder.add_unsupported(number, step.type, f"the mouse button {step.button!r} is not supported")
            return
        target = self._target(number, step)
        if target is None:
            return
        if step.deviceType != "mouse":
            self._builder.add_note(number, f"{step.type}: recorded with a {step.deviceType}, replayed with a mouse")
        self._add(
            number,
            "click" if isinstance(step, _Click) else "double_click",
            page=self._page(step),
            target=target,
            button=button,
            position=None if step.offsetX is None or step.offsetY is None else Point(x=step.offsetX, y=step.offsetY),
            modifiers=list(self._keyboard.modifiers),
            timeout_ms=self._timeout(step),
            delay_ms=step.duration,
        )

    def _add_hover_or_change(self, number: int, step: _Hover | _Change) -> None:
        target = self._target(number, step)
        if target is None:
            return
        kind, text = ("hover", None) if isinstance(step, _Hover) else ("set_value", step.value)
        self._add(number, kind, page=self._page(step), target=target, text=text, timeout_ms=self._timeout(step))

    def _add_key(self, number: int, step: _Key) -> None:
        try:
            chord = self._keyboard.down(step.key) if step.type == "keyDown" else self._keyboard.up(step.key)
        except KeyError:
            self._builder.add_unsupported(number, f"keyUp {step.key!r}", "the key was not down")
            return
        if chord is not None:
            self._add(number, "press", page=self._page(step), key=chord)

    def _add_scroll(self, number: int, step: _Scroll) -> None:
        """Convert an absolute scroll position to a distance from the previous one, initially the top left."""
        if step.frame and not step.selectors:
            self._builder.add_unsupported(number, "scroll", "scrolling the document of a frame is not supported")
            return
        target = self._resolve_target(number, step.type, step.selectors, step.frame) if step.selectors else None
        if step.selectors and target is None:
            return
        page = self._page(step)
        place = (page, str(target or ""))
        before = self._scroll_positions.get(place, (0.0, 0.0))
        self._scroll_positions[place] = (step.x, step.y)
        self._add(number, "scroll", page=page, target=target, dx=step.x - before[0], dy=step.y - before[1])

    def _add_wait(self, number: int, step: _WaitForElement | _WaitForExpression) -> None:
        if isinstance(step, _WaitForElement):
            self._add_element_wait(number, step)
        else:
            frames = self._frame_path(number, step.frame)
            self._add_condition(number, step, FunctionCondition(expression=step.expression, frames=frames))

    def _add_element_wait(self, number: int, step: _WaitForElement) -> None:
        """Wait for the number of elements, then for what they must be like."""
        expected = list(_expectations(step))
        if expected and (step.operator == "<=" or not 1 <= step.count <= _MAX_DESCRIBED or None in expected):
            what = f"for properties or attributes of {step.operator} {step.count} elements"
            self._builder.add_unsupported(number, step.type, f"waiting {what} is unsupported")
            return
        target = self._target(number, step)
        if target is None:
            return
        self._add_count(number, step, target)
        is_single = step.operator == "==" and step.count == 1
        for place in range(step.count if expected else 0):
            each = target if is_single else _nth(target, place)
            for fields in expected:
                self._add_expect(number, step, target=each, **(fields or {}))

    def _add_count(self, number: int, step: _WaitForElement, target: Target) -> None:
        """Wait until the selector matches as many elements: there is a last one, or none beyond it."""
        state = _SELECTOR_STATES[step.visible]
        match step.operator:
            case ">=" if step.count > 0:
                self._add_condition(number, step, SelectorCondition(target=_nth(target, step.count - 1), state=state))
            case "==" if step.count == 1:
                self._add_condition(number, step, SelectorCondition(target=target, state=state))
            case "==" if step.count > 1:
                self._add_expect(number, step, expression="to.have.count", target=target, number=step.count)
                if step.visible is not None:
                    shown = _within(target, f"visible={'true' if step.visible else 'false'}")
                    self._add_expect(number, step, expression="to.have.count", target=shown, number=step.count)
            case "<=" if step.count > 0:
                last = _nth(target, step.count)
                self._add_condition(number, step, SelectorCondition(target=last, state="detached"))
            case "<=" | "==":
                self._add_condition(number, step, SelectorCondition(target=target, state="detached"))
            case ">=":
                self._builder.add_note(number, f"{step.type}: >= 0 elements are always there")

    def _add_condition(self, number: int, step: _Step, condition: Condition) -> None:
        self._add(number, "wait_for", page=self._page(step), condition=condition, timeout_ms=self._timeout(step))

    def _add_expect(self, place: int, step: _Step, /, **fields: JsonValue | FileModel | None) -> None:
        self._add(place, "expect", page=self._page(step), timeout_ms=self._timeout(step), **fields)

    def _set_viewport(self, number: int, step: _Viewport) -> None:
        screen = ImportedEnvironment(
            width=step.width,
            height=step.height,
            device_scale_factor=step.deviceScaleFactor,
            is_mobile=step.isMobile,
            has_touch=step.hasTouch,
        )
        before = self._screen
        if before is None and not self._builder.actions:
            self._screen = screen
            return
        device = before or ImportedEnvironment(width=step.width, height=step.height)
        if replace(device, width=step.width, height=step.height) != screen:
            self._builder.add_unsupported(
                number, "setViewport", "only the size of a page can change during a mission, not its scale or device"
            )
            return
        page, size = self._page(step), (step.width, step.height)
        if size != self._viewports.get(page, before and (before.width, before.height)):
            self._viewports[page] = size
            self._add(number, "set_viewport", page=page, width=step.width, height=step.height)

    def _add_asserted_events(self, number: int, step: _KnownStep) -> None:
        """Wait for the URL and the title that the recorded navigation led to."""
        for event in step.assertedEvents:
            if event.url:
                self._add_condition(number, step, UrlCondition(url=event.url))
            if event.title:
                text: dict[str, JsonValue] = {"string": event.title, "normalize_white_space": True}
                self._add_expect(number, step, expression="to.have.title", texts=[text])

    def _target(self, number: int, step: _SelectorStep) -> Target | None:
        return self._resolve_target(number, str(getattr(step, "type", "")), step.selectors, step.frame)

    def _resolve_target(
        self, number: int, kind: str, selectors: tuple[str | tuple[str, ...], ...], frame: tuple[int, ...]
    ) -> Target | None:
        frames = self._frame_path(number, frame)
        converted = [each for each in (convert_devtools(one, self._test_ids) for one in selectors) if each is not None]
        chosen = best_selector(converted)
        if chosen is None:
            found = ", ".join(map(str, selectors))
            self._builder.add_unsupported(number, kind, f"no selector can be converted for Playwright: {found}")
            return None
        return build_target(chosen, converted, self._builder, number, frames)

    def _frame_path(self, number: int, frame: tuple[int, ...]) -> tuple[str, ...]:
        """Return the selectors of the iframes that lead to a frame, and note that they are weak."""
        if frame:
            self._builder.add_note(number, "the frame is identified by its index only")
        return tuple(f"iframe >> nth={place}" for place in frame)

    def _page(self, step: _Step) -> int:
        """Return the ordinal of a page; pages are identified by URL and numbered in order of appearance."""
        if step.target not in self._pages:
            self._pages.append(step.target)
        return self._pages.index(step.target)

    def _timeout(self, step: _Step) -> float | None:
        return step.timeout or self._flow.timeout

    def _add(self, step: int, kind: str, /, **fields: JsonValue | FileModel | None) -> None:
        self._builder.add_action(step, kind, **fields)


def _nth(target: Target, place: int) -> Target:
    """Return the target that is the match at this place, from 0."""
    return _within(target, f"nth={place}")


def _within(target: Target, selector: str) -> Target:
    return target.model_copy(update={"selector": f"{target.selector} >> {selector}", "alternatives": ()})


def _expectations(step: _WaitForElement) -> Iterator[dict[str, JsonValue] | None]:
    """Yield what an element must be like, as fields of an `expect` action; None if none expresses it."""
    for name, text in (step.attributes or {}).items():
        yield {"expression": "to.have.attribute.value", "argument": name, "texts": [{"string": text}]}
    for path, value in _leaves(step.properties or {}):
        is_plain = all(name and "." not in name for name in path) and isinstance(value, str | int | float | bool)
        yield {"expression": "to.have.property", "argument": ".".join(path), "expected": value} if is_plain else None


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield the path of each plain value inside a property; the property may have more than these."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else None
    if inner is None or len(path) > _MAX_PATH:
        yield path, cast("JsonValue", value)
    else:
        for name, each in inner:
            yield from _leaves(each, (*path, str(name)))


def _invalid_recording(where: str, error: ValidationError) -> ForeignFormatError:
    first = error.errors()[0]
    place = ".".join(str(each) for each in first["loc"]) or "top level"
    return ForeignFormatError(f"DevTools recording, {where}: {place}: {first['msg']}. Export it again as JSON.")
