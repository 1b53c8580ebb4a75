from __future__ import annotations

import pytest

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.trace.actions import (
    Assert,
    AssertCount,
    AssertText,
    Check,
    Click,
    Drag,
    Fill,
    Hover,
    Point,
    Press,
    SelectOption,
    SelectorCondition,
    WaitFor,
)
from eikon_engine.trace.target import Identity, Target
from tests.browser.desk import Desk, at

pytestmark = pytest.mark.browser

QUICK = 200.0
UNTOUCHED: list[str] = []


def test_a_target_in_nested_cross_origin_frames_is_found(desk: Desk) -> None:
    """Frames are a path of selectors, whatever process a frame is in."""
    site = desk.site
    inner = site.put("<button id=b onclick='this.textContent = \"hit\"'>Go</button>").removeprefix(site.url)
    outer = site.put(f"<p>outer</p><iframe id=inner src='{site.url}{inner}'></iframe>").removeprefix(site.url)
    desk.show(
        f"<div style='height:900px'></div><iframe id=outer width=500 height=400 src='{site.elsewhere}{outer}'></iframe>"
    )

    seen = desk.ok(Click(target=at("#b", "#outer", "#inner")))
    desk.ok(Assert(expectation=AssertText(target=at("#b", "#outer", "#inner"), text="hit")))

    assert [frame.path for frame in seen.pages[0].frames] == ["", "0", "0.0"]
    assert seen.pages[0].frames[1].url == site.elsewhere + outer


def test_a_target_in_open_shadow_trees_is_found(desk: Desk) -> None:
    """Selectors pierce open shadow roots, and hosts count as ancestors of an element."""
    desk.show(
        "<x-a id=host></x-a><p id=p></p><script>const root = host.attachShadow({mode: 'open'});"
        "root.innerHTML = '<div id=in><x-b></x-b></div>';"
        "const deep = root.querySelector('x-b').attachShadow({mode: 'open'});"
        "deep.innerHTML = '<button>Go</button>';"
        "deep.firstChild.onclick = () => p.textContent = 'hit'</script>"
    )

    performed = desk.do(Click(target=at("button")))

    assert performed.error is None
    assert desk.js("p.textContent") == "hit"
    assert performed.identity is not None
    assert [ancestor.tag for ancestor in performed.identity.ancestors[:3]] == ["x-b", "div", "x-a"]


@pytest.mark.parametrize(
    ("selector", "code"),
    [
        ("#outside", None),
        ("#inside", None),
        ("#deep", None),
        ("b", "target-ambiguous"),
        (".same", "target-ambiguous"),
        ("div b", "target-ambiguous"),
        ("#host #inside", None),
        ('x-a b[id="deep"]', None),
        ("#outside #inside", "target-missing"),
        ("#nowhere", "target-missing"),
        ("#host #nowhere", "target-missing"),
    ],
)
def test_targets_inside_and_outside_shadow_trees_are_counted(desk: Desk, selector: str, code: str | None) -> None:
    """They are counted together, however the selector is written."""
    desk.show(
        "<b id=outside class=same>1</b><x-a id=host></x-a><script>"
        "const root = host.attachShadow({mode: 'open'});"
        "root.innerHTML = '<div><b id=inside class=same>2</b><x-b></x-b></div>';"
        "root.querySelector('x-b').attachShadow({mode: 'open'}).innerHTML = '<b id=deep>3</b>'</script>"
    )

    performed = desk.do(Click(target=at(selector), timeout_ms=100))

    assert (performed.error.code if performed.error else None) == code


def test_a_slotted_target_is_hit_through_its_slot(desk: Desk) -> None:
    """An element in a slot belongs to the document."""
    desk.show(
        "<x-a id=host><button id=b>Go</button></x-a><script>"
        "host.attachShadow({mode: 'open'}).innerHTML = '<div><slot></slot></div>'</script>"
    )

    desk.ok(Click(target=at("#b")))

    assert desk.trail().count("click") == 1


