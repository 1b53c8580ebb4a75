"""`report.html` shows a replay, works without network, and executes nothing of what it shows."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from eikon_engine.outcome.events import ActionPerformed, Event, EventLine, RunStart, ToolFailure, ToolResult
from eikon_engine.outcome.outcomes import ReplayOutcome, RequestTime, SkillOutcome
from eikon_engine.report import HtmlReport
from eikon_engine.report.html_report import render_report
from eikon_engine.report.templates import MAX_LINE_LENGTH
from eikon_engine.trace.execution import Artifact
from tests.report.outcomes import NOW, make_outcome, make_step

HOSTILE: Final = st.sampled_from(
    [
        "</script><script>alert(1)</script>",
        "</style><img src=x onerror=alert(1)>",
        '" onload="alert(1)',
        "' autofocus onfocus='alert(1)",
        "javascript:alert(1)",
        "{{ 7 * 7 }}{% raw %}",
        "\x1b[31mred\u202eesrever\x00",
        "<!--",
        "x" * 1_000_000,
    ]
)


ADDRESS: Final = re.compile(r"#|\./|data:image/png;base64,|outcome\.json$|events\.jsonl$|replay_summary\.txt$")
"""Where the page leads: to its steps, to files beside it, to its own pictures."""


class _Elements(HTMLParser):
    """Collects start tags with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@given(HOSTILE | st.text(max_size=40))
def test_nothing_of_a_trace_is_executed(text: str) -> None:
    """Each text is escaped: there is one script, no handler, and no address but fragments, files and pictures."""
    with TemporaryDirectory() as folder:
        html = render_report(make_outcome(text, Path(folder)), Path(folder))
    elements = _Elements()
    elements.feed(html)

    assert [tag for tag, _ in elements.found].count("script") == 1
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    addresses = [value or "" for _, each in elements.found for name, value in each.items() if name in {"href", "src"}]
    assert all(map(ADDRESS.match, addresses))
    assert not re.search("[\x00-\x08\x0b\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", html)
    assert max(map(len, (line for line in html.splitlines() if "base64" not in line))) < 4 * MAX_LINE_LENGTH + 10_000


def test_a_faithful_replay_has_a_page_only_if_asked(tmp_path: Path) -> None:
    """One that is not faithful always has."""
    diverged = make_outcome()
    faithful = diverged.model_copy(update={"verdict": "faithful", "explanation": None})

    assert HtmlReport().render(faithful, tmp_path) is None
    assert HtmlReport(for_all=True).render(faithful, tmp_path) is not None
    assert HtmlReport().render(diverged, tmp_path) is not None


def test_missing_files_and_files_outside_are_named(tmp_path: Path) -> None:
    """They are not read."""
    (tmp_path / "outside.txt").write_text("secret")
    folder = tmp_path / "run"

    html = render_report(make_outcome(folder=folder), folder)

    assert "Missing: observation (subgoal_1/002_observation.json)" in html
    assert "Missing: outside (../outside.txt)" in html
    assert "secret" not in html


def test_a_page_may_be_nested_however_deeply(tmp_path: Path) -> None:
    """And name files that no disk has."""
    (tmp_path / "deep.txt").write_text("".join(f"{' ' * level}{level}\n" for level in range(400)))
    files = (Artifact(name="DOM difference", path="deep.txt"), Artifact(name="long", path="a" * 5_000))
    outcome = make_outcome()
    steps = (make_step(1, artifacts=files), *outcome.subgoals[0].steps[1:])
    subgoal = outcome.subgoals[0].model_copy(update={"steps": steps})

    html = render_report(outcome.model_copy(update={"subgoals": (subgoal,)}), tmp_path)

    assert ">399<" in html
    assert "Missing: long" in html


def test_a_page_is_the_same_each_time(tmp_path: Path) -> None:
    """It depends on the outcome and the artifacts alone."""
    outcome = make_outcome(folder=tmp_path)

    assert render_report(outcome, tmp_path) == render_report(outcome, tmp_path)


@pytest.fixture(scope="module")
def opened(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, list[str]]:
    """Open the page of a diverged replay from disk; also return what it requested, and its errors."""
    folder = tmp_path_factory.mktemp("run")
    file = folder / "report.html"
    file.write_text(render_report(make_outcome(folder=folder), folder))
    page, noted = chromium.new_page(), []
    page.on("request", lambda request: noted.append(request.url))
    page.on("pageerror", lambda error: noted.append(str(error)))
    page.on("console", lambda message: noted.append(message.text))
    page.goto(file.as_uri())
    return page, noted


