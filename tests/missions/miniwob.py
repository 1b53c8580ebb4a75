"""Solve pages of MiniWoB++ as an agent would: start, read the instruction, follow it, and check the reward.

A solution is a pure function of the page after the start; the words of the task, drawn at random on each load, are
read from the page and never known beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from selectolax.lexbor import LexborHTMLParser

from eikon_engine.trace.actions import (
    Action,
    Assert,
    AssertText,
    Check,
    Click,
    Drag,
    Fill,
    FunctionCondition,
    Hover,
    Navigate,
    SelectOption,
    TypeText,
    WaitFor,
)
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.record import MissionRecorder

Solution: TypeAlias = Callable[[LexborHTMLParser], tuple[Action, ...]]

FULL_REWARD: Final = "WOB_DONE_GLOBAL && WOB_RAW_REWARD_GLOBAL === 1"
"""The page's own text for an episode that was solved."""
_SUBMIT: Final = "#subbtn"


async def solve_task(mission: MissionRecorder, url: str, task: str) -> None:
    """Record one subgoal: load the page of a task, solve it, and check the reward.

    Raises:
        ActionError: the page gave no reward, or not the full one.
    """
    async with mission.subgoal(f"solve {task}", subgoal_id=task):
        await mission.perform(Navigate(url=f"{url}/miniwob/{task}.html"))
        await mission.perform(_click("#sync-task-cover"))
        for action in SOLUTIONS[task](LexborHTMLParser(await mission.html())):
            await mission.perform(action)
        await mission.perform(WaitFor(condition=FunctionCondition(expression=FULL_REWARD), timeout_ms=100))
        counted = AssertText(target=Target(selector="#episode-id"), text="1", contains=True)
        await mission.perform(Assert(expectation=counted))


def _click(selector: str) -> Click:
    return Click(target=Target(selector=selector))


def _query(page: LexborHTMLParser) -> str:
    """Return the instruction with normalized white space."""
    found = page.css_first("#query")
    return " ".join(found.text().split()) if found is not None else ""


def _asked(page: LexborHTMLParser, pattern: str) -> tuple[str, ...]:
    """Return the parts of the instruction that vary."""
    found = re.search(pattern, _query(page))
    if found is None:
        raise ValueError(f"wanted an instruction like {pattern!r}, found {_query(page)!r}")
    return found.groups()


def _texts(page: LexborHTMLParser, selector: str) -> tuple[str, ...]:
    return tuple(" ".join(node.text().split()) for node in page.css(selector))


def _exactly(selector: str, text: str) -> str:
    """Select by the whole text; the first match, where a page offers two equal ones."""
    return f'{selector}:text-is("{text}") >> nth=0'


def _button(page: LexborHTMLParser) -> tuple[Action, ...]:
    (label,) = _asked(page, r'"(.+)" button')
    return (_click(_exactly("#area button", label)),)


def _checkboxes(page: LexborHTMLParser) -> tuple[Action, ...]:
    (names,) = _asked(page, r"Select (.+) and click")
    wanted = () if names == "nothing" else tuple(names.split(", "))
    boxes = (Check(target=Target(selector=_exactly("#area label", name) + " >> input")) for name in wanted)
    return (*boxes, _click(_SUBMIT))


def _option(page: LexborHTMLParser) -> tuple[Action, ...]:
    (name,) = _asked(page, r"Select (.+) and click")
    return (Check(target=Target(selector=_exactly("#area label", name) + " >> input")), _click(_SUBMIT))


def _tab(page: LexborHTMLParser) -> tuple[Action, ...]:
    (number,) = _asked(page, r"Tab #(\d+)")
    return (_click(_exactly("#area .ui-tabs-anchor", f"Tab #{number}")),)


def _link(page: LexborHTMLParser) -> tuple[Action, ...]:
    (text,) = _asked(page, r'"(.+)"')
    return (_click(_exactly("#area .alink", text)),)


def _dialog(page: LexborHTMLParser) -> tuple[Action, ...]:
    return (_click(".ui-dialog-titlebar-close"),)


def _dialog_button(page: LexborHTMLParser) -> tuple[Action, ...]:
    (label,) = _asked(page, r'"(.+)"')
    return (_click(".ui-dialog-titlebar-close" if label == "x" else _exactly(".ui-dialog-buttonset button", label)),)


def _collapsible(page: LexborHTMLParser) -> tuple[Action, ...]:
    return (_click("#area h3"), _click(_SUBMIT))