def test_a_missing_target_fails_after_its_deadline_in_page_time(desk: Desk) -> None:
    """No element receives an event."""
    desk.show("<button>Go</button>")

    performed = desk.do(Click(target=at("#nothing"), timeout_ms=1000))

    assert performed.error is not None
    assert performed.error.code == "target-missing"
    assert performed.observation is not None
    assert 1000 <= performed.observation.virtual_ms <= 1200
    assert desk.trail() == UNTOUCHED


@pytest.mark.parametrize(
    "action",
    [
        Click(target=at("button")),
        Hover(target=at("button")),
        Fill(target=at("input"), text="x"),
        Check(target=at("input")),
        Press(target=at("input"), key="x"),
        Drag(target=at("#one"), to=at("button")),
        Drag(target=at("button"), to=at("#one")),
        SelectOption(target=at("select"), options=("1",)),
    ],
    ids=lambda action: action.type,
)
def test_an_ambiguous_target_is_not_touched(desk: Desk, action: Click) -> None:
    """Two matches are an immediate error that names both, and no element receives an event."""
    desk.show(
        "<button>A</button><button>B</button><input><input><select><option>1</select><select></select><p id=one>1"
    )

    message = desk.fails(action, "target-ambiguous")

    assert "found 2: <" in message
    assert desk.trail() == UNTOUCHED


def test_an_ambiguous_frame_is_not_entered(desk: Desk) -> None:
    """Two matching frames are ambiguous, whatever they contain."""
    button = desk.site.put("<button onclick='parent.trail.push(\"hit\")'>Go</button>")
    desk.show(f"<iframe src={button}></iframe><iframe src={button}></iframe>")

    message = desk.fails(Click(target=at("button", "iframe")), "target-ambiguous")

    assert "expected one frame, found 2" in message
    assert "hit" not in desk.trail()
    assert "frame" in desk.fails(
        Assert(expectation=AssertCount(target=at("button", "iframe"), count=1)), "target-ambiguous"
    )


def test_a_path_through_another_element_is_rejected(desk: Desk) -> None:
    """An element without a document is an invalid part of a frame path."""
    desk.show("<div id=d><button>Go</button></div>")

    assert "<iframe> was expected" in desk.fails(Click(target=at("button", "#d")), "action-rejected")


@pytest.mark.parametrize("selector", ["##", "xpath=//[", "nosuchengine=b", "internal:role=["])
def test_an_invalid_selector_is_rejected_at_once(desk: Desk, selector: str) -> None:
    """The error differs from that of a selector without matches."""
    desk.show("<button>Go</button>")

    performed = desk.do(Click(target=at(selector)))

    assert performed.error is not None
    assert performed.error.code == "action-rejected"
    assert "looking for the target" in performed.error.message
    assert "\n" not in performed.error.message


def test_a_changed_target_is_not_touched(desk: Desk) -> None:
    """The message names the differences from the recorded element."""
    desk.show("<button id=b>Buy</button>")
    identity = desk.do(Hover(target=at("#b"))).identity
    assert identity is not None
    desk.js("b.textContent = 'Sell'")
    desk.trail()

    message = desk.fails(Click(target=Target(selector="#b", identity=identity)), "target-changed")

    assert "'Buy' -> 'Sell'" in message
    assert desk.trail() == UNTOUCHED


def test_an_unchanged_target_is_recognised(desk: Desk) -> None:
    """The identity of an element does not depend on its position."""
    desk.show("<button id=b>Buy</button>")
    identity = desk.do(Hover(target=at("#b"))).identity
    desk.js("b.style.marginTop = '200px'")

    performed = desk.do(Click(target=Target(selector="#b", identity=identity)))

    assert performed.error is None
    assert isinstance(performed.identity, Identity)
    assert performed.identity.box != (identity.box if identity else None)


EDITORS = """<style>p { height: 20px }</style><div><p></p></div>
<div class=cell><p role=textbox class=now></p></div><div class=cell><p role=textbox></p></div>"""