@pytest.fixture
def shown(opened: tuple[Page, list[str]]) -> Page:
    """Return the page."""
    return opened[0]


@pytest.mark.browser
class TestInABrowser:
    """The page in a real browser."""

    def test_it_requests_nothing(self, opened: tuple[Page, list[str]]) -> None:
        """Pictures are part of it, and its policy forbids the rest."""
        shown, noted = opened

        assert [url for url in noted if not url.startswith("data:")] == [shown.url.partition("#")[0]]
        assert shown.locator(".filmstrip img").evaluate_all("all => all.every(each => each.naturalWidth === 64)")

    def test_the_first_difference_is_open_beside_its_cause(self, shown: Page) -> None:
        """Other steps are closed."""
        expect(shown.get_by_role("heading", name="First cause: site-changed")).to_be_visible()
        expect(shown.locator("details.step[open]")).to_have_count(1)
        expect(shown.locator("#step-1-2")).to_have_attribute("open", "")
        expect(shown.locator("#step-1-2").get_by_text("The button 'Save' is missing.").first).to_be_visible()

    def test_the_slider_shows_more_of_the_observed_page(self, shown: Page) -> None:
        """To its end: all of it."""
        shown.get_by_role("slider").fill("100")

        expect(shown.locator(".over")).to_have_css("clip-path", "inset(0px 0px 0px 0%)")

    def test_search_and_verdicts_hide_steps(self, shown: Page) -> None:
        """The page says how many are left."""
        shown.get_by_role("searchbox").fill("unknown")
        expect(shown.locator("details.step:visible")).to_have_count(1)
        expect(shown.get_by_role("status")).to_have_text("1 of 3 steps")

        shown.get_by_role("searchbox").fill("")
        shown.get_by_label("faithful (1)").uncheck()
        expect(shown.locator("details.step:visible")).to_have_count(2)
        shown.get_by_label("faithful (1)").check()

    def test_keys_move_from_step_to_step(self, shown: Page) -> None:
        """Each step has an address of its own."""
        shown.evaluate("location.hash = ''")
        shown.keyboard.press("j")
        expect(shown.locator("#step-1-1")).to_have_attribute("open", "")
        shown.keyboard.press("n")
        expect(shown).to_have_url(re.compile("#step-1-2$"))
        shown.keyboard.press("j")
        expect(shown).to_have_url(re.compile("#step-1-3$"))
        shown.keyboard.press("k")
        expect(shown).to_have_url(re.compile("#step-1-2$"))
        expect(shown.locator("#step-1-2 summary").first).to_be_focused()
        shown.keyboard.press("/")
        expect(shown.get_by_role("searchbox")).to_be_focused()

    def test_an_address_of_a_step_opens_it(self, shown: Page) -> None:
        """Also when the page is loaded with it."""
        shown.goto(shown.url.partition("#")[0] + "#step-1-3")

        expect(shown.locator("#step-1-3")).to_have_attribute("open", "")
        expect(shown.locator("#step-1-3 summary").first).to_be_focused()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [1280, 360])
    def test_it_is_accessible_and_fits(self, shown: Page, scheme: str, width: int) -> None:
        """Axe finds nothing serious; nothing is wider than a narrow window."""
        shown.set_viewport_size({"width": width, "height": 800})
        shown.emulate_media(color_scheme=scheme)  # type: ignore[arg-type] # one of the two
        shown.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")

        found = Axe().run(shown).response["violations"]

        serious = [each for each in found if each["impact"] in {"serious", "critical"}]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
        assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_a_large_mission_stays_small(tmp_path: Path) -> None:
    """A thousand actions take some kilobytes each."""
    outcome = make_outcome()
    steps = tuple(make_step(number) for number in range(1, 1001))
    subgoal = outcome.subgoals[0].model_copy(update={"steps": steps, "steps_recorded": 1000})
    large: ReplayOutcome = outcome.model_copy(update={"subgoals": (subgoal,)})

    assert len(render_report(large, tmp_path)) < 2_000_000


