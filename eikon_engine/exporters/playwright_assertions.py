"""Write observations as assertions, and events during an action as `expect_*` blocks.

Never asserts masked parts or texts that look like times: the exported test uses the real clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.masks import mask_page, masks_in_read, title_masks
from eikon_engine.exporters.playwright_locator import (
    css_by_id,
    frame_path_locator,
    locator_by_id,
    locator_by_kind,
    page_variable,
)
from eikon_engine.exporters.playwright_values import secret_source
from eikon_engine.exporters.python_source import Block, Grid, Statement, call_source, string_literal
from eikon_engine.exporters.recorded_document import RecordedDocument, has_ancestor
from eikon_engine.secrets.redaction import secret_names_in
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
    Tap,
    TypeText,
    Uncheck,
)
from eikon_engine.trace.rules import ResponseValueRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import DomNode, PageSnapshot
    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.trace.actions import Action, ReadValue
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.observation import Observation, ObservedDialog, PageObservation, TargetState

MAX_ITEMS: Final = 12
"""Maximum number of headings or list items whose texts are asserted; above it, only their count is."""
MAX_CELLS: Final = 60
MAX_MARKED: Final = 4
_FURNITURE: Final = frozenset({"footer", "header", "menu", "menubar", "nav", "navigation", "tablist"})
_GROUPS: Final = frozenset({"article", "h1", "h2", "h3", "h4", "h5", "h6", "label", "li", "table"})
_ASSERTED_ELSEWHERE: Final = _GROUPS | {"alert", "button", "option", "output", "status", "textarea"}
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_TIME_TEXT: Final = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d+\s*(?:ms|s|sec|second|minute|hour|day)s?\s+(?:ago|left)\b|\bjust now\b|\btoday\b|\bago\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-|\b[0-9a-f]{20,}\b",
    re.IGNORECASE,
)
_ANY_TEXT: Final = 're.compile(".*")'


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDocument:
    """A document after an action, and which of its parts may be asserted."""

    document: RecordedDocument
    before: RecordedDocument | None
    """The document of the same frame before the action."""
    unmasked: frozenset[int] | None
    """Nodes outside masks, by `id(node)`; None if no mask applies to the page."""
    date_spellings: tuple[str, ...]
    """Spellings of the day of the recording."""
    drawn: re.Pattern[str] | None
    """Values that the server draws for each run."""

    @property
    def is_new_url(self) -> bool:
        """Whether the URL of the frame changed."""
        return self.before is None or self.before.frame.url != self.document.frame.url

    def text(self, node: DomNode) -> str | None:
        """Return the text of a node if it can be asserted, else None."""
        if self.unmasked is not None and id(node) not in self.unmasked:
            return None
        text = self.document.text(node)
        if text is None or secret_names_in(text) or _may_vary(text, self.drawn, self.date_spellings):
            return None
        return text


def _may_vary(text: str, drawn: re.Pattern[str] | None, date_spellings: tuple[str, ...]) -> bool:
    """Return whether a text contains a time, the date of the recording, or a value that the server draws."""
    is_drawn = drawn is not None and drawn.search(text) is not None
    return is_drawn or _TIME_TEXT.search(text) is not None or any(day in text for day in date_spellings)


def document_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    """Yield assertions on new contents of a document; `frame` is the source of its page or frame locator."""
    yield from _heading_assertions(seen, frame)
    yield from _message_assertions(seen, frame)
    yield from _table_assertions(seen, frame)
    yield from _list_assertions(seen, frame)
    yield from _card_assertions(seen, frame)
    yield from _marked_text_assertions(seen, frame)


def _heading_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    for level, tag in enumerate(_HEADINGS, start=1):
        here = _of_tag(seen.document, tag)
        if _element_texts(here) == _element_texts(_of_tag(seen.before, tag)) and not (seen.is_new_url and level == 1):
            continue
        shown = [each for each in here if seen.document.is_shown(each)]
        odd = any(each.node.attribute("role") or each.is_shadow_child for each in here)
        foreign = any(each.node.attribute("aria-level") for each in seen.document.elements if each.role == "heading")
        if not shown or len(shown) != len(here) or odd or foreign:
            continue
        if len(shown) == 1:
            text = seen.text(shown[0].node)
            heading = call_source("get_by_role", string_literal("heading"), name=text, level=level)
            if text:
                yield f"expect({frame}.{heading}).to_be_visible()"
        else:
            yield from _item_assertions(
                seen, f"{frame}.{call_source('get_by_role', string_literal('heading'), level=level)}", shown
            )


def _item_assertions(seen: ObservedDocument, locator: str, elements: list[LocatedElement]) -> Iterator[Statement]:
    """Assert the texts of elements in order, or their count if they are too many or have no stable text."""
    texts = [seen.text(each.node) for each in elements]
    if len(elements) > MAX_ITEMS or not any(texts):
        yield f"expect({locator}).to_have_count({len(elements)})"
    else:
        yield Grid(f"expect({locator}).to_have_text(", tuple((_cell_source(text),) for text in texts))


def _message_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    before = _by_path(seen.before)
    for each in seen.document.elements:
        if not (each.role in {"alert", "status"} or each.node.tag == "output") or not seen.document.is_shown(each):
            continue
        text = seen.text(each.node)
        locator = locator_by_kind(seen.document, each)
        if text and locator and (seen.is_new_url or before.get(each.path) != each.text):
            yield f"expect({frame}.{locator}).to_have_text({string_literal(text)})"


def _table_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    before = [_raw_cells(each) for each in _of_tag(seen.before, "table")]
    for table in _of_tag(seen.document, "table"):
        locator = locator_by_kind(seen.document, table)
        rows = _raw_cells(table)
        nested = any(each.tag == "table" for each in table.node.walk() if each is not table.node)
        if locator is None or nested or not rows or rows in before or not seen.document.is_shown(table):
            continue
        trs = _table_rows(table.node)
        cells = tuple(tuple(_cell_source(seen.text(cell)) for cell in row.children if _is_cell(cell)) for row in trs)
        if sum(map(len, cells)) <= MAX_CELLS and any(cell != _ANY_TEXT for row in cells for cell in row):
            yield Grid(f'expect({frame}.{locator}.locator("th, td")).to_have_text(', tuple(row for row in cells if row))
        else:
            yield f'expect({frame}.{locator}.locator("tr")).to_have_count({len(rows)})'


def _list_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    before = [
        _element_texts(_items_of(seen.before, each)) for tag in ("ol", "ul") for each in _of_tag(seen.before, tag)
    ]
    for tag in ("ol", "ul"):
        for each in _of_tag(seen.document, tag):
            locator = locator_by_kind(seen.document, each)
            items = _items_of(seen.document, each)
            usual = locator is None or has_ancestor(each, _FURNITURE) or each.role in _FURNITURE
            if usual or not items or _element_texts(items) in before or not seen.document.is_shown(each):
                continue
            selector = css_by_id(seen.document, each)
            inside = (
                call_source("locator", string_literal(f"{selector} > li")) if selector else f'{locator}.locator("> li")'
            )
            yield from _item_assertions(seen, f"{frame}.{inside}", items)


def _card_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    here = [each for each in _of_tag(seen.document, "article") if not each.node.attribute("role")]
    same = _element_texts(here) == _element_texts(_of_tag(seen.before, "article"))
    if len(here) > 1 and not same and all(map(seen.document.is_shown, here)):
        yield f'expect({frame}.get_by_role("article")).to_have_count({len(here)})'


def _marked_text_assertions(seen: ObservedDocument, frame: str) -> Iterator[Statement]:
    """Assert short texts with an id: those that changed in place, and on a new page those with a number."""
    before = {} if seen.before is None else {each.node.attribute("id"): each.text for each in seen.before.elements}
    found = 0
    for each in seen.document.elements:
        name = each.node.attribute("id")
        leaf = bool(each.node.children) and all(child.is_text for child in each.node.children)
        usual = {each.role, each.node.tag} & _ASSERTED_ELSEWHERE
        if not name or not leaf or usual or before.get(name) == each.text or has_ancestor(each, _GROUPS):
            continue
        text, locator = seen.text(each.node), locator_by_id(seen.document, each)
        is_specific = not seen.is_new_url or any(letter.isdigit() for letter in each.text)
        if text and locator and is_specific and seen.document.is_shown(each) and found < MAX_MARKED:
            found += 1
            yield f"expect({frame}.{locator}).to_have_text({string_literal(text)})"


def _cell_source(text: str | None) -> str:
    return _ANY_TEXT if text is None else string_literal(text)


def _of_tag(document: RecordedDocument | None, tag: str) -> list[LocatedElement]:
    return [] if document is None else [each for each in document.elements if each.node.tag == tag]


def _items_of(document: RecordedDocument | None, around: LocatedElement) -> list[LocatedElement]:
    inside = {id(child) for child in around.node.children if child.tag == "li"}
    return [] if document is None else [each for each in document.elements if id(each.node) in inside]


def _element_texts(elements: list[LocatedElement]) -> list[str]:
    return [each.text for each in elements]


def _by_path(document: RecordedDocument | None) -> dict[str, str]:
    return {} if document is None else {each.path: each.text for each in document.elements}


def _raw_cells(table: LocatedElement) -> list[list[str]]:
    return [[_raw_text(cell) for cell in row.children if _is_cell(cell)] for row in _table_rows(table.node)]


def _table_rows(table: DomNode) -> list[DomNode]:
    return [each for each in table.walk() if each.tag == "tr"]


def _is_cell(node: DomNode) -> bool:
    return node.tag in {"td", "th"}


def _raw_text(node: DomNode) -> str:
    return "".join(each.text for each in node.walk() if each.text is not None)


@dataclass(slots=True, kw_only=True)
class PageState:
    """The state of the pages at the current point of the test (mutable)."""

    trace: ExecutionTrace
    site: Site
    load_snapshot: Callable[[PageObservation], PageSnapshot | None]
    date_spellings: tuple[str, ...] = ()
    drawn: re.Pattern[str] | None = None
    """Values that the server draws for each run; None if the trace has no rule for any."""
    pages: set[int] = field(default_factory=lambda: {0})
    """Ordinals of pages that have a variable in the test."""
    urls: dict[int, str] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)
    documents: dict[int, dict[str, RecordedDocument]] = field(default_factory=dict)
    """Documents of the open pages, by frame path."""
    pending_answers: list[AnswerDialog] = field(default_factory=list)
    pointer: tuple[int, float, float] | None = None
    """Page and position to which the action before moved the mouse pointer; None if it did not."""
    omitted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Compute the spellings of the day of the recording."""
        environment = self.trace.environment
        moments = [self.trace.started_at]
        if environment is not None:
            moments.append(datetime.fromtimestamp(environment.clock_start_ms / 1000, tz=UTC))
        self.date_spellings = tuple(dict.fromkeys(each for moment in moments for each in _date_spellings(moment)))
        rules = () if self.trace.network is None else self.trace.network.rules
        values = {rule.value_pattern for rule in rules if isinstance(rule, ResponseValueRule)} - {None}
        if values:
            self.drawn = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(sorted(map(str, values)))})(?![A-Za-z0-9])")

    def url_source(self, url: str) -> str:
        """Write the URL to expect; values that the server draws may be any."""
        varying = url if self.drawn is None else self.drawn.sub("*", url)
        return self.site.url_source(url) if varying == url else self.site.pattern_source(varying)

    def why_unchecked(self, step: ActionTrace, value: ReadValue | None, text: str) -> str:
        """Return why what a step read or expected is not asserted; empty if it is.

        `text` is the JSON text of the `value` that a read or a script returned, or of the assertion.
        """
        if names := self._masks_in_read(step):
            return f"hidden by the mask {', '.join(sorted(names))}"
        if any(found.stand_in in text for found in self.trace.redaction.found):
            return "it contains a secret without a name"
        if value is not None and value.long is not None and secret_names_in(text):
            return "it is long and contains a secret"
        if value is not None and _may_vary(text, self.drawn, self.date_spellings):
            return "it contains a time, a date or a value that the server draws"
        return ""

    def _masks_in_read(self, step: ActionTrace) -> set[str]:
        """Return the masks that hide what a step read or expected."""
        if not self.trace.masks:
            return set()
        pages = () if step.observation is None else step.observation.pages
        page = next((each for each in pages if each.page == step.action.page), None)
        snapshot = None if page is None else self.load_snapshot(page)
        return masks_in_read(step.action, snapshot, "" if page is None else page.url, self.trace.masks)


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
    if isinstance(action, Check | Uncheck | Click | Tap | Press) and state.checked is not None:
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
            yield f"expect({page_variable(page.page)}).to_have_url({known.url_source(page.url)})"
        if (
            not title_masks(page, known.trace.masks)
            and not secret_names_in(page.title)
            and known.titles.get(page.page, "") != page.title
        ):
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
                document=document,
                before=before.get(path),
                unmasked=kept,
                date_spellings=known.date_spellings,
                drawn=known.drawn,
            )
            yield from document_assertions(seen, held)
    known.documents[page.page] = documents
