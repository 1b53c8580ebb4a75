"""Explain the first divergence of a replay: one sentence, the cause, the evidence and the consequences."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.causes import classify_cause
from eikon_engine.outcome.explanation import Evidence, Explanation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.divergence.causes import DivergenceCase
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.explanation import Cause, Consequence
    from eikon_engine.trace.execution import Artifact

_OPENINGS: Final[dict[Cause, str]] = {
    "site-changed": "The site has changed",
    "site-error": "The site returned an error",
    "network": "The network failed",
    "timing": "The site was slower than in the recording",
    "session-expired": "The session is no longer logged in",
    "test-data": "The data of the site has changed",
    "environment": "The environment differs from the recorded one",
    "skill-changed": "A skill behaves differently than in the recording",
    "trace-invalid": "The trace contradicts its own recording",
    "unknown": "The cause is unknown",
}
"""The start of the sentence, by cause."""
_MAX_EVIDENCE: Final = 5
"""Maximum number of response values and of console lines shown as evidence."""


def explain_divergence(
    case: DivergenceCase, label: str, artifacts: Sequence[Artifact] = (), consequences: tuple[Consequence, ...] = ()
) -> Explanation:
    """Explain the first step that diverged; `label` describes its action."""
    judged = classify_cause(case)
    first = case.first
    place = f"at step {first.sequence} of {first.subgoal_id}, {label},"
    return Explanation(
        subgoal=first.subgoal,
        subgoal_id=first.subgoal_id,
        sequence=first.sequence,
        code=first.code,
        cause=judged.cause,
        sentence=f"{_OPENINGS[judged.cause]}: {place} {describe_divergence(first)}.",
        why=judged.why,
        settle=judged.settle,
        evidence=tuple(_evidence(case, artifacts)),
        consequences=consequences,
    )


def describe_divergence(first: Divergence) -> str:
    """Describe the divergence as the end of a sentence."""
    expected, observed = _shorten(first.expected), _shorten(first.observed)
    template = _TEMPLATES.get(first.code)
    return template.format(expected=expected, observed=observed) if template else _lower_first(first.message)


_TEMPLATES: Final = {
    "target-missing": "{expected} is not on the page",
    "target-ambiguous": "more than one element matches {expected}",
    "target-changed": "{expected} is now a different element",
    "target-not-actionable": "{expected} is on the page but cannot be used",
    "request-not-recorded": "the page sent a request that is not in the recording: {observed}",
    "request-missing": "the page did not send {expected}",
    "request-unexpected": "the page sent {observed}, which it did not send in the recording",
    "document-missing": "expected {expected} to load, got {observed}",
    "document-unexpected": "{observed} was loaded; the recording loaded no document",
    "document-changed": "{observed} was loaded instead of {expected}",
    "redirects-changed": "the document was loaded via {observed} instead of {expected}",
    "status-changed": "the site returned {observed} instead of {expected}",
    "url-changed": "the page is at {observed} instead of {expected}",
    "title-changed": "the page title is '{observed}' instead of '{expected}'",
    "dialog-missing": "a recorded dialog did not open: {expected}",
    "dialog-unexpected": "a dialog opened that is not in the recording: {observed}",
    "dialog-changed": "the dialog was {observed} instead of {expected}",
    "download-missing": "a recorded download did not start: {expected}",
    "download-unexpected": "a download started that is not in the recording: {observed}",
    "download-changed": "the download was {observed} instead of {expected}",
    "value-changed": "the value of the field is {observed} instead of {expected}",
    "dom-changed": "the page showed {observed} instead of {expected}",
    "unexpected-success": "the action failed in the recording but succeeded now",
    "skill-output-changed": "it returned {observed} instead of {expected}",
    "environment-changed": "the environment has {observed} instead of {expected}",
}
"""Description of the divergence by code; for other codes, the message is used."""


def _evidence(case: DivergenceCase, artifacts: Sequence[Artifact]) -> Iterator[Evidence]:
    first = case.first
    values = f"expected {first.expected}\nobserved {first.observed}"
    yield Evidence(kind="values", title="Expected and observed", text=values)
    for change, value in islice(case.changed_values, _MAX_EVIDENCE):
        yield Evidence(kind="answer", title=change.key, text=str(value))
    if first.detail:
        yield Evidence(kind="difference", title="Difference", text=first.detail)
    for candidate in first.candidates or ():
        yield Evidence(kind="candidate", title="Did you mean", text=str(candidate))
    if first.candidates == ():
        yield Evidence(kind="candidate", title="Did you mean", text="no plausible candidate")
    for line in _new_errors(case)[:_MAX_EVIDENCE]:
        yield Evidence(kind="console", title="New console error", text=line)
    for artifact in artifacts:
        yield Evidence(kind="file", title=artifact.name, text=artifact.path)


def _new_errors(case: DivergenceCase) -> list[str]:
    if case.observed is None:
        return []
    recorded = case.recorded
    known = () if recorded is None else (*recorded.console_errors, *recorded.page_errors)
    return [line for line in (*case.observed.page_errors, *case.observed.console_errors) if line not in known]


def _shorten(text: str) -> str:
    """Remove digests, failure codes, and all but the first line."""
    line = re.sub(r"(?: ?sha256:|, SHA-256 )[0-9a-f…]+", "", text.split("\n", 1)[0])
    return re.sub(r"^target-[a-z-]+: ", "", line).strip()


def _lower_first(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")
