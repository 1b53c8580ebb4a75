"""Write a mission as a pytest-playwright test: subgoals as named steps, observations as assertions.

The test runs against the live site, without sealed network or stepped clock. It asserts what a person would
check. https://playwright.dev/python/docs/test-runners
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.playwright_calls import Words, statements_of
from eikon_engine.exporters.playwright_effects import Known, around, page_effects, target_effects
from eikon_engine.exporters.playwright_files import companion_files
from eikon_engine.exporters.playwright_head import head, left_out
from eikon_engine.exporters.playwright_locator import action_locator, page_name, plain_locator
from eikon_engine.exporters.playwright_parts import parts
from eikon_engine.exporters.playwright_values import site_of
from eikon_engine.exporters.python_source import Block, Statement, comment, docstring, quoted, render
from eikon_engine.trace.actions import AnswerDialog, ClosePage, Drag, Mouse, OpenPage, SwitchPage, WaitFor
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed, SkillUsage, Succeeded
from eikon_engine.trace.redaction import secrets_named_in
from eikon_engine.trace.secret_text import secret_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eikon_engine.exporters.playwright_files import Companions
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.target import Target

_NAMED: Final = 40
"""Maximum length of a locator that is repeated instead of assigned to a variable."""
_LONGEST_NAME: Final = 60
_STEP: Final = "#step "
_NO_ERRORS: Final = "assert errors == []"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTest:
    """A test, its companion files, and the parts of the recording it omits."""

    source: str
    files: Mapping[str, bytes]
    """Contents of the companion files by name."""
    left_out: tuple[str, ...]
    """Parts of the recording that the test omits, one line each."""
    lines: tuple[tuple[int, str, int], ...]
    """First line of each step, from 1, with the id of its subgoal and its sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """The files of the bundle that the test needs."""

    load: Callable[[PageObservation], PageSnapshot | None]
    """Returns the snapshot of an observed page."""
    companions: Companions


def playwright_test(trace: ExecutionTrace, attachments: Attachments, *, files_folder: str) -> ExportedTest:
    """Return the test of a mission; the caller writes its files to `files_folder` next to it."""
    site = site_of(trace)
    known = Known(trace=trace, site=site, load=attachments.load)
    known.left_out += left_out(trace)
    words = Words(site=site, locate=partial(_located, known), file=attachments.companions.source)
    body = tuple(_subgoal(each, known, words) for each in trace.subgoal_traces)
    name = re.sub(r"\W+", "_", trace.mission_id.lower(), flags=re.ASCII)[:_LONGEST_NAME].strip("_") or "mission"
    marked = list(render(body, 1))
    used = {each.id for each in ast.walk(_parsed(marked)) if isinstance(each, ast.Name)}
    parameters = ["page: Page", "errors: list[str]", *(["base_url: str"] if "base_url" in used else [])]
    test = [f"def test_{name}({', '.join(parameters)}) -> None:", f"    {docstring([_short(trace.mission_text)])}"]
    above = parts(trace, attachments.companions, site=site, used=used, files_folder=files_folder)
    secrets = sorted(_secrets(trace, attachments.companions.storage_state or ""))
    files = companion_files(attachments.companions)
    left = tuple(dict.fromkeys(known.left_out))
    first = head(trace, left, secrets=tuple(secrets), files_folder=files_folder if files else "")
    start = "\n".join((first, above, "", "", *test))
    code, lines = _without_marks(marked or ["    pass"], after=start.count("\n") + 1)
    source = "\n".join((start, *code, ""))
    ast.parse(source)
    return ExportedTest(source=source, files=files, left_out=left, lines=lines)


def _parsed(marked: list[str]) -> ast.Module:
    return ast.parse("\n".join(("if True:", *marked, "    pass")))


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."  # noqa: PLR2004 - one line


def _secrets(trace: ExecutionTrace, storage_state: str) -> set[str]:
    """Return the names of the secrets that the test uses."""
    steps = (step for subgoal in trace.subgoal_traces for step in subgoal.actions_taken)
    typed = {each for step in steps for each in secret_names(step.action)}
    headers = {} if trace.environment is None else trace.environment.extra_http_headers
    return typed | {each for text in (storage_state, *headers.values()) for each in secrets_named_in(text)}


def _without_marks(marked: list[str], *, after: int) -> tuple[list[str], tuple[tuple[int, str, int], ...]]:
    """Remove the step marks, and return the line of each step, offset by `after`."""
    lines: list[str] = []
    found: list[tuple[int, str, int]] = []
    for line in marked:
        if line.lstrip().startswith(_STEP):
            sequence, _, subgoal = line.lstrip().removeprefix(_STEP).partition(" ")
            found.append((after + len(lines) + 1, str(ast.literal_eval(subgoal)), int(sequence)))
        else:
            lines.append(line)
    return lines, tuple(found)


