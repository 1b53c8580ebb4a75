"""Export a bundle as a pytest-playwright test: subgoals as named steps, observations as assertions.

The test runs against the live site, without sealed network or stepped clock. It asserts what a person would check.
https://playwright.dev/python/docs/test-runners
"""

from __future__ import annotations

import ast
import json
import math
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from eikon_engine.dom import map_strings
from eikon_engine.errors import TraceFieldError
from eikon_engine.exporters.playwright_assertions import PageState, page_assertions, target_assertions, wrap_action
from eikon_engine.exporters.playwright_locator import best_locator, page_variable, recorded_locator
from eikon_engine.exporters.playwright_preamble import (
    CompanionFiles,
    file_contents,
    module_docstring,
    omitted_parts,
    write_preamble,
)
from eikon_engine.exporters.playwright_values import (
    NAN,
    flags_source,
    has_representations,
    site_of,
    text_source,
    why_not_comparable,
)
from eikon_engine.exporters.python_source import (
    Block,
    Statement,
    call_source,
    comment_lines,
    docstring_source,
    regex_literal,
    render_statements,
    string_literal,
    value_source,
)
from eikon_engine.exporters.varying_parts import VaryingParts
from eikon_engine.files.limits import read_document
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.store import read_network
from eikon_engine.secrets.redaction import secret_names_in
from eikon_engine.trace.actions import (
    AnswerDialog,
    ClosePage,
    Drag,
    Evaluate,
    Expect,
    Mouse,
    Note,
    OpenPage,
    Read,
    SecretRef,
    SetValue,
    SwitchPage,
    TouchscreenTap,
    TrafficCondition,
    WaitFor,
)
from eikon_engine.trace.base_urls import map_action_urls, map_storage_state
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.environment import parse_storage_state, revive_expired_cookies
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed, SkillUsage, Succeeded
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.playwright_python import (
    Json,
    Pattern,
    Payload,
    PythonCall,
    Texts,
    Url,
    UrlPattern,
    python_calls,
)
from eikon_engine.trace.read_values import value_text
from eikon_engine.trace.rules import ResponseValueRule
from eikon_engine.trace.target import Target
from eikon_engine.trace.variables import action_secret_names, resolve_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eikon_engine.dom.tree import PageSnapshot
    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.actions import Action, FileInput, ReadValue
    from eikon_engine.trace.base_urls import BaseUrlMap
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, NetworkPart, SubgoalTrace
    from eikon_engine.trace.observation import PageObservation

