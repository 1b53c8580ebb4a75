"""Lifecycle: documents, URLs, titles, pages, dialogs, downloads and errors."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

from eikon_engine.divergence.no_answer import no_answer_for
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.observation import DialogSeen, DocumentLoad, DownloadSeen, Observation, PageObservation

T = TypeVar("T")

DIALOG_CODES = ("dialog-missing", "dialog-unexpected", "dialog-changed")
DOWNLOAD_CODES = ("download-missing", "download-unexpected", "download-changed")


def detect_lifecycle(comparison: Comparison) -> Iterator[Divergence]:
    """Compare everything that happened to pages as a whole."""
    recorded, observed = comparison.recorded.observation, comparison.observed
    if recorded is None or observed is None:
        return
    yield from _documents(comparison, recorded, observed)
    yield from _pages(comparison, recorded, observed)
    yield from _one_by_one(comparison, DIALOG_CODES, recorded.dialogs, observed.dialogs, describe_dialog)
    yield from _one_by_one(comparison, DOWNLOAD_CODES, recorded.downloads, observed.downloads, _download)
    yield from _errors(comparison, "page-error", "JavaScript error", recorded.page_errors, observed.page_errors)
    yield from _errors(comparison, "console-error", "console error", recorded.console_errors, observed.console_errors)


def _documents(comparison: Comparison, recorded: Observation, observed: Observation) -> Iterator[Divergence]:
    for before, after in zip_longest(_by_page(recorded.documents), _by_page(observed.documents)):
        if before is None:
            yield comparison.diverged(
                "lifecycle",
                "document-unexpected",
                expected=_document(before),
                observed=_document(after),
                message="A document was loaded where the recording loaded none.",
            )
            continue
        if after is None:
            yield _missing(comparison, before)
            continue
        if before.status != after.status:
            yield comparison.diverged(
                "lifecycle",
                "status-changed",
                expected=_document(before),
                observed=_document(after),
                message=f"The document came with HTTP status {after.status} instead of {before.status}.",
            )
        if (before.page, before.url, before.hops) != (after.page, after.url, after.hops):
            redirected = bool(before.hops or after.hops)
            yield comparison.diverged(
                "lifecycle",
                "redirects-changed" if redirected else "document-changed",
                expected=_document(before),
                observed=_document(after),
                message="The redirects on the way to the document are other ones."
                if redirected
                else "Another document was loaded.",
            )


def _missing(comparison: Comparison, before: DocumentLoad) -> Divergence:
    """Say that a document was not loaded, and that the site did not answer, where that is why."""
    reason = no_answer_for(before, comparison)
    why = "" if reason is None else f": {reason}"
    return comparison.diverged(
        "lifecycle",
        "document-missing",
        expected=_document(before),
        observed=f"{_document(None)}{why}",
        message=f"No document was loaded where the recording loaded one{why}.",
    )


def _pages(comparison: Comparison, recorded: Observation, observed: Observation) -> Iterator[Divergence]:
    for code, kind, before, after in (
        ("pages-opened-changed", "opened", recorded.opened, observed.opened),
        ("pages-closed-changed", "closed", recorded.closed, observed.closed),
    ):
        if before != after:
            yield comparison.diverged(
                "lifecycle",
                code,
                expected=_numbers(before),
                observed=_numbers(after),
                message=f"The action {kind} {counted(len(after), 'page')} instead of {len(before)}.",
            )
    seen = {page.page: page for page in observed.pages}
    if {page.page for page in recorded.pages} != seen.keys():
        yield comparison.diverged(
            "lifecycle",
            "pages-changed",
            expected=_numbers(tuple(page.page for page in recorded.pages)),
            observed=_numbers(tuple(seen)),
            message="Other pages are open after the action.",
        )
    for page in recorded.pages:
        now = seen.get(page.page)
        if now is None:
            continue
        yield from _frames(comparison, page, now)
        for code, name, before_text, after_text in (
            ("url-changed", "URL", page.url, now.url),
            ("title-changed", "title", page.title, now.title),
        ):
            if before_text != after_text:
                yield comparison.diverged(
                    "lifecycle",
                    code,
                    expected=before_text or "(empty)",
                    observed=after_text or "(empty)",
                    message=f"The {name} of page {page.page} is another one.",
                )


def _frames(comparison: Comparison, page: PageObservation, now: PageObservation) -> Iterator[Divergence]:
    """Compare the URLs of inner frames that both have; which frames there are is told by the DOM."""
    urls = {frame.path: frame.url for frame in now.frames}
    for frame in page.frames:
        url = urls.get(frame.path, frame.url)
        if frame.url != url:
            yield comparison.diverged(
                "lifecycle",
                "frame-url-changed",
                expected=frame.url,
                observed=url,
                message=f"Frame {frame.path or 'main'} of page {page.page} shows another URL.",
            )


def _by_page(loads: tuple[DocumentLoad, ...]) -> list[DocumentLoad]:
    """Order documents by page: which of two pages is the first to load varies between equal runs."""
    return sorted(loads, key=lambda load: load.page)


def _one_by_one(
    comparison: Comparison,
    codes: tuple[str, str, str],
    recorded: Sequence[T],
    observed: Sequence[T],
    shown: Callable[[T | None], str],
) -> Iterator[Divergence]:
    """Compare things that come in an order; the codes are for one missing, one too many, and one that is another."""
    kind = codes[0].partition("-")[0]
    for before, after in zip_longest(recorded, observed):
        if before == after:
            continue
        place = 0 if after is None else 1 if before is None else 2
        yield comparison.diverged(
            "lifecycle",
            codes[place],
            expected=shown(before),
            observed=shown(after),
            message=f"A {kind} {('did not come', 'came unasked', 'is another one')[place]}.",
        )


def _errors(
    comparison: Comparison, code: str, kind: str, recorded: tuple[str, ...], observed: tuple[str, ...]
) -> Iterator[Divergence]:
    if sorted(recorded) == sorted(observed):
        return
    yield comparison.diverged(
        "lifecycle",
        f"{code}-changed",
        expected="; ".join(recorded) or "none",
        observed="; ".join(observed) or "none",
        message=f"The page reported {counted(len(observed), kind)} instead of {len(recorded)}, or other ones.",
    )


def _document(load: DocumentLoad | None) -> str:
    if load is None:
        return "no document"
    way = "".join(f"{hop.url} ({hop.status}) -> " for hop in load.hops)
    return f"{way}{load.url} ({load.status})"


def describe_dialog(dialog: DialogSeen | None) -> str:
    """Read as a dialog with its answer."""
    return "no dialog" if dialog is None else f"{dialog.kind} {dialog.message!r}, {dialog.answer}"


def _download(download: DownloadSeen | None) -> str:
    if download is None:
        return "no download"
    if download.failure is not None:
        return f"{download.name}: failed, {download.failure}"
    return f"{download.name}, {download.size} bytes, SHA-256 {download.sha256}"


def _numbers(pages: tuple[int, ...]) -> str:
    return ", ".join(f"page {page}" for page in pages) or "none"
