"""A late element, for which a call waits, is recorded as it was before the call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from eikon_engine.network.store import read_network
from eikon_engine.record import target_probe as asking
from eikon_engine.trace.actions import Click, Drag
from eikon_engine.trace.target import Identity
from tests.browser.pages import Answer, Asked, PageSite
from tests.record.recorded_page import TWICE, recorded_actions, recorded_page, warnings
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

PAGE: Final = """<script>
const late = (ms, html) => setTimeout(() => {
  document.body.insertAdjacentHTML('beforeend', html);
  document.body.animate([{ translate: '90px' }, { translate: '0px' }], 1000);  // a busy recorder sees it before the act
}, ms);
%s
</script>"""
RENAMED: Final = """late(450, `<button onclick="this.textContent = 'Done'">Save</button>`);"""
LEADING: Final = """late(450, `<a id=next href="%s">To the basket</a>`);"""
HANDED: Final = """late(450, `<button onclick="
  this.textContent = 'Done'; this.insertAdjacentHTML('afterend', '<p id=said>Save</p>')"><b>Save</b></button>`);"""
FIELD: Final = """late(450, `<label>Code <input id=code oninput="
  value = value.toUpperCase(); placeholder = 'four'; setAttribute('aria-label', 'Code ' + value)"></label>`);"""
BOX: Final = """late(450, `<label><span id=terms>Agree</span> <input type=checkbox onchange="
  terms.textContent = checked ? 'Agreed' : 'Agree'"></label>`);"""
CHOICE: Final = """late(450, `<select aria-label=Size onchange="setAttribute('aria-label', 'Size ' + value)">
  <option>small</option><option>large</option></select>`);"""
SLOW: Final = """late(50, `<button id=go disabled onclick="this.textContent = 'Gone'">Loading</button>`);
setTimeout(() => { go.textContent = 'Go'; go.disabled = false; }, 450);"""
DRAGGED: Final = """late(450, `<div id=here draggable=true ondragstart="this.textContent = 'taken'">take me</div>
<div id=there ondragover="event.preventDefault()" ondrop="this.textContent = 'full'">put it here</div>`);"""


def hit(folder: Path, place: int = 0) -> Identity:
    """Return the recorded element of an action."""
    target = getattr(recorded_actions(folder)[place], "target", None)
    assert target is not None
    assert target.identity is not None, warnings(folder)
    identity: Identity = target.identity
    return identity


ACTS: Final[dict[str, tuple[str, Callable[[Page], object], str]]] = {
    "a button that renames itself": (RENAMED, lambda page: page.get_by_role("button", name="Save").click(), "Save"),
    "a button found by its place": (RENAMED, lambda page: page.click("button"), "Save"),
    "a text inside a button": (HANDED, lambda page: page.get_by_text("Save", exact=True).click(), "Save"),
    "a field": (FIELD, lambda page: page.get_by_label("Code").fill("ab1"), "Code"),
    "a field that is typed into": (FIELD, lambda page: page.locator("#code").press_sequentially("ab1"), "Code"),
    "a checkbox": (BOX, lambda page: page.get_by_role("checkbox").check(), "Agree"),
    "a choice": (CHOICE, lambda page: page.locator("select").select_option("large"), "Size"),
    "a button that is not enabled": (SLOW, lambda page: page.click("#go"), "Go"),
}


@pytest.mark.parametrize("name", list(ACTS))
def test_a_late_element_is_recorded_as_it_was(chromium: Browser, site: PageSite, tmp_path: Path, name: str) -> None:
    """The recorded identity does not include changes that the action made to its element."""
    script, act, was = ACTS[name]
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(PAGE % script))
        act(agent.page)

    seen = hit(tmp_path / "b")
    assert (seen.name or seen.text) == was
    attributes = dict(seen.attributes)
    assert "placeholder" not in attributes
    assert attributes.get("id") != "said"
    assert "is not known" not in warnings(tmp_path / "b")


@pytest.mark.parametrize("other", ["", "<a id=next href='#'>To the till</a>"])
def test_a_late_link_is_recorded_though_its_page_is_gone(
    chromium: Browser, site: PageSite, tmp_path: Path, other: str
) -> None:
    """The clicked link is recorded, not a link with the same name on the page that it opens."""
    url = site.put(PAGE % (LEADING % site.put(f"<h1>Basket</h1>{other}")))
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(url)
        agent.page.click("#next")
        agent.page.wait_for_selector("h1")

    assert hit(tmp_path / "b").name == "To the basket"


def test_the_call_may_be_older_than_the_document(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A call that waits across a navigation has the element of the document in which it acted."""
    there = site.put(PAGE % RENAMED)
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(f"<script>setTimeout(() => location = '{there}', 200)</script>"))
        agent.page.click("button")

    assert hit(tmp_path / "b").name == "Save"