_MAX_REPEATED_LOCATOR: Final = 40
"""Maximum length of a locator that is repeated instead of assigned to a variable."""
_MAX_TEST_NAME: Final = 60
_STEP_MARK: Final = "#step "
_NO_ERRORS: Final = "assert errors == []"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceContext:
    """How to write URLs, targets and files in the test."""

    site: Site
    locate: Callable[[int, Target], str]
    file: Callable[[FileInput], str]
    value: Callable[[ReadValue], str]
    """Returns the source of what a read or a script returned."""
    long_text: Callable[[BlobRef], str]
    """Returns the JSON text of a long value."""
    url_pattern: Callable[[str], str]
    """Returns the source of a URL to expect, in which `*` matches any characters."""
    varying: VaryingParts


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTest:
    """A test, its companion files, and the parts of the recording it omits."""

    source: str
    files: Mapping[str, bytes]
    """Contents of the companion files by name."""
    omitted: tuple[str, ...]
    """Parts of the recording that the test omits, one line each."""
    step_lines: tuple[tuple[int, str, int], ...]
    """First line of each step, from 1, with the id of its subgoal and its sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFiles:
    """The files of the bundle that the test needs."""

    load_snapshot: Callable[[PageObservation], PageSnapshot | None]
    """Returns the snapshot of an observed page."""
    companions: CompanionFiles
    network: NetworkRecording | None = None


def write_test(trace: ExecutionTrace, attachments: BundleFiles, *, files_folder: str) -> ExportedTest:
    """Return the test of a mission; the caller writes its files to `files_folder` next to it."""
    site = site_of(trace)
    varying = VaryingParts(trace, attachments.network)
    known = PageState(trace=trace, site=site, load_snapshot=attachments.load_snapshot, varying=varying)
    known.omitted += omitted_parts(trace)
    words = _SourceContext(
        site=site,
        locate=partial(_locate, known),
        file=attachments.companions.add_upload,
        value=partial(_value_source, site, attachments.companions),
        long_text=lambda content: attachments.companions.read_file(content).decode(),
        url_pattern=known.url_pattern_source,
        varying=varying,
    )
    body = tuple(_write_subgoal(each, known, words) for each in trace.subgoal_traces)
    name = re.sub(r"\W+", "_", trace.mission_id.lower(), flags=re.ASCII)[:_MAX_TEST_NAME].strip("_") or "mission"
    marked = list(render_statements(body, 1))
    used = {each.id for each in ast.walk(_parsed(marked)) if isinstance(each, ast.Name)}
    parameters = ["page: Page", "errors: list[str]", *(["base_url: str"] if "base_url" in used else [])]
    test = [
        f"def test_{name}({', '.join(parameters)}) -> None:",
        f"    {docstring_source([_shorten(trace.mission_text)])}",
    ]
    above = write_preamble(
        trace, attachments.companions, site=site, used=used, files_folder=files_folder, varying=varying
    )
    secrets = sorted(_secret_names(trace, attachments.companions.storage_state or ""))
    files = file_contents(attachments.companions)
    left = tuple(dict.fromkeys(known.omitted))
    first = module_docstring(trace, left, secrets=tuple(secrets), files_folder=files_folder if files else "")
    start = "\n".join((first, above, "", "", *test))
    code, lines = _remove_step_marks(marked or ["    pass"], after=start.count("\n") + 1)
    source = "\n".join((start, *code, ""))
    ast.parse(source)
    return ExportedTest(source=source, files=files, omitted=left, step_lines=lines)


def _parsed(marked: list[str]) -> ast.Module:
    return ast.parse("\n".join(("if True:", *marked, "    pass")))


def _shorten(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."  # noqa: PLR2004 - one line


def _secret_names(trace: ExecutionTrace, storage_state: str) -> set[str]:
    """Return the names of the secrets that the test uses."""
    steps = (step for subgoal in trace.subgoal_traces for step in subgoal.actions_taken)
    typed = {each for step in steps for each in action_secret_names(step.action)}
    headers = {} if trace.environment is None else trace.environment.extra_http_headers
    return typed | {each for text in (storage_state, *headers.values()) for each in secret_names_in(text)}


def _remove_step_marks(marked: list[str], *, after: int) -> tuple[list[str], tuple[tuple[int, str, int], ...]]:
    """Remove the step marks, and return the line of each step, offset by `after`."""
    lines: list[str] = []
    found: list[tuple[int, str, int]] = []
    for line in marked:
        if line.lstrip().startswith(_STEP_MARK):
            sequence, _, subgoal = line.lstrip().removeprefix(_STEP_MARK).partition(" ")
            found.append((after + len(lines) + 1, str(ast.literal_eval(subgoal)), int(sequence)))
        else:
            lines.append(line)
    return lines, tuple(found)


def _write_subgoal(subgoal: SubgoalTrace, known: PageState, words: _SourceContext) -> Block:
    body: list[Statement] = []
    previous: Statement = ""
    steps = subgoal.steps
    for place, step in enumerate(steps):
        body.append(f"{_STEP_MARK}{step.sequence} {string_literal(subgoal.subgoal_id)}")
        following = steps[place + 1] if place + 1 < len(steps) else None
        for each in _write_step(step, following, subgoal, known, words):
            if each != previous:  # do not repeat an assertion
                body.append(each)
            previous = each
    if subgoal.actions_taken and previous != _NO_ERRORS:
        body.append(_NO_ERRORS)
    return Block(f"with step({string_literal(subgoal.description)}):", tuple(body))


def _write_step(
    step: ActionTrace | SkillUsage,
    following: ActionTrace | SkillUsage | None,
    subgoal: SubgoalTrace,
    known: PageState,
    words: _SourceContext,
) -> Iterator[Statement]:
    if isinstance(step, SkillUsage):
        yield from comment_lines(f"The skill {step.skill} ran on the page here.")
        return
    yield from _write_action(step, subgoal, known, words)
    if step.observation is not None and not _is_wait(following):
        yield from page_assertions(step.observation, known)
        yield from (_NO_ERRORS,) * bool(step.observation.documents)


def _write_action(
    step: ActionTrace, subgoal: SubgoalTrace, known: PageState, words: _SourceContext
) -> Iterator[Statement]:
    action = step.action
    if isinstance(step.result, Blocked):
        known.omitted.append(f"{action.type} in {subgoal.description!r} was blocked ({step.result.reason})")
        yield from comment_lines(f"Blocked when recorded, and not performed: {action.type}. {step.result.reason}")
        return
    if isinstance(action, AnswerDialog):
        known.pending_answers.append(action)
        return
    yield from _declare_page(step, known)
    if isinstance(step.result, Failed):
        yield from _write_failed(step, step.result, known, words)
    else:
        yield from _write_succeeded(step, known, words)
    known.pointer = (action.page, action.x, action.y) if isinstance(action, Mouse) else None


def _is_wait(following: ActionTrace | SkillUsage | None) -> bool:
    """Whether the next step waits: the state before it is transient and cannot be asserted reliably."""
    return isinstance(following, ActionTrace) and isinstance(following.action, WaitFor | Expect)


def _declare_page(step: ActionTrace, known: PageState) -> Iterator[Statement]:
    """Assign a variable to a page whose opening was not recorded."""
    action = step.action
    if action.page in known.pages:
        return
    if isinstance(action, OpenPage):  # assigns the variable itself
        if isinstance(step.result, Succeeded):
            known.pages.add(action.page)
        return
    known.pages.add(action.page)
    yield f"{page_variable(action.page)} = page.context.pages[{action.page}]"


def _write_succeeded(step: ActionTrace, known: PageState, words: _SourceContext) -> Iterator[Statement]:
    action = step.action
    target: Target | None = getattr(action, "target", None)
    if isinstance(action, Expect | Read | WaitFor) and not python_calls(action):
        known.omitted.append(f"{action_label(action)} is not checked")
        return
    if isinstance(action, Read | Evaluate | Expect) and (unchecked := _why_unchecked(step, action, known, words)):
        known.omitted.append(f"{action_label(action)} is not checked: {unchecked}")
        if not isinstance(action, Evaluate):
            return
        action = action.model_copy(update={"value": None})
    sent = (getattr(action, name, None) for name in ("url", "text"))
    if any(isinstance(each, str) and known.varying.are_drawn_in(each) for each in sent):
        known.omitted.append(f"{action_label(action)} sends a value that the server drew for the recording")
    if target is None:
        yield from wrap_action(step, _action_statements(action, "", words, known.pointer), known)
        return
    written = best_locator(action.page, target, known.documents.get(action.page, {}), known.varying)
    state = step.observation.target if step.observation is not None else None
    asserted = len(list(target_assertions(action, state, "element")))
    element = "element" if asserted and len(written.code) > _MAX_REPEATED_LOCATOR else written.code
    if element != written.code:
        yield f"element = {written.code}"
    if not written.is_identifying and target.identity is not None:
        yield from _assert_identity(target, element, known)
    yield from wrap_action(step, _action_statements(action, element, words), known)
    if not isinstance(action, ClosePage | SwitchPage | Drag) and action.page in _open_pages(step):
        yield from target_assertions(action, state, element)


def _why_unchecked(step: ActionTrace, action: Read | Evaluate | Expect, known: PageState, words: _SourceContext) -> str:
    """Return why what an action read or expected is not asserted; empty if it is, or if nothing is compared."""
    if isinstance(action, Expect):
        return known.why_unchecked(step, None, action.model_dump_json())
    value = action.value
    if value is None:
        is_handle = isinstance(action, Evaluate) and action.returns_handle
        return "" if is_handle else "the recording does not contain what it returned"
    text = value_text(value.value) if value.long is None else words.long_text(value.long)
    if why := known.why_unchecked(step, value, text):
        return why
    if value.long is None:
        return why_not_comparable(value.value)
    try:
        is_representation = has_representations(json.loads(text))
    except ValueError:
        return "the stored value is not JSON"
    return "it is long and contains a value that JSON does not have" if is_representation else ""


def _open_pages(step: ActionTrace) -> set[int]:
    return set() if step.observation is None else {page.page for page in step.observation.pages}


def _assert_identity(target: Target, element: str, known: PageState) -> Iterator[Statement]:
    """Assert the text of a target that is located by position or id."""
    identity = target.identity
    if identity is None or not identity.text or not identity.text.isprintable():
        return
    for documents in known.documents.values():
        for document in documents.values():
            found = document.find(identity)
            text = None if found is None else document.text(found.node)
            source = known.varying.text_source(text) if text else None
            if source is not None:
                yield f"expect({element}).to_have_text({source})"
            if text:
                return


def _value_source(site: Site, companions: CompanionFiles, value: ReadValue) -> str:
    return site.returned_source(value.value) if value.long is None else companions.add_value(value.long)


def _locate(known: PageState, page: int, target: Target) -> str:
    return best_locator(page, target, known.documents.get(page, {}), known.varying).code


def _write_failed(step: ActionTrace, result: Failed, known: PageState, words: _SourceContext) -> Iterator[Statement]:
    """Write an action that failed and must fail again."""
    target: Target | None = getattr(step.action, "target", None)
    element = "" if target is None else recorded_locator(step.action.page, target)
    yield from comment_lines(f"{step.action.type} failed when recorded: {result.code}.")
    match result.code:
        case "target-missing" if target is not None:
            yield f"expect({element}).to_have_count(0)"
        case "target-ambiguous" if target is not None:
            yield f"expect({element}).not_to_have_count(1)"
        case _ if isinstance(step.action, Mouse | OpenPage | TouchscreenTap):
            known.omitted.append(f"{step.action.type} failed with {result.code}, which Playwright does not raise")
        case "target-changed" | "unknown":
            known.omitted.append(f"{step.action.type} failed with {result.code}; the failure is not checked")
        case _:
            statements = _action_statements(step.action, element, words)
            if not statements:
                known.omitted.append(f"the failure of {action_label(step.action)} is not checked")
            else:
                yield Block("with pytest.raises((AssertionError, Error)):", statements)


def export_bundle(bundle: Bundle, urls: BaseUrlMap, *, files_folder: str) -> ExportedTest:
    """Export a bundle as a test; `urls` maps recorded base URLs to other ones.

    Raises:
        TraceError: a snapshot, an upload or the storage state cannot be read.
    """

    def load(page: PageObservation) -> PageSnapshot | None:
        recorded = load_page(bundle.dom, page)
        return map_strings(recorded, urls.to_new.replace_text) if recorded is not None and urls else recorded

    companions = CompanionFiles(read_file=bundle.files.get, storage_state=_storage_state(bundle, urls))
    network = None if bundle.trace.network is None else _network_of(bundle, bundle.trace.network)
    attachments = BundleFiles(load_snapshot=load, companions=companions, network=network)
    trace = _relocate_trace(_drop_unsettled_pages(resolve_trace(bundle.trace)), urls)
    return write_test(trace, attachments, files_folder=files_folder)


def _network_of(bundle: Bundle, part: NetworkPart) -> NetworkRecording | None:
    """Read the recorded responses if a rule finds values in them."""
    if not any(isinstance(rule, ResponseValueRule) for rule in part.rules):
        return None
    return read_network(resolve_inside(bundle.root, part.folder, "network.folder"))


def _drop_unsettled_pages(trace: ExecutionTrace) -> ExecutionTrace:
    """Drop page contents from observations that are not settled, and keep their events."""
    subgoals = (
        each.model_copy(update={"actions_taken": tuple(map(_without_unsettled_pages, each.actions_taken))})
        for each in trace.subgoal_traces
    )
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals)})


def _without_unsettled_pages(step: ActionTrace) -> ActionTrace:
    seen = step.observation
    if seen is None or seen.settled:
        return step
    kept = Observation(
        pages=(), opened=seen.opened, closed=seen.closed, dialogs=seen.dialogs, downloads=seen.downloads, settled=False
    )
    return step.model_copy(update={"observation": kept})


def _storage_state(bundle: Bundle, urls: BaseUrlMap) -> str | None:
    """Read the storage state with all cookies as session cookies, so that none has expired in the test."""
    place = bundle.trace.start.storage_state
    if place is None:
        return None
    path = resolve_inside(bundle.root, place, "start.storage_state")
    try:
        state = map_storage_state(
            revive_expired_cookies(parse_storage_state(read_document(path, root=path.parent)), math.inf), urls
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        found = " ".join(str(error).split())
        message = f"{path}: expected a Playwright storage state, got {found}. Restore the file or record again."
        raise TraceFieldError(message) from error
    return f"{json.dumps(state, indent=1)}\n" if any(state.values()) else None


def _relocate_trace(trace: ExecutionTrace, urls: BaseUrlMap) -> ExecutionTrace:
    """Map the base URLs in actions and observations of a trace."""
    if not urls:
        return trace
    subgoals = (
        each.model_copy(update={"actions_taken": tuple(_relocate_action(step, urls) for step in each.actions_taken)})
        for each in trace.subgoal_traces
    )
    start = trace.start.model_copy(
        update={"url": urls.to_new.replace_text(trace.start.url) if trace.start.url else None}
    )
    masks = tuple(each.model_copy(update={"url": urls.to_new.replace_text(each.url)}) for each in trace.masks)
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals), "start": start, "masks": masks})


def _relocate_action(step: ActionTrace, urls: BaseUrlMap) -> ActionTrace:
    seen = None if step.observation is None else _relocate_observation(step.observation, urls)
    return step.model_copy(update={"action": map_action_urls(step.action, urls), "observation": seen})


def _relocate_observation(seen: Observation, urls: BaseUrlMap) -> Observation:
    text = urls.to_new.replace_text
    pages = (each.model_copy(update={"url": text(each.url), "title": text(each.title)}) for each in seen.pages)
    dialogs = (each.model_copy(update={"message": text(each.message)}) for each in seen.dialogs)
    state = seen.target
    if state is not None and state.value is not None:
        state = state.model_copy(update={"value": text(state.value)})
    return seen.model_copy(update={"pages": tuple(pages), "dialogs": tuple(dialogs), "target": state})


def _action_statements(
    action: Action, element: str, context: _SourceContext, pointer: tuple[int, float, float] | None = None
) -> tuple[Statement, ...]:
    """Return the statements of an action; empty if it has no effect. `element` is the source of its locator.

    A mouse action does not move the `pointer` again that is there already: a page that draws would draw once more.
    """
    if isinstance(action, Note):
        return comment_lines(f"Note: {action.text}")
    lines = [_write_statement(action.page, call, element, context) for call in python_calls(action)]
    if isinstance(action, Mouse) and len(lines) > 1 and pointer == (action.page, action.x, action.y):
        lines = lines[1:]
    if isinstance(action, OpenPage):
        return (f"{page_variable(action.page)} = {lines[0]}",)
    if lines and isinstance(action, WaitFor) and isinstance(action.condition, TrafficCondition):
        return (Block(f"with {lines[0]}:", ("pass",)),)
    if isinstance(action, SetValue) and len(lines) > 1:
        select, fill = lines
        condition = f'if {element}.evaluate("each => each.localName") == "select":'
        return Block(condition, (select,)), Block("else:", (fill,))
    return tuple(lines)


def _write_statement(number: int, call: PythonCall, element: str, context: _SourceContext) -> str:
    """Return a call as a statement, which asserts what it returned if that is known."""
    if call.returned is None:
        return _write_call(number, call, element, context)
    page, expected = page_variable(number), context.value(call.returned)
    if call.may_repeat:
        read = _write_call(number, replace(call, timeout_ms=None), element, context)
        return call_source("assert_read", page, f"lambda: {read}", expected, timeout=call.timeout_ms)
    if expected == NAN:
        return f"assert math.isnan({_write_call(number, call, element, context)})"
    compared = "is" if expected in {"None", "True", "False"} else "=="
    return f"assert {_write_call(number, call, element, context)} {compared} {expected}"


def _write_call(number: int, call: PythonCall, element: str, context: _SourceContext) -> str:
    receiver = _write_receiver(page_variable(number), number, call, element)
    arguments = [
        _write_expected(call.method, each, context) or _write_argument(each, number, context) for each in call.arguments
    ]
    return call_source(f"{receiver}.{call.method}", *arguments, **call.options, timeout=call.timeout_ms)


def _write_expected(method: str, argument: object, context: _SourceContext) -> str | None:
    """Write a URL or title to expect with what the server draws open; None for any other argument."""
    match method, argument:
        case "to_have_url", Url(text=url) if context.varying.are_drawn_in(url):
            return context.site.regex_source(url, context.varying.drawn_pattern)
        case "to_have_title", str(title) if context.varying.are_drawn_in(title):
            return context.varying.drawn_source(title)
        case _:
            return None


def _write_receiver(page: str, number: int, call: PythonCall, element: str) -> str:
    locator = element or (recorded_locator(number, call.target) if call.target is not None else page)
    match call.receiver:
        case "page":
            return page
        case "frame":
            *outer, own = call.frames
            place = recorded_locator(number, Target(selector=own, frames=tuple(outer)))
            return f"{place}.element_handle().content_frame()"
        case "context":
            return "page.context"
        case "keyboard" | "mouse" | "touchscreen":
            return f"{page}.{call.receiver}"
        case "locator":
            return locator
        case "expect":
            return f"expect({locator})"


def _pattern_source(pattern: Pattern) -> str:
    return call_source("re.compile", regex_literal(pattern.source), *flags_source(pattern.flags))


def _write_files(given: Payload | tuple[FileInput, ...], context: _SourceContext) -> str:
    """Write files, or what is dropped with its files."""
    if isinstance(given, tuple):
        files = [context.file(each) for each in given]
        return files[0] if len(files) == 1 else f"[{', '.join(files)}]"
    fields: dict[str, str] = {}
    if given.files:
        fields["files"] = _write_files(given.files, context)
    if given.data:
        fields["data"] = _dictionary({kind: text_source(value) for kind, value in given.data.items()})
    return _dictionary(fields)


def _dictionary(fields: Mapping[str, str]) -> str:
    """Write a dictionary; its values are source."""
    return f"{{{', '.join(f'{string_literal(name)}: {source}' for name, source in fields.items())}}}"


def _write_argument(argument: object, number: int, context: _SourceContext) -> str:  # noqa: PLR0911 - one case per kind
    match argument:
        case str() | SecretRef():
            return text_source(argument)
        case Url(text=url):
            return context.site.url_source(url)
        case UrlPattern(text=url):
            return context.url_pattern(url)
        case Json(value=value):
            return context.site.value_source(value)
        case Pattern():
            return _pattern_source(argument)
        case Texts(values=texts):
            return f"[{', '.join(_write_argument(each, number, context) for each in texts)}]"
        case Target():
            return context.locate(number, argument)
        case Payload() | tuple():
            return _write_files(argument, context)
        case float():
            return f"{argument:g}"
        case _:
            return value_source(argument)
