"""Each type of action is exported as one idiomatic line."""

from __future__ import annotations

from typing import get_args

import pytest

from eikon_engine.trace import actions
from eikon_engine.trace.actions import Action
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.target import Identity, Target
from tests.exporters.traces import BLOB, URL, body, exported, step, trace_of

PEAR = Target(selector="#pear")
FRAMED = Target(selector="#pear", frames=("#shop",))
SELECT = Target(selector="#pear", identity=Identity(tag="select"))
FILE = actions.FileInput(name="prices.csv", mime_type="text/csv", content=BLOB)
ODD_FILE = actions.FileInput(name="../x.csv", mime_type="text/plain", content=BLOB)
AT = 'page.locator("#pear")'

CASES: list[tuple[Action, list[str]]] = [
    (actions.Navigate(url=f"{URL}/cart?x=1#top"), ['page.goto("/cart?x=1#top")']),
    (actions.Navigate(url="http://other.example/"), ['page.goto("http://other.example/")']),
    (actions.Navigate(url=f"{URL}//evil.example"), [f'page.goto("{URL}//evil.example")']),
    (actions.Navigate(url=f"{URL}/", referer="http://a.b/", wait_until="commit", timeout_ms=7.0),
     ['page.goto("/", referer="http://a.b/", wait_until="commit", timeout=7)']),
    (actions.GoBack(), ["page.go_back()"]),
    (actions.GoForward(timeout_ms=5.0), ["page.go_forward(timeout=5)"]),
    (actions.Reload(), ["page.reload()"]),
    (actions.Reload(timeout_ms=300_000.0), ["page.reload(timeout=0)"]),
    (actions.Click(target=PEAR, timeout_ms=300_000.0), [f"{AT}.click(timeout=0)"]),
    (actions.Click(target=PEAR), [f"{AT}.click()"]),
    (actions.Click(target=FRAMED), ['page.frame_locator("#shop").locator("#pear").click()']),
    (actions.Click(target=PEAR, button="right", delay_ms=9.0, modifiers=("Shift",), position=actions.Point(x=1, y=2.5)),
     [f'{AT}.click(button="right", delay=9, position={{"x": 1, "y": 2.5}}, modifiers=["Shift"])']),
    (actions.Click(target=PEAR, click_count=3, force=True), [f"{AT}.click(click_count=3, force=True)"]),
    (actions.DoubleClick(target=PEAR), [f"{AT}.dblclick()"]),
    (actions.DoubleClick(target=PEAR, force=True), [f"{AT}.dblclick(force=True)"]),
    (actions.DoubleClick(target=PEAR, delay_ms=30.0, steps=4), [f"{AT}.dblclick(delay=30, steps=4)"]),
    (actions.Click(target=PEAR, delay_ms=700.0, steps=4), [f"{AT}.click(delay=700, steps=4)"]),
    (actions.Hover(target=PEAR, timeout_ms=100.0), [f"{AT}.hover(timeout=100)"]),
    (actions.Hover(target=PEAR, force=True), [f"{AT}.hover(force=True)"]),
    (actions.Tap(target=PEAR, timeout_ms=100.0), [f"{AT}.tap(timeout=100)"]),
    (actions.Tap(target=PEAR, modifiers=("Shift",), position=actions.Point(x=1, y=2.5), force=True),
     [f'{AT}.tap(position={{"x": 1, "y": 2.5}}, modifiers=["Shift"], force=True)']),
    (actions.TouchscreenTap(x=1.5, y=2.0), ["page.touchscreen.tap(1.5, 2)"]),
    (actions.Fill(target=PEAR, text="2", force=True), [f'{AT}.fill("2", force=True)']),
    (actions.SelectText(target=PEAR, force=True), [f"{AT}.select_text(force=True)"]),
    (actions.SelectOption(target=PEAR, options=("a",), force=True), [f'{AT}.select_option(value="a", force=True)']),
    (actions.Drag(target=PEAR, to=Target(selector="#bag"), steps=3, force=True),
     [f'{AT}.drag_to(page.locator("#bag"), steps=3, force=True)']),
    (actions.Fill(target=PEAR, text="2"), [f'{AT}.fill("2")']),
    (actions.Fill(target=PEAR, text=actions.SecretRef(secret="CODE")), [f'{AT}.fill(os.environ["EIKON_SECRET_CODE"])']),
    (actions.Fill(target=PEAR, text="a {{eikon-secret:CODE|url}}!"),
     [f'{AT}.fill("a " + quote(os.environ["EIKON_SECRET_CODE"], safe="") + "!")']),
    (actions.TypeText(target=PEAR, text="2"), [f'{AT}.press_sequentially("2")']),
    (actions.Press(key="Enter"), ['page.keyboard.press("Enter")']),
    (actions.Press(key="Enter", target=PEAR), [f'{AT}.press("Enter")']),
    (actions.SelectOption(target=PEAR, options=("a",)), [f'{AT}.select_option(value="a")']),
    (actions.SelectOption(target=PEAR, by="index", options=("1", "2")), [f"{AT}.select_option(index=[1, 2])"]),
    (actions.SetValue(target=SELECT, text="a"), [f'{AT}.select_option("a")']),
    (actions.SetValue(target=PEAR, text="a"),
     [f'if {AT}.evaluate("each => each.localName") == "select":', f'{AT}.select_option("a")', "else:",
      f'{AT}.fill("a")']),
    (actions.Check(target=PEAR), [f"{AT}.check()"]),
    (actions.Uncheck(target=PEAR), [f"{AT}.uncheck()"]),
    (actions.Uncheck(target=PEAR, force=True), [f"{AT}.uncheck(force=True)"]),
    (actions.Focus(target=PEAR), [f"{AT}.focus()"]),
    (actions.Blur(target=PEAR), [f"{AT}.blur()"]),
    (actions.SelectText(target=PEAR, timeout_ms=9.0), [f"{AT}.select_text(timeout=9)"]),
    (actions.ScrollIntoViewIfNeeded(target=FRAMED),
     ['page.frame_locator("#shop").locator("#pear").scroll_into_view_if_needed()']),
    (actions.DispatchEvent(target=PEAR, event="click"), [f'{AT}.dispatch_event("click")']),
    (actions.DispatchEvent(target=PEAR, event="keydown", init={"key": "a", "bubbles": True}),
     [f'{AT}.dispatch_event("keydown", event_init={{"key": "a", "bubbles": True}})']),
    (actions.Mouse(event="move", x=1.5, y=2.0), ["page.mouse.move(1.5, 2)"]),
    (actions.Mouse(event="move", x=1.0, y=2.0, steps=3), ["page.mouse.move(1, 2, steps=3)"]),
    (actions.Mouse(event="click", x=1.0, y=2.0), ["page.mouse.click(1, 2)"]),
    (actions.Mouse(event="click", x=1.0, y=2.0, button="right", click_count=2, delay_ms=9.0),
     ['page.mouse.click(1, 2, button="right", click_count=2, delay=9)']),
    (actions.Mouse(event="down", x=1.0, y=2.0), ["page.mouse.move(1, 2)", "page.mouse.down()"]),
    (actions.Mouse(event="up", x=1.0, y=2.0, button="middle", click_count=2),
     ["page.mouse.move(1, 2)", 'page.mouse.up(button="middle", click_count=2)']),
    (actions.Key(event="down", key="Shift"), ['page.keyboard.down("Shift")']),
    (actions.Key(event="up", key="Shift"), ['page.keyboard.up("Shift")']),
    (actions.InsertText(text="2"), ['page.keyboard.insert_text("2")']),
    (actions.InsertText(text=actions.SecretRef(secret="CODE"), key_by_key=True),
     ['page.keyboard.type(os.environ["EIKON_SECRET_CODE"])']),
    (actions.SetInputFiles(target=PEAR, files=(FILE,)), [f'{AT}.set_input_files(FILES / "prices.csv")']),
    (actions.SetInputFiles(target=PEAR, files=(ODD_FILE,)),
     [f"{AT}.set_input_files(",
      '{"name": "../x.csv", "mimeType": "text/plain", "buffer": (FILES / "_x.csv").read_bytes()},', ")"]),
    (actions.SetInputFiles(target=PEAR, files=()), [f"{AT}.set_input_files([])"]),
    (actions.Drag(target=PEAR, to=Target(selector="#bag"), to_position=actions.Point(x=1, y=1)),
     [f'{AT}.drag_to(page.locator("#bag"), target_position={{"x": 1, "y": 1}})']),
    (actions.Drop(target=PEAR, files=(FILE,)), [f'{AT}.drop({{"files": FILES / "prices.csv"}})']),
    (actions.Drop(target=PEAR, files=(FILE, FILE), data=(actions.DropData(mime_type="text/plain", value="2"),),
                  position=actions.Point(x=1, y=2.5)),
     [f"{AT}.drop(", '{"files": [FILES / "prices.csv", FILES / "prices.csv"], "data": {"text/plain": "2"}},',
      'position={"x": 1, "y": 2.5},', ")"]),
    (actions.Drop(target=PEAR, data=(actions.DropData(mime_type="text/plain", value="{{eikon-secret:CODE}}"),)),
     [f'{AT}.drop({{"data": {{"text/plain": os.environ["EIKON_SECRET_CODE"]}}}})']),
    (actions.Drop(target=PEAR, data=(actions.DropData(mime_type="text/plain",
                                                      value=actions.SecretRef(secret="CODE")),)),
     [f'{AT}.drop({{"data": {{"text/plain": os.environ["EIKON_SECRET_CODE"]}}}})']),
    (actions.Scroll(dy=300.0), ["""page.evaluate("scrollBy({left: 0.0, top: 300.0, behavior: 'instant'})")"""]),
    (actions.Scroll(dx=-5.0, target=PEAR),
     [f"""{AT}.evaluate("each => each.scrollBy({{left: -5.0, top: 0.0, behavior: 'instant'}})")"""]),
    (actions.WaitFor(condition=actions.SelectorCondition(target=PEAR)), [f"{AT}.wait_for()"]),
    (actions.WaitFor(condition=actions.SelectorCondition(target=PEAR, state="hidden"), timeout_ms=9.0),
     [f'{AT}.wait_for(state="hidden", timeout=9)']),
    (actions.WaitFor(condition=actions.UrlCondition(url=f"{URL}/order/*")),
     ['expect(page).to_have_url(re.compile("^" + re.escape(base_url) + r"/order/.*$"))']),
    (actions.WaitFor(condition=actions.UrlCondition(url="*.example/")),
     [r'expect(page).to_have_url(re.compile(r"^.*\.example/$"))']),
    (actions.WaitFor(condition=actions.LoadStateCondition()), ['page.wait_for_load_state("load")']),
    (actions.WaitFor(condition=actions.FunctionCondition(expression="done")), ['page.wait_for_function("done")']),
    (actions.WaitFor(condition=actions.FunctionCondition(expression="n => a > n", argument={"n": 1}), timeout_ms=9.0),
     ['page.wait_for_function("n => a > n", arg={"n": 1}, timeout=9)']),
    (actions.WaitFor(condition=actions.FunctionCondition(expression="e => e.open", target=FRAMED)),
     ['page.frame_locator("#shop").locator("#pear").wait_for_function("e => e.open")']),
    (actions.WaitFor(condition=actions.FunctionCondition(expression="done", frames=("#shop",))),
     ['page.locator("#shop").element_handle().content_frame().wait_for_function("done")']),
    (actions.AnswerDialog(accept=True), ["pass"]),
    (actions.SwitchPage(page=1), ["page_1 = page.context.pages[1]", "page_1.bring_to_front()"]),
    (actions.OpenPage(page=1), ["page_1 = page.context.new_page()"]),
    (actions.ClosePage(), ["page.close()"]),
    (actions.SetViewport(width=800, height=600), ['page.set_viewport_size({"width": 800, "height": 600})']),
    (actions.Download(target=PEAR), [f"{AT}.click()"]),
    (actions.Screenshot(full_page=True), ["page.screenshot(full_page=True)"]),
    (
        actions.Screenshot(clip=actions.Clip(x=1, y=2, width=3, height=4)),
        ['page.screenshot(clip={"x": 1, "y": 2, "width": 3, "height": 4})'],
    ),
    (actions.Screenshot(target=PEAR), [f"{AT}.screenshot()"]),
    (actions.ExtractDom(), ["pass"]),
    (actions.Assert(expectation=actions.AssertVisible(target=PEAR)), [f"expect({AT}).to_be_visible()"]),
    (actions.Assert(expectation=actions.AssertText(target=PEAR, text="a", contains=True)),
     [f'expect({AT}).to_contain_text("a")']),
    (actions.Assert(expectation=actions.AssertText(target=PEAR, text="a")), [f'expect({AT}).to_have_text("a")']),
    (actions.Assert(expectation=actions.AssertCount(target=PEAR, count=3)), [f"expect({AT}).to_have_count(3)"]),
    (actions.Assert(expectation=actions.AssertUrl(url=f"{URL}/")), ['expect(page).to_have_url("/")']),
    (actions.Read(what="inner_text", target=PEAR, value=actions.ReadValue(value="a")),
     [f'expect({AT}).to_have_text("a", use_inner_text=True)']),
    (actions.Read(what="all_text_contents", target=PEAR, value=actions.ReadValue(value=["a", "b"])),
     [f'expect({AT}).to_have_text(["a", "b"])']),
    (actions.Read(what="count", target=PEAR, value=actions.ReadValue(value=2)), [f"expect({AT}).to_have_count(2)"]),
    (actions.Read(what="is_visible", target=PEAR, value=actions.ReadValue(value=False)),
     [f"expect({AT}).not_to_be_visible()"]),
    (actions.Read(what="attribute", name="href", target=PEAR, value=actions.ReadValue(value="/a")),
     [f'expect({AT}).to_have_attribute("href", "/a")']),
    (actions.Read(what="title", value=actions.ReadValue(value="Pears")), ['expect(page).to_have_title("Pears")']),
    (actions.Read(what="content", value=actions.ReadValue(value=f'<a href="{URL}/a">'), timeout_ms=250.0),
     ["assert_read(page, lambda: page.content(), '<a href=\"' + base_url + '/a\">', timeout=250)"]),
    (actions.Read(what="content", value=actions.ReadValue(long=BLOB)),
     ["assert_read(", "page,", "lambda: page.content(),",
      'json.loads((FILES / "value_000000000000.json").read_text(encoding="utf-8")),', ")"]),
    (actions.Read(what="inner_html", target=PEAR, value=actions.ReadValue(value="<b>a</b>")),
     [f'assert_read(page, lambda: {AT}.inner_html(), "<b>a</b>")']),
    (actions.Read(what="aria_snapshot", value=actions.ReadValue(value="- main")),
     ['assert_read(page, lambda: page.aria_snapshot(), "- main")']),
    (actions.Read(what="title", frames=("#shop",), value=actions.ReadValue(value="Pears")),
     ['assert_read(page, lambda: page.locator("#shop").element_handle().content_frame().title(), "Pears")']),
    (actions.Read(what="attribute", name="href", target=PEAR, value=actions.ReadValue()),
     [f'assert_read(page, lambda: {AT}.get_attribute("href"), None)']),
    (actions.Read(what="all_inner_texts", target=PEAR, value=actions.ReadValue(value=["{{eikon-secret:CODE}}"])),
     [f'expect({AT}).to_have_text([os.environ["EIKON_SECRET_CODE"]], use_inner_text=True)']),
    (actions.Read(what="title"), ["pass"]),
    (actions.Read(what="aria_snapshot", options={"depth": 2}, value=actions.ReadValue(value="- main")),
     ['assert_read(page, lambda: page.aria_snapshot(depth=2), "- main")']),
    (actions.Read(what="content", options={"a=print(),b": 2}, value=actions.ReadValue(value="")), ["pass"]),
    (actions.Evaluate(expression="x => x.n", argument={"n": 1}, timeout_ms=30_000.0),
     ['page.evaluate("x => x.n", {"n": 1})']),
    (actions.Evaluate(expression="x => x.n", argument={"n": 1}, value=actions.ReadValue(value=[1, None])),
     ['assert page.evaluate("x => x.n", {"n": 1}) == [1, None]']),
    (actions.Evaluate(expression="done", value=actions.ReadValue(value=True)),
     ['assert page.evaluate("done") is True']),
    (actions.Evaluate(expression="done", frames=("#shop",)),
     ['page.locator("#shop").element_handle().content_frame().evaluate("done")']),
    (actions.Evaluate(expression="document.body", returns_handle=True), ['page.evaluate_handle("document.body")']),
    (actions.Evaluate(expression="e => e.id", target=PEAR), [f'{AT}.evaluate("e => e.id")']),
    (actions.Expect(expression="to.have.text", target=PEAR, is_not=True, texts=(actions.ExpectedText(string="a"),)),
     [f'expect({AT}).not_to_have_text("a")']),
    (actions.Expect(expression="to.have.url", texts=(actions.ExpectedText(string=f"{URL}/b"),), timeout_ms=9.0),
     ['expect(page).to_have_url("/b", timeout=9)']),
    (actions.Expect(expression="to.be.visible", target=PEAR), [f"expect({AT}).to_be_visible()"]),
    (actions.Expect(expression="to.have.count", target=PEAR, number=2.0), [f"expect({AT}).to_have_count(2)"]),
    (actions.Expect(expression="to.have.text", target=PEAR, texts=(actions.ExpectedText(regex_source="a"),)),
     [f'expect({AT}).to_have_text(re.compile(r"a"))']),
    (actions.Expect(expression="to.have.text.array", target=PEAR, texts=(
        actions.ExpectedText(string="a"), actions.ExpectedText(regex_source="b", regex_flags="si"))),
     [f'expect({AT}).to_have_text(["a", re.compile(r"b", re.IGNORECASE | re.DOTALL)])']),
    (actions.Expect(expression="to.have.text", target=PEAR, texts=(actions.ExpectedText(regex_source="(?<a>b)"),)),
     ["pass"]),
    (actions.Expect(expression="to.be.checked", target=PEAR, expected={"checked": False}),
     [f"expect({AT}).to_be_checked(checked=False)"]),
    (actions.Expect(expression="to.have.css", argument="color", target=PEAR, texts=(actions.ExpectedText(string="a"),)),
     [f'expect({AT}).to_have_css("color", "a")']),
    (actions.Expect(expression="to.match.aria", target=PEAR, expected="- main"),
     [f'expect({AT}).to_match_aria_snapshot("- main")']),
    (actions.Expect(expression="to.be.rotated", target=PEAR), ["pass"]),
    (actions.Note(text="thought\nof pears"), ["# Note: thought of pears", "pass"]),
]  # fmt: skip


