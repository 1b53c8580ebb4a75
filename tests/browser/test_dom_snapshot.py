from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.executable import find_browser
from eikon_engine.browser.observation import capture_page
from eikon_engine.browser.page_scripts.loader import join_scripts, load_script, stored_scripts_init
from eikon_engine.dom import DomNode, PageSnapshot, encode_snapshot, page_digest, render_html
from eikon_engine.dom.digest import snapshot_json
from eikon_engine.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from playwright.async_api import BrowserContext, Page, Route

pytestmark = pytest.mark.browser

EVERYTHING = """<!doctype html><html lang=en><head><title>All &amp; more</title><style>p > b { color: red }</style>
<script>window.secret = 1</script></head><body class="b a" id=top>
<p>Hello <b>bold</b> <i>words</i>, a &lt;tag&gt; and nbsp:&nbsp;.<!-- gone -->!</p>
<pre>
  two  blanks
	tab</pre>
<form name=f><input name=firstChild value=default><input name=attributes><input type=checkbox checked name=c value=yes>
<input type=radio name=r value=1><input type=radio name=r value=2 checked><input type=password value=hunter2 name=pw>
<input type=hidden name=h value=token><input type=submit value=Send><input type=file name=up>
<select name=s><option value=a>A<optgroup label=g><option value=b selected>B</optgroup></select>
<select name=m multiple><option>1<option selected>2<option selected>3</select>
<textarea name=t>
old</textarea></form>
<details open><summary>More</summary>text</details><dialog open>hi</dialog>
<template><p class=inert>in template</p></template>
<svg viewBox="0 0 1 1"><linearGradient id=g></linearGradient><path d="M0 0"/><a xlink:href="#x">l</a></svg>
<math><mi>x</mi></math><table><tbody><tr><td>cell</td></tr></tbody></table><canvas width=4 height=4></canvas>
<x-open></x-open><x-closed></x-closed><a onclick="1" href="/rel">link</a><img alt="" src="data:,">
<iframe name=inner srcdoc="<!doctype html><p>inside <b>frame</b></p>"></iframe><div data-eikon-own>ours</div>
<div style="height:9999px"></div>
<script>
  const open = document.querySelector("x-open").attachShadow({mode: "open"});
  open.innerHTML = "<input id=deep value=1><slot></slot>";
  const sheet = new CSSStyleSheet(); sheet.replaceSync("b { color: blue }");
  open.adoptedStyleSheets = [sheet];
  document.querySelector("x-closed").attachShadow({mode: "closed"}).innerHTML = "<em>closed</em>";
  document.querySelector("textarea").value = "\\nnew <text>";
  document.forms.f.c.checked = false;
  document.querySelector("[name=firstChild]").value = "typed \\"x\\"";
  scrollTo(0, 30);
  document.querySelector("canvas").getContext("2d").fillRect(0, 0, 2, 2);
  open.querySelector("#deep").focus();
</script></body></html>"""
ORIGIN = "http://shop.test/"
HTML = "text/html"


@asynccontextmanager
async def a_context(*stored: str, scripts: bool = True) -> AsyncIterator[BrowserContext]:
    """Start a browser with one context, and `stored` among its init scripts."""
    from playwright.async_api import async_playwright

    binary = find_browser(None, environ=os.environ)
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=binary.path, args=flags)
        context = await browser.new_context(java_script_enabled=scripts)
        if scripts:
            first = map(load_script, ("init_natives.js", "init_dom_access.js"))
            await context.add_init_script(join_scripts((*first, *stored)))
        yield context
        await browser.close()


async def show(context: BrowserContext, html: str) -> Page:
    """Open a page that holds some markup."""

    async def answer(route: Route) -> None:
        await route.fulfill(body=html, content_type="text/html")

    page = await context.new_page()
    await page.route("**/*", answer)
    await page.goto(ORIGIN)
    return page


def snapshot_of(html: str, act: Callable[[Page], Awaitable[object]] | None = None) -> PageSnapshot:
    """Open markup, change it, and return a snapshot."""

    async def run() -> PageSnapshot:
        async with a_context() as context:
            page = await show(context, html)
            if act is not None:
                await act(page)
            return await capture_page(page)

    return asyncio.run(run())


def find(snapshot: PageSnapshot, tag: str, **attributes: str) -> DomNode:
    """Return the first element of a tag with given attributes."""
    wanted = attributes.items()
    nodes = (node for frame in snapshot.frames for node in frame.root.walk())
    return next(node for node in nodes if node.tag == tag and wanted <= dict(node.attributes).items())


