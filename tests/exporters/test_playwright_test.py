"""A mission becomes a test that compiles, passes the linter, and lists what it omits."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.dom import DomNode, PageSnapshot
from eikon_engine.exporters.playwright_preamble import CompanionFiles
from eikon_engine.exporters.playwright_test import BundleFiles, write_test
from eikon_engine.trace import actions
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import Blocked, ExecutionTrace, Failed, NetworkPart, SkillUsage, StartState
from eikon_engine.trace.masks import Mask, OrderPart, SubtreePart, TitlePart
from eikon_engine.trace.observation import ObservedDialog, ObservedDownload, TargetState
from eikon_engine.trace.rules import ResponseValueRule
from eikon_engine.trace.target import Target
from tests.divergence.test_dom_diff import element, page_of
from tests.exporters.traces import CONTENT, URL, body, exported, seen_at, step, trace_of
from tests.trace.trace_values import values_of

HOSTILE = '"""\n\'\'\'\\");__import__("os").system("x")\u2028#{{}}{{eikon-secret:A|json}}\r\x00\ud800' + "long " * 60
START = step(1, actions.Navigate(url=f"{URL}/"), seen_at(f"{URL}/"))


def target_in(page: PageSnapshot, name: str) -> Target:
    """Return a target with the selector of an id, as a recorder does."""
    found = next(each for each in locate_elements(page.main) if each.node.attribute("id") == name)
    return Target(selector="div >> nth=3", identity=found.identity)


def clicked(*nodes: DomNode, name: str = "it") -> str:
    """Export a click on an element of a page, and return its line."""
    page = page_of(*nodes)
    click = step(2, actions.Click(target=target_in(page, name)))
    lines = body(exported(trace_of(START, click), {f"{URL}/": page}))
    return lines[-1]


@pytest.mark.parametrize(
    ("nodes", "line"),
    [
        ([element("button", "Save", id="it")], 'get_by_role("button", name="Save")'),
        ([element("button", "Save", id="it"), element("button", "Save all")],
         'get_by_role("button", name="Save", exact=True)'),
        ([element("button", "Save", id="it"), element("button", "Save")], 'locator("#it")'),
        ([element("button", "Save", id="it"), element("a", "Save", href="/")], 'get_by_role("button", name="Save")'),
        ([element("button", element("i", "x", title="y"), id="it")], 'locator("#it")'),
        ([element("button", element("div", "a"), element("div", "b"), id="it")], 'locator("#it")'),
        ([element("div", "Save", id="it")], 'locator("#it")'),
        ([element("div", "Save", **{"id": "it", "data-testid": "s"})], 'get_by_test_id("s")'),
        ([element("div", "Save", id="it"), element("p", id="it")], 'locator("div >> nth=3")'),
        ([element("label", "Day ", element("input", id="it", type="date"))], 'get_by_label("Day")'),
        ([element("label", "Day", **{"for": "it"}), element("input", id="it")], 'get_by_role("textbox", name="Day")'),
        ([element("input", id="it", type="submit", value="Go")], 'get_by_role("button", name="Go")'),
        ([element("div", element("button", "Save", id="it"), **{"aria-hidden": "true"})], 'locator("#it")'),
    ],
    ids=["role", "exact", "ambiguous", "other role", "odd name", "blocks", "no role", "test id", "selector", "label",
         "named field", "value", "hidden"],
)  # fmt: skip
def test_an_element_is_found_as_a_person_would(nodes: list[DomNode], line: str) -> None:
    """By role and name if they are unique in the recorded document, else by test id, label, id or selector."""
    assert clicked(*nodes) == f"page.{line}.click()"