@pytest.mark.parametrize(("action", "lines"), CASES, ids=[action.type for action, _ in CASES])
def test_an_action_is_written_as_a_person_would(action: Action, lines: list[str]) -> None:
    """The test contains exactly these lines after the setup of the site."""
    start = step(1, actions.Navigate(url=f"{URL}/start"))

    test = exported(trace_of(start, step(2, action)))

    assert body(test) == ['page.goto("/start")', *(line for line in lines if line != "pass")]


def test_a_drawing_moves_the_pointer_as_often_as_the_agent_did() -> None:
    """Where the pointer is already, it is not moved; after another action, its position is unknown."""
    drawn: list[Action] = [
        actions.Mouse(event="move", x=1.0, y=2.0),
        actions.Mouse(event="down", x=1.0, y=2.0),
        actions.Mouse(event="move", x=5.0, y=6.0, steps=4),
        actions.Mouse(event="up", x=5.0, y=6.0),
        actions.Mouse(event="wheel", x=7.0, y=6.0, dy=9.0),
        actions.Hover(target=PEAR),
        actions.Mouse(event="down", x=7.0, y=6.0),
    ]

    test = exported(trace_of(*(step(number, each) for number, each in enumerate(drawn, start=1))))

    assert [line.removeprefix("page.mouse.") for line in body(test)] == [
        *("move(1, 2)", "down()", "move(5, 6, steps=4)", "up()", "move(7, 6)", "wheel(0, 9)"),
        *(f"{AT}.hover()", "move(7, 6)", "down()"),
    ]


def test_every_kind_is_tried() -> None:
    """Every type of action has a case above."""
    assert {type(action) for action, _ in CASES} == set(get_args(get_args(Action)[0]))


def test_actions_without_effect_are_noted() -> None:
    """Notes and stored documents are in the list of omitted actions."""
    test = exported(trace_of(step(1, actions.Note(text="x")), step(2, actions.ExtractDom())))

    assert [line.partition(" ")[0] for line in test.omitted] == ["note", "extract_dom"]
    assert all(line in test.source for line in test.omitted)


@pytest.mark.parametrize(
    "action",
    [actions.OpenPage(page=7), actions.Mouse(event="click", x=1.0, y=2.0), actions.TouchscreenTap(x=1.0, y=2.0)],
)
def test_what_fails_by_our_rules_alone_is_left_out(action: Action) -> None:
    """Playwright would not fail there, so such a failure is not asserted but listed as omitted."""
    failed = step(1, action, result=Failed(code="target-missing"))

    test = exported(trace_of(failed))

    assert test.omitted == (f"{action.type} failed with target-missing, which Playwright does not raise",)
    assert body(test) == [f"# {action.type} failed when recorded: target-missing."]