@pytest.fixture(scope="module")
def everything() -> PageSnapshot:
    """Return a snapshot of a page with every feature."""
    return snapshot_of(EVERYTHING)


def test_form_state_is_what_the_user_sees(everything: PageSnapshot) -> None:
    """Values, checks and selections are the current ones, not those of the markup."""
    typed = find(everything, "input", name="firstChild")

    assert (typed.state, typed.attribute("value")) == ((("value", 'typed "x"'),), None)
    assert find(everything, "input", name="c").state == (("checked", False),)
    assert find(everything, "input", name="r", value="2").state == (("checked", True),)
    assert find(everything, "input", name="h").attribute("value") == "token"
    assert find(everything, "select", name="m").state == (("selected", ("1", "2")), ("value", ("2", "3")))
    assert find(everything, "textarea").state == (("value", "\nnew <text>"),)
    assert find(everything, "details").state == (("open", True),)


def test_a_password_never_leaves_the_page(everything: PageSnapshot) -> None:
    """The snapshot marks the field as a password, and contains neither its value nor its length."""
    assert find(everything, "input", name="pw").state == (("filled", True), ("masked", True), ("value", ""))
    assert b"hunter2" not in snapshot_json(everything)


def test_shadow_roots_of_both_modes_are_captured(everything: PageSnapshot) -> None:
    """A closed root is read like an open one, with focus and style sheets inside."""
    shown, hidden = find(everything, "x-open"), find(everything, "x-closed")

    assert (shown.shadow_mode, hidden.shadow_mode) == ("open", "closed")
    assert hidden.shadow is not None
    assert hidden.shadow[0].children[0].text == "closed"
    assert shown.shadow is not None
    assert shown.shadow[0].state == (("focus", True), ("value", "1"))
    assert isinstance(shown.state_value("shadow_sheets"), tuple)


def test_frames_and_extras_are_captured(everything: PageSnapshot) -> None:
    """Each frame has its document; canvas pixels and scroll positions are stored beside the tree."""
    main = everything.main
    nodes = list(main.root.walk())

    assert [(frame.path, frame.name) for frame in everything.frames] == [("", ""), ("0", "inner")]
    assert [nodes[place].tag for place, _ in main.extras.frames] == ["iframe"]
    assert [place for place, _, down in main.extras.scroll if down > 0] == [0]
    assert [nodes[place].tag for place, _ in main.extras.canvas] == ["canvas"]


def test_scripts_comments_and_our_own_elements_are_left_out(everything: PageSnapshot) -> None:
    """Script text is a digest; comments and elements that Eikon adds are omitted."""
    stored = snapshot_json(everything)

    assert b"window.secret" not in stored
    assert b"gone" not in stored
    assert b"ours" not in stored
    assert find(everything, "script").state_value("script")


def without_exceptions(node: DomNode) -> DomNode:
    """Remove from a tree what a served page cannot have; see docs/dom-snapshots.md."""
    lost = {"focus", "shadow_sheets", "sheets"}
    children = tuple(without_exceptions(child) for child in node.children if child.tag != "script")
    shadow = None if node.shadow is None else tuple(map(without_exceptions, node.shadow))
    return replace(
        node,
        attributes=tuple(pair for pair in node.attributes if pair[0] not in {"srcdoc", "onclick"}),
        state=tuple(pair for pair in node.state if pair[0] not in lost),
        children=children,
        shadow=shadow,
        shadow_mode="open" if node.shadow_mode else "",
    )


def test_a_served_snapshot_gives_the_same_snapshot(everything: PageSnapshot) -> None:
    """With scripts off, a page rendered from a snapshot has the same tree in all frames."""
    html = render_html(everything.main, frames=everything.frames, base_url="http://elsewhere.test/")

    async def run() -> PageSnapshot:
        async with a_context(scripts=False) as context:
            return await capture_page(await show(context, html))

    served = asyncio.run(run())

    assert "<script" not in html
    assert len(served.frames) == 2
    for before, after in zip(everything.frames, served.frames, strict=True):
        pairs = zip(without_exceptions(before.root).walk(), without_exceptions(after.root).walk(), strict=True)
        assert [pair for pair in pairs if pair[0].own_parts() != pair[1].own_parts()] == []
        assert before.doctype == after.doctype


def test_attribute_order_white_space_and_comments_give_one_digest() -> None:
    """Differences that cannot be seen do not change the digest."""
    one = snapshot_of("<!doctype html><p class=a title=b>one <b>two</b></p><p>three</p>")
    other = snapshot_of(
        "<!doctype html>\n<p title=b  class=a> one\n <b> two</b></p>\n\n<!-- x --><p>th<!-- y -->ree</p>\n"
    )

    assert page_digest(one) == page_digest(other)


