"""Write mouse, keyboard, event and viewport actions as calls of Playwright for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

from eikon_engine.exporters.playwright_locator import page_variable
from eikon_engine.exporters.playwright_values import text_source
from eikon_engine.exporters.python_source import call_source, string_literal
from eikon_engine.trace import actions

if TYPE_CHECKING:
    from eikon_engine.exporters.python_source import Statement

RawAction: TypeAlias = (
    actions.DispatchEvent
    | actions.Focus
    | actions.InsertText
    | actions.Key
    | actions.Mouse
    | actions.OpenPage
    | actions.SetViewport
)


def write_raw_action(action: RawAction, element: str) -> tuple[Statement, ...]:  # noqa: PLR0911 - one case per action
    """Return the statements of such an action; the element under the pointer is not checked."""
    page = page_variable(action.page)
    match action:
        case actions.OpenPage():
            return (f"{page} = page.context.new_page()",)
        case actions.SetViewport(width=width, height=height):
            return (call_source(f"{page}.set_viewport_size", f'{{"width": {width}, "height": {height}}}'),)
        case actions.Focus():
            return (call_source(f"{element}.focus"),)
        case actions.DispatchEvent(event=event, init=init):
            return (call_source(f"{element}.dispatch_event", string_literal(event), event_init=init),)
        case actions.InsertText(text=text, key_by_key=by_keys):
            return (call_source(f"{page}.keyboard.{'type' if by_keys else 'insert_text'}", text_source(text)),)
        case actions.Key(event=event, key=key):
            return (call_source(f"{page}.keyboard.{event}", string_literal(key)),)
        case actions.Mouse():
            return _write_mouse(action, f"{page}.mouse")
        case _:
            assert_never(action)


def _write_mouse(action: actions.Mouse, mouse: str) -> tuple[Statement, ...]:
    button = None if action.button == "left" else action.button
    count = None if action.click_count == 1 else action.click_count
    place = (f"{action.x:g}", f"{action.y:g}")
    if action.event == "click":
        return (call_source(f"{mouse}.click", *place, button=button, click_count=count, delay=action.delay_ms or None),)
    moved = call_source(f"{mouse}.move", *place, steps=None if action.steps == 1 else action.steps)
    if action.event == "move":
        return (moved,)
    return (moved, call_source(f"{mouse}.{action.event}", button=button, click_count=count))
