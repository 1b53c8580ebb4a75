"""Write actions as calls of Playwright for Python.

https://playwright.dev/python/docs/api/class-locator
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from eikon_engine.exporters.playwright_locator import page_variable, recorded_locator
from eikon_engine.exporters.playwright_values import text_source
from eikon_engine.exporters.python_source import Block, Statement, call_source, comment_lines, string_literal
from eikon_engine.trace import actions
from eikon_engine.trace.actions import DEFAULT_NAVIGATION_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, UNBOUNDED_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.trace.actions import Action, Condition, Expectation, FileInput
    from eikon_engine.trace.target import Target

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


_ElementAction: TypeAlias = (
    actions.Click
    | actions.DoubleClick
    | actions.Download
    | actions.Hover
    | actions.Check
    | actions.Uncheck
    | actions.Fill
    | actions.TypeText
    | actions.Press
    | actions.SelectOption
    | actions.SetValue
    | actions.SetInputFiles
    | actions.Drag
    | actions.Scroll
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContext:
    """How to write URLs, targets and files in the test."""

    site: Site
    locate: Callable[[int, Target], str]
    file: Callable[[FileInput], str]


def write_action(action: Action, element: str, context: SourceContext) -> tuple[Statement, ...]:  # noqa: C901, PLR0911, PLR0912 - one case per action
    """Return the statements of an action; empty if it has no effect. `element` is the source of its locator."""
    page, site = page_variable(action.page), context.site
    match action:
        case actions.Navigate(url=url, referer=referer):
            return (call_source(f"{page}.goto", site.url_source(url), referer=referer, **_navigation(action)),)
        case actions.GoBack() | actions.GoForward() | actions.Reload():
            return (call_source(f"{page}.{action.type}", **_navigation(action)),)
        case actions.Press(target=None, key=key):
            return (call_source(f"{page}.keyboard.press", string_literal(key)),)
        case actions.Scroll(target=None, dx=dx, dy=dy):
            return (call_source(f"{page}.evaluate", string_literal(f"scrollBy({_scroll_options(dx, dy)})")),)
        case actions.WaitFor(condition=condition):
            return (_write_wait(action.page, condition, timeout_of(action), site),)
        case actions.Assert(expectation=expectation):
            return (_write_assertion(action.page, expectation, site),)
        case actions.SwitchPage():
            return (call_source(f"{page}.bring_to_front"),)
        case actions.ClosePage():
            return (call_source(f"{page}.close"),)
        case actions.Screenshot(full_page=full_page):
            return (call_source(f"{page}.screenshot", full_page=full_page or None),)
        case actions.Note(text=text):
            return comment_lines(f"Note: {text}")
        case actions.AnswerDialog() | actions.ExtractDom():
            return ()
        case (
            actions.OpenPage()
            | actions.SetViewport()
            | actions.Focus()
            | actions.DispatchEvent()
            | actions.InsertText()
            | actions.Key()
            | actions.Mouse()
        ):
            return write_raw_action(action, element)
        case _:
            return _write_element_action(action, element, context)


def _write_element_action(action: _ElementAction, element: str, context: SourceContext) -> tuple[Statement, ...]:  # noqa: C901, PLR0911 - one case per action
    timeout = timeout_of(action)
    match action:
        case actions.Click() | actions.DoubleClick() | actions.Download() | actions.Hover():
            return (_write_pointer(action, element),)
        case actions.Check(position=position) | actions.Uncheck(position=position):
            return (call_source(f"{element}.{action.type}", position=_point_of(position), timeout=timeout),)
        case actions.Fill(text=text):
            return (call_source(f"{element}.fill", text_source(text), timeout=timeout),)
        case actions.SetValue():
            return _write_set_value(action, element)
        case actions.TypeText(text=text):
            return (call_source(f"{element}.press_sequentially", text_source(text), timeout=timeout),)
        case actions.Press(key=key):
            return (call_source(f"{element}.press", string_literal(key), timeout=timeout),)
        case actions.SelectOption(by=by, options=options):
            indices = by == "index" and all(each.isdecimal() for each in options)
            chosen: list[object] = [int(each) for each in options] if indices else list(options)
            given = chosen[0] if len(chosen) == 1 else chosen
            return (call_source(f"{element}.select_option", **{by: given}, timeout=timeout),)
        case actions.SetInputFiles(files=files):
            paths = [context.file(each) for each in files]
            given_files = paths[0] if len(paths) == 1 else f"[{', '.join(paths)}]"
            return (call_source(f"{element}.set_input_files", given_files, timeout=timeout),)
        case actions.Drag(to=to, position=position, to_position=to_position):
            points = {"source_position": _point_of(position), "target_position": _point_of(to_position)}
            return (call_source(f"{element}.drag_to", context.locate(action.page, to), **points, timeout=timeout),)
        case actions.Scroll(dx=dx, dy=dy):
            script = f"each => each.scrollBy({_scroll_options(dx, dy)})"
            return (call_source(f"{element}.evaluate", string_literal(script), timeout=timeout),)
        case _:
            assert_never(action)


def _write_pointer(action: actions.Click | actions.DoubleClick | actions.Download | actions.Hover, element: str) -> str:
    options: dict[str, object] = {
        "position": _point_of(action.position),
        "modifiers": list(action.modifiers) or None,
        "timeout": timeout_of(action),
    }
    match action:
        case actions.Hover():
            return call_source(f"{element}.hover", **options)
        case actions.Download():
            return call_source(f"{element}.click", **options)
        case actions.Click(button=button, delay_ms=delay, click_count=count, force=force):
            options = {
                "button": None if button == "left" else button,
                "click_count": None if count == 1 else count,
                "delay": delay or None,
                "force": force or None,
                **options,
            }
            return call_source(f"{element}.click", **options)
        case actions.DoubleClick(button=button):
            return call_source(f"{element}.dblclick", button=None if button == "left" else button, **options)
        case _:
            assert_never(action)


def _write_set_value(action: actions.SetValue, element: str) -> tuple[Statement, ...]:
    """Write `fill` or `select_option` by the recorded tag; if it is unknown, the test decides."""
    text, timeout = text_source(action.text), timeout_of(action)
    select = call_source(f"{element}.select_option", text, timeout=timeout)
    fill = call_source(f"{element}.fill", text, timeout=timeout)
    if action.target.identity is not None:
        return (select if action.target.identity.tag == "select" else fill,)
    asked = f'if {element}.evaluate("each => each.localName") == "select":'
    return Block(asked, (select,)), Block("else:", (fill,))


def _point_of(position: actions.Point | None) -> dict[str, float] | None:
    return None if position is None else position.model_dump()


def _scroll_options(dx: float, dy: float) -> str:
    return f"{{left: {dx!r}, top: {dy!r}, behavior: 'instant'}}"


def _navigation(action: actions.Navigate | actions.GoBack | actions.GoForward | actions.Reload) -> dict[str, object]:
    timeout = _deadline(action, DEFAULT_NAVIGATION_TIMEOUT_MS)
    return {"wait_until": None if action.wait_until == "load" else action.wait_until, "timeout": timeout}


def timeout_of(action: Action) -> float | None:
    """Return the timeout in milliseconds if it differs from the default; 0 means no timeout."""
    return _deadline(action, DEFAULT_TIMEOUT_MS)


def _deadline(action: Action, usual_ms: float) -> float | None:
    if action.timeout_ms == UNBOUNDED_TIMEOUT_MS:
        return 0
    return None if action.timeout_ms == usual_ms else action.timeout_ms


def _write_wait(page: int, condition: Condition, timeout: float | None, site: Site) -> str:
    name = page_variable(page)
    match condition:
        case actions.SelectorCondition(target=target, state=state):
            shown = None if state == "visible" else state
            return call_source(f"{recorded_locator(page, target)}.wait_for", state=shown, timeout=timeout)
        case actions.UrlCondition(url=url):
            return f"expect({name}).{call_source('to_have_url', site.pattern_source(url), timeout=timeout)}"
        case actions.LoadStateCondition(state=state):
            return call_source(f"{name}.wait_for_load_state", string_literal(state), timeout=timeout)
        case actions.FunctionCondition(expression=expression):
            return call_source(f"{name}.wait_for_function", string_literal(expression), timeout=timeout)
        case _:
            assert_never(condition)


def _write_assertion(page: int, expectation: Expectation, site: Site) -> str:
    match expectation:
        case actions.AssertVisible(target=target):
            return f"expect({recorded_locator(page, target)}).to_be_visible()"
        case actions.AssertText(target=target, text=text, contains=contains):
            demand = "to_contain_text" if contains else "to_have_text"
            return f"expect({recorded_locator(page, target)}).{demand}({text_source(text)})"
        case actions.AssertCount(target=target, count=count):
            return f"expect({recorded_locator(page, target)}).to_have_count({count})"
        case actions.AssertUrl(url=url):
            return f"expect({page_variable(page)}).to_have_url({site.pattern_source(url)})"
        case _:
            assert_never(expectation)