def test_a_page_that_patched_its_prototypes_is_read_the_same() -> None:
    """Patched natives and foreign `toJSON` functions do not reach the snapshot."""
    html = "<!doctype html><form><input name=childNodes><input name=localName value=v></form><x-a></x-a>"
    patches = """
      Array.prototype.toJSON = () => "broken"; Object.prototype.toJSON = () => "broken";
      String.prototype.toJSON = () => "broken"; JSON.stringify = () => "broken";
      const slice = Array.prototype.slice;
      Array.prototype.slice = function (start) { return slice.call(this, start) };
      Element.prototype.checkVisibility = () => false;
      Array.prototype.push = () => 0; Array.prototype.join = () => "broken"; Array.prototype.sort = () => [];
      Element.prototype.getAttribute = () => "broken"; Element.prototype.hasAttribute = () => true;
      Object.defineProperty(Node.prototype, "firstChild", {get: () => null});"""

    async def change(page: Page) -> None:
        await capture_page(page)
        await page.evaluate("() => { document.querySelector('input').className = 'later' }")

    async def patch(page: Page) -> None:
        await page.add_script_tag(content=patches)
        await page.evaluate("() => document.head.lastElementChild.remove()")
        await change(page)

    patched, plain = snapshot_of(html, patch), snapshot_of(html, change)
    assert page_digest(patched) == page_digest(plain)
    assert patched.main.extras == plain.main.extras


def test_urls_of_blobs_are_numbered() -> None:
    """The browser draws them, so that a page with two images of its own would never be the same again."""
    page = """<img id=one><img id=two><img id=again><p title="blob: no url"></p><script>
        const [first, second] = ["1", "2"].map((text) => URL.createObjectURL(new Blob([text])));
        one.src = first; two.style.backgroundImage = `url(${second})`; again.src = first;
    </script>"""

    snapshot = snapshot_of(page)

    assert find(snapshot, "img", id="one").attribute("src") == f"blob:{ORIGIN}1"
    assert find(snapshot, "img", id="two").attribute("style") == f'background-image: url("blob:{ORIGIN}2");'
    assert find(snapshot, "img", id="again").attribute("src") == f"blob:{ORIGIN}1"
    assert find(snapshot, "p").attribute("title") == "blob: no url"


def test_the_order_of_many_custom_properties_is_no_difference() -> None:
    """A page that copies a computed style gets them in an order that differs from process to process."""
    names = [f"--color-{number}" for number in range(9)]

    def styled(order: list[str], last: str = "red", kept: int = 9) -> PageSnapshot:
        custom = " ".join(f"{name}: {last if name == names[-1] else '#f'};" for name in order[:kept])
        return snapshot_of(f"<p id=p style='margin: 0px; {custom} --x: \"a;b\"; width: 9px !important;'>Copy</p>")

    assert page_digest(styled(names)) == page_digest(styled(names[::-1]))
    assert page_digest(styled(names)) != page_digest(styled(names, last="blue"))
    few = styled(names[3::-1], kept=4)
    shown = find(few, "p", id="p").attribute("style")
    assert shown is not None
    assert shown.startswith("margin: 0px; --color-3: #f;")
    copy = find(styled(names), "p", id="p").attribute("style")
    assert copy is not None
    assert "width: 9px !important; --color-0: #f; --color-1" in copy
    assert copy.endswith('--color-8: red; --x: "a;b";')


def test_a_snapshot_does_not_change_the_page() -> None:
    """It causes no mutation and no new global, and the document stays the same."""

    async def run() -> tuple[object, object]:
        async with a_context() as context:
            page = await show(context, EVERYTHING)
            look = "() => [Object.keys(window).length, document.documentElement.outerHTML, window.changes]"
            await page.evaluate(
                "() => { window.changes = 0; new MutationObserver(list => { window.changes += list.length })"
                ".observe(document, {subtree: true, childList: true, attributes: true, characterData: true}) }"
            )
            before = await page.evaluate(look)
            await capture_page(page)
            return before, await page.evaluate(look)

    before, after = asyncio.run(run())

    assert before == after


def test_a_hooked_function_still_looks_native() -> None:
    """`attachShadow` looks native to a page, and there is no new global."""

    async def run() -> object:
        async with a_context() as context:
            page = await show(context, "<p>")
            return await page.evaluate(
                "() => { const hooked = Element.prototype.attachShadow;"
                " return [String(hooked).includes('[native code]'), hooked.name, hooked.length,"
                " Object.keys(window).includes('__eikon__')] }"
            )

    assert asyncio.run(run()) == [True, "attachShadow", 1, False]


