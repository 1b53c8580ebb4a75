"""Explain the first divergence of a replay: one sentence, the cause, the evidence and the consequences."""

from __future__ import annotations

import re
from http import HTTPStatus
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.divergence.causes import (
    CERTIFY_TO_SETTLE,
    DivergenceCase,
    classify_cause,
    is_login_document,
    says_how_it_ended,
)
from eikon_engine.divergence.masks import without_masked_evidence
from eikon_engine.divergence.related_responses import describe_change, find_related_changes
from eikon_engine.network.keys import readable_key
from eikon_engine.outcome.divergence import Consequence, Evidence, Explanation
from eikon_engine.trace.actions import SecretRef
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.divergence.causes import CauseAssessment
    from eikon_engine.outcome.divergence import Cause, Divergence, Refusal
    from eikon_engine.outcome.outcomes import (
        NetworkMode,
        NetworkOutcome,
        ResponseChange,
        StepOutcome,
        SubgoalOutcome,
        ValueChange,
    )
    from eikon_engine.trace.certificate import LastCertification
    from eikon_engine.trace.execution import Artifact, ExecutionTrace
    from eikon_engine.trace.masks import Mask
    from eikon_engine.trace.observation import Observation

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
_REFUSALS: Final[dict[Refusal, str]] = {
    "sign-in": "The site refused the sign-in",
    "address": "An address of the site is gone",
}
"""The start of the sentence, if the cause is that the site refused something."""
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
        sentence=f"{_opening(judged)}: {place} {describe_divergence(first)}.",
        why=_without_digests(judged.why),
        settle=judged.settle,
        refusal=judged.refusal,
        evidence=tuple(_evidence(case, artifacts)),
        consequences=consequences,
    )


def _opening(judged: CauseAssessment) -> str:
    return _REFUSALS[judged.refusal] if judged.refusal else _OPENINGS[judged.cause]


def after_certification(explanation: Explanation, last: LastCertification) -> Explanation:
    """Return the explanation of a replay of a bundle whose certification failed: to certify it would show no more."""
    if explanation.settle != CERTIFY_TO_SETTLE:
        return explanation
    settle = last.next_step
    if last.status != "proposed":
        settle = f"its certification failed, too ({last.reason}): record the mission again"
    return explanation.model_copy(update={"settle": settle})


def describe_divergence(first: Divergence) -> str:
    """Describe the divergence as the end of a sentence."""
    expected, observed = _shorten_both(first)
    if first.code == "dom-changed" and (found := _FIRST_CHANGE.search(first.message)) is not None:
        change = _describe_page_change(found[1], expected, observed)
        if change is not None:
            return change
    match first.code:
        case "response-failed" | "resource-failed":
            request, _, ending = expected.rpartition(" with ")
            return f"{request} ended with {observed.rpartition(' with ')[2]} instead of {ending}"
        case "status-changed" if (
            (before := _LOADED.fullmatch(expected)) and (now := _LOADED.fullmatch(observed)) and before[1] == now[1]
        ):
            return f"{now[1]} returned status {now[2]} instead of {before[2]}"
    template = _TEMPLATES.get(first.code)
    return template.format(expected=expected, observed=observed) if template else _lower_first(first.message)


def _describe_page_change(kind: str, expected: str, observed: str) -> str | None:
    """Describe the first change of a page by its kind; None for an attribute or a state."""
    match kind:
        case "added":
            return f"the page showed {_quoted(observed)}, which the recording does not have"
        case "removed":
            return f"the page no longer showed {_quoted(expected)}"
        case "text" | "replaced":
            return f"the page showed {_quoted(observed)} instead of {_quoted(expected)}"
        case "moved" if (before := _MOVED.fullmatch(expected)) and (now := _MOVED.fullmatch(observed)):
            return (
                f"the page showed {_quoted(now['what'])} as {now['place']} of its parent instead of {before['place']}"
            )
    return None


