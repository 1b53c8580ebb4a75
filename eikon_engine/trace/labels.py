"""Short labels of actions and skills for logs and reports; secrets appear by name only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace import actions
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.target import Identity, Target

_MAX_TEXT = 60


def step_label(step: ActionTrace | SkillUsage) -> str:
    """Describe an action or a skill use."""
    return action_label(step.action) if isinstance(step, ActionTrace) else f"skill {step.skill}"


def action_label(action: actions.Action) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Describe an action for logs and reports."""
    match action:
        case actions.Navigate(url=url):
            return f"navigate to {url}"
        case actions.Fill(text=text) | actions.TypeText(text=text) | actions.SetValue(text=text):
            return f"{action.type.replace('_', ' ')} {_target_label(action.target)} with {_input_label(text)}"
        case actions.Press(key=key, target=target):
            return f"press {key}" + (f" on {_target_label(target)}" if target else "")
        case actions.Mouse():
            return _mouse_label(action)
        case actions.TouchscreenTap(x=x, y=y, under=under):
            return f"touchscreen tap at {x:g}, {y:g}{_element_label(under)}"
        case actions.Key(event=event, key=key):
            return f"{'press and hold' if event == 'down' else 'release'} {key}"
        case actions.InsertText(text=text):
            return f"{'type' if action.key_by_key else 'insert'} {_input_label(text)}"
        case actions.DispatchEvent(event=name, target=target):
            return f"dispatch {name} to {_target_label(target)}"
        case actions.SetViewport(width=width, height=height):
            return f"set the viewport to {width} x {height}"
        case actions.SelectOption(options=options):
            return f"select {', '.join(options)} in {_target_label(action.target)}"
        case actions.SetInputFiles(files=files):
            return f"upload {', '.join(file.name for file in files)} to {_target_label(action.target)}"
        case actions.Drop(files=files, data=data):
            dropped = (*(file.name for file in files), *(each.mime_type for each in data))
            return f"drop {', '.join(dropped)} on {_target_label(action.target)}"
        case actions.Drag(to=to):
            return f"drag {_target_label(action.target)} to {_target_label(to)}"
        case actions.Scroll(dx=dx, dy=dy, target=target):
            return f"scroll {_target_label(target) if target else 'the page'} by {dx:g}, {dy:g}"
        case actions.AnswerDialog(accept=accept):
            return f"{'accept' if accept else 'dismiss'} the next dialog"
        case actions.SwitchPage(page=page) | actions.ClosePage(page=page) | actions.OpenPage(page=page):
            return f"{action.type.replace('_', ' ')} {page}"
        case actions.WaitFor(condition=condition):
            return f"wait for {condition_label(condition)}"
        case actions.Assert(expectation=expectation):
            return f"assert {_expectation_label(expectation)}"
        case actions.Read():
            return _read_label(action)
        case actions.Evaluate(expression=expression, target=target):
            return f"evaluate {_shortened(expression)}" + (f" on {_target_label(target)}" if target else "")
        case actions.Expect(target=target):
            return f"expect {_target_label(target) if target else 'the page'} {expectation_label(action)}"
        case actions.Note(text=text):
            return f"note: {_shortened(text)}"
        case _:
            target = getattr(action, "target", None)
            return action.type.replace("_", " ") + (f" {_target_label(target)}" if target is not None else "")


def _mouse_label(action: actions.Mouse) -> str:
    turned = f" by {action.dx:g}, {action.dy:g}" if action.event == "wheel" else ""
    return f"mouse {action.event}{turned} at {action.x:g}, {action.y:g}{_element_label(action.under)}"


def _element_label(identity: Identity | None) -> str:
    name = identity.name or identity.text if identity else ""
    return f" ({_shortened(name)!r})" if name else ""


def _read_label(action: actions.Read) -> str:
    what = action.what.replace("_", " ") + (f" {action.name}" if action.name else "")
    times = f", {action.times} times" if action.times > 1 else ""
    return f"read {what}" + (f" of {_target_label(action.target)}" if action.target else "") + times


def expectation_label(action: actions.Expect) -> str:
    """Describe what an `expect` action expects, without its target."""
    words = ("not " if action.is_not else "") + action.expression.replace(".", " ")
    expected = [text.string if text.string is not None else text.regex_source for text in action.texts or ()]
    values: list[object] = [action.argument, *expected, action.number, action.expected]
    given = ", ".join(
        _shortened(f"{each:g}" if isinstance(each, float) else repr(each)) for each in values if each is not None
    )
    return f"{words} {given}".strip()


def matcher_label(matcher: actions.UrlMatcher) -> str:
    """Describe a pattern for URLs."""
    return matcher.text if matcher.syntax == "glob" else f"/{matcher.text}/{matcher.flags}"


def condition_label(condition: actions.Condition) -> str:  # noqa: PLR0911 - one case a kind
    """Describe what a wait waits for."""
    match condition:
        case actions.SelectorCondition(target=target, state=state):
            return f"{_target_label(target)} to be {state}"
        case actions.UrlCondition(url=url):
            return f"URL {url}"
        case actions.UrlMatchCondition(matcher=matcher):
            return f"URL {matcher_label(matcher)}"
        case actions.TrafficCondition(event=event, matcher=matcher):
            return f"{event} {matcher_label(matcher)}"
        case actions.LoadStateCondition(state=state):
            return f"load state {state}"
        case actions.RequestCondition(method=method, url=url):
            return f"request {method} {url}"
        case actions.ResponseCondition(method=method, url=url, status=status):
            return f"response {status} to {method} {url}"
        case actions.FunctionCondition(expression=expression, target=target):
            return _shortened(expression) + (f" of {_target_label(target)}" if target else "")


def _expectation_label(expectation: actions.Expectation) -> str:
    match expectation:
        case actions.AssertVisible(target=target):
            return f"{_target_label(target)} is visible"
        case actions.AssertText(target=target, text=text):
            return f"{_target_label(target)} reads {text!r}"
        case actions.AssertCount(target=target, count=count):
            return f"{count} of {_target_label(target)}"
        case actions.AssertUrl(url=url):
            return f"URL {url}"


def _target_label(target: Target) -> str:
    return f"{target}{_element_label(target.identity)}"


def _input_label(text: actions.Text) -> str:
    return f"secret {text.secret}" if isinstance(text, actions.SecretRef) else repr(_shortened(text))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