def test_what_an_action_brought_is_demanded() -> None:
    """New headings, messages, tables, lists and numbers are asserted; earlier content is not."""
    row = element("tr", element("td", "Pear"), element("td", "0.30"))
    before = page_of(element("h1", "Shop"), element("p", "0", id="count"), element("p", role="status", id="said"))
    after = page_of(
        element("h1", "Shop"), element("p", "3", id="count"), element("p", "Added.", role="status", id="said"),
        element("table", element("tbody", row), id="cart"), element("ul", element("li", "a"), element("li", "b")),
    )  # fmt: skip
    click = step(2, actions.Click(target=Target(selector="#buy")), seen_at(f"{URL}/?cart"))
    start = step(1, actions.Navigate(url=f"{URL}/?cart"), seen_at(f"{URL}/"))

    lines = body(exported(trace_of(start, click), {f"{URL}/": before, f"{URL}/?cart": after}))

    assert lines[-8:] == [
        'page.locator("#buy").click()',
        'expect(page).to_have_url("/?cart")',
        'expect(page.locator("#said")).to_have_text("Added.")',
        'expect(page.locator("#cart").locator("th, td")).to_have_text([',
        '"Pear", "0.30",',
        "])",
        'expect(page.locator("ul").locator("> li")).to_have_text(["a", "b"])',
        'expect(page.locator("#count")).to_have_text("3")',
    ]


def test_values_that_the_server_draws_are_not_demanded() -> None:
    """URLs and texts may have any of their kind."""
    url = f"{URL}/tickets/0e8307a45f60?tab=2"
    page = page_of(element("h1", "Ticket 0e8307a45f60"), element("p", "2 comments", id="count"))
    rule = ResponseValueRule(reason="drawn", pattern='href="/tickets/([0-9a-f]{12})(?=")')
    start = step(1, actions.Navigate(url=f"{URL}/new"), seen_at(url))

    lines = body(exported(trace_of(start, network=NetworkPart(rules=(rule,))), {url: page}))

    shown = r'r"^\s*Ticket\s+[0-9a-f]{12}\s*$"'
    assert lines[-3:] == [
        r'expect(page).to_have_url(re.compile("^" + re.escape(base_url) + r"/tickets/[0-9a-f]{12}\?tab=2$"))',
        f'expect(page.get_by_role("heading", name=re.compile({shown}), level=1)).to_be_visible()',
        'expect(page.locator("#count")).to_have_text("2 comments")',
    ]


def test_a_short_id_varies_in_its_path_only() -> None:
    """The URL may have another number there; numbers elsewhere are asserted."""
    url = f"{URL}/tickets/17/edit?tab=17"
    page = page_of(element("p", "17 comments", id="count"))
    rule = ResponseValueRule(reason="drawn", pattern='"id":([0-9]{1,9})(?=,)', path="/tickets/*")
    start = step(1, actions.Navigate(url=f"{URL}/new"), seen_at(url))

    lines = body(exported(trace_of(start, network=NetworkPart(rules=(rule,))), {url: page}))

    assert lines[-2:] == [
        r'expect(page).to_have_url(re.compile("^" + re.escape(base_url) + r"/tickets/[0-9]{1,9}/edit\?tab=17$"))',
        'expect(page.locator("#count")).to_have_text("17 comments")',
    ]


def test_what_the_test_sends_as_recorded_is_listed() -> None:
    """A site may refuse a value that it drew for the recorded visit."""
    rule = ResponseValueRule(reason="drawn", pattern='id="([0-9a-f]{12})"')
    start = step(1, actions.Navigate(url=f"{URL}/tickets/0e8307a45f60"), seen_at(f"{URL}/"))

    test = exported(trace_of(start, network=NetworkPart(rules=(rule,))))

    sent = f"navigate to {URL}/tickets/0e8307a45f60 sends a value that the server drew for the recording"
    assert sent in test.omitted