def _subgoal(subgoal: SubgoalTrace, known: Known, words: Words) -> Block:
    body: list[Statement] = []
    previous: Statement = ""
    steps = subgoal.steps
    for place, step in enumerate(steps):
        body.append(f"{_STEP}{step.sequence} {quoted(subgoal.subgoal_id)}")
        following = steps[place + 1] if place + 1 < len(steps) else None
        for each in _step(step, following, subgoal, known, words):
            if each != previous:  # do not repeat an assertion
                body.append(each)
            previous = each
    if subgoal.actions_taken and previous != _NO_ERRORS:
        body.append(_NO_ERRORS)
    return Block(f"with step({quoted(subgoal.description)}):", tuple(body))


def _step(
    step: ActionTrace | SkillUsage,
    following: ActionTrace | SkillUsage | None,
    subgoal: SubgoalTrace,
    known: Known,
    words: Words,
) -> Iterator[Statement]:
    if isinstance(step, SkillUsage):
        yield from comment(f"The skill {step.skill} ran on the page here.")
        return
    yield from _action(step, subgoal, known, words)
    if step.observation is not None and not _is_waited_for(following):
        yield from page_effects(step.observation, known)
        yield from (_NO_ERRORS,) * bool(step.observation.documents)


def _action(step: ActionTrace, subgoal: SubgoalTrace, known: Known, words: Words) -> Iterator[Statement]:
    action = step.action
    if isinstance(step.result, Blocked):
        known.left_out.append(f"{action.type} in {subgoal.description!r} was blocked ({step.result.reason})")
        yield from comment(f"Blocked when recorded, and not performed: {action.type}. {step.result.reason}")
        return
    if isinstance(action, AnswerDialog):
        known.answers.append(action)
        return
    yield from _page_of(step, known)
    if isinstance(step.result, Failed):
        yield from _failed(step, step.result, known, words)
    else:
        yield from _done(step, known, words)


def _is_waited_for(following: ActionTrace | SkillUsage | None) -> bool:
    """Whether the next step waits: the state before it is transient and cannot be asserted reliably."""
    return isinstance(following, ActionTrace) and isinstance(following.action, WaitFor)


def _page_of(step: ActionTrace, known: Known) -> Iterator[Statement]:
    """Assign a variable to a page whose opening was not recorded."""
    action = step.action
    if action.page in known.pages:
        return
    if isinstance(action, OpenPage):  # assigns the variable itself
        if isinstance(step.result, Succeeded):
            known.pages.add(action.page)
        return
    known.pages.add(action.page)
    yield f"{page_name(action.page)} = page.context.pages[{action.page}]"


def _done(step: ActionTrace, known: Known, words: Words) -> Iterator[Statement]:
    action = step.action
    target: Target | None = getattr(action, "target", None)
    if target is None:
        yield from around(step, statements_of(action, "", words), known)
        return
    written = action_locator(action.page, target, known.documents.get(action.page, {}))
    state = step.observation.target if step.observation is not None else None
    asserted = len(list(target_effects(action, state, "element")))
    element = "element" if asserted and len(written.code) > _NAMED else written.code
    if element != written.code:
        yield f"element = {written.code}"
    if not written.tells_who and target.identity is not None:
        yield from _who(target, element, known)
    yield from around(step, statements_of(action, element, words), known)
    if not isinstance(action, ClosePage | SwitchPage | Drag) and action.page in _open_pages(step):
        yield from target_effects(action, state, element)


def _open_pages(step: ActionTrace) -> set[int]:
    return set() if step.observation is None else {page.page for page in step.observation.pages}


def _who(target: Target, element: str, known: Known) -> Iterator[Statement]:
    """Assert the text of a target that is located by position or id."""
    identity = target.identity
    if identity is None or not identity.text or not identity.text.isprintable():
        return
    for documents in known.documents.values():
        for document in documents.values():
            found = document.find(identity)
            text = None if found is None else document.text(found.node)
            if text:
                yield f"expect({element}).to_have_text({quoted(text)})"
                return


def _located(known: Known, page: int, target: Target) -> str:
    return action_locator(page, target, known.documents.get(page, {})).code


def _failed(step: ActionTrace, result: Failed, known: Known, words: Words) -> Iterator[Statement]:
    """Write an action that failed and must fail again."""
    target: Target | None = getattr(step.action, "target", None)
    element = "" if target is None else plain_locator(step.action.page, target)
    yield from comment(f"{step.action.type} failed when recorded: {result.code}.")
    match result.code:
        case "target-missing" if target is not None:
            yield f"expect({element}).to_have_count(0)"
        case "target-ambiguous" if target is not None:
            yield f"expect({element}).not_to_have_count(1)"
        case _ if isinstance(step.action, Mouse | OpenPage):
            known.left_out.append(f"{step.action.type} failed with {result.code}, which Playwright does not raise")
        case "target-changed" | "unknown":
            known.left_out.append(f"{step.action.type} failed with {result.code}; the failure is not checked")
        case _:
            statements = statements_of(step.action, element, words)
            if statements:
                yield Block("with pytest.raises((AssertionError, Error)):", statements)
