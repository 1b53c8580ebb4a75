"""Map what was recorded of one deployment to another: actions, storage state, links of a page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from eikon_engine.trace.dom import DomNode, PageSnapshot
from eikon_engine.trace.url_map import URL_ATTRIBUTES

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.dom import FrameSnapshot
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.url_map import Base, UrlMap, UrlRule

TYPED = frozenset({"type", "text", "key"})
"""Fields of an action that hold user input."""


def relocated_action(action: Action, urls: UrlMap) -> Action:
    """Return an action for the current deployment; user input is not changed."""
    if not urls:
        return action
    data: dict[str, JsonValue] = json.loads(action.model_dump_json())
    moved = {name: value if name in TYPED else _moved(value, urls) for name, value in data.items()}
    return action if moved == data else type(action).model_validate_json(json.dumps(moved))


def _moved(value: JsonValue, urls: UrlMap) -> JsonValue:
    match value:
        case str():
            return urls.to_new.text(value)
        case [str() as name, str() as text] if name in URL_ATTRIBUTES and urls.moves_paths:
            return [name, urls.to_new.text(urls.new_path(text))]
        case list():
            return [_moved(each, urls) for each in value]
        case dict():
            return {name: _moved(each, urls) for name, each in value.items()}
        case _:
            return value


def relocated_state(state: dict[str, Any], urls: UrlMap) -> dict[str, Any]:
    """Return a storage state (Playwright's format) for the current deployment.

    A cookie of a recorded host is set for every host that replaces it.
    """
    if not urls:
        return state
    cookies = [moved for cookie in state.get("cookies", ()) for moved in _moved_cookies(cookie, urls)]
    origins = [_moved_origin(each, urls) for each in state.get("origins", ())]
    return {**state, "cookies": cookies, "origins": origins}


def relocated_storage(storage: dict[str, dict[str, str]], urls: UrlMap) -> dict[str, dict[str, str]]:
    """Return a session storage, by origin, for the current deployment."""
    bases = {rule.old.origin: rule.new.origin for rule in reversed(urls.rules)}
    return {
        bases.get(origin, origin): {name: str(_moved(value, urls)) for name, value in items.items()}
        for origin, items in storage.items()
    }


def _moved_origin(stored: dict[str, Any], urls: UrlMap) -> dict[str, Any]:
    bases = {rule.old.origin: rule.new.origin for rule in reversed(urls.rules)}
    kept = {name: _moved(value, urls) for name, value in stored.items() if name != "origin"}
    return {"origin": bases.get(stored["origin"], stored["origin"]), **kept}


def _moved_cookies(cookie: dict[str, Any], urls: UrlMap) -> list[dict[str, Any]]:
    moved: dict[str, dict[str, Any]] = {}
    for rule in sorted(urls.rules, key=lambda rule: -len(rule.old.path)):
        if _is_sent(cookie, rule.old):
            moved.setdefault(rule.new.host, _moved_cookie(cookie, rule, urls))
    return list(moved.values()) or [cookie]


def _is_sent(cookie: dict[str, Any], base: Base) -> bool:
    domain = str(cookie.get("domain", ""))
    return base.host == domain.lstrip(".") or (domain.startswith(".") and base.host.endswith(domain))


def _moved_cookie(cookie: dict[str, Any], rule: UrlRule, urls: UrlMap) -> dict[str, Any]:
    path = str(cookie.get("path") or "/")
    inside = bool(rule.old.path) and (path == rule.old.path or path.startswith(f"{rule.old.path}/"))
    given = {
        **cookie,
        "domain": rule.new.host,
        "path": (rule.new.path + path[len(rule.old.path) :] or "/") if inside else path,
        "value": urls.to_new.text(str(cookie.get("value", ""))),
    }
    if rule.new.scheme == "http" and rule.old.scheme == "https":  # browsers reject secure cookies on http sites
        given["secure"] = False
        given["sameSite"] = "Lax" if cookie.get("sameSite") == "None" else cookie.get("sameSite", "Lax")
    return given


def relinked(page: PageSnapshot, urls: UrlMap) -> PageSnapshot:
    """Return an observed page with its host-relative links mapped to the recorded deployment.

    Only needed if a rule changes the path; absolute links are mapped as text.
    """
    if not urls.moves_paths:
        return page
    return PageSnapshot(frames=tuple(_relinked_frame(frame, urls) for frame in page.frames))


def _relinked_frame(frame: FrameSnapshot, urls: UrlMap) -> FrameSnapshot:
    if urlsplit(frame.url).scheme not in {"http", "https"}:
        return frame
    done: dict[int, DomNode] = {}
    for node in reversed(list(frame.root.walk())):
        if id(node) not in done:
            done[id(node)] = _relinked_node(node, frame.url, urls, done)
    return replace(frame, root=done[id(frame.root)])


def _relinked_node(node: DomNode, document: str, urls: UrlMap, done: dict[int, DomNode]) -> DomNode:
    if node.text is not None:
        return node
    attributes = tuple(
        (name, urls.old_path(value, document) if name in URL_ATTRIBUTES else value) for name, value in node.attributes
    )
    return replace(
        node,
        attributes=attributes,
        children=tuple(done[id(each)] for each in node.children),
        shadow=None if node.shadow is None else tuple(done[id(each)] for each in node.shadow),
    )


def unused_rules(trace: ExecutionTrace, urls: UrlMap) -> tuple[str, ...]:
    """Return the recorded base URLs of the map that do not occur in a trace."""
    if not urls:
        return ()
    used = {found[0] for found in urls.to_new.pattern.finditer(trace.model_dump_json())}
    return tuple(
        rule.old.url for rule in urls.rules if used.isdisjoint(spelling for _, spelling in rule.old.spellings())
    )