def test_moments_in_titles_and_dialogs_are_open() -> None:
    """A time, the date of the recording and a digest may be others; a secret may be any message."""
    mask = Mask(name="count", reason="counts", part=TitlePart(pattern=r"\d+ new"), url=f"{URL}/new")
    any_title = Mask(name="any", reason="varies", part=TitlePart(), url=f"{URL}/any")
    messages = ("Saved on 2026-01-15 by Ann", "Hi {{eikon-secret:NAME}}", "Sure?")
    dialogs = [ObservedDialog(page=0, kind="alert", message=each, answer="accepted") for each in messages]
    steps = (
        step(1, actions.Navigate(url=f"{URL}/"), seen_at(f"{URL}/?day=2026-01-15", "Jan 15, 2026 (5 minutes ago)")),
        step(2, actions.Navigate(url=f"{URL}/new"), seen_at(f"{URL}/new", "3 new")),
        step(3, actions.Navigate(url=f"{URL}/any"), seen_at(f"{URL}/any", "4 new")),
        step(4, actions.Reload(), seen_at(f"{URL}/any", "4 new", dialogs=tuple(dialogs))),
    )

    test = exported(trace_of(*steps, masks=(mask, any_title)))

    assert [line for line in body(test) if line.startswith(("expect", "assert"))] == [
        r'expect(page).to_have_url(re.compile("^" + re.escape(base_url) + r"/\?day=\d+-\d+-\d+$"))',
        r'expect(page).to_have_title(re.compile(r"^[A-Za-z]+ \d+, \d+ \(.+\)$"))',
        'expect(page).to_have_url("/new")',
        r'expect(page).to_have_title(re.compile(r"^(?:\d+ new)$"))',
        'expect(page).to_have_url("/any")',
        "assert len(messages) == 3",
        r'assert re.fullmatch(r"Saved on \d+-\d+-\d+ by Ann", messages[0])',
        'assert messages[2] == "Sure?"',
    ]
    assert "a dialog message with a secret is not checked" in test.omitted


def test_an_error_that_begins_with_a_drawn_value_allows_no_others() -> None:
    """Of a recorded error, what precedes its drawn value is known, unless that is too short to be its own."""
    rule = ResponseValueRule(reason="drawn", pattern='id="([0-9a-f]{12})"')
    errors = ("0e8307a45f60 failed", "Could not load 0e8307a45f60")
    start = step(1, actions.Navigate(url=f"{URL}/"), seen_at(f"{URL}/", console_errors=errors))

    test = exported(trace_of(start, network=NetworkPart(rules=(rule,))))

    assert '    "0e8307a45f60 failed",\n    "Could not load ",\n' in test.source


def test_moments_and_masked_parts_are_not_demanded() -> None:
    """Times, the recording date, secrets and masked parts are not asserted."""
    texts = {
        "a": "Closes 18:30",
        "b": "On 2026-01-15",
        "c": "Hi {{eikon-secret:NAME}} 1",
        "d": "Visitor 71",
        "e": "7 in stock",
    }
    page = page_of(*(element("p", text, id=name) for name, text in texts.items()))
    mask = Mask(name="visitors", reason="counts", part=SubtreePart(path="** > p#d"))

    test = exported(trace_of(START, masks=(mask,)), {f"{URL}/": page})

    assert [line for line in body(test) if "to_have_text" in line] == [
        'expect(page.locator("#e")).to_have_text("7 in stock")'
    ]
    assert any(line.startswith("mask visitors") for line in test.omitted)


def test_items_without_an_order_are_counted() -> None:
    """A list whose order is masked has no item at a known place; the texts around it are asserted."""
    page = page_of(
        element("ul", element("li", "Tea"), element("li", "Milk"), id="l"), element("p", "7 in stock", id="e")
    )
    mask = Mask(name="items", reason="shuffled", part=OrderPart(path="** > ul#l"))

    lines = [line for line in body(exported(trace_of(START, masks=(mask,)), {f"{URL}/": page})) if "#" in line]

    assert lines == [
        'expect(page.locator("#l > li")).to_have_count(2)',
        'expect(page.locator("#e")).to_have_text("7 in stock")',
    ]


def test_closed_shadow_roots_are_out_of_reach() -> None:
    """Playwright cannot reach content of a closed shadow root, so it is not asserted."""
    closed = DomNode(tag="x-a", shadow=(element("h1", "Secret"),), shadow_mode="closed")

    assert "Secret" not in exported(trace_of(START), {f"{URL}/": page_of(closed)}).source