@pytest.mark.browser
def test_requests_are_on_the_time_axis(chromium: Browser, tmp_path: Path) -> None:
    """Each is where it was sent, and as long as its response took; one that failed is marked, and the step lists it."""
    outcome = make_outcome()
    subgoal = outcome.subgoals[0]
    times = (
        RequestTime(method="GET", url="http://shop.test/api", begin_ms=50.0, duration_ms=25.0, what="200"),
        RequestTime(method="POST", url="http://shop.test/save", begin_ms=100.0, duration_ms=50.0, what="500"),
        RequestTime(method="GET", url="http://shop.test/poll", begin_ms=150.0, duration_ms=None),
    )
    lost = subgoal.steps[1].model_copy(update={"request_times": times})
    changed = subgoal.model_copy(update={"steps": (subgoal.steps[0], lost, subgoal.steps[2])})
    path = tmp_path / "report.html"
    path.write_text(render_report(outcome.model_copy(update={"subgoals": (changed,)}), tmp_path), encoding="utf-8")

    page = chromium.new_page()
    page.goto(path.as_uri())

    bars = page.locator(".axis .request")
    expect(bars).to_have_count(3)
    axis = page.locator(".axis").first.evaluate("each => each.getBoundingClientRect().toJSON()")
    places = bars.evaluate_all("all => all.map(each => [each.getBoundingClientRect().x, each.style.width, each.title])")
    begins_ms = [(x - axis["x"]) / axis["width"] * 600 for x, _, _ in places]
    assert begins_ms == pytest.approx([150, 200, 250], abs=2)
    assert [width for _, width, _ in places] == ["4.167%", "8.333%", "8.333%"]
    assert [title for _, _, title in places] == [
        "GET http://shop.test/api, 200, 25 ms",
        "POST http://shop.test/save, 500, 50 ms",
        "GET http://shop.test/poll, not ended",
    ]
    expect(page.locator(".request.failed")).to_have_count(1)
    page.get_by_text("Times of requests: 3").click()
    expect(page.get_by_text("POST http://shop.test/save, 500, 50 ms")).to_be_visible()
    page.close()


def write_events(folder: Path, *calls: ToolResult) -> None:
    """Write those of a scenario whose first two steps were performed before the calls."""
    start = RunStart(kind="scenario_replay", mission_id="order", mission_text="Order")
    steps: list[Event] = [ActionPerformed(subgoal="order__attempt_1", outcome=make_step(number)) for number in (1, 2)]
    lines = [EventLine(sequence=n, at=NOW, event=each) for n, each in enumerate((start, *steps, *calls), start=1)]
    (folder / "events.jsonl").write_text("".join(f"{each.model_dump_json()}\n" for each in lines), encoding="utf-8")


@pytest.mark.browser
def test_reads_skills_and_tool_calls_are_on_the_time_axis(chromium: Browser, tmp_path: Path) -> None:
    """Each looks different; the calls of the scenario are where they were made."""
    outcome = make_outcome()
    subgoal = outcome.subgoals[0]
    read = subgoal.steps[1].model_copy(update={"type": "expect"})
    skill = SkillOutcome(id="s", sequence=3, skill="prices", verdict="faithful", duration_ms=300.0)
    changed = subgoal.model_copy(update={"steps": (subgoal.steps[0], read, skill)})
    call = ToolResult(
        subgoal=subgoal.id, sequence=2, call_id="1", tool="<b>fetch", source="fixture", result=None, latency_ms=12.0
    )
    failed = call.model_copy(update={"error": ToolFailure(kind="KeyError", message="'a'"), "source": "executed"})
    write_events(tmp_path, call, failed, call.model_copy(update={"subgoal": "other"}))
    folder = tmp_path / "replay"
    folder.mkdir()
    path = folder / "report.html"
    path.write_text(render_report(outcome.model_copy(update={"subgoals": (changed,)}), folder), encoding="utf-8")

    page = chromium.new_page()
    page.goto(path.as_uri())

    assert [page.locator(f".axis .{kind}").count() for kind in ("action", "read", "skill", "tool")] == [1, 1, 1, 2]
    expect(page.locator(".legend")).to_have_text("action read skill tool call request", use_inner_text=True)
    assert page.locator(".axis .tool").evaluate_all("all => all.map(each => [each.style.left, each.title])") == [
        ["50%", "tool <b>fetch, from a fixture, 12 ms"],
        ["50%", "tool <b>fetch, executed, 12 ms, failed: KeyError: 'a'"],
    ]
    page.close()


def test_events_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """The page has all else."""
    (tmp_path / "events.jsonl").write_text("{}\n{}\n", encoding="utf-8")
    folder = tmp_path / "replay"
    folder.mkdir()

    page = render_report(make_outcome(), folder)

    assert "Tool calls are not shown: events.jsonl: line 1: expected" in page
    assert str(tmp_path) not in page
