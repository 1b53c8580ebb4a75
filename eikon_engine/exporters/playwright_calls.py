"""Write actions as calls of Playwright for Python.

https://playwright.dev/python/docs/api/class-locator
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from eikon_engine.exporters.playwright_locator import page_name, plain_locator
from eikon_engine.exporters.playwright_raw import raw_statements
from eikon_engine.exporters.playwright_values import text_source
from eikon_engine.exporters.python_source import Block, Statement, call, comment, quoted
from eikon_engine.trace import actions
from eikon_engine.trace.deadlines import DEFAULT_NAVIGATION_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, NO_DEADLINE_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.trace.actions import Action, Condition, Expectation, FileInput
    from eikon_engine.trace.target import Target

_OnElement: TypeAlias = (
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
class Words:
    """How to write URLs, targets and files in the test."""

    site: Site
    locate: Callable[[int, Target], str]
    file: Callable[[FileInput], str]


def statements_of(action: Action, element: str, words: Words) -> tuple[Statement, ...]:  # noqa: C901, PLR0911, PLR0912 - one case per action
    """Return the statements of an action; empty if it has no effect. `element` is the source of its locator."""
    page, site = page_name(action.page), words.site
    match action:
        case actions.Navigate(url=url, referer=referer):
            return (call(f"{page}.goto", site.address(url), referer=referer, **_navigation(action)),)
        case actions.GoBack() | actions.GoForward() | actions.Reload():
            return (call(f"{page}.{action.type}", **_navigation(action)),)
        case actions.Press(target=None, key=key):
            return (call(f"{page}.keyboard.press", quoted(key)),)
        case actions.Scroll(target=None, dx=dx, dy=dy):
            return (call(f"{page}.evaluate", quoted(f"scrollBy({_by(dx, dy)})")),)
        case actions.WaitFor(condition=condition):
            return (_wait(action.page, condition, timeout_of(action), site),)
        case actions.Assert(expectation=expectation):
            return (_expect(action.page, expectation, site),)
        case actions.SwitchPage():
            return (call(f"{page}.bring_to_front"),)
        case actions.ClosePage():
            return (call(f"{page}.close"),)
        case actions.Screenshot(full_page=full_page):
            return (call(f"{page}.screenshot", full_page=full_page or None),)
        case actions.Note(text=text):
            return comment(f"Note: {text}")
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
            return raw_statements(action, element)
        case _:
            return _on_element(action, element, words)


def _on_element(action: _OnElement, element: str, words: Words) -> tuple[Statement, ...]:  # noqa: C901, PLR0911 - one case per action
    timeout = timeout_of(action)
    match action:
        case actions.Click() | actions.DoubleClick() | actions.Download() | actions.Hover():
            return (_point(action, element),)
        case actions.Check(position=position) | actions.Uncheck(position=position):
            return (call(f"{element}.{action.type}", position=_point_of(position), timeout=timeout),)
        case actions.Fill(text=text):
            return (call(f"{element}.fill", text_source(text), timeout=timeout),)
        case actions.SetValue():
            return _set_value(action, element)
        case actions.TypeText(text=text):
            return (call(f"{element}.press_sequentially", text_source(text), timeout=timeout),)
        case actions.Press(key=key):
            return (call(f"{element}.press", quoted(key), timeout=timeout),)
        case actions.SelectOption(by=by, options=options):
            indices = by == "index" and all(each.isdecimal() for each in options)
            chosen: list[object] = [int(each) for each in options] if indices else list(options)
            given = chosen[0] if len(chosen) == 1 else chosen
            return (call(f"{element}.select_option", **{by: given}, timeout=timeout),)
        case actions.SetInputFiles(files=files):
            paths = [words.file(each) for each in files]
            given_files = paths[0] if len(paths) == 1 else f"[{', '.join(paths)}]"
            return (call(f"{element}.set_input_files", given_files, timeout=timeout),)
        case actions.Drag(to=to, position=position, to_position=to_position):
            points = {"source_position": _point_of(position), "target_position": _point_of(to_position)}
            return (call(f"{element}.drag_to", words.locate(action.page, to), **points, timeout=timeout),)
        case actions.Scroll(dx=dx, dy=dy):
            script = f"each => each.scrollBy({_by(dx, dy)})"
            return (call(f"{element}.evaluate", quoted(script), timeout=timeout),)
        case _:
            assert_never(action)


def _point(action: actions.Click | actions.DoubleClick | actions.Download | actions.Hover, element: str) -> str:
    options: dict[str, object] = {
        "position": _point_of(action.position),
        "modifiers": list(action.modifiers) or None,
        "timeout": timeout_of(action),
    }
    match action:
        case actions.Hover():
            return call(f"{element}.hover", **options)
        case actions.Download():
            return call(f"{element}.click", **options)
        case actions.Click(button=button, delay_ms=delay, click_count=count, force=force):
            options = {
                "button": None if button == "left" else button,
                "click_count": None if count == 1 else count,
                "delay": delay or None,
                "force": force or None,
                **options,
            }
            return call(f"{element}.click", **options)
        case actions.DoubleClick(button=button):
            return call(f"{element}.dblclick", button=None if button == "left" else button, **options)
        case _:
            assert_never(action)


def _set_value(action: actions.SetValue, element: str) -> tuple[Statement, ...]:
    """Write `fill` or `select_option` by the recorded tag; if it is unknown, the test decides."""
    text, timeout = text_source(action.text), timeout_of(action)
    select = call(f"{element}.select_option", text, timeout=timeout)
    fill = call(f"{element}.fill", text, timeout=timeout)
    if action.target.identity is not None:
        return (select if action.target.identity.tag == "select" else fill,)
    asked = f'if {element}.evaluate("each => each.localName") == "select":'
    return Block(asked, (select,)), Block("else:", (fill,))


def _point_of(position: actions.Point | None) -> dict[str, float] | None:
    return None if position is None else position.model_dump()


def _by(dx: float, dy: float) -> str:
    return f"{{left: {dx!r}, top: {dy!r}, behavior: 'instant'}}"


def _navigation(action: actions.Navigate | actions.GoBack | actions.GoForward | actions.Reload) -> dict[str, object]:
    timeout = _deadline(action, DEFAULT_NAVIGATION_TIMEOUT_MS)
    return {"wait_until": None if action.wait_until == "load" else action.wait_until, "timeout": timeout}


def timeout_of(action: Action) -> float | None:
    """Return the timeout in milliseconds if it differs from the default; 0 means no timeout."""
    return _deadline(action, DEFAULT_TIMEOUT_MS)


def _deadline(action: Action, usual_ms: float) -> float | None:
    if action.timeout_ms == NO_DEADLINE_MS:
        return 0
    return None if action.timeout_ms == usual_ms else action.timeout_ms


def _wait(page: int, condition: Condition, timeout: float | None, site: Site) -> str:
    name = page_name(page)
    match condition:
        case actions.SelectorCondition(target=target, state=state):
            shown = None if state == "visible" else state
            return call(f"{plain_locator(page, target)}.wait_for", state=shown, timeout=timeout)
        case actions.UrlCondition(url=url):
            return f"expect({name}).{call('to_have_url', site.pattern(url), timeout=timeout)}"
        case actions.LoadStateCondition(state=state):
            return call(f"{name}.wait_for_load_state", quoted(state), timeout=timeout)
        case actions.FunctionCondition(expression=expression):
            return call(f"{name}.wait_for_function", quoted(expression), timeout=timeout)
        case _:
            assert_never(condition)


def _expect(page: int, expectation: Expectation, site: Site) -> str:
    match expectation:
        case actions.AssertVisible(target=target):
            return f"expect({plain_locator(page, target)}).to_be_visible()"
        case actions.AssertText(target=target, text=text, contains=contains):
            demand = "to_contain_text" if contains else "to_have_text"
            return f"expect({plain_locator(page, target)}).{demand}({text_source(text)})"
        case actions.AssertCount(target=target, count=count):
            return f"expect({plain_locator(page, target)}).to_have_count({count})"
        case actions.AssertUrl(url=url):
            return f"expect({page_name(page)}).to_have_url({site.pattern(url)})"
        case _:
            assert_never(expectation)
