"""Write observations as assertions, and events during an action as `expect_*` blocks.

Never asserts masked parts, times or what a server draws: the exported test uses the real clock and a live site.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.masks import masks_in_read, title_masks, unmasked_nodes
from eikon_engine.exporters.playwright_locator import (
    css_by_id,
    frame_path_locator,
    locator_by_id,
    locator_by_kind,
    page_variable,
)
from eikon_engine.exporters.playwright_values import secret_source
from eikon_engine.exporters.python_source import (
    Block,
    Grid,
    Statement,
    call_source,
    regex_literal,
    string_literal,
)
from eikon_engine.exporters.recorded_document import RecordedDocument, has_ancestor
from eikon_engine.exporters.varying_parts import mask_source
from eikon_engine.secrets.redaction import secret_names_in
from eikon_engine.trace.actions import (
    AnswerDialog,
    Check,
    Click,
    ClosePage,
    Expect,
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
from eikon_engine.trace.masks import TitlePart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import DomNode, PageSnapshot
    from eikon_engine.exporters.playwright_values import Site
    from eikon_engine.exporters.varying_parts import VaryingParts
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
_ANY_TEXT: Final = 're.compile(".*")'


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDocument:
    """A document after an action, and which of its parts may be asserted."""

    document: RecordedDocument
    before: RecordedDocument | None
    """The document of the same frame before the action."""
    unmasked: frozenset[int] | None
    """Nodes outside masks, by `id(node)`; None if no mask applies to the page."""
    varying: VaryingParts

    @property
    def is_new_url(self) -> bool:
        """Whether the URL of the frame changed."""
        return self.before is None or self.before.frame.url != self.document.frame.url

    def text(self, node: DomNode) -> str | None:
        """Return the source of the text to expect of a node; None if it cannot be asserted.

        What the server draws may be any of its kind.
        """
        if self.unmasked is not None and id(node) not in self.unmasked:
            return None
        text = self.document.text(node)
        return None if not text or secret_names_in(text) else self.varying.text_source(text)


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
            if text:
                heading = f'get_by_role("heading", name={text}, level={level})'
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
            yield f"expect({frame}.{locator}).to_have_text({text})"


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
            yield f"expect({frame}.{locator}).to_have_text({text})"


def _cell_source(text: str | None) -> str:
    return _ANY_TEXT if text is None else text


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
    varying: VaryingParts
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

    def url_source(self, url: str) -> str:
        """Write the URL to expect; what varies may be any of its kind."""
        if not self.varying.are_in_url(url):
            return self.site.url_source(url)
        return self.site.regex_source(url, self.varying.url_pattern)

    def url_pattern_source(self, url: str) -> str:
        """Write the URL to expect, in which `*` matches any characters; what varies may be any of its kind."""
        if not self.varying.are_in_url(url):
            return self.site.pattern_source(url)
        return self.site.regex_source(url, lambda text: ".*".join(map(self.varying.url_pattern, text.split("*"))))

    def title_source(self, page: PageObservation) -> str | None:
        """Write the title to expect of a page; None if it cannot be asserted."""
        if secret_names_in(page.title):
            return None
        names = title_masks(page, self.trace.masks)
        masks = [each.part for each in self.trace.masks if each.name in names and isinstance(each.part, TitlePart)]
        if not masks:
            return self.varying.title_source(page.title)
        patterns = [each.pattern for each in masks if each.pattern is not None]
        return mask_source(patterns[0]) if len(patterns) == len(masks) else None

    def why_unchecked(self, step: ActionTrace, value: ReadValue | None, text: str) -> str:
        """Return why what a step read or expected is not asserted; empty if it is.

        `text` is the JSON text of the `value` that a read or a script returned, or of the assertion.
        """
        if names := self._masks_in_read(step):
            return f"hidden by the mask {', '.join(sorted(names))}"
        if any(found.stand_in in text for found in self.trace.redaction.found) and not is_opened(step.action):
            return "it contains a secret without a name"
        if value is None and self.varying.are_drawn_in(text) and not is_opened(step.action):
            return "it contains a value that the server draws"
        if value is not None and value.long is not None and secret_names_in(text):
            return "it is long and contains a secret"
        if value is not None and self.varying.are_in(text):
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


def is_opened(action: Action) -> bool:
    """Return whether an assertion is exported with what the server draws open: one of a whole URL or title."""
    if not isinstance(action, Expect) or action.is_not or action.expression not in {"to.have.url", "to.have.title"}:
        return False
    return all(each.regex_source is None and not each.match_substring for each in action.texts or ())


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
        after.append(_equality("download.value.suggested_filename", first.name, known.varying))
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
    return [Block(f"with dialogs(page.context, {answers}) as messages:", tuple(body))], [
        *_message_equalities([each.message for each in seen.dialogs], known)
    ]


def _message_equalities(messages: list[str], known: PageState) -> Iterator[Statement]:
    """Assert the messages of dialogs; one with a secret may be any."""
    if not any(secret_names_in(each) or known.varying.are_in(each) for each in messages):
        yield f"assert messages == [{', '.join(map(string_literal, messages))}]"
        return
    yield f"assert len(messages) == {len(messages)}"
    for place, message in enumerate(messages):
        if secret_names_in(message):
            known.omitted.append("a dialog message with a secret is not checked")
        else:
            yield _equality(f"messages[{place}]", message, known.varying)


def _equality(observed: str, text: str, varying: VaryingParts) -> str:
    """Assert a text that is observed in Python; its varying parts may be any of their kind."""
    if not varying.are_in(text):
        return f"assert {observed} == {string_literal(text)}"
    return f"assert {call_source('re.fullmatch', regex_literal(varying.text_pattern(text)), observed)}"


def _dialog_answer(dialog: ObservedDialog, known: PageState) -> str:
    armed = known.pending_answers.pop(0) if known.pending_answers and dialog.kind != "beforeunload" else None
    if dialog.answer == "dismissed":
        return "False"
    if armed is None or armed.text is None:
        return "True"
    return secret_source(armed.text.secret) if isinstance(armed.text, SecretRef) else string_literal(armed.text)


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
        title = known.title_source(page)
        if title is not None and known.titles.get(page.page, "") != page.title:
            yield f"expect({page_variable(page.page)}).to_have_title({title})"
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
    kept = unmasked_nodes(snapshot, page.url, known.trace.masks)
    for path, document in documents.items():
        held = frame_path_locator(page.page, path, documents)
        if held is not None:
            seen = ObservedDocument(
                document=document,
                before=before.get(path),
                unmasked=kept,
                varying=known.varying,
            )
            yield from document_assertions(seen, held)
    known.documents[page.page] = documents
