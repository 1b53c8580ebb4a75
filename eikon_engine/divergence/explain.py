"""Explain the first divergence of a replay: one sentence, its cause, the evidence, and what follows from it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.causes import judge
from eikon_engine.outcome.explanation import Evidence, Explanation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.divergence.causes import Case
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.explanation import Cause, Consequence
    from eikon_engine.trace.execution import Artifact

_CAUSES: Final[dict[Cause, str]] = {
    "site-changed": "The site has changed",
    "site-error": "The site answered with an error",
    "network": "The network failed",
    "timing": "The site took longer than when it was recorded",
    "session-expired": "The session is not logged in any more",
    "test-data": "The site has other data than when it was recorded",
    "environment": "The replay runs in another environment",
    "skill-changed": "A skill works otherwise than when it was recorded",
    "trace-invalid": "The trace does not fit its own recording",
    "unknown": "Why is not known",
}
"""The class of a cause, as a sentence begins."""
_TOLD: Final = 5
"""Values of answers, and console lines, that are shown."""


def explain(
    case: Case, label: str, artifacts: Sequence[Artifact] = (), consequences: tuple[Consequence, ...] = ()
) -> Explanation:
    """Explain the first step that diverged; `label` says what it does."""
    judged = judge(case)
    first = case.first
    place = f"at step {first.sequence} of {first.subgoal_id}, {label},"
    return Explanation(
        subgoal=first.subgoal,
        subgoal_id=first.subgoal_id,
        sequence=first.sequence,
        code=first.code,
        cause=judged.cause,
        sentence=f"{_CAUSES[judged.cause]}: {place} {happened(first)}.",
        why=judged.why,
        settle=judged.settle,
        evidence=tuple(_evidence(case, artifacts)),
        consequences=consequences,
    )


def happened(first: Divergence) -> str:
    """Say what was seen, as the end of a sentence."""
    expected, observed = _short(first.expected), _short(first.observed)
    said = _WORDS.get(first.code)
    return said.format(expected=expected, observed=observed) if said else _lowered(first.message)


_WORDS: Final = {
    "target-missing": "{expected} was not on the page",
    "target-ambiguous": "more than one element is what {expected} was alone",
    "target-changed": "{expected} is not the element that it was",
    "target-not-actionable": "{expected} is there but cannot be used",
    "request-not-recorded": "the page asked for something that was not recorded: {observed}",
    "request-missing": "the page did not send {expected}",
    "request-unexpected": "the page sent {observed}, which it did not when it was recorded",
    "document-missing": "where {expected} was loaded, there was {observed}",
    "document-unexpected": "{observed} was loaded, where no page was when it was recorded",
    "document-changed": "{observed} was loaded instead of {expected}",
    "redirects-changed": "the way led by {observed} instead of {expected}",
    "status-changed": "{observed} came instead of {expected}",
    "url-changed": "the page is at {observed} instead of {expected}",
    "title-changed": "the page is called '{observed}' instead of '{expected}'",
    "dialog-missing": "no dialog came, where there was {expected}",
    "dialog-unexpected": "a dialog came that was not recorded: {observed}",
    "dialog-changed": "the dialog was {observed} instead of {expected}",
    "download-missing": "nothing was downloaded, where there was {expected}",
    "download-unexpected": "{observed} was downloaded, which it was not when it was recorded",
    "download-changed": "the download was {observed} instead of {expected}",
    "value-changed": "{expected} was expected in the field, and {observed} was there",
    "dom-changed": "the page showed {observed} instead of {expected}",
    "unexpected-success": "the action succeeded, though it had failed when it was recorded",
    "skill-output-changed": "it returned {observed} instead of {expected}",
    "environment-changed": "{observed} stands for {expected}",
}
"""What happened, by code; the other codes tell it in their message."""


def _evidence(case: Case, artifacts: Sequence[Artifact]) -> Iterator[Evidence]:
    first = case.first
    values = f"expected {first.expected}\nobserved {first.observed}"
    yield Evidence(kind="values", title="Expected and observed", text=values)
    for change, value in islice(case.values, _TOLD):
        yield Evidence(kind="answer", title=change.key, text=str(value))
    if first.detail:
        yield Evidence(kind="difference", title="Difference", text=first.detail)
    for candidate in first.candidates or ():
        yield Evidence(kind="candidate", title="Did you mean", text=str(candidate))
    if first.candidates == ():
        yield Evidence(kind="candidate", title="Did you mean", text="no plausible candidate")
    for line in _new_errors(case)[:_TOLD]:
        yield Evidence(kind="console", title="New in the console", text=line)
    for artifact in artifacts:
        yield Evidence(kind="file", title=artifact.name, text=artifact.path)


def _new_errors(case: Case) -> list[str]:
    if case.observed is None:
        return []
    recorded = case.recorded
    known = () if recorded is None else (*recorded.console_errors, *recorded.page_errors)
    return [line for line in (*case.observed.page_errors, *case.observed.console_errors) if line not in known]


def _short(text: str) -> str:
    """Leave out what only a program needs: digests, and all but the first line."""
    line = re.sub(r"(?: ?sha256:|, SHA-256 )[0-9a-f…]+", "", text.split("\n", 1)[0])
    return re.sub(r"^target-[a-z-]+: ", "", line).strip()


def _lowered(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")