def test_dialogs_downloads_pages_and_closings_are_waited_for() -> None:
    """Each is expected by a `with` block around the action that causes it."""

    def click(number: int, **fields: object) -> actions.Action:
        return actions.Click(target=Target(selector=f"#b{number}"), **fields)  # type: ignore[arg-type] # of the test

    dialog = ObservedDialog(page=0, kind="prompt", message="Code?", answer="accepted")
    download = ObservedDownload(page=0, name="a.txt", sha256="a" * 64, size=1)
    trace = trace_of(
        START,
        step(2, actions.AnswerDialog(accept=True, text="X1")),
        step(3, click(3), seen_at(f"{URL}/", dialogs=(dialog,))),
        step(4, click(4), seen_at(f"{URL}/", downloads=(download,))),
        step(5, click(5), seen_at(f"{URL}/", opened=(1,))),
        step(6, click(6, page=1), seen_at(f"{URL}/", closed=(1,))),
        step(7, click(7), seen_at(f"{URL}/", opened=(2, 3))),
    )

    lines = body(exported(trace))

    assert lines[2:] == [
        'with dialogs(page.context, "X1") as messages:',
        'page.locator("#b3").click()',
        'assert messages == ["Code?"]',
        "with page.expect_download() as download:",
        'page.locator("#b4").click()',
        'assert download.value.suggested_filename == "a.txt"',
        "content = download.value.path().read_bytes()",
        f'assert hashlib.sha256(content).hexdigest() == "{"a" * 64}"',
        "with page.expect_popup() as popup:",
        'page.locator("#b5").click()',
        "page_1 = popup.value",
        'with page_1.expect_event("close"), suppress(Error):',
        'page_1.locator("#b6").click()',
        "before = page.context.pages",
        'with page.context.expect_event("page", lambda _: len(page.context.pages) == len(before) + 2):',
        'page.locator("#b7").click()',
        "page_2, page_3 = page.context.pages[len(before) :]",
    ]


def test_what_failed_has_to_fail_again() -> None:
    """A missing element must be missing, other failures must raise; a blocked action is omitted and listed."""
    gone = actions.Click(target=Target(selector="#gone"))
    trace = trace_of(
        START,
        step(2, gone, result=Failed(code="target-missing")),
        step(3, gone, result=Failed(code="target-not-actionable")),
        step(4, gone, result=Blocked(reason="not allowed")),
    )

    test = exported(trace)

    assert [line for line in body(test)[2:] if not line.startswith("#")] == [
        'expect(page.locator("#gone")).to_have_count(0)',
        "with pytest.raises((AssertionError, Error)):",
        'page.locator("#gone").click()',
    ]
    assert test.omitted == ("click in 'Buy it' was blocked (not allowed)",)


def test_a_filled_field_holds_its_value() -> None:
    """The observed value is asserted, except for secrets."""
    field = Target(selector="#q")
    state = seen_at(f"{URL}/", target=TargetState(value="2 pears"))
    secret = actions.Fill(target=field, text=actions.SecretRef(secret="CODE"))

    lines = body(
        exported(trace_of(START, step(2, actions.Fill(target=field, text="2"), state), step(3, secret, state)))
    )

    assert lines[2:] == [
        'page.locator("#q").fill("2")',
        'expect(page.locator("#q")).to_have_value("2 pears")',
        'page.locator("#q").fill(os.environ["EIKON_SECRET_CODE"])',
    ]


def test_what_passes_by_before_a_wait_is_not_demanded() -> None:
    """If a step is followed by a wait, its results are asserted after the wait."""
    wait = actions.WaitFor(condition=actions.UrlCondition(url=f"{URL}/done"))
    click = actions.Click(target=Target(selector="#go"))

    lines = body(
        exported(trace_of(START, step(2, click, seen_at(f"{URL}/going")), step(3, wait, seen_at(f"{URL}/done"))))
    )

    assert lines[2:] == ['page.locator("#go").click()', 'expect(page).to_have_url("/done")']


