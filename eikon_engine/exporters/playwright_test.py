"""Write a mission as a test for pytest-playwright: subgoals as named steps, recorded effects as assertions.

The test drives the live site; it knows no sealed network and no stepped clock. What is asserted is what a person would
check: who each element is, what fields hold, dialogs, downloads, addresses and titles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.playwright_calls import call, lines_of, locator, page_name
from eikon_engine.trace.actions import AnswerDialog, ClosePage, Download, Drag, Fill, SetInputFiles, SetValue, TypeText
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed
from eikon_engine.trace.redaction import secrets_named_in
from eikon_engine.trace.secret_text import secret_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace
    from eikon_engine.trace.observation import Observation
    from eikon_engine.trace.target import Identity

STORAGE_STATE: Final = "storage_state.json"
FILES: Final = "files"
_STEP: Final = '''
@contextmanager
def step(title: str) -> Iterator[None]:
    """Name a part of the mission where it fails."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in step: {title}")
        raise
'''


@dataclass(slots=True)
class _Known:
    """What is known of the pages by now; mutable, because it grows with each action."""

    urls: dict[int, str] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)
    answer: AnswerDialog | None = None


def playwright_test(trace: ExecutionTrace) -> str:
    """Return the source of the test; `FILES` and `STORAGE_STATE` lie beside it where the mission has them."""
    known = _Known()
    body = [line for subgoal in trace.subgoal_traces for line in _subgoal(subgoal, known)]
    code = "\n".join(f"    {line}" if line else "" for line in body)
    name = re.sub(r"\W+", "_", trace.mission_id.lower()).strip("_") or "mission"
    test = f"\n\ndef test_{name}(page: Page) -> None:\n    {_docstring(trace.mission_text)}\n{code}\n"
    parts = (_fixture(trace), _STEP, test)
    text = "".join(parts)
    return f"{_head(trace)}\n{_imports(text)}{_constants(text)}\n{text}"


def _head(trace: ExecutionTrace) -> str:
    steps = (step for subgoal in trace.subgoal_traces for step in subgoal.actions_taken)
    secrets = sorted({name for step in steps for name in secret_names(step.action)})
    needed = f"\n\nTakes {', '.join(secrets)} from the environment.\n" if secrets else ""
    when = f"{trace.started_at:%Y-%m-%d}"
    return _docstring(
        f"Mission {trace.mission_id}, recorded on {when}, exported by Eikon for pytest-playwright.{needed}"
    )


def _docstring(text: str) -> str:
    return f'"""{text.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34)).strip()}"""'


def _imports(text: str) -> str:
    wanted = [name for name in ("hashlib", "os", "re") if re.search(rf"\b{name}\.", text)]
    lines = ["from __future__ import annotations", "", *(f"import {name}" for name in wanted)]
    closes = "suppress(" in text
    lines += ["from collections.abc import Iterator"]
    lines += ["from contextlib import contextmanager, suppress" if closes else "from contextlib import contextmanager"]
    lines += ["from pathlib import Path"] if "FILES" in text or STORAGE_STATE in text else []
    names = "Error, Page, expect" if closes else "Page, expect"
    return "\n".join(("", *lines, "", "import pytest", f"from playwright.sync_api import {names}", ""))


def _constants(text: str) -> str:
    return f'\nFILES = Path(__file__).parent / "{FILES}"\n' if "FILES /" in text else ""


def _fixture(trace: ExecutionTrace) -> str:
    """Write the fixture that opens the context as it was."""
    environment = trace.environment
    given: dict[str, object] = {}
    if environment is not None:
        given["viewport"] = environment.viewport.model_dump()
        given["locale"] = environment.locale
        given["timezone_id"] = environment.timezone
        given["color_scheme"] = environment.color_scheme
        if environment.device_scale_factor != 1:
            given["device_scale_factor"] = environment.device_scale_factor
        if environment.is_mobile or environment.has_touch:
            given["is_mobile"], given["has_touch"] = environment.is_mobile, environment.has_touch
    lines = [f"        {name!r}: {value!r}," for name, value in given.items()]
    if trace.start.storage_state is not None:
        lines.append(f"        'storage_state': str(Path(__file__).with_name('{STORAGE_STATE}')),")
    listed = "\n".join(("        **browser_context_args,", *lines))
    return f'''
@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, object]) -> dict[str, object]:
    """Open pages as they were opened when the mission was recorded."""
    return {{
{listed}
    }}

