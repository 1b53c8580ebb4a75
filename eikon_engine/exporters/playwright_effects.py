"""Write observations as assertions, and events during an action as `expect_*` blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from eikon_engine.divergence.masks import mask_page
from eikon_engine.exporters.playwright_locator import frame_path_locator, page_variable
from eikon_engine.exporters.playwright_texts import ObservedDocument, document_assertions
from eikon_engine.exporters.playwright_values import secret_source
from eikon_engine.exporters.python_source import Block, Statement, call_source, string_literal
from eikon_engine.exporters.recorded_document import RecordedDocument
from eikon_engine.trace.actions import (
    AnswerDialog,
    Check,
    Click,
    ClosePage,
    Fill,
    OpenPage,
    Press,
    SecretRef,
    SelectOption,
    SetValue,
    TypeText,
    Uncheck,
)
from eikon_engine.trace.mask import TitlePart
from eikon_engine.trace.redaction import secret_names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.observation import Observation, ObservedDialog, PageObservation, TargetState


@dataclass(slots=True, kw_only=True)
class PageState:
    """The state of the pages at the current point of the test (mutable)."""

    trace: ExecutionTrace
    site: Site
    load_snapshot: Callable[[PageObservation], PageSnapshot | None]
    date_spellings: tuple[str, ...] = ()
    pages: set[int] = field(default_factory=lambda: {0})
    """Ordinals of pages that have a variable in the test."""
    urls: dict[int, str] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)
    documents: dict[int, dict[str, RecordedDocument]] = field(default_factory=dict)
    """Documents of the open pages, by frame path."""
    pending_answers: list[AnswerDialog] = field(default_factory=list)
    omitted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Compute the spellings of the day of the recording."""
        environment = self.trace.environment
        moments = [self.trace.started_at]
        if environment is not None:
            moments.append(datetime.fromtimestamp(environment.clock_start_ms / 1000, tz=UTC))
        self.date_spellings = tuple(dict.fromkeys(each for moment in moments for each in _date_spellings(moment)))


def _date_spellings(moment: datetime) -> tuple[str, ...]:
    """Return common spellings of a date."""
    day, month, year = moment.day, moment.month, moment.year
    word = f"{moment:%b}"
    return (
        f"{moment:%Y-%m-%d}",
        *(f"{one}{mark}{two}{mark}" for mark in "/." for one, two in ((day, month), (month, day))),
        *(f"{moment:%d{mark}%m{mark}%Y}" for mark in "/.-"),
        *(f"{moment:%m{mark}%d{mark}%Y}" for mark in "/-"),
        *(f"{name} {day}, {year}" for name in (word, f"{moment:%B}", f"{word}.")),
        *(f"{day} {name} {year}" for name in (word, f"{moment:%B}")),
    )


def wrap_action(step: ActionTrace, statements: tuple[Statement, ...], known: PageState) -> Iterator[Statement]:
    """Wrap the statements of an action in blocks that wait for downloads, popups, closing pages and dialogs."""
    seen = step.observation
    if seen is None:
        yield from statements
        return
    body, after = list(statements), list[Statement]()
    for wrap in (_expect_download, _expect_popup, _expect_close, _expect_dialogs):
        body, more = wrap(step.action, seen, body, known)
        after += more
    yield from (*body, *after)


def _expect_download(
    action: Action, seen: Observation, body: list[Statement], known: PageState
) -> tuple[list[Statement], list[Statement]]:
    sound = [each for each in seen.downloads if each.failure is None and each.page in known.pages]
    for each in seen.downloads:
        if each not in sound[:1]:
            known.omitted.append(f"download {each.name} of {action.type} is not checked")
    if not sound:
        return body, []
    first = sound[0]
    after: list[Statement] = []
    if not secret_names_in(first.name):
        after.append(f"assert download.value.suggested_filename == {string_literal(first.name)}")
    if first.sha256 is not None:
        after.append("content = download.value.path().read_bytes()")
        after.append(f"assert hashlib.sha256(content).hexdigest() == {string_literal(first.sha256)}")
    return [Block(f"with {page_variable(first.page)}.expect_download() as download:", tuple(body))], after