_FIRST_CHANGE: Final = re.compile(r"^The DOM of page \d+ differs in [^:]+: (\w+) at ")
"""Kind of the first change, in the message of a DOM divergence."""
_LOADED: Final = re.compile(r"(\S+) \((\d+)\)")
"""A document that was loaded without redirects."""
_MOVED: Final = re.compile(r"(?P<what>.*) as (?P<place>child \d+)")
"""One side of a moved element."""
_TEMPLATES: Final = {
    "target-missing": "{expected} is not on the page",
    "target-ambiguous": "more than one element matches {expected}",
    "target-changed": "{expected} is now a different element",
    "target-not-actionable": "{expected} is on the page but cannot be used",
    "request-not-recorded": "the page sent a request that is not in the recording: {observed}",
    "request-changed": "the page sent {observed} instead of {expected}",
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
    "read-changed": "it returned {observed} instead of {expected}",
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
    for change, value in islice(_telling_values(case), _MAX_EVIDENCE):
        yield Evidence(kind="answer", title=_describe_request(case, change), text=str(value))
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


def _telling_values(case: DivergenceCase) -> Iterator[tuple[ResponseChange, ValueChange]]:
    """Yield the changed values that the divergence names, and how the same responses ended.

    What else differs in them, such as what a mask hides on the page, shows nothing of the cause.
    """
    here = (case.first.subgoal, case.first.sequence)
    for change, value in case.changed_values:
        if describe_change(change, value, here) in case.first.because or says_how_it_ended(value):
            yield change, value


def _describe_request(case: DivergenceCase, change: ResponseChange) -> str:
    """Describe a request; of one that was redirected to a document, also the request whose response is compared."""
    request = readable_key(change.key)
    method, url = request.split(" ")[:2]
    is_here = (change.subgoal, change.sequence) == (case.first.subgoal, case.first.sequence)
    for load in case.observed.documents if case.observed is not None and is_here else ():
        hops = {hop.url.partition("#")[0]: hop.status for hop in load.hops}
        if url in hops:
            keeps_method = method == "HEAD" or set(hops.values()) <= _SAME_METHOD
            return f"{method if keeps_method else 'GET'} {load.url}, where {request} was redirected to"
    return request


_SAME_METHOD: Final = frozenset({HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT})
"""Redirects after which a browser sends the same method again; after others it sends GET."""


def _new_errors(case: DivergenceCase) -> list[str]:
    if case.observed is None:
        return []
    recorded = case.recorded
    known = () if recorded is None else (*recorded.console_errors, *recorded.page_errors)
    return [line for line in (*case.observed.page_errors, *case.observed.console_errors) if line not in known]


def _shorten_both(first: Divergence) -> tuple[str, str]:
    """Reduce both values to one line, of page texts and outputs the first that differs, without digests and codes."""
    pairs = list(zip_longest(first.expected.split("\n"), first.observed.split("\n"), fillvalue=_NO_LINE))
    shown = [(_shorten(before), _shorten(after)) for before, after in pairs]
    if first.code not in _MULTILINE_CODES:
        return shown[0]
    expected, observed = next((pair for pair in shown if pair[0] != pair[1]), shown[0])
    return expected or _EMPTY_LINE, observed or _EMPTY_LINE


_NO_LINE: Final = "no further line"
_EMPTY_LINE: Final = "an empty line"
_DESCRIPTIONS: Final = frozenset({_NO_LINE, _EMPTY_LINE, "nothing", "(empty)"})
"""What stands for an absent text."""


def _quoted(text: str) -> str:
    """Return a text of a page in quotation marks, so that it does not run into the sentence."""
    return text if text in _DESCRIPTIONS else f"'{text}'"


_MULTILINE_CODES: Final = ("dom-changed", "skill-output-changed")


def _shorten(line: str) -> str:
    return re.sub(r"^target-[a-z-]+: ", "", _without_digests(line)).strip()


def _without_digests(text: str) -> str:
    """Return a text without the digests of bodies and long values, from which a person learns nothing."""
    return re.sub(r"(?: ?sha256:|, SHA-256 )[0-9a-f…]+", "", text)


def _lower_first(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")


_StepKey: TypeAlias = "tuple[str, int]"
"""Subgoal attempt and sequence."""


def explain_first_divergence(  # noqa: PLR0913 - what is known about a run
    trace: ExecutionTrace,
    subgoals: tuple[SubgoalOutcome, ...],
    network: NetworkOutcome,
    network_mode: NetworkMode,
    possible_causes: tuple[str, ...] = (),
    *,
    is_answered_by_other: bool = False,
    is_possible_cause_unlikely: bool = False,
    is_other_playwright: bool = False,
    has_start_storage: bool = False,
    masks: tuple[Mask, ...] = (),
) -> Explanation | None:
    """Explain the first divergence; None if there is none.

    `network` must not contain masked requests; `has_start_storage` is whether the mission started with cookies or
    stored items. What `masks` cover explains nothing.
    """
    done = [(subgoal, step) for subgoal in subgoals for step in subgoal.steps]
    place = next((place for place, (_, step) in enumerate(done) if step.divergences), None)
    if place is None:
        return None
    subgoal, step = done[place]
    so_far = {(each.id, other.sequence) for each, other in done[: place + 1]} | {("", 0)}
    before, recorded = _recorded_observations(trace, (subgoal.id, step.sequence))
    observed = step.observation if step.kind == "action" else None
    first, here = step.divergences[0], (subgoal.id, step.sequence)
    changes = tuple(each for each in network.response_changes if (each.subgoal, each.sequence) in so_far)
    case = DivergenceCase(
        first=first,
        other_divergences=step.divergences[1:],
        before=before,
        recorded=None if recorded is None else without_masked_evidence(recorded, masks),
        observed=None if observed is None else without_masked_evidence(observed, masks),
        changes=changes,
        related_changes=find_related_changes(first, changes, here),
        network_mode=network_mode,
        is_answered_by_other=is_answered_by_other,
        is_before_sign_in=not (has_start_storage or _may_be_signed_in(trace, here)),
        possible_cause=next(iter(possible_causes), None),
        is_possible_cause_unlikely=is_possible_cause_unlikely,
        is_other_playwright=is_other_playwright,
    )
    return explain_divergence(case, _label(step), step.artifacts, tuple(_consequences(step, done[place + 1 :])))


def _recorded_observations(trace: ExecutionTrace, place: _StepKey) -> tuple[Observation | None, Observation | None]:
    """Return the last recorded observation before a step, and the one after it."""
    before: Observation | None = None
    for subgoal in trace.subgoal_traces:
        for step in subgoal.steps:
            seen = step.observation if isinstance(step, ActionTrace) else None
            if (subgoal.id, step.sequence) == place:
                return before, seen
            before = seen or before
    return before, None


def _may_be_signed_in(trace: ExecutionTrace, place: _StepKey) -> bool:
    """Return whether the mission may have signed in before a step: with a secret, or on a login page.

    The step that follows the secret submits it, so it is still before the sign-in.
    """
    entered = 0
    for subgoal in trace.subgoal_traces:
        for step in subgoal.steps:
            if (subgoal.id, step.sequence) == place or entered > 1:
                return entered > 1
            if isinstance(step, ActionTrace) and (entered or _enters_session(step)):
                entered += 1
    return entered > 1


def _enters_session(step: ActionTrace) -> bool:
    """Return whether an action types a secret, or loads a login page."""
    loads = () if step.observation is None else step.observation.documents
    return isinstance(getattr(step.action, "text", None), SecretRef) or any(
        is_login_document(load.url) for load in loads
    )


def _consequences(first: StepOutcome, later: list[tuple[SubgoalOutcome, StepOutcome]]) -> Iterator[Consequence]:
    """Yield the steps that depend on the first one, then all others that diverged after it."""
    expected = first.dependents if first.kind == "action" else ()
    diverged = {(subgoal.id, step.sequence): (subgoal, step) for subgoal, step in later if step.divergences}
    for each in expected:
        yield each.model_copy(update={"diverged": diverged.pop((each.subgoal, each.sequence), None) is not None})
    for subgoal, step in diverged.values():
        found = step.divergences[0]
        yield Consequence(
            subgoal=subgoal.id,
            subgoal_id=subgoal.subgoal_id,
            sequence=step.sequence,
            label=_label(step),
            why=f"it diverged later: {found.message}",
            diverged=True,
        )


def _label(step: StepOutcome) -> str:
    return step.label if step.kind == "action" else f"skill {step.skill}"