ADD_FRAME = (
    "const add = (place, name, at = document) => { const frame = at.createElement('iframe'); frame.name = name;"
    "frame.srcdoc = `<p>${name}</p>`; place.prepend(frame); return frame };"
)
FRAMES = {
    "in the order of the document": "<iframe name=a srcdoc='<p>a'></iframe><iframe name=b srcdoc='<p>b'></iframe>",
    "in another order": f"<div id=d></div><script>{ADD_FRAME} add(d, 'a'); add(d, 'b'); add(d, 'c')</script>",
    "in a shadow tree": (
        f"<x-i id=host></x-i><p id=d><script>{ADD_FRAME}"
        "add(host.attachShadow({mode: 'closed'}), 'a'); add(d, 'b')</script>"
    ),
    "in frames": (
        f"<p id=d><script>{ADD_FRAME} add(d, 'a').onload = event => {{ const inner = event.target.contentDocument;"
        "add(inner.body, 'b', inner); add(inner.body, 'c', inner) }</script>"
    ),
    "as objects": "<object name=a type=text/html data=/a></object><iframe name=b srcdoc='<p>b'></iframe>",
    "as frames of a frame set": "<frameset cols=50%,50%><frame name=a src=/a><frame name=b src=/b></frameset>",
    "with the name of a property": "<iframe name=length srcdoc='<p>length'></iframe>",
}


@pytest.mark.parametrize("place", FRAMES)
def test_child_frames_are_found_wherever_they_are(place: str) -> None:
    """Each frame has the document with its name, and the element of its parent that shows it."""

    async def run() -> tuple[PageSnapshot, PageSnapshot]:
        async with a_context(stored_scripts_init()) as context:
            page = await context.new_page()
            await page.route(
                "**/*", lambda route: route.fulfill(body=_framed(route.request.url, place), content_type=HTML)
            )
            await page.goto(ORIGIN, wait_until="networkidle")
            return await capture_page(page), await capture_page(page)

    first, again = asyncio.run(run())

    inner = first.frames[1:]
    assert inner
    for frame in inner:
        texts = [node.text for node in frame.root.walk() if node.is_text]
        parent = next(each for each in first.frames if each.path == frame.path.rpartition(".")[0])
        owners = {place: list(parent.root.walk())[slot] for slot, place in parent.extras.frames}
        assert texts[:1] == [frame.name]
        assert owners[int(frame.path.rpartition(".")[2])].attribute("name") == frame.name
    assert again == first


def _framed(url: str, place: str) -> str:
    name = url.removeprefix(ORIGIN)
    return f"<p>{name}</p>" if name else f"<!doctype html>{FRAMES[place]}"


def test_frames_of_other_origins_and_in_closed_roots_are_found() -> None:
    """Every frame is captured with its element, even where the page itself could not reach it."""
    html = """<!doctype html><x-a></x-a><iframe src="data:text/html,<p>other</p>"></iframe><script>
      if (location.protocol === "http:") document.querySelector("x-a").attachShadow({mode: "closed"}).innerHTML =
        '<iframe srcdoc="<p>hidden</p>"></iframe>'</script>"""

    snapshot = snapshot_of(html, lambda page: page.wait_for_load_state())

    texts = {frame.path: [node.text for node in frame.root.walk() if node.is_text] for frame in snapshot.frames}
    assert sorted(map(str, texts.values())) == ["['hidden']", "['other']", "[]"]
    assert len(snapshot.main.extras.frames) == 2


def test_a_deep_and_an_empty_document_are_captured() -> None:
    """Depth has no limit, and a document may have lost its root element."""
    deep = """() => { let at = document.body;
      for (let i = 0; i < 5000; i++) at = at.appendChild(document.createElement("i")) }"""

    nested = snapshot_of("<!doctype html>", lambda page: page.evaluate(deep))
    empty = snapshot_of("<!doctype html>", lambda page: page.evaluate("() => document.documentElement.remove()"))

    assert sum(node.tag == "i" for node in nested.main.root.walk()) == 5000
    assert len(encode_snapshot(nested)) < 5000
    assert empty.main.root.tag == "#document"


def test_a_page_that_is_gone_is_an_error() -> None:
    """A snapshot is complete or an error."""

    async def run() -> None:
        async with a_context() as context:
            page = await show(context, "<p>")
            await page.close()
            await capture_page(page)

    with pytest.raises(BrowserError, match="DOM snapshot"):
        asyncio.run(run())
