"""Write actions as source; `trace.playwright_python` says which calls they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.exporters.playwright_locator import page_variable, recorded_locator
from eikon_engine.exporters.playwright_values import text_source
from eikon_engine.exporters.python_source import Block, Statement, call_source, comment_lines, value_source
from eikon_engine.trace.actions import Note, OpenPage, SecretRef, SetValue
from eikon_engine.trace.playwright_python import Json, PythonCall, Url, UrlPattern, python_calls
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.trace.actions import Action, FileInput


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContext:
    """How to write URLs, targets and files in the test."""

    site: Site
    locate: Callable[[int, Target], str]
    file: Callable[[FileInput], str]


def write_action(action: Action, element: str, context: SourceContext) -> tuple[Statement, ...]:
    """Return the statements of an action; empty if it has no effect. `element` is the source of its locator."""
    if isinstance(action, Note):
        return comment_lines(f"Note: {action.text}")
    lines = [_write_call(action.page, call, element, context) for call in python_calls(action)]
    if isinstance(action, OpenPage):
        return (f"{page_variable(action.page)} = {lines[0]}",)
    if isinstance(action, SetValue) and len(lines) > 1:
        select, fill = lines
        condition = f'if {element}.evaluate("each => each.localName") == "select":'
        return Block(condition, (select,)), Block("else:", (fill,))
    return tuple(lines)


def _write_call(number: int, call: PythonCall, element: str, context: SourceContext) -> str:
    receiver = _write_receiver(page_variable(number), number, call, element)
    arguments = [_write_argument(each, number, context) for each in call.arguments]
    return call_source(f"{receiver}.{call.method}", *arguments, **call.options, timeout=call.timeout_ms)


def _write_receiver(page: str, number: int, call: PythonCall, element: str) -> str:
    locator = element or (recorded_locator(number, call.target) if call.target is not None else page)
    match call.receiver:
        case "page":
            return page
        case "context":
            return "page.context"
        case "keyboard" | "mouse" | "touchscreen":
            return f"{page}.{call.receiver}"
        case "locator":
            return locator
        case "expect":
            return f"expect({locator})"


def _write_argument(argument: object, number: int, context: SourceContext) -> str:  # noqa: PLR0911 - one case per kind
    match argument:
        case str() | SecretRef():
            return text_source(argument)
        case Url(text=url):
            return context.site.url_source(url)
        case UrlPattern(text=url):
            return context.site.pattern_source(url)
        case Json(value=value):
            return value_source(value)
        case Target():
            return context.locate(number, argument)
        case tuple():
            files = [context.file(each) for each in argument]
            return files[0] if len(files) == 1 else f"[{', '.join(files)}]"
        case float():
            return f"{argument:g}"
        case _:
            return value_source(argument)