@pytest.mark.parametrize("interval_s", [asking.POLL_INTERVAL_S, 60])
def test_both_ends_of_a_late_drag_are_recorded(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interval_s: float
) -> None:
    """Both the dragged element and the drop target are recorded, even if no probe saw them before."""
    monkeypatch.setattr(asking, "POLL_INTERVAL_S", interval_s)
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(PAGE % DRAGGED))
        agent.page.drag_and_drop("#here", "#there")

    (drag,) = recorded_actions(tmp_path / "b")
    assert isinstance(drag, Drag)
    assert drag.target.identity is not None
    assert drag.to.identity is not None
    assert (drag.target.identity.text, drag.to.identity.text) == ("take me", "put it here")


@pytest.mark.parametrize(
    ("name", "was"),
    [("a field", "Code"), ("a button found by its place", "Save"), ("a button that renames itself", None)],
)
def test_an_element_that_was_not_seen_in_time_is_remembered(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, was: str | None
) -> None:
    """The document remembers the element that was hit; the target is known if its selector still matches."""
    monkeypatch.setattr(asking, "POLL_INTERVAL_S", 60)
    script, act, _ = ACTS[name]
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(PAGE % script))
        act(agent.page)

    target = getattr(recorded_actions(tmp_path / "b")[0], "target", None)
    assert target is not None
    assert (target.identity and target.identity.name) == was
    assert ("could not be identified: it appeared late" in warnings(tmp_path / "b")) == (was is None)


RENDERED_AGAIN: Final = """<main><p><button>Save</button></p></main><script>
const own = window.__eikon__, probe = own.probeTarget;
own.probeTarget = (found, value) => {
  own.probeTarget = probe;
  for (const each of found) each.replaceWith(each.cloneNode(true));
  return probe(found, value);
};
</script>"""


def test_an_element_that_is_rendered_again_is_recorded(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page may replace an element just after it was found; the recorded one is that which was clicked."""
    monkeypatch.setattr(asking, "POLL_INTERVAL_S", 60)
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(RENDERED_AGAIN))
        agent.page.get_by_role("button", name="Save").click()

    assert [each.tag for each in hit(tmp_path / "b").ancestors] == ["p", "main", "body", "html"]


def test_late_elements_replay(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A mission that waits for all its elements is certified, and is faithful without its site."""
    link = LEADING % site.put("<h1>Basket</h1>")
    chain = f"""{FIELD}
      addEventListener('input', ({{ target }}) => {{ if (target.id) {{ {BOX} }} else {{ {RENAMED} }} }});
      addEventListener('click', ({{ target }}) => {{ if (target.localName === 'button') {{ {link} }} }});"""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put(PAGE % chain))
        agent.page.get_by_label("Code").fill("ab1")
        agent.page.get_by_role("checkbox").check()
        agent.page.get_by_role("button", name="Save").click()
        agent.page.click("#next")
        agent.page.wait_for_selector("h1")

    assert [hit(tmp_path / "b", place).name for place in range(4)] == ["Code", "Agree", "Save", "To the basket"]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "run", secrets={}).verdict == "faithful"


BEFORE_SECOND: Final = 4
"""The phase in which the second action locates its element."""
MOVING: Final = """<button id=save>Save</button><script>
let state = 'nothing';
const moves = save.animate([{ translate: '90px' }, { translate: '0px' }], { duration: 200, iterations: Infinity });
fetch('/state').then(async response => {
  state = await response.text();
  setTimeout(() => moves.cancel(), 400);
});
save.onclick = async () => {
  await fetch('/save', { method: 'POST', body: state });
  document.title = 'saved';
};
</script>"""


def test_what_a_page_receives_while_its_target_moves_precedes_the_action(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Playwright clicks a button when it stands still, long after it was found."""

    def answer_late(_asked: Asked) -> Answer:
        Event().wait(1)  # the button was found by then, and still moves
        return Answer(body="everything")

    site.answers |= {"/state": answer_late, "/save": Answer(body="")}
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(MOVING))
        agent.page.click("#save")
        expect(agent.page).to_have_title("saved")
    outcome = replay(tmp_path / "b", tmp_path / "replay")

    state = next(each for each in read_network(tmp_path / "b" / "network").exchanges if "/state" in each.key)
    assert state.phase == BEFORE_SECOND
    assert [each.body for each in site.asked if each.path == "/save"] == [b"everything"]
    assert (outcome.network.misses, outcome.network.unsent) == ((), ())


REPLACED: Final = """<p><span id=moving style='position: relative'>const total = 1;</span></p><script>
const began = performance.now(), line = document.querySelector('p');
const move = () => {
  const passed = performance.now() - began;
  if (passed > 700) line.innerHTML = '<b>const</b> <i onclick="document.title = 1">total =</i> 1;';
  else {
    moving.style.left = `${passed / 10}px`;
    requestAnimationFrame(move);
  }
};
move();
</script>"""


def test_an_element_that_replaced_the_probed_one_is_what_was_hit(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """An editor renders its line anew, with colours, while Playwright waits until it stands still."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put(REPLACED))
        agent.page.get_by_text("total").click()
        agent.page.wait_for_function("document.title === '1'")

    click = next(each for each in recorded_actions(tmp_path / "b") if isinstance(each, Click))
    assert click.target.identity is not None
    assert (click.target.identity.tag, click.target.identity.text) == ("i", "total =")
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
