"""Actions as lines of a Playwright test in Python, with what was recorded of their effects as assertions.

Playwright for Python: https://playwright.dev/python/docs/api/class-locator
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from eikon_engine.trace import actions
from eikon_engine.trace.actions import DEFAULT_NAVIGATION_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, SecretRef

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.actions import Action, Condition, Expectation, Text
    from eikon_engine.trace.target import Target


def page_name(page: int) -> str:
    """Name the variable of a page."""
    return "page" if page == 0 else f"page_{page}"


def call(name: str, *arguments: str, **options: object) -> str:
    """Write a call; options that are None are left out."""
    given = [f"{key}={value!r}" for key, value in options.items() if value is not None]
    return f"{name}({', '.join((*arguments, *given))})"


def text_of(text: Text) -> str:
    """Write a text; a secret is read from the environment."""
    return f'os.environ["{text.secret}"]' if isinstance(text, SecretRef) else repr(text)


def locator(page: int, target: Target) -> str:
    """Write the locator of a target."""
    written = page_name(page)
    for frame in target.frames:
        written = call(f"{written}.frame_locator", repr(frame))
    return call(f"{written}.locator", repr(target.selector))


def pattern(url: str) -> str:
    """Write a URL in which `*` stands for any run of characters."""
    if "*" not in url:
        return repr(url)
    return f"re.compile({'^' + '.*'.join(map(re.escape, url.split('*'))) + '$'!r})"


def lines_of(action: Action) -> Iterator[str]:  # noqa: C901 - one case a kind
    """Yield the lines that do what an action does; the element of its target is in the variable `element`."""
    page = page_name(action.page)
    match action:
        case actions.Navigate(url=url, referer=referer):
            yield call(f"{page}.goto", repr(url), referer=referer, **_navigation(action))
        case actions.GoBack() | actions.GoForward() | actions.Reload():
            yield call(f"{page}.{action.type}", **_navigation(action))
        case actions.Press(target=None, key=key):
            yield call(f"{page}.keyboard.press", repr(key))
        case actions.Scroll(target=None, dx=dx, dy=dy):
            yield call(f"{page}.evaluate", repr(f"scrollBy({{left: {dx:g}, top: {dy:g}, behavior: 'instant'}})"))
        case actions.WaitFor(condition=condition):
            yield _wait(action.page, condition, _timeout(action))
        case actions.Assert(expectation=expectation):
            yield _expect(action.page, expectation)
        case actions.SwitchPage():
            yield call(f"{page}.bring_to_front")
        case actions.ClosePage():
            yield call(f"{page}.close")
        case actions.Screenshot(full_page=full_page):
            yield call(f"{page}.screenshot", full_page=full_page or None)
        case actions.Note(text=text):
            yield from (f"# {line}" for line in text.splitlines())
        case actions.AnswerDialog() | actions.ExtractDom():
            return
        case _:
            yield from _on_element(action)


def _on_element(action: Action) -> Iterator[str]:  # noqa: C901 - one case a kind
    timeout = _timeout(action)
    match action:
        case actions.Click() | actions.DoubleClick() | actions.Download():
            name = "dblclick" if isinstance(action, actions.DoubleClick) else "click"
            button = None if isinstance(action, actions.Download) or action.button == "left" else action.button
            delay = action.delay_ms or None if isinstance(action, actions.Click) else None
            yield call(f"element.{name}", button=button, delay=delay, timeout=timeout, **_pointer(action))
        case actions.Hover():
            yield call("element.hover", timeout=timeout, **_pointer(action))
        case actions.Check(position=position) | actions.Uncheck(position=position):
            yield call(f"element.{action.type}", position=position and position.model_dump(), timeout=timeout)
        case actions.Fill(text=text):
            yield call("element.fill", text_of(text), timeout=timeout)
        case actions.SetValue(text=text):
            yield call("(element.select_option if is_select else element.fill)", text_of(text), timeout=timeout)
        case actions.TypeText(text=text):
            yield call("element.press_sequentially", text_of(text), timeout=timeout)
        case actions.Press(key=key):
            yield call("element.press", repr(key), timeout=timeout)
        case actions.SelectOption(by=by, options=options):
            chosen = [int(each) for each in options] if by == "index" else list(options)
            yield call("element.select_option", **{by: chosen}, timeout=timeout)
        case actions.SetInputFiles(files=files):
            paths = ", ".join(f"FILES / {each.name!r}" for each in files)
            yield call("element.set_input_files", f"[{paths}]", timeout=timeout)
        case actions.Drag(to=to, position=position, to_position=to_position):
            yield call(
                "element.drag_to",
                locator(action.page, to),
                source_position=position and position.model_dump(),
                target_position=to_position and to_position.model_dump(),
                timeout=timeout,
            )
        case actions.Scroll(dx=dx, dy=dy):
            script = f"each => each.scrollBy({{left: {dx:g}, top: {dy:g}, behavior: 'instant'}})"
            yield call("element.evaluate", repr(script), timeout=timeout)
        case _:
            message = f"{action.type} has no element"
            raise AssertionError(message)


def _pointer(action: actions.Click | actions.DoubleClick | actions.Download | actions.Hover) -> dict[str, object]:
    position = action.position.model_dump() if action.position is not None else None
    return {"position": position, "modifiers": list(action.modifiers) or None}


def _navigation(action: actions.Navigate | actions.GoBack | actions.GoForward | actions.Reload) -> dict[str, object]:
    timeout = None if action.timeout_ms == DEFAULT_NAVIGATION_TIMEOUT_MS else action.timeout_ms
    return {"wait_until": None if action.wait_until == "load" else action.wait_until, "timeout": timeout}


def _timeout(action: Action) -> float | None:
    return None if action.timeout_ms == DEFAULT_TIMEOUT_MS else action.timeout_ms


def _wait(page: int, condition: Condition, timeout: float | None) -> str:
    name = page_name(page)
    match condition:
        case actions.SelectorCondition(target=target, state=state):
            return call(f"{locator(page, target)}.wait_for", state=state, timeout=timeout)
        case actions.UrlCondition(url=url):
            return call(f"{name}.wait_for_url", pattern(url), timeout=timeout)
        case actions.LoadStateCondition(state=state):
            return call(f"{name}.wait_for_load_state", repr(state), timeout=timeout)
        case actions.FunctionCondition(expression=expression):
            return call(f"{name}.wait_for_function", repr(expression), timeout=timeout)
        case _:
            assert_never(condition)


def _expect(page: int, expectation: Expectation) -> str:
    match expectation:
        case actions.AssertVisible(target=target):
            return f"expect({locator(page, target)}).to_be_visible()"
        case actions.AssertText(target=target, text=text, contains=contains):
            return f"expect({locator(page, target)}).{'to_contain_text' if contains else 'to_have_text'}({text!r})"
        case actions.AssertCount(target=target, count=count):
            return f"expect({locator(page, target)}).to_have_count({count})"
        case actions.AssertUrl(url=url):
            return f"expect({page_name(page)}).to_have_url({pattern(url)})"
        case _:
            assert_never(expectation)
