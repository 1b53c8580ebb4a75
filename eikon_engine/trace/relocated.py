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
    from eikon_engine.trace.url_map import BaseUrl, BaseUrlMap, BaseUrlRule

USER_INPUT_FIELDS = frozenset({"type", "text", "key"})
"""Fields of an action that hold user input."""


def map_action_urls(action: Action, urls: BaseUrlMap) -> Action:
    """Return an action for the current deployment; user input is not changed."""
    if not urls:
        return action
    data: dict[str, JsonValue] = json.loads(action.model_dump_json())
    moved = {name: value if name in USER_INPUT_FIELDS else _map_value(value, urls) for name, value in data.items()}
    return action if moved == data else type(action).model_validate_json(json.dumps(moved))


def _map_value(value: JsonValue, urls: BaseUrlMap) -> JsonValue:
    match value:
        case str():
            return urls.to_new.replace_text(value)
        case [str() as name, str() as text] if name in URL_ATTRIBUTES and urls.changes_paths:
            return [name, urls.to_new.replace_text(urls.to_new_path(text))]
        case list():
            return [_map_value(each, urls) for each in value]
        case dict():
            return {name: _map_value(each, urls) for name, each in value.items()}
        case _:
            return value


def map_storage_state(state: dict[str, Any], urls: BaseUrlMap) -> dict[str, Any]:
    """Return a storage state (Playwright's format) for the current deployment.

    A cookie of a recorded host is set for every host that replaces it.
    """
    if not urls:
        return state
    cookies = [moved for cookie in state.get("cookies", ()) for moved in _map_cookies(cookie, urls)]
    origins = [_map_origin(each, urls) for each in state.get("origins", ())]
    return {**state, "cookies": cookies, "origins": origins}


def map_session_storage(storage: dict[str, dict[str, str]], urls: BaseUrlMap) -> dict[str, dict[str, str]]:
    """Return a session storage, by origin, for the current deployment."""
    bases = {rule.old.origin: rule.new.origin for rule in reversed(urls.rules)}
    return {
        bases.get(origin, origin): {name: str(_map_value(value, urls)) for name, value in items.items()}
        for origin, items in storage.items()
    }


def _map_origin(stored: dict[str, Any], urls: BaseUrlMap) -> dict[str, Any]:
    bases = {rule.old.origin: rule.new.origin for rule in reversed(urls.rules)}
    kept = {name: _map_value(value, urls) for name, value in stored.items() if name != "origin"}
    return {"origin": bases.get(stored["origin"], stored["origin"]), **kept}


def _map_cookies(cookie: dict[str, Any], urls: BaseUrlMap) -> list[dict[str, Any]]:
    moved: dict[str, dict[str, Any]] = {}
    for rule in sorted(urls.rules, key=lambda rule: -len(rule.old.path)):
        if _is_sent_to(cookie, rule.old):
            moved.setdefault(rule.new.host, _map_cookie(cookie, rule, urls))
    return list(moved.values()) or [cookie]


def _is_sent_to(cookie: dict[str, Any], base: BaseUrl) -> bool:
    domain = str(cookie.get("domain", ""))
    return base.host == domain.lstrip(".") or (domain.startswith(".") and base.host.endswith(domain))


def _map_cookie(cookie: dict[str, Any], rule: BaseUrlRule, urls: BaseUrlMap) -> dict[str, Any]:
    path = str(cookie.get("path") or "/")
    inside = bool(rule.old.path) and (path == rule.old.path or path.startswith(f"{rule.old.path}/"))
    given = {
        **cookie,
        "domain": rule.new.host,
        "path": (rule.new.path + path[len(rule.old.path) :] or "/") if inside else path,
        "value": urls.to_new.replace_text(str(cookie.get("value", ""))),
    }
    if rule.new.scheme == "http" and rule.old.scheme == "https":  # browsers reject secure cookies on http sites
        given["secure"] = False
        given["sameSite"] = "Lax" if cookie.get("sameSite") == "None" else cookie.get("sameSite", "Lax")
    return given


def restore_page_links(page: PageSnapshot, urls: BaseUrlMap) -> PageSnapshot:
    """Return an observed page with its host-relative links mapped to the recorded deployment.

    Only needed if a rule changes the path; absolute links are mapped as text.
    """
    if not urls.changes_paths:
        return page
    return PageSnapshot(frames=tuple(_restore_frame_links(frame, urls) for frame in page.frames))


def _restore_frame_links(frame: FrameSnapshot, urls: BaseUrlMap) -> FrameSnapshot:
    if urlsplit(frame.url).scheme not in {"http", "https"}:
        return frame
    done: dict[int, DomNode] = {}
    for node in reversed(list(frame.root.walk())):
        if id(node) not in done:
            done[id(node)] = _restore_node_links(node, frame.url, urls, done)
    return replace(frame, root=done[id(frame.root)])


def _restore_node_links(node: DomNode, document: str, urls: BaseUrlMap, done: dict[int, DomNode]) -> DomNode:
    if node.text is not None:
        return node
    attributes = tuple(
        (name, urls.to_old_path(value, document) if name in URL_ATTRIBUTES else value)
        for name, value in node.attributes
    )
    return replace(
        node,
        attributes=attributes,
        children=tuple(done[id(each)] for each in node.children),
        shadow=None if node.shadow is None else tuple(done[id(each)] for each in node.shadow),
    )


def unused_base_urls(trace: ExecutionTrace, urls: BaseUrlMap) -> tuple[str, ...]:
    """Return the recorded base URLs of the map that do not occur in a trace."""
    if not urls:
        return ()
    used = {found[0] for found in urls.to_new.pattern.finditer(trace.model_dump_json())}
    return tuple(
        rule.old.url for rule in urls.rules if used.isdisjoint(spelling for _, spelling in rule.old.spellings())
    )
