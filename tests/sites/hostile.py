"""Pages that work against whoever drives them, each in a document of its own.

The first ones replace what JavaScript and the browser offer; the others keep the browser busy, or never come to rest.
Each has a button, and a text that a click on it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.browser.pages import Answer, redirect

if TYPE_CHECKING:
    from tests.browser.pages import Asked, PageSite

FAIL: Final = "function () { throw new TypeError('mine'); }"
_ARRAY: Final = "map filter push forEach slice join sort flatMap some every find indexOf includes splice concat reduce"
_ELEMENT: Final = (
    "getAttribute getAttributeNames hasAttribute matches querySelectorAll closest getBoundingClientRect checkVisibility"
)
_NODE: Final = "firstChild nextSibling parentNode nodeType ownerDocument isConnected childNodes"


def _replace(place: str, names: str) -> str:
    return "".join(f"{place}.{name} = {FAIL};" for name in names.split())


REPLACED: Final = {
    "array iterators": f"Array.prototype[Symbol.iterator] = {FAIL};",
    "steps of array iterators": f"Object.getPrototypeOf([][Symbol.iterator]()).next = {FAIL};",
    "Object.keys": f"Object.keys = Object.entries = Object.values = {FAIL}; Object.getOwnPropertyNames = () => [];",
    "Array": f"window.Array = {FAIL}; Array.from = {FAIL};",
    "array methods": _replace("Array.prototype", _ARRAY),
    "collections": _replace("window", "Map Set WeakMap"),
    "methods of collections": "".join(
        _replace(f"{kind}.prototype", "get set has add delete forEach") for kind in ("Map", "Set", "WeakMap")
    ),
    "JSON": "JSON.stringify = () => 'nonsense'; JSON.parse = () => ({});",
    "toJSON": "for (const each of [Object, Array, String]) each.prototype.toJSON = () => 'x';",
    "Promise": _replace("window", "Promise"),
    "Promise.then": _replace("Promise.prototype", "then"),
    "Reflect": f"window.Reflect = {{}}; window.Proxy = {FAIL}; Object.defineProperty = {FAIL};",
    "Function.call": _replace("Function.prototype", "call bind"),
    "eval": f"window.eval = {FAIL};",
    "regular expressions": _replace("RegExp.prototype", "exec test")
    + "String.prototype.replace = String.prototype.split = String.prototype.trim = () => 'x';",
    "methods of elements": _replace("Element.prototype", _ELEMENT)
    + _replace("Document.prototype", "querySelectorAll elementFromPoint"),
    "properties of nodes": "".join(
        f"Object.defineProperty(Node.prototype, '{name}', {{ get: {FAIL}, configurable: true }});"
        for name in _NODE.split()
    ),
    "properties of all objects": (
        "Object.defineProperty(Object.prototype, 'token', { set() {}, get: () => 'evil', configurable: true });"
        "Object.prototype.value = 'v'; Object.prototype.get = () => 'g';"
    ),
    "frozen prototypes": "Object.freeze(Array.prototype); Object.freeze(Object.prototype);",
    "natives by others that work": "".join(
        f"{{ const own = {kind}.prototype.{name};"
        f"{kind}.prototype.{name} = function (...values) {{ return own.apply(this, values); }} }}"
        for kind, name in (("Array", "map"), ("Promise", "then"), ("Map", "set"), ("Node", "getRootNode"))
    ),
    "our object": f"for (const key of Object.keys(__eikon__)) {{ delete __eikon__[key]; __eikon__[key] = {FAIL}; }}"
    "try { Object.freeze(__eikon__); } catch {}",
    "global objects": "for (const each of ['Symbol', 'Number', 'String', 'Math']) window[each] = undefined;",
}
"""Scripts that replace natives, by what they replace."""

RESTLESS: Final = {
    "an endless loop while it loads": "setTimeout(() => { for (;;); }, 50);",
    "an endless loop at a click": "pressed = () => { for (;;); };",
    "endless microtasks": "pressed = () => { const again = () => Promise.resolve().then(again); again(); };",
    "frames of three seconds": """pressed = () => {
        const frame = () => {
            for (const end = performance.now() + 3000; performance.now() < end;);
            requestAnimationFrame(frame);
        };
        frame();
    };""",
    "endless alerts": "pressed = () => { for (;;) alert('again'); };",
    "an alert every 10 ms": "setInterval(() => alert('tick'), 10);",
    "60 popups": "pressed = () => { for (let n = 0; n < 60; n += 1) open('about:blank'); };",
    "it reloads itself": "setTimeout(() => location.reload(), 30);",
    "it navigates by itself": "pressed = () => setInterval(() => { location.href = '?' + Math.random(); }, 20);",
    "10,000 URLs a second": """pressed = () => {
        let n = 0;
        setInterval(() => {
            for (let k = 0; k < 50; k += 1) try { history.pushState(0, '', '?' + (n += 1)); } catch {}
        }, 5);
    };""",
    "elements without end": """pressed = () => setInterval(() => {
        for (let n = 0; n < 3000; n += 1) {
            document.body.append(Object.assign(document.createElement('div'), { textContent: 'x'.repeat(50) }));
        }
    }, 10);""",
    "memory without end": "pressed = () => { for (const all = []; ; ) all.push(new Array(1e6).fill({})); };",
    "a question before it is left": "onbeforeunload = () => 'stay'; pressed = () => { location.href = '/other'; };",
    "a breakpoint every 20 ms": "setInterval(() => { debugger; }, 20);",
    "it closes itself": "pressed = () => { print(); close(); };",
    "it writes itself anew": "pressed = () => { document.open(); document.write('<p id=out>written</p>'); };",
    "changes that cause changes": """new MutationObserver(() => document.body.setAttribute('x', Math.random()))
        .observe(document, { subtree: true, attributes: true });
    pressed = () => document.body.setAttribute('x', 1);""",
    "30 workers that send each millisecond": """pressed = () => {
        const url = URL.createObjectURL(new Blob(['setInterval(() => postMessage(1), 1)']));
        for (let n = 0; n < 30; n += 1) new Worker(url);
    };""",
    "4,000 requests a second": """pressed = () => setInterval(() => {
        for (let n = 0; n < 20; n += 1) fetch('/other?' + n);
    }, 5);""",
    "40,000 log lines a second": """pressed = () => setInterval(() => {
        for (let n = 0; n < 200; n += 1) console.error('x'.repeat(1000));
    }, 5);""",
    "a link to an endless document": "pressed = () => { location.href = '/endless'; };",
    "a link to endless redirects": "pressed = () => { location.href = '/redirects'; };",
}  # fmt: skip
"""Scripts that keep the browser busy, or a page from coming to rest."""

BODIES: Final = {
    "elements named like properties": "<form id=f>"
    + "".join(
        f"<input name={name}>"
        for name in ["firstChild", "nodeType", "getAttribute", "attributes", "childNodes", "submit"]
    )
    + "</form><img name=querySelectorAll><img name=documentElement><img name=body>"
    + "<iframe name=Array src=about:blank></iframe><iframe name=JSON src=about:blank></iframe>",
    "2,000 elements inside each other": "<div>" * 2000,
    "an image and a script without end": "<img src=/silent><script src=/silent async></script>",
}
"""Contents of the other pages."""
DOCUMENTS: Final = {"a document without end": "/endless", "endless redirects": "/redirects"}
"""Addresses whose response never ends."""
HOSTILE: Final = (*REPLACED, *RESTLESS, *BODIES, *DOCUMENTS)


def put_hostile(site: PageSite, name: str) -> str:
    """Serve a hostile page, and return its URL.

    Raises:
        KeyError: there is no such page.
    """
    waiting = Answer(pieces=(b"<p id=out>more", b" and more"), ending="open")
    site.answers.setdefault("/endless", waiting)
    site.answers.setdefault("/silent", Answer(pieces=(b"",), ending="open"))
    site.answers.setdefault("/other", Answer(body="<!doctype html><title>other</title><p id=out>other"))
    site.answers.setdefault("/redirects", _elsewhere)
    if name in DOCUMENTS:
        return site.url + DOCUMENTS[name]
    script = REPLACED.get(name) or RESTLESS.get(name) or ""
    body = "" if script else BODIES[name]
    return site.put(f"""<script>let pressed;{script}</script><button id=go>Go</button><p id=out>start</p>{body}<script>
document.getElementById('go').addEventListener('click', () => {{
    document.getElementById('out').textContent = 'clicked';
    pressed?.();
}});</script>""")


def _elsewhere(asked: Asked) -> Answer:
    return redirect(f"/redirects?{len(asked.path)}{'x' * (len(asked.path) % 50)}")