'''


def _subgoal(subgoal: SubgoalTrace, known: _Known) -> Iterator[str]:
    yield f"with step({subgoal.description!r}):"
    lines = [line for step in subgoal.steps for line in _step(step, known)]
    yield from (f"    {line}" for line in lines or ["pass"])


def _step(step: object, known: _Known) -> Iterator[str]:
    if not isinstance(step, ActionTrace):
        yield f"# The skill {getattr(step, 'skill', '')} read the page here."
        return
    if isinstance(step.result, Blocked):
        return
    if isinstance(step.action, AnswerDialog):
        known.answer = step.action
        return
    if isinstance(step.result, Failed):
        yield f"# Failed when it was recorded ({step.result.code}):"
        yield from (f"# {line}" for line in lines_of(step.action))
        return
    yield from _element(step.action)
    yield from _done(step, known)
    if step.observation is not None:
        yield from _effects(step.action, step.observation, known)


def _element(action: Action) -> Iterator[str]:
    """Say which element is meant, and who it has to be."""
    target = getattr(action, "target", None)
    if target is None:
        return
    yield f"element = {locator(action.page, target)}"
    if target.identity is not None:
        yield from _who(target.identity)
    if isinstance(action, SetValue):
        yield "is_select = element.evaluate('each => each.localName === \"select\"')"


def _who(identity: Identity) -> Iterator[str]:
    if identity.role:
        yield f"expect(element).to_have_role({identity.role!r})"
    if identity.name:
        yield f"expect(element).to_have_accessible_name({identity.name!r})"
    elif identity.text and len(identity.text) < 200:  # noqa: PLR2004 - longer ones are cut in the trace
        yield f"expect(element).to_have_text({identity.text!r})"


def _done(step: ActionTrace, known: _Known) -> Iterator[str]:
    """Do it inside of what waits for its popups, dialogs and downloads."""
    page = page_name(step.action.page)
    seen = step.observation
    lines = list(lines_of(step.action))
    for ordinal in seen.opened if seen is not None else ():
        lines = [f"with {page}.expect_popup() as opened_{ordinal}:", *_inside(lines)]
        lines.append(f"{page_name(ordinal)} = opened_{ordinal}.value")
    for download in seen.downloads if seen is not None else ():
        if isinstance(step.action, Download) or download.failure is None:
            lines = [f"with {page}.expect_download() as download:", *_inside(lines)]
            lines.append(f"assert download.value.suggested_filename == {download.name!r}")
            if download.sha256 is not None:
                content = "download.value.path().read_bytes()"
                lines.append(f"assert hashlib.sha256({content}).hexdigest() == {download.sha256!r}")
    for ordinal in seen.closed if seen is not None and not isinstance(step.action, ClosePage) else ():
        # A click on a page that it closes never ends well; that the page closes is what counts.
        lines = [f'with {page_name(ordinal)}.expect_event("close"), suppress(Error):', *_inside(lines)]
    dialogs = seen.dialogs if seen is not None else ()
    answer, known.answer = known.answer, None
    for dialog in dialogs:
        text = None if answer is None or answer.text is None else answer.text
        taken = call("dialog.accept", *([repr(text)] if isinstance(text, str) else []))
        reply = taken if dialog.answer == "accepted" else "dialog.dismiss()"
        yield "messages: list[str] = []"
        yield f'{page}.once("dialog", lambda dialog: (messages.append(dialog.message), {reply}))'
        lines.append(f"assert messages == [{dialog.message!r}]")
    yield from lines


def _inside(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines or ["pass"]]


def _effects(action: Action, seen: Observation, known: _Known) -> Iterator[str]:
    """Assert what was seen: the value of the field, and addresses and titles that are new."""
    if seen.target is not None and isinstance(action, Fill | TypeText | SetValue) and isinstance(action.text, str):
        yield f"expect(element).to_have_value({(seen.target.value or '')!r})"
    elif seen.target is not None and seen.target.checked is not None and not isinstance(action, Drag | SetInputFiles):
        yield f"expect(element).{'to_be_checked' if seen.target.checked else 'not_to_be_checked'}()"
    for page in seen.pages:
        name = page_name(page.page)
        if secrets_named_in(page.url + page.title):
            continue  # what the secret is today is not known here
        if known.urls.get(page.page) != page.url:
            yield f"expect({name}).to_have_url({page.url!r})"
        if known.titles.get(page.page) != page.title:
            yield f"expect({name}).to_have_title({page.title!r})"
        known.urls[page.page], known.titles[page.page] = page.url, page.title
