"""Actions, cookies and links carried over to another deployment."""

from __future__ import annotations

from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node
from eikon_engine.trace.actions import Assert, AssertText, Click, Fill, Navigate, UrlCondition, WaitFor
from eikon_engine.trace.base_urls import (
    BaseUrlMap,
    build_url_map,
    map_action_urls,
    map_storage_state,
    restore_page_links,
)
from eikon_engine.trace.target import Identity, Target

URLS = build_url_map({"https://shop.example/app": "http://127.0.0.1:8001/next"})
OLD, NEW = "https://shop.example/app", "http://127.0.0.1:8001/next"


def test_urls_of_actions_are_mapped() -> None:
    """URLs of navigations, waits and assertions are mapped to the new deployment."""
    moved = [
        map_action_urls(action, URLS)
        for action in (
            Navigate(url=f"{OLD}/cart", referer=f"{OLD}/"),
            WaitFor(condition=UrlCondition(url=f"{OLD}/*")),
            Assert(expectation=AssertText(target=Target(selector=f'a[href="{OLD}/x"]'), text=f"At {OLD}/x")),
        )
    ]

    assert moved == [
        Navigate(url=f"{NEW}/cart", referer=f"{NEW}/"),
        WaitFor(condition=UrlCondition(url=f"{NEW}/*")),
        Assert(expectation=AssertText(target=Target(selector=f'a[href="{NEW}/x"]'), text=f"At {NEW}/x")),
    ]


def test_the_element_that_was_hit_is_the_one_of_the_new_deployment() -> None:
    """Links in the recorded element's attributes are mapped; other attributes are unchanged."""
    identity = Identity(tag="a", attributes=(("href", "/app/x"), ("id", "/app/x")))

    moved = map_action_urls(Click(target=Target(selector="a", identity=identity)), URLS)

    assert isinstance(moved, Click)
    assert moved.target.identity is not None
    assert moved.target.identity.attributes == (("href", "/next/x"), ("id", "/app/x"))


def test_what_is_typed_stays() -> None:
    """Typed text is unchanged, even if it contains a URL."""
    action = Fill(target=Target(selector="#url"), text=f"{OLD}/x")

    assert map_action_urls(action, URLS) == action


def test_cookies_and_local_storage_move_with_their_site() -> None:
    """The new host gets the cookies and storage of the old one; other sites are unchanged."""
    old = {"name": "sid", "value": "1", "domain": ".example", "path": "/app/x", "secure": True, "sameSite": "None"}
    other = {**old, "domain": "other.test"}
    local = [{"name": "home", "value": f"{OLD}/"}]
    state = {"cookies": [old, other], "origins": [{"origin": "https://shop.example", "localStorage": local}]}

    moved = map_storage_state(state, URLS)

    here = {"domain": "127.0.0.1", "path": "/next/x", "secure": False, "sameSite": "Lax"}
    assert moved == {
        "cookies": [{**old, **here}, other],
        "origins": [{"origin": "http://127.0.0.1:8001", "localStorage": [{"name": "home", "value": f"{NEW}/"}]}],
    }
    assert map_storage_state(state, BaseUrlMap()) is state


def test_links_without_a_host_are_those_of_the_recording() -> None:
    """Links in the deployment's own documents are mapped; texts and other documents are not."""

    def page(link: str, url: str) -> PageSnapshot:
        link_node = DomNode(tag="a", attributes=(("href", link), ("title", link)), children=(build_text_node(link),))
        root = DomNode(tag="html", children=(link_node,))
        return PageSnapshot(frames=(FrameSnapshot(path="", url=url, name="", doctype="html", root=root),))

    mapped = restore_page_links(page("/next/x", f"{NEW}/"), URLS).main.root.children[0]
    foreign = page("/next/x", "http://other.test/")

    assert mapped.attributes == (("href", "/app/x"), ("title", "/next/x"))
    assert mapped.children[0].text == "/next/x"
    assert restore_page_links(foreign, URLS) == foreign
