"""Detect different documents, URLs, titles, pages, dialogs, downloads and errors."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeVar

from eikon_engine.files.text import pluralize, shorten_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.observation import (
        DocumentLoad,
        Observation,
        ObservedDialog,
        ObservedDownload,
        PageObservation,
    )

T = TypeVar("T")

_MAX_ERROR_LENGTH: Final = 200
"""Maximum number of characters shown of an error."""

PAGE_LATE: Final = "page-late"
DIALOG_CODES = ("dialog-missing", "dialog-unexpected", "dialog-changed")
DOWNLOAD_CODES = ("download-missing", "download-unexpected", "download-changed")


def detect_lifecycle(comparison: Comparison) -> Iterator[Divergence]:
    """Compare everything that happened to pages other than their content."""
    recorded, observed = comparison.recorded.observation, comparison.observed
    for before, after in comparison.paired_documents:
        yield from _document(comparison, before, after)
    yield from _errors(comparison, "page-error", "JavaScript error", (), comparison.new_page_errors)
    yield from _errors(comparison, "console-error", "console error", (), comparison.new_console_errors)
    if recorded is None or observed is None:
        return
    yield from _documents(comparison, recorded, observed)
    yield from _pages(comparison, recorded, observed)
    yield from _compare_in_order(comparison, DIALOG_CODES, recorded.dialogs, observed.dialogs, describe_dialog)
    yield from _compare_in_order(comparison, DOWNLOAD_CODES, recorded.downloads, observed.downloads, _describe_download)
    yield from _errors(comparison, "page-error", "JavaScript error", recorded.page_errors, observed.page_errors)
    yield from _errors(comparison, "console-error", "console error", recorded.console_errors, observed.console_errors)


def detect_lateness(comparison: Comparison, late_ms: float, response_delay_ms: float = 0.0) -> Iterator[Divergence]:
    """Yield a finding for a page that reached its recorded state later than in the recording, or whose server was slow.

    `response_delay_ms` is the wall time by which a response was later than any in the recording.
    """
    if response_delay_ms:
        late = comparison.make_divergence(
            "lifecycle",
            PAGE_LATE,
            expected="responses as fast as in the recording",
            observed=f"a response {response_delay_ms:.0f} ms later",
            message=f"The page waited {response_delay_ms:.0f} ms longer for a response than in the recording.",
        )
        yield late.model_copy(update={"severity": "finding"})
    if late_ms:
        late = comparison.make_divergence(
            "lifecycle",
            PAGE_LATE,
            expected="the recorded state at once",
            observed=f"the recorded state after {late_ms:.0f} ms of page time",
            message=f"The page reached its recorded state {late_ms:.0f} ms of page time later than in the recording.",
        )
        yield late.model_copy(update={"severity": "finding"})


def _documents(comparison: Comparison, recorded: Observation, observed: Observation) -> Iterator[Divergence]:
    for before, after in zip_longest(_sort_by_page(recorded.documents), _sort_by_page(observed.documents)):
        if before is None:
            yield comparison.make_divergence(
                "lifecycle",
                "document-unexpected",
                expected=_describe_document(before),
                observed=_describe_document(after),
                message="A document was loaded; the recording loaded none.",
            )
            continue
        if after is None:
            yield _document_missing(comparison, before)
            continue
        yield from _document(comparison, before, after)


def _document(comparison: Comparison, before: DocumentLoad, after: DocumentLoad) -> Iterator[Divergence]:
    if before.status != after.status:
        yield comparison.make_divergence(
            "lifecycle",
            "status-changed",
            expected=_describe_document(before),
            observed=_describe_document(after),
            message=f"The document was returned with HTTP status {after.status} instead of {before.status}.",
        )
    if (before.page, before.url, before.hops) != (after.page, after.url, after.hops):
        redirected = bool(before.hops or after.hops)
        yield comparison.make_divergence(
            "lifecycle",
            "redirects-changed" if redirected else "document-changed",
            expected=_describe_document(before),
            observed=_describe_document(after),
            message="The document was loaded through different redirects."
            if redirected
            else "A different document was loaded.",
        )


def _document_missing(comparison: Comparison, before: DocumentLoad) -> Divergence:
    """Report a document that was not loaded, and the request without a response if that is the reason."""
    from eikon_engine.divergence.causes import describe_missing_document  # noqa: PLC0415 - a faithful replay has no causes

    reason = describe_missing_document(before, comparison)
    why = "" if reason is None else f": {reason}"
    return comparison.make_divergence(
        "lifecycle",
        "document-missing",
        expected=_describe_document(before),
        observed=f"{_describe_document(None)}{why}",
        message=f"No document was loaded{why or '; the recording loaded one'}.",
    )


def _pages(comparison: Comparison, recorded: Observation, observed: Observation) -> Iterator[Divergence]:
    for code, kind, before, after in (
        ("pages-opened-changed", "opened", recorded.opened, observed.opened),
        ("pages-closed-changed", "closed", recorded.closed, observed.closed),
    ):
        if before != after:
            yield comparison.make_divergence(
                "lifecycle",
                code,
                expected=_format_pages(before),
                observed=_format_pages(after),
                message=f"The action {kind} {pluralize(len(after), 'page')} instead of {len(before)}."
                if len(after) != len(before)
                else f"The action {kind} a different page.",
            )
    seen = {page.page: page for page in observed.pages}
    if {page.page for page in recorded.pages} != seen.keys():
        yield comparison.make_divergence(
            "lifecycle",
            "pages-changed",
            expected=_format_pages(tuple(page.page for page in recorded.pages)),
            observed=_format_pages(tuple(seen)),
            message="Different pages are open after the action.",
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
                yield comparison.make_divergence(
                    "lifecycle",
                    code,
                    expected=before_text or "(empty)",
                    observed=after_text or "(empty)",
                    message=f"The {name} of page {page.page} differs.",
                )


def _frames(comparison: Comparison, page: PageObservation, now: PageObservation) -> Iterator[Divergence]:
    """Compare the URLs of the frames on both sides; added and removed frames are reported as DOM changes."""
    urls = {frame.path: frame.url for frame in now.frames}
    for frame in page.frames:
        url = urls.get(frame.path, frame.url)
        if frame.url != url:
            yield comparison.make_divergence(
                "lifecycle",
                "frame-url-changed",
                expected=frame.url,
                observed=url,
                message=f"Frame {frame.path or 'main'} of page {page.page} has a different URL.",
            )


def _sort_by_page(loads: tuple[DocumentLoad, ...]) -> list[DocumentLoad]:
    """Sort documents by page, since the loading order of two pages varies between equal runs."""
    return sorted(loads, key=lambda load: load.page)


def _compare_in_order(
    comparison: Comparison,
    codes: tuple[str, str, str],
    recorded: Sequence[T],
    observed: Sequence[T],
    shown: Callable[[T | None], str],
) -> Iterator[Divergence]:
    """Compare two sequences item by item; the codes are for a missing, an unexpected and a changed item."""
    kind = codes[0].partition("-")[0]
    verb = "open" if kind == "dialog" else "start"
    for before, after in zip_longest(recorded, observed):
        if before == after:
            continue
        place = 0 if after is None else 1 if before is None else 2
        yield comparison.make_divergence(
            "lifecycle",
            codes[place],
            expected=shown(before),
            observed=shown(after),
            message=(
                f"A recorded {kind} did not {verb}.",
                f"A {kind} {verb}ed that is not in the recording.",
                f"A {kind} differs from the recorded one.",
            )[place],
        )


def _errors(
    comparison: Comparison, code: str, kind: str, recorded: tuple[str, ...], observed: tuple[str, ...]
) -> Iterator[Divergence]:
    added = list((Counter(observed) - Counter(recorded)).elements())
    removed = list((Counter(recorded) - Counter(observed)).elements())
    if not added and not removed:
        return
    parts = ((f"new {kind}", added), (f"{kind} no longer reported", removed))
    first, last = shorten_pair(_first_line(added), _first_line(removed), _MAX_ERROR_LENGTH)
    shown = ((*parts[0], first), (*parts[1], last))
    message = "; ".join(f"{name}: {line}{_more_errors(errors)}" for name, errors, line in shown if errors)
    yield comparison.make_divergence(
        "lifecycle",
        f"{code}-changed",
        expected="; ".join(recorded) or "none",
        observed="; ".join(observed) or "none",
        message=message[0].upper() + message[1:],
    )


def _first_line(errors: list[str]) -> str:
    return errors[0].strip().partition("\n")[0] if errors else ""


def _more_errors(errors: list[str]) -> str:
    return "" if len(errors) == 1 else f" (and {len(errors) - 1} more)"


def _describe_document(load: DocumentLoad | None) -> str:
    if load is None:
        return "no document"
    redirects = "".join(f"{hop.url} ({hop.status}) -> " for hop in load.hops)
    return f"{redirects}{load.url} ({load.status})"


def describe_dialog(dialog: ObservedDialog | None) -> str:
    """Format a dialog with its answer."""
    return "no dialog" if dialog is None else f"{dialog.kind} {dialog.message!r}, {dialog.answer}"


def _describe_download(download: ObservedDownload | None) -> str:
    if download is None:
        return "no download"
    if download.failure is not None:
        return f"{download.name}: failed, {download.failure}"
    return f"{download.name}, {download.size} bytes, SHA-256 {download.sha256}"


def _format_pages(pages: tuple[int, ...]) -> str:
    return ", ".join(f"page {page}" for page in pages) or "none"