def test_the_position_of_an_element_counts_only_elements_like_it(desk: Desk) -> None:
    """A page may still add others with the same tag and no text elsewhere; one that takes its place is detected."""
    desk.show(EDITORS)
    performed = desk.do(Hover(target=at(".now")))
    assert performed.identity is not None
    assert performed.captured is not None
    stored = tuple(each.identity for each in locate_elements(performed.captured.snapshots[0].main))
    assert stored.count(performed.identity.model_copy(update={"box": None})) == 1
    target = Target(selector=".now", identity=performed.identity)
    desk.js("document.querySelector('p').after(document.createElement('p'))")

    assert desk.do(Click(target=target)).error is None
    desk.js("for (const each of document.querySelectorAll('[role]')) each.classList.toggle('now')")
    assert "ordinal: 0 -> 1" in desk.fails(Click(target=target), "target-changed")


NOT_ACTIONABLE = {
    "display": ("<button id=b style='display:none'>Go</button>", "hidden"),
    "visibility": ("<button id=b style='visibility:hidden'>Go</button>", "hidden"),
    "zero size": ("<button id=b style='width:0;height:0;padding:0;border:0'></button>", "hidden"),
    "disabled": ("<button id=b disabled>Go</button>", "disabled"),
    "fieldset": ("<fieldset disabled><button id=b>Go</button></fieldset>", "disabled"),
    "aria": ("<div aria-disabled=true><button id=b>Go</button></div>", "disabled"),
    "label of disabled": ("<label id=b>Go<input disabled></label>", "disabled"),
    "text of disabled": ("<button disabled><b id=b>Go</b></button>", "disabled"),
    "covered": (
        "<button id=b>Go</button><div id=over style='position:fixed;inset:0;background:#fff8'></div>",
        "covered by <div#over>",
    ),
    "covered by transform": (
        (
            "<button id=b>Go</button>"
            "<div id=over style='width:300px;height:80px;background:red;transform:translateY(-40px)'></div>"
        ),
        "covered by <div#over>",
    ),
    "no pointer": ("<button id=b style='pointer-events:none'>Go</button>", "covered by <body>"),
    "out of reach": ("<button id=b style='position:fixed;left:-500px'>Go</button>", "outside of the viewport"),
}


@pytest.mark.parametrize("case", NOT_ACTIONABLE)
def test_a_target_that_cannot_be_clicked_is_not_touched(desk: Desk, case: str) -> None:
    """The message names the obstacle, only page time passes, and no element receives an event."""
    html, obstacle = NOT_ACTIONABLE[case]
    desk.show(html)

    message = desk.fails(Click(target=at("#b"), timeout_ms=QUICK), "target-not-actionable")

    assert obstacle in message
    assert [kind for kind in desk.trail() if kind != "scroll"] == UNTOUCHED


@pytest.mark.parametrize(
    ("html", "obstacle"),
    [
        ("<input id=t readonly>", "read-only"),
        ("<input id=t disabled>", "disabled"),
        ("<fieldset disabled><input id=t></fieldset>", "disabled"),
        ("<input id=t hidden>", "hidden"),
        ("<label id=t>Name<input readonly></label>", "read-only"),
        ("<div id=t role=textbox contenteditable aria-readonly=true>x</div>", "read-only"),
    ],
)
def test_a_target_that_cannot_be_filled_is_not_touched(desk: Desk, html: str, obstacle: str) -> None:
    """A field that is not editable keeps its value."""
    desk.show(html)

    message = desk.fails(Fill(target=at("#t"), text="x", timeout_ms=QUICK), "target-not-actionable")

    assert f"is {obstacle} after" in message
    assert desk.trail() == UNTOUCHED


def test_a_target_in_a_covered_frame_is_not_touched(desk: Desk) -> None:
    """An element over a frame covers the elements in it."""
    site = desk.site
    button = site.put("<button id=b onclick='document.title = \"hit\"'>Go</button>")
    desk.show(
        f"<iframe id=f src={button}></iframe><div id=over style='position:fixed;inset:0;background:#fff8'></div>"
        "<script>setTimeout(() => over.remove(), 1000)</script>"
    )

    early = desk.fails(Click(target=at("#b", "#f"), timeout_ms=300), "target-not-actionable")
    desk.ok(Click(target=at("#b", "#f")))

    assert "covered by <div#over>" in early


