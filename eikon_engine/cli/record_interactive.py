"""`eikon record --url`: record a person in a browser."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eikon_engine.cli.record import RecordArguments
    from eikon_engine.record.record_interactive import InteractiveOptions, InteractiveReport
    from eikon_engine.trace.environment import Viewport

URL_SCHEMES: Final = frozenset({"http", "https", "file"})
_MAX_SIDE: Final = 10_000
"""Maximum viewport side, in CSS pixels."""


def interactive_options(chosen: RecordArguments, secrets: Mapping[str, str]) -> InteractiveOptions:
    """Build the options of an interactive recording.

    Raises:
        UsageError: an option is invalid.
    """
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.record.record_interactive import InteractiveOptions
    from eikon_engine.secrets.search import RedactionRules

    url = require_url(chosen["url"] or "")
    certify = CertifyOptions(browser_path=chosen["browser_path"], progress=print_progress)
    return InteractiveOptions(
        url=url,
        mission_text=chosen["mission"] or f"Interactive recording of {url}",
        headless=bool(chosen["headless"]),
        debugging_port=chosen["debugging_port"],
        viewport=parse_viewport(chosen["viewport"]),
        browser_path=chosen["browser_path"],
        secrets=secrets,
        redaction=RedactionRules(names=chosen["names"], patterns=chosen["patterns"], keep=chosen["keep"]),
        certify=None if chosen["no_certify"] else certify,
        progress=print_progress,
    )


def require_url(url: str) -> str:
    """Return the URL if a browser can open it.

    Raises:
        UsageError: it is malformed.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        message = f"--url: expected a URL such as https://shop.example/, got {url!r} ({error})"
        raise UsageError(message) from error
    if parts.scheme not in URL_SCHEMES or not (parts.netloc or (parts.scheme == "file" and parts.path)):
        message = f"--url: expected a URL such as https://shop.example/, got {url!r}; include the scheme"
        raise UsageError(message)
    return url


def parse_viewport(text: str | None) -> Viewport:
    """Parse WIDTHxHEIGHT, in CSS pixels; None is the default size.

    Raises:
        UsageError: it is malformed.
    """
    from eikon_engine.trace.environment import DEFAULT_VIEWPORT, Viewport

    if text is None:
        return DEFAULT_VIEWPORT
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    sides = tuple(map(int, found.groups())) if found else ()
    if not sides or min(sides) < 1 or max(sides) > _MAX_SIDE:
        message = f"--viewport: expected WIDTHxHEIGHT such as 1280x720, each at most {_MAX_SIDE}, got {text!r}"
        raise UsageError(message)
    return Viewport(width=sides[0], height=sides[1])


def run_interactive(output: Path, options: InteractiveOptions) -> int:
    """Record, print the report, and return the exit status."""
    from eikon_engine.outcome.terminal import safe_line
    from eikon_engine.record.record_interactive import record_interactive

    report = asyncio.run(record_interactive(output, options))
    for line in warning_lines(report):
        click.echo(safe_line(line), err=True)
    for line in report_lines(output, report):
        click.echo(safe_line(line))
    return report.exit_status


def print_progress(line: str) -> None:
    """Print a progress line to standard error."""
    from eikon_engine.outcome.terminal import safe_line

    click.echo(safe_line(f"[RECORD] {line}"), err=True)


def warning_lines(report: InteractiveReport) -> Iterator[str]:
    """Yield what could not be recorded and which targets are weak."""
    for warning in report.warnings:
        yield f"warning: {warning}"
    for weak in report.weak_targets:
        yield f"weak: {weak.action}: {weak.selector}: {weak.reason}"
    if report.certify_error is not None:
        yield f"not certified: {report.certify_error}"


def report_lines(output: Path, report: InteractiveReport) -> Iterator[str]:
    """Yield what was recorded and whether it replays."""
    from eikon_engine.files.text import pluralize
    from eikon_engine.report.certification import render_certification

    total = sum(report.counts.values())
    weak = f", {pluralize(len(report.weak_targets), 'weak target')}" if report.weak_targets else ""
    yield f"{output}: recorded {pluralize(total, 'action')} in {pluralize(len(report.counts), 'subgoal')}{weak}"
    for subgoal, count in report.counts.items():
        yield f"  {pluralize(count, 'action')}: {subgoal}"
    if report.certify_error is not None:
        yield f"not certified; next: eikon certify {output}"
    elif report.certification is None:
        yield f"next: eikon certify {output}"
    else:
        yield render_certification(report.certification).partition("\n")[0]
        if report.certification.exit_status:
            yield f"next: eikon certify {output} shows the differences"
