"""Import recordings of the Chrome DevTools Recorder: user flows as JSON.

Schema: https://github.com/puppeteer/replay/blob/main/src/Schema.ts
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, assert_never

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
    from pydantic import JsonValue

    from eikon_engine.files.models import FileModel
    from eikon_engine.trace.target import Target

_BUTTONS: Final = {"primary": "left", "auxiliary": "middle", "secondary": "right"}
_SELECTOR_STATES: Final[dict[bool | None, Literal["attached", "visible", "hidden"]]] = {
    None: "attached",
    True: "visible",
    False: "hidden",
}
"""Selector state by the property `visible` of a step."""
_MAIN_TARGET: Final = "main"


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


class _Click(_PointerStep):
    type: Literal["click"]
    duration: float = Field(default=0.0, ge=0)


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
    operator: Literal[">=", "==", "<="] = "=="
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
            delay_ms=step.duration if isinstance(step, _Click) else None,
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
        condition: SelectorCondition | FunctionCondition | None = None
        if isinstance(step, _WaitForElement):
            condition = self._element_condition(number, step)
        elif step.frame:
            self._builder.add_unsupported(number, step.type, "waiting for an expression in a frame is not supported")
        else:
            condition = FunctionCondition(expression=step.expression)
        if condition is not None:
            self._add(number, "wait_for", page=self._page(step), condition=condition, timeout_ms=self._timeout(step))

    def _element_condition(self, number: int, step: _WaitForElement) -> SelectorCondition | None:
        is_there = step.operator != "<=" and step.count == 1
        is_gone = step.operator != ">=" and step.count == 0
        if step.properties or step.attributes:
            self._builder.add_unsupported(number, step.type, "waiting for properties or attributes is unsupported")
        elif not is_there and not is_gone:
            self._builder.add_unsupported(
                number, step.type, f"waiting for {step.operator} {step.count} elements is unsupported"
            )
        elif (target := self._target(number, step)) is not None:
            return SelectorCondition(target=target, state="detached" if is_gone else _SELECTOR_STATES[step.visible])
        return None

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
        """Wait for the recorded navigation, unless the step is a navigation itself."""
        for event in step.assertedEvents:
            if event.title:
                self._builder.add_note(number, f"title assertion {event.title!r} skipped: replays compare all titles")
            if event.url and not isinstance(step, _Navigate):
                self._add(number, "wait_for", page=self._page(step), condition=UrlCondition(url=event.url))

    def _target(self, number: int, step: _SelectorStep) -> Target | None:
        return self._resolve_target(number, str(getattr(step, "type", "")), step.selectors, step.frame)

    def _resolve_target(
        self, number: int, kind: str, selectors: tuple[str | tuple[str, ...], ...], frame: tuple[int, ...]
    ) -> Target | None:
        frames = tuple(f"iframe >> nth={place}" for place in frame)
        if frames:
            self._builder.add_note(number, "the frame is identified by its index only")
        converted = [each for each in (convert_devtools(one, self._test_ids) for one in selectors) if each is not None]
        chosen = best_selector(converted)
        if chosen is None:
            found = ", ".join(map(str, selectors))
            self._builder.add_unsupported(number, kind, f"no selector can be converted for Playwright: {found}")
            return None
        return build_target(chosen, converted, self._builder, number, frames)

    def _page(self, step: _Step) -> int:
        """Return the ordinal of a page; pages are identified by URL and numbered in order of appearance."""
        if step.target not in self._pages:
            self._pages.append(step.target)
        return self._pages.index(step.target)

    def _timeout(self, step: _Step) -> float | None:
        return step.timeout or self._flow.timeout

    def _add(self, step: int, kind: str, **fields: JsonValue | FileModel | None) -> None:
        self._builder.add_action(step, kind, **fields)


def _invalid_recording(where: str, error: ValidationError) -> ForeignFormatError:
    first = error.errors()[0]
    place = ".".join(str(each) for each in first["loc"]) or "top level"
    return ForeignFormatError(f"DevTools recording, {where}: {place}: {first['msg']}. Export it again as JSON.")
