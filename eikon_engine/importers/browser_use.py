"""Import browser-use histories: files of `AgentHistoryList.save_to_file`, version 0.1 and later.

Shape: `AgentHistory` in https://github.com/browser-use/browser-use, browser_use/agent/views.py; actions:
browser_use/tools/views.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.foreign_file import ForeignModel
from eikon_engine.importers.imported_mission import ImportedMission, ImportedSubgoal, MissionBuilder
from eikon_engine.importers.selectors import (
    TEST_IDS,
    RankedSelector,
    attribute,
    best_selector,
    build_target,
    role,
    xpath,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.files.models import FileModel
    from eikon_engine.trace.target import Target

_READ_ONLY_ACTIONS: Final = frozenset(
    (
        *("done", "extract", "extract_content", "extract_structured_data", "search_page", "find_elements", "find_text"),
        *("scroll_to_text", "screenshot", "save_as_pdf", "dropdown_options", "get_dropdown_options", "write_todos"),
        *("read_file", "write_file", "replace_file"),
    )
)
"""Actions that only read a page, or do not concern it."""
_NAMING_ATTRIBUTES: Final = ("name", "aria-label", "placeholder", "alt", "title", "href")
_IMPLICIT_ROLES: Final = {"button": "button", "a": "link", "select": "combobox", "textarea": "textbox"}
"""Implicit ARIA roles that depend on the tag alone."""
_SELECTED_OPTION: Final = re.compile(r"^Selected option: .*\(value: (?P<value>.*)\)$", re.DOTALL)
"""Result text of browser-use after selecting an option."""
_CHORD: Final = re.compile(r"\w+(\+\w+)+|[A-Z]\w+")
_PAGE_HEIGHT: Final = 720.0
_BLANK_URLS: Final = frozenset(
    ("about:blank", "chrome://newtab", "chrome://newtab/", "chrome://new-tab-page", "chrome://new-tab-page/")
)
"""URLs of new tabs: `is_new_tab_page` in browser_use/utils.py."""


class _Element(ForeignModel):
    node_name: str = ""
    tag_name: str = ""
    attributes: dict[str, str] | None = None
    x_path: str = ""
    xpath: str = ""
    ax_name: str | None = None


class _Tab(ForeignModel):
    target_id: str | None = None
    page_id: int | None = None

    @property
    def name(self) -> str:
        return str(self.page_id) if self.target_id is None else self.target_id[-4:]


class _State(ForeignModel):
    url: str = ""
    tabs: tuple[_Tab, ...] = ()
    interacted_element: tuple[_Element | None, ...] = ()


class _Result(ForeignModel):
    error: str | None = None
    extracted_content: str | None = None


class _Output(ForeignModel):
    next_goal: str | None = None
    current_state: dict[str, object] | None = None
    action: tuple[dict[str, dict[str, object] | None], ...] = ()

    @property
    def goal(self) -> str:
        older = (self.current_state or {}).get("next_goal")
        return self.next_goal or (older if isinstance(older, str) else "")


class _Item(ForeignModel):
    model_output: _Output | None
    result: tuple[_Result, ...] = ()
    state: _State


class _History(ForeignModel):
    history: tuple[_Item, ...]


def is_browser_use(data: object) -> bool:
    """Whether parsed JSON is a browser-use history."""
    return isinstance(data, dict) and isinstance(data.get("history"), list)


def import_browser_use(data: object) -> ImportedMission:
    """Import a history from parsed JSON; each agent step becomes a subgoal, named by its goal.

    Raises:
        ForeignFormatError: the data is not a browser-use history.
    """
    try:
        history = _History.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"]) or "top level"
        raise ForeignFormatError(f"browser-use history: {place}: {first['msg']}. Save it again.") from error
    return _Converter(history).mission()


class _Converter:
    """Converts a history to a mission."""

    def __init__(self, history: _History) -> None:
        self._items = history.history
        self._builder = MissionBuilder()
        self._step = 0
        self._result_text = ""
        """Result text of the current action."""
        self._tabs: list[str | None] = []
        """Names of the pages by ordinal; None until a later step names a tab that the agent opened."""
        self._next_tabs: tuple[str, ...] = ()
        """Names of the tabs at the next step; empty if unknown."""
        self._is_blank = False
        """Whether the current page may be a new tab without a document."""
        self._page = 0
        self._next_url = ""
        self._converters: Mapping[str, Callable[[dict[str, object], _Element | None], None]] = {
            **dict.fromkeys(("navigate", "go_to_url"), self._navigate),
            "open_tab": self._open_tab,
            **dict.fromkeys(("search", "search_google"), self._search),
            "go_back": lambda _, __: self._add("go_back"),
            **dict.fromkeys(("click", "click_element_by_index", "click_element"), self._click),
            **dict.fromkeys(("input", "input_text"), self._input),
            **dict.fromkeys(("select_dropdown", "select_dropdown_option"), self._select),
            "send_keys": self._keys,
            **dict.fromkeys(("scroll", "scroll_down", "scroll_up"), self._scroll),
            **dict.fromkeys(("switch", "switch_tab"), self._switch),
            **dict.fromkeys(("close", "close_tab"), self._close),
        }

    def mission(self) -> ImportedMission:
        subgoals = tuple(self._subgoals())
        return ImportedMission(
            source="browser-use",
            text=next((each.description for each in subgoals), "browser-use"),
            subgoals=subgoals,
            unsupported=tuple(self._builder.unsupported),
            notes=tuple(self._builder.notes),
        )

    def _subgoals(self) -> Iterator[ImportedSubgoal]:
        for number, item in enumerate(self._items, start=1):
            self._step = number
            self._number_tabs(item.state)
            following = self._items[number].state if number < len(self._items) else _State()
            self._next_url, self._next_tabs = following.url, tuple(tab.name for tab in following.tabs)
            self._is_blank = item.state.url in _BLANK_URLS
            if item.model_output is None:
                self._builder.add_note(number, "the model returned no action")
                continue
            errors: dict[int, str] = {}
            for place, action in enumerate(item.model_output.action):
                if place >= len(item.result):
                    self._builder.add_note(number, f"{', '.join(action)} was planned but not executed")
                    continue
                before = len(self._builder.actions)
                self._result_text = item.result[place].extracted_content or ""
                element = item.state.interacted_element[place] if place < len(item.state.interacted_element) else None
                self._convert(action, element)
                error = item.result[place].error
                errors.update(dict.fromkeys(range(before, len(self._builder.actions)), error) if error else {})
            actions, self._builder.actions = tuple(self._builder.actions), []
            if actions:
                goal = item.model_output.goal or f"Step {number}"
                yield ImportedSubgoal(description=goal, actions=actions, errors=errors)

    def _number_tabs(self, state: _State) -> None:
        """Assign ordinals to pages in the order in which they first appear; tabs that the agent opened have theirs."""
        for tab in state.tabs:
            if tab.name in self._tabs:
                continue
            if None in self._tabs:
                self._tabs[self._tabs.index(None)] = tab.name
            else:
                self._tabs.append(tab.name)

    def _convert(self, action: dict[str, dict[str, object] | None], element: _Element | None) -> None:
        for name, given in action.items():
            if name in _READ_ONLY_ACTIONS:
                self._builder.add_note(self._step, f"{name} skipped: it does not act on the page")
            elif name == "wait":
                self._builder.add_note(self._step, "wait skipped: a replay advances page time as recorded")
            elif name in self._converters:
                self._converters[name](given or {}, element)
            else:
                self._builder.add_unsupported(self._step, name, "unknown action")

    def _navigate(self, given: dict[str, object], _element: _Element | None) -> None:
        """Navigate; with `new_tab`, browser-use opens a tab unless the current one is blank."""
        if given.get("new_tab") and self._has_opened_tab():
            self._open_tab(given, _element)
        else:
            self._add("navigate", url=str(given.get("url", "")))
            self._is_blank = False

    def _open_tab(self, given: dict[str, object], _element: _Element | None) -> None:
        if not self._tabs:
            self._tabs.append(None)  # the page that every mission starts with
        self._page = len(self._tabs)
        self._tabs.append(None)
        self._add("open_page")
        self._add("navigate", url=str(given.get("url", "")))
        self._is_blank = False

    def _has_opened_tab(self) -> bool:
        """Whether a tab was opened: one is new at the next step, or, if that is unknown, the page was not blank."""
        if not self._next_tabs:
            return not self._is_blank
        return sum(name not in self._tabs for name in self._next_tabs) > self._tabs.count(None)

    def _search(self, given: dict[str, object], _element: _Element | None) -> None:
        if self._next_url:
            self._add("navigate", url=self._next_url)
        else:
            self._builder.add_unsupported(
                self._step, "search", f"the result URL of the query {given.get('query')!r} is unknown"
            )

    def _click(self, given: dict[str, object], element: _Element | None) -> None:
        if given.get("index") is None:
            self._builder.add_unsupported(self._step, "click", "a click at coordinates has no element")
        else:
            self._add_on_element("click", element)

    def _input(self, given: dict[str, object], element: _Element | None) -> None:
        kind = "type" if given.get("clear") is False else "fill"
        self._add_on_element(kind, element, text=str(given.get("text", "")))

    def _select(self, given: dict[str, object], element: _Element | None) -> None:
        """Select the option in the result; the model may have named it partially or by its value."""
        chosen = _SELECTED_OPTION.search(self._result_text)
        if chosen is None:
            self._add_on_element("select_option", element, by="label", options=[str(given.get("text", ""))])
        else:
            self._add_on_element("select_option", element, by="value", options=[chosen["value"]])

    def _keys(self, given: dict[str, object], _element: _Element | None) -> None:
        """Press keys on the focused element; text that is neither a chord nor a named key is typed."""
        keys = str(given.get("keys", ""))
        if not _CHORD.fullmatch(keys) and not (keys.isascii() and keys.isprintable()):
            self._builder.add_unsupported(self._step, "send_keys", f"not all characters of {keys!r} have a key")
            return
        for key in [keys] if _CHORD.fullmatch(keys) else keys:
            self._add("press", key="Space" if key == " " else key)

    def _scroll(self, given: dict[str, object], _element: _Element | None) -> None:
        pages = given.get("pages", given.get("num_pages", 1.0))
        height = _PAGE_HEIGHT * (pages if isinstance(pages, int | float) else 1.0)
        self._builder.add_note(self._step, f"scroll: one page is assumed to be {_PAGE_HEIGHT:.0f} pixels")
        self._add("scroll", dy=height if given.get("down", True) else -height)

    def _switch(self, given: dict[str, object], _element: _Element | None) -> None:
        if self._switch_to_tab(given):
            self._add("switch_page")

    def _close(self, given: dict[str, object], _element: _Element | None) -> None:
        if self._switch_to_tab(given):
            self._add("close_page")
            self._page = 0

    def _switch_to_tab(self, given: dict[str, object]) -> bool:
        tab = str(given.get("tab_id", given.get("page_id", "")))
        if tab not in self._tabs:
            self._builder.add_unsupported(self._step, "switch", f"unknown tab {tab!r}")
            return False
        self._page = self._tabs.index(tab)
        return True

    def _add_on_element(self, kind: str, element: _Element | None, **fields: JsonValue | FileModel | None) -> None:
        target = None if element is None else self._target(element)
        if target is None:
            self._builder.add_unsupported(self._step, kind, "the history does not identify the element")
        else:
            self._add(kind, target=target, **fields)

    def _target(self, element: _Element) -> Target | None:
        selectors = list(_selectors(element))
        chosen = best_selector(selectors)
        return None if chosen is None else build_target(chosen, selectors, self._builder, self._step)

    def _add(self, kind: str, **fields: JsonValue | FileModel | None) -> None:
        self._builder.add_action(self._step, kind, page=self._page, **fields)


def _selectors(element: _Element) -> Iterator[RankedSelector]:
    """Yield selectors from the description of an element; there is no document to verify them."""
    tag = (element.node_name or element.tag_name).lower()
    attributes = element.attributes or {}
    for name in TEST_IDS:
        if attributes.get(name):
            yield attribute(name, attributes[name])
    if attributes.get("id"):
        yield attribute("id", attributes["id"])
    kind = attributes.get("role") or _IMPLICIT_ROLES.get(tag, "")
    if kind and element.ax_name:
        yield role(element.ax_name, kind)
    for name in _NAMING_ATTRIBUTES:
        if attributes.get(name):
            yield attribute(name, attributes[name], tag=tag)
    path = element.x_path or element.xpath
    if path:
        yield xpath(f"/{path.lstrip('/')}")