def _list(page: LexborHTMLParser) -> tuple[Action, ...]:
    (label,) = _asked(page, r"Select (.+) from the list")
    select = SelectOption(target=Target(selector="#options"), by="label", options=(label,))
    return (select, _click("#area button"))


def _scroll_list(page: LexborHTMLParser) -> tuple[Action, ...]:
    (labels,) = _asked(page, r"Select (.+) from the scroll list")
    select = SelectOption(target=Target(selector="#options"), by="label", options=tuple(labels.split(", ")))
    return (select, _click("#area button"))


def _text(page: LexborHTMLParser) -> tuple[Action, ...]:
    (text,) = _asked(page, r'"(.+)"')
    return (Fill(target=Target(selector="#tt"), text=text), _click(_SUBMIT))


def _date(page: LexborHTMLParser) -> tuple[Action, ...]:
    month, day, year = _asked(page, r"(\d\d)/(\d\d)/(\d{4})")
    return (Fill(target=Target(selector="#tt"), text=f"{year}-{month}-{day}"), _click(_SUBMIT))


def _focus(page: LexborHTMLParser) -> tuple[Action, ...]:
    return (_click("#tt"),)


def _autocomplete(page: LexborHTMLParser) -> tuple[Action, ...]:
    start, _, end = _asked(page, r'starts with "(.+?)"( and ends with "(.+)")?')
    # The two may share letters: "starts with Tog, ends with go" is Togo.
    item = f".ui-autocomplete li >> text=/^(?={re.escape(start)}).*{re.escape(end or '')}$/i >> nth=0"
    # jQuery UI misreads the first mouse move over a new list, so move once before choosing.
    first_moves = (Hover(target=Target(selector=item)), Hover(target=Target(selector="#query")))
    tags = Target(selector="#tags")
    return (_click("#tags"), TypeText(target=tags, text=start), *first_moves, _click(item), _click(_SUBMIT))


def _table(page: LexborHTMLParser) -> tuple[Action, ...]:
    (key,) = _asked(page, r"value of (.+) into")
    cells = _texts(page, "#tab td")
    value = dict(zip(cells[::2], cells[1::2], strict=True))[key]
    return (Fill(target=Target(selector="#tt"), text=value), _click(_SUBMIT))


def _spinner(page: LexborHTMLParser) -> tuple[Action, ...]:
    (number,) = _asked(page, r"Select (-?\d+) with")
    arrow = ".ui-spinner-up" if int(number) > 0 else ".ui-spinner-down"
    return (*(_click(arrow) for _ in range(abs(int(number)))), _click(_SUBMIT))


def _menu(page: LexborHTMLParser) -> tuple[Action, ...]:
    (path,) = _asked(page, r"Select (.+)")
    *branches, leaf = (_exactly("#menu .ui-menu-item-wrapper", name) for name in path.split(">"))
    return (*(Hover(target=Target(selector=branch)) for branch in branches), _click(leaf))


def _sorting(page: LexborHTMLParser) -> tuple[Action, ...]:
    """Drag the smallest remaining number up to its position, until all are in order."""
    numbers = [int(text) for text in _texts(page, "#sortable li div")]
    drags: list[Action] = []
    for place in range(len(numbers)):
        here = numbers.index(min(numbers[place:]), place)
        numbers.insert(place, numbers.pop(here))
        if here != place:
            item = "#sortable li >> nth={}".format
            drags.append(Drag(target=Target(selector=item(here)), to=Target(selector=item(place))))
    return (*drags, _click(_SUBMIT))


def _in_order(*selectors: str) -> Solution:
    """Click the elements one after the other in the order the page asks for."""
    return lambda _page: tuple(map(_click, selectors))


SOLUTIONS: Final[dict[str, Solution]] = {
    "choose-list": _list,
    "click-button": _button,
    "click-button-sequence": _in_order("#subbtn", "#subbtn2"),
    "click-checkboxes": _checkboxes,
    "click-collapsible": _collapsible,
    "click-dialog": _dialog,
    "click-dialog-2": _dialog_button,
    "click-link": _link,
    "click-menu": _menu,
    "click-option": _option,
    "click-scroll-list": _scroll_list,
    "click-tab": _tab,
    "click-test-2": _in_order(_SUBMIT),
    "drag-sort-numbers": _sorting,
    "enter-date": _date,
    "enter-text": _text,
    "focus-text": _focus,
    "read-table": _table,
    "use-autocomplete": _autocomplete,
    "use-spinner": _spinner,
}
"""The solution of each page; every word of the answers is read from the page."""