def test_storage_state_is_stored_beside_the_test_without_its_secrets() -> None:
    """Placeholders are filled from the environment when the test runs."""
    companions = CompanionFiles(
        read_file=lambda _: CONTENT, storage_state='{"cookies": [], "origins": ["{{eikon-secret:T}}"]}'
    )
    attachments = BundleFiles(load_snapshot=lambda _: None, companions=companions)

    test = write_test(trace_of(START, start=StartState()), attachments, files_folder="f")

    assert "{{eikon-secret:T}}" in test.files["storage_state.json"].decode()
    assert 'json.dumps(os.environ["EIKON_SECRET_T"])[1:-1])' in test.source
    assert '"storage_state": json.loads(state)' in test.source


def hostile_trace(text: str) -> ExecutionTrace:
    """Return a mission that has the same text in every field."""
    page = seen_at(f"{URL}/{text}", text, target=TargetState(value=text), console_errors=(text,))
    target = Target(selector=text, frames=(text,))
    environment = Environment(
        browser_version="1", playwright_version="1", platform="x", locale=text, timezone=text, user_agent=text,
        extra_http_headers={text: text}, clock_start_ms=0, random_seed=1,
    )  # fmt: skip
    trace = trace_of(
        step(1, actions.Navigate(url=f"{URL}/{text}"), page),
        step(2, actions.Fill(target=target, text=text), page),
        step(3, actions.Note(text=text)),
        step(4, actions.WaitFor(condition=actions.FunctionCondition(expression=text))),
        step(5, actions.WaitFor(condition=actions.UrlCondition(url=f"*{text}"))),
        step(6, actions.Assert(expectation=actions.AssertText(target=target, text=text))),
        step(7, actions.Click(target=target), result=Blocked(reason=text)),
        step(8, actions.Click(target=target), result=Failed(code="x")),
        mission_id=text, mission_text=text, environment=environment,
    )  # fmt: skip
    skill = SkillUsage(id="s", sequence=9, skill=text, result=Failed(code="x"))
    subgoal = trace.subgoal_traces[0].model_copy(
        update={"description": text, "subgoal_id": text, "skills_used": (skill,)}
    )
    return trace.model_copy(update={"subgoal_traces": (subgoal,)})


def called(source: str) -> set[str]:
    """Return the names of all called functions."""
    return {
        ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)
    }


@pytest.mark.parametrize("text", [HOSTILE.replace("\ud800", ""), "\u2029'''", "*/ --> %s {0} \\", "#step 1 'x'", " "])
def test_no_text_of_a_trace_becomes_code(text: str, tmp_path: Path) -> None:
    """A hostile trace exports to the same code as a harmless one, with other literals; compiler and linter agree."""
    harmless = [exported(hostile_trace(each)).source for each in ("pear", "pear {{eikon-secret:A|json}}")]
    test = exported(hostile_trace(text))
    file = tmp_path / "test_it.py"
    file.write_text(test.source, encoding="utf-8")

    assert called(test.source) <= called(harmless[0]) | called(harmless[1])
    assert "__import__" not in {node.id for node in ast.walk(ast.parse(test.source)) if isinstance(node, ast.Name)}
    for command in (["py_compile"], ["ruff", "check", "--isolated", "--select", "E,F,I", "--line-length", "120"]):
        done = subprocess.run([sys.executable, "-m", *command, str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(values_of(ExecutionTrace))
def test_every_trace_is_exported(trace: ExecutionTrace) -> None:
    """For any valid trace, the export is valid Python with one test and no line over the limit."""
    test = exported(trace)

    tests = [
        node for node in ast.parse(test.source).body if isinstance(node, ast.FunctionDef) and node.name[:5] == "test_"
    ]
    assert len(tests) == 1
    assert max(map(len, test.source.split("\n"))) <= 120