def _expect_popup(
    action: Action, seen: Observation, body: list[Statement], known: PageState
) -> tuple[list[Statement], list[Statement]]:
    opened = [each for each in seen.opened if each not in known.pages and each > 0]
    known.pages.update(opened)
    if isinstance(action, OpenPage):
        return body, []
    match opened:
        case []:
            return body, []
        case [one]:
            page = page_variable(action.page)
            return [Block(f"with {page}.expect_popup() as popup:", tuple(body))], [
                f"{page_variable(one)} = popup.value"
            ]
        case _:
            count = f"len(page.context.pages) == len(before) + {len(opened)}"
            names = ", ".join(map(page_variable, opened))
            before = "before = page.context.pages"
            header = f'with page.context.expect_event("page", lambda _: {count}):'
            return [before, Block(header, tuple(body))], [f"{names} = page.context.pages[len(before) :]"]


def _expect_close(
    action: Action, seen: Observation, body: list[Statement], known: PageState
) -> tuple[list[Statement], list[Statement]]:
    closed = [each for each in seen.closed if each in known.pages and each not in seen.opened]
    for each in closed if not isinstance(action, ClosePage) else ():
        # An action that closes its own page may fail; only the close event counts.
        suppressed = ", suppress(Error)" if each == action.page else ""
        body = [Block(f'with {page_variable(each)}.expect_event("close"){suppressed}:', tuple(body))]
    return body, []


def _expect_dialogs(
    _action: Action, seen: Observation, body: list[Statement], known: PageState
) -> tuple[list[Statement], list[Statement]]:
    if not seen.dialogs:
        return body, []
    answers = ", ".join(_dialog_answer(each, known) for each in seen.dialogs)
    texts = ", ".join(_dialog_message(each, known) for each in seen.dialogs)
    return [Block(f"with dialogs(page.context, {answers}) as messages:", tuple(body))], [
        f"assert messages == [{texts}]"
    ]


def _dialog_answer(dialog: ObservedDialog, known: PageState) -> str:
    armed = known.pending_answers.pop(0) if known.pending_answers and dialog.kind != "beforeunload" else None
    if dialog.answer == "dismissed":
        return "False"
    if armed is None or armed.text is None:
        return "True"
    return secret_source(armed.text.secret) if isinstance(armed.text, SecretRef) else string_literal(armed.text)


def _dialog_message(dialog: ObservedDialog, known: PageState) -> str:
    if secret_names_in(dialog.message):
        known.omitted.append("a dialog message with a secret is not checked")
        return f"messages[{0}]"
    return string_literal(dialog.message)


def target_assertions(action: Action, state: TargetState | None, element: str) -> Iterator[Statement]:
    """Assert the value of a filled field, or its checked state."""
    if state is None:
        return
    if isinstance(action, Check | Uncheck | Click | Press) and state.checked is not None:
        yield f"expect({element}).{'to_be_checked' if state.checked else 'not_to_be_checked'}()"
    filled = isinstance(action, Fill | TypeText | SetValue | SelectOption)
    secret = isinstance(getattr(action, "text", None), SecretRef)
    if filled and not secret and state.value is not None and not secret_names_in(state.value):
        yield f"expect({element}).{call_source('to_have_value', string_literal(state.value))}"


def page_assertions(seen: Observation, known: PageState) -> Iterator[Statement]:
    """Assert new URLs, titles and texts of the pages, and update the known state."""
    for page in seen.pages:
        if page.page not in known.pages:
            continue
        if not secret_names_in(page.url) and known.urls.get(page.page) != page.url:
            yield f"expect({page_variable(page.page)}).to_have_url({known.site.url_source(page.url)})"
        untitled = any(isinstance(each.part, TitlePart) and each.applies_to(page.url) for each in known.trace.masks)
        if not untitled and not secret_names_in(page.title) and known.titles.get(page.page, "") != page.title:
            yield f"expect({page_variable(page.page)}).to_have_title({string_literal(page.title)})"
        known.urls[page.page], known.titles[page.page] = page.url, page.title
        yield from _document_assertions(page, known)
    open_pages = {page.page for page in seen.pages}
    for gone in known.documents.keys() - open_pages:
        del known.documents[gone]


def _document_assertions(page: PageObservation, known: PageState) -> Iterator[Statement]:
    snapshot = known.load_snapshot(page)
    before = known.documents.get(page.page, {})
    if snapshot is None:
        known.documents.pop(page.page, None)
        return
    documents = {frame.path: RecordedDocument(frame) for frame in snapshot.frames}
    masked, names = mask_page(snapshot, page.url, known.trace.masks)
    kept = frozenset(id(node) for frame in masked.frames for node in frame.root.walk()) if names else None
    for path, document in documents.items():
        held = frame_path_locator(page.page, path, documents)
        if held is not None:
            seen = ObservedDocument(
                document=document, before=before.get(path), unmasked=kept, date_spellings=known.date_spellings
            )
            yield from document_assertions(seen, held)
    known.documents[page.page] = documents
