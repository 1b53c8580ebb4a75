"""The skill `detect_pagination`: find the pagination of a page."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.files.text import read_digits
from eikon_engine.skills.document import normalize_text, parent_element, selector_of, text_of
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from eikon_engine.skills.document import Document

Direction: TypeAlias = Literal["next", "previous"]

_NEXT: Final = (
    r"next(?: page| results)?|older(?: posts| entries)?|nächste(?: seite)?|weiter|(?:page )?suivante?|siguiente"
    r"|(?:página )?siguiente|próxim[ao]|seguinte|(?:pagina )?successiva|avanti|volgende|nästa|neste|næste|seuraava"
    r"|następna|dalej|další|следующая|вперёд|вперед|далее|sonraki|التالي|הבא|次へ|次のページ|下一页|下一頁|다음"
)
_PREVIOUS: Final = (
    r"prev(?:ious)?(?: page| results)?|newer(?: posts| entries)?|vorherige(?: seite)?|zurück|précédente?|anterior"
    r"|(?:pagina )?precedente|indietro|vorige|föregående|forrige|edellinen|poprzednia|wstecz|předchozí|предыдущая"
    r"|назад|önceki|السابق|הקודם|前へ|前のページ|上一页|上一頁|이전"
)
_MORE: Final = (
    r"(?:load|show|view|see) more(?: \w+){0,2}|more results|mehr (?:laden|anzeigen)|weitere(?: \w+)? (?:laden|anzeigen)"
    r"|(?:voir|afficher|charger) plus(?: \w+){0,3}|(?:ver|cargar|mostrar) más(?: \w+){0,2}"
    r"|(?:ver|carregar|mostrar) mais(?: \w+){0,2}|(?:mostra|carica) (?:altri|di più)"
    r"|meer (?:laden|tonen)|visa fler|ladda fler|pokaż więcej"
    r"|показать ещё|показать еще|загрузить ещё|もっと見る|加载更多|查看更多|더 보기|عرض المزيد"
)
_ARROWS: Final = " \t‹›«»<>←→⟨⟩❮❯▸◂▶◀|"  # noqa: RUF001 - arrows of pagers
_NEXT_TEXT: Final = re.compile(_NEXT, re.IGNORECASE)
_PREVIOUS_TEXT: Final = re.compile(_PREVIOUS, re.IGNORECASE)
_MORE_TEXT: Final = re.compile(rf"(?:{_MORE})(?: ?\(\d+\))?", re.IGNORECASE)
_FORWARD: Final = frozenset({"›", "»", ">", "→", "❯", ">>", "▸", "▶"})  # noqa: RUF001 - arrows of pagers
_BACKWARD: Final = frozenset({"‹", "«", "<", "←", "❮", "<<", "◂", "◀"})  # noqa: RUF001 - arrows of pagers


def pager_direction(text: str, *, right_to_left: bool) -> Direction | None:
    """Return the direction of a label by its words, else by its arrow, which is mirrored in right-to-left text."""
    words = text.strip(_ARROWS).lower()
    if _NEXT_TEXT.fullmatch(words):
        return "next"
    if _PREVIOUS_TEXT.fullmatch(words):
        return "previous"
    arrow = text.strip()
    if arrow in _FORWARD:
        return "previous" if right_to_left else "next"
    if arrow in _BACKWARD:
        return "next" if right_to_left else "previous"
    return None


def is_load_more(text: str) -> bool:
    """Whether a label means "load more"."""
    return bool(_MORE_TEXT.fullmatch(text.strip(_ARROWS + "+….").lower()))


PaginationKind: TypeAlias = Literal["numbered", "steps", "load_more", "infinite", "none"]

_PAGE_NUMBER: Final = re.compile(
    r"(?:(?:page|seite|página|pagina|страница|第)\s*)?(\d{1,6})(?:\s*[页ページ頁])?", re.IGNORECASE
)
_CURRENT: Final = re.compile(r"(?:^|[\s_-])(?:current|active|selected|is-active|on)(?:$|[\s_-])", re.IGNORECASE)
_DISABLED: Final = re.compile(r"(?:^|[\s_-])disabled(?:$|[\s_-])", re.IGNORECASE)
_PAGER_NAME: Final = re.compile(r"pag(?:ination|inator|er|ing|es)|pagenav|page-?numbers|seiten", re.IGNORECASE)
_INFINITE_SCROLL: Final = re.compile(
    r"infinite-?(?:scroll|loader|list)|endless|load-?on-?scroll|scroll-?sentinel", re.IGNORECASE
)
_MAX_ANCESTORS: Final = 3
_CONTROLS: Final = "a,button,[role=button],[role=link],input[type=button],input[type=submit]"


class PaginationParameters(Parameters):
    """No parameters."""


class PageLink(Output):
    """One numbered page."""

    number: int
    url: str | None
    """Null for the current page and for buttons."""
    current: bool


class StepLink(Output):
    """A control that leads to the next or previous page, or loads more items."""

    text: str
    url: str | None
    """Null for buttons."""
    selector: str | None
    """CSS path; null if only a `<link>` in the head declares it."""


class Pagination(Output):
    """The pagination of a page."""

    kind: PaginationKind
    current: int | None
    last: int | None
    """Highest page number shown."""
    next: StepLink | None
    previous: StepLink | None
    pages: tuple[PageLink, ...]
    load_more: StepLink | None
    signals: tuple[str, ...]


class DetectPagination(TypedSkill[PaginationParameters, Pagination]):
    """Return the pages of a list, the current, next and previous one, and the control that loads more."""

    name = "detect_pagination"
    version = 1
    description = "Detect pagination: next, previous, numbered pages, load more, endless scrolling."
    parameters = PaginationParameters
    output = Pagination
    example = SkillInput(
        html='<nav class=pagination><a href="?p=1">1</a> <b>2</b> <a href="?p=3">3</a> <a href="?p=3">Next ›</a></nav>',  # noqa: RUF001
        url="https://shop.example/?p=2",
    )

    def analyze(self, document: Document, parameters: PaginationParameters) -> Pagination:  # noqa: ARG002 - no parameters
        """Find next and previous links, page numbers and "load more"; no pagination is a result, not an error."""
        controls = [(node, _label(node)) for node in document.tree.css(_CONTROLS)]
        steps = _find_steps(document, controls)
        pages = _find_pages(document, controls)
        more = next((node for node, label in controls if is_load_more(label) and not _is_disabled(node)), None)
        infinite = _has_infinite_scroll(document)
        current = next((page.number for page in pages if page.current), None)
        kind: PaginationKind = "none"
        if pages:
            kind = "numbered"
        elif steps:
            kind = "steps"
        elif more is not None:
            kind = "load_more"
        elif infinite:
            kind = "infinite"
        signals = (
            *(f"rel={step}" for step in ("next", "prev") if document.tree.css_first(f"[rel~={step}]") is not None),
            *(("numbered pages",) if pages else ()),
            *(("load more control",) if more is not None else ()),
            *(("endless scrolling",) if infinite else ()),
        )
        return Pagination(
            kind=kind,
            current=current,
            last=max((page.number for page in pages), default=None),
            next=steps.get("next"),
            previous=steps.get("previous"),
            pages=pages,
            load_more=None if more is None else _step_link(document, more),
            signals=signals,
        )


def _label(node: LexborNode) -> str:
    attributes = node.attributes
    return text_of(node) or normalize_text(
        attributes.get("aria-label") or attributes.get("value") or attributes.get("title") or ""
    )


def _find_steps(document: Document, controls: list[tuple[LexborNode, str]]) -> dict[Direction, StepLink]:
    """Find the next and previous page by `rel` in the body, then by words and arrows, then by `rel` in the head."""
    html = document.tree.css_first("html")
    body = document.tree.body
    directions = [node.attributes.get("dir") for node in (html, body) if node is not None]
    right_to_left = "rtl" in [(each or "").lower() for each in directions]
    relations: tuple[tuple[str, Direction], ...] = (("next", "next"), ("prev", "previous"))
    found: dict[Direction, StepLink] = {}
    for relation, step in relations:
        linked = document.tree.css_first(f"a[rel~={relation}][href]")
        if linked is not None and not _is_disabled(linked):
            found[step] = _step_link(document, linked)
    for node, label in controls:
        aria = normalize_text(node.attributes.get("aria-label") or "")
        direction = pager_direction(label, right_to_left=right_to_left) or pager_direction(
            aria, right_to_left=right_to_left
        )
        if direction is not None and direction not in found and not _is_disabled(node) and _is_pager(node, label):
            found[direction] = _step_link(document, node)
    for relation, step in relations:
        head = document.tree.css_first(f"link[rel~={relation}][href]")
        if head is not None and step not in found:
            found[step] = StepLink(text="", url=document.absolute(head.attributes.get("href")), selector=None)
    return found


def _is_pager(node: LexborNode, label: str) -> bool:
    """Distinguish a pager from a carousel: a link with a URL, or a control inside an element named like a pager."""
    if node.tag == "a" and (node.attributes.get("href") or "#").strip() not in {"", "#"} and len(label) > 1:
        return True
    return _has_pager_ancestor(node)


def _has_pager_ancestor(node: LexborNode) -> bool:
    current: LexborNode | None = node
    while current is not None and current.tag not in {"body", "html"}:
        attributes = current.attributes
        names = " ".join(attributes.get(name) or "" for name in ("class", "id", "aria-label", "data-testid"))
        if _PAGER_NAME.search(names):
            return True
        current = parent_element(current)
    return False


def _find_pages(document: Document, controls: list[tuple[LexborNode, str]]) -> tuple[PageLink, ...]:
    """Find the first group of numbers that has two consecutive ones or is named like a pager."""
    groups: dict[int, list[tuple[int, LexborNode]]] = {}
    holders: dict[int, LexborNode] = {}
    for node, label in controls:
        found = _PAGE_NUMBER.fullmatch(label)
        holder = _number_container(node)
        if found is not None and holder is not None:
            holders[holder.mem_id] = holder
            groups.setdefault(holder.mem_id, []).append((_digits(found[1]), node))
    for key, members in groups.items():
        holder = holders[key]
        shown = _current_number(holder, {node.mem_id for _, node in members})
        numbers = sorted({number for number, _ in members} | ({shown} if shown is not None else set()))
        follow = any(after - before == 1 for before, after in pairwise(numbers))
        if (follow and (shown is not None or any(_is_current(node) for _, node in members))) or (
            _has_pager_ancestor(holder) and (follow or shown is not None)
        ):
            return _page_links(document, members, shown)
    return ()


def _number_container(node: LexborNode) -> LexborNode | None:
    """Return the element that contains all numbers: the list around an item, else the parent."""
    parent = parent_element(node)
    if parent is not None and parent.tag in {"li", "span", "div", "td"} and len(list(parent.iter())) == 1:
        return parent_element(parent)
    return parent


def _current_number(holder: LexborNode, linked: set[int]) -> int | None:
    """Return the number between the links that is not a link itself: the current page."""
    for node in holder.css("span,b,strong,em,li,[aria-current]"):
        found = _PAGE_NUMBER.fullmatch(text_of(node))
        inside = any(each.mem_id in linked for each in node.css(_CONTROLS))
        if found is not None and not inside and node.mem_id not in linked:
            above = parent_element(node)
            if above is None or above.mem_id not in linked:
                return _digits(found[1])
    return None


def _page_links(document: Document, members: list[tuple[int, LexborNode]], shown: int | None) -> tuple[PageLink, ...]:
    found: dict[int, PageLink] = {}
    for number, node in members:
        url = document.absolute(node.attributes.get("href")) if node.tag == "a" else None
        current = _is_current(node) or number == shown
        if number not in found or current:
            found[number] = PageLink(number=number, url=url, current=current)
    if shown is not None and shown not in found:
        found[shown] = PageLink(number=shown, url=None, current=True)
    return tuple(found[number] for number in sorted(found))


def _digits(text: str) -> int:
    return read_digits("".join(str(unicodedata.digit(each)) for each in text))


def _is_current(node: LexborNode) -> bool:
    parent = parent_element(node)
    item = parent if parent is not None and parent.tag in {"li", "span"} else None
    for each in (node, *(() if item is None else (item,))):
        attributes = each.attributes
        if (attributes.get("aria-current") or "false") != "false" or _CURRENT.search(attributes.get("class") or ""):
            return True
    return False


def _is_disabled(node: LexborNode) -> bool:
    current: LexborNode | None = node
    for _ in range(2):
        if current is None:
            break
        attributes = current.attributes
        if (
            "disabled" in attributes
            or attributes.get("aria-disabled") == "true"
            or _DISABLED.search(attributes.get("class") or "")
        ):
            return True
        current = parent_element(current)
    return False


def _step_link(document: Document, node: LexborNode) -> StepLink:
    href = node.attributes.get("href") if node.tag == "a" else None
    leads = href is not None and not href.strip().lower().startswith(("#", "javascript:"))
    return StepLink(
        text=_label(node), url=document.absolute(href) if leads else None, selector=selector_of(document, node)
    )


def _has_infinite_scroll(document: Document) -> bool:
    for node in document.tree.css("[class*=infinite],[class*=endless],[class*=sentinel],[id*=infinite],[id*=sentinel]"):
        attributes = node.attributes
        if _INFINITE_SCROLL.search(f"{attributes.get('class') or ''} {attributes.get('id') or ''}"):
            return True
    return document.tree.css_first("[data-infinite-scroll],[data-infinite],[role=feed]") is not None