ACTIONABLE = {
    "below": "<div style='height:3000px'></div><button id=b>Go</button>",
    "right": "<div style='width:5000px;height:1px'></div><button id=b style='margin-left:4000px'>Go</button>",
    "in a scrolled box": (
        "<div style='height:100px;overflow:auto'><p style='height:900px'></p><button id=b>Go</button></div>"
    ),
    "in a hidden overflow": (
        "<div style='height:50px;overflow:hidden'><p style='height:200px'></p><button id=b>Go</button></div>"
    ),
    "in a label": "<label>Name <button id=b>Go</button></label>",
    "rotated": "<div style='transform:rotate(90deg);margin:200px;width:100px'><button id=b>Go</button></div>",
    "scaled": "<div style='transform:scale(.3)'><button id=b>Go</button></div>",
    "taller than the window": "<div id=b style='height:4000px;background:#eee'>Go</div>",
    "link over two lines": "<div style='width:90px'>some words <a id=b href='#x'>a link that wraps</a></div>",
    "text in a button": "<button><b id=b>Go</b><i>!</i></button>",
    "box without own box": "<div id=b style='display:contents'><button>Go</button></div>",
    "animated": (
        "<style>@keyframes k{to{transform:translateX(300px)}}#b{animation:k 3s infinite alternate}</style>"
        "<button id=b>Go</button>"
    ),
    "moved by frames": (
        "<button id=b style='position:absolute'>Go</button><script>let x = 0;"
        "(function go() { b.style.left = (x = (x + 7) % 300) + 'px'; requestAnimationFrame(go) })()</script>"
    ),
    "moving transition": (
        "<button id=b style='position:absolute;left:0;transition:left 2s'>Go</button>"
        "<script>setTimeout(() => b.style.left = '400px', 30)</script>"
    ),
    "see-through": "<button id=b style='opacity:0'>Go</button>",
    "sticky header": (
        "<div style='position:sticky;top:0;height:80px;background:#eee'>head</div><div style='height:900px'></div>"
        "<button id=b>Go</button><div style='height:2000px'></div>"
    ),
    "under what lets pass": "<button id=b>Go</button><div style='position:fixed;inset:0;pointer-events:none'></div>",
}


@pytest.mark.parametrize("case", ACTIONABLE)
def test_a_clickable_target_is_clicked_once(desk: Desk, case: str) -> None:
    """Neither its position nor its movement is a reason to refuse."""
    desk.show(ACTIONABLE[case])

    desk.ok(Click(target=at("#b"), timeout_ms=QUICK))

    assert desk.trail().count("click") == 1


def test_a_position_far_below_is_scrolled_to(desk: Desk) -> None:
    """A point of a tall element is scrolled into view."""
    desk.show(
        "<div id=b style='height:4000px;background:#eee'>Go</div>"
        "<script>b.onclick = e => document.title = e.offsetY</script>"
    )

    seen = desk.ok(Click(target=at("#b"), position=Point(x=5, y=3900)))

    assert seen.pages[0].title == "3900"


def test_a_late_target_is_waited_for_in_page_time(desk: Desk) -> None:
    """A button that is enabled after three seconds of page time is clicked then."""
    desk.show("<button id=b disabled>Go</button><script>setTimeout(() => b.disabled = false, 3000)</script>")

    seen = desk.ok(Click(target=at("#b")))

    assert desk.trail().count("click") == 1
    assert 2800 <= seen.virtual_ms <= 3200


def test_a_target_in_a_late_frame_is_waited_for(desk: Desk) -> None:
    """A frame that appears later is waited for like a target."""
    button = desk.site.put("<button id=b>Go</button>")
    desk.show(
        f"<script>setTimeout(() => document.body.innerHTML = '<iframe id=f src={button}></iframe>', 1000)</script>"
    )

    desk.ok(WaitFor(condition=SelectorCondition(target=at("#b", "#f"))))

    desk.ok(Click(target=at("#b", "#f")))
