"""The signature of the cause of a failed replay: equal for all failures with one cause, whatever mission they stop.

It is built on the evidence of the explanation, strongest first: a response that changed, a request that failed, what is
different about the target of the action, what the page shows otherwise. Ids, times, numbers and hosts are replaced, so
that the price of one product and of another are one cause, and the name of a button stays what it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from eikon_engine.files.origins import split_url
from eikon_engine.files.text import read_digits, shorten
from eikon_engine.outcome.triage import CauseSignature
from eikon_engine.secrets.detection import looks_random

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.divergence import Candidate, Divergence, Evidence, Explanation
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.outcome.triage import Confidence, Subject

MAX_LENGTH: Final = 120
"""Characters of each part of a signature."""
_MAX_READ: Final = 4096
"""Characters of a text that its signature is made of; a page may put a megabyte in one line."""
_HOST: Final = re.compile(r"\b(?:https?|wss?)://[^\s/?#'\"<>]*", re.IGNORECASE)
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?"
    r"(?: ?[ap]\.?m\.?)?\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z0-9_-]{8,}")
_HEXADECIMAL: Final = re.compile(r"(?=[0-9a-f-]*[0-9])(?=[0-9a-f-]*[a-f])[0-9a-f-]{8,}", re.IGNORECASE)
_NUMBER: Final = re.compile(r"(?<![A-Za-z{])\d+(?:[.,]\d+)*(?![A-Za-z}])")
_INDEX: Final = re.compile(r"\[\d+\]")
_ANSWER: Final = re.compile(r"(?P<part>.*?): recorded (?P<recorded>.*), live (?P<live>.*)", re.DOTALL)
_ABSENT: Final = "(absent)"
_FIRST_CHANGE: Final = re.compile(
    r"^The DOM of page \d+ differs in [^:]+: (?P<kind>\w+)(?: .*?)? at (?P<path>.*?)(?: and \d+ more)?\.$"
)
_POSITION: Final = re.compile(r":nth\(\d+\)")
_REDIRECTED: Final = " -> "
"""Between the responses to a request for a document; what failed is the last one."""
_STATUS_OF_URL: Final = re.compile(r"(?P<url>\S+) \((?P<status>\d+)\)")
_WITH_ENDING: Final = re.compile(r"(?P<request>.*) with (?P<ending>.*)", re.DOTALL)
_ERROR: Final = 400
_COMPARED_PROPERTIES: Final = frozenset({"tag", "role", "name", "text"})
"""Properties of an element that say what it is; the others say where it is."""
_PATH_STEPS: Final = 2
"""How many elements at the end of a path tell a part of a page."""
_LIKELY_CANDIDATE: Final = 0.6
"""Score from which on an element probably is the recorded one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedFailure:
    """The cause of a failed replay."""

    signature: CauseSignature
    confidence: Confidence
    recorded: str
    """What changed, as it was recorded: shown, and no part of the signature."""
    observed: str


def sign(outcome: ReplayOutcome) -> SignedFailure:
    """Return the cause of a replay that is not faithful."""
    explanation = outcome.explanation
    first = next(iter(outcome.divergences), None)
    if explanation is None or first is None:
        reason = next(iter(outcome.reasons), outcome.ended_early or "no reason")
        failed = next((each for each in outcome.gates if each.passed is not True), None)
        if outcome.verdict == "faithful" and failed is not None:
            return _failure(_Part("run", f"gate {failed.gate}", failed.word), "unknown", "high", (failed.message, ""))
        return _failure(_Part("run", normalize_text(reason), outcome.verdict), "unknown", "low", (reason, ""))
    return _sign_divergence(explanation, first)


@dataclass(frozen=True, slots=True)
class _Part:
    kind: Subject
    subject: str
    change: str


def _failure(part: _Part, cause: str, confidence: Confidence, values: tuple[str, str]) -> SignedFailure:
    signature = CauseSignature.model_validate(
        {
            "cause": cause,
            "kind": part.kind,
            "subject": shorten(part.subject, MAX_LENGTH),
            "change": shorten(part.change, MAX_LENGTH),
        }
    )
    return SignedFailure(signature=signature, confidence=confidence, recorded=values[0], observed=values[1])


def _sign_divergence(explanation: Explanation, first: Divergence) -> SignedFailure:
    values = first.expected, first.observed
    if _REDIRECTED in first.observed and (failed := _failed_response(first)) is not None:
        return _failure(failed, explanation.cause, "high", values)
    answer = next((each for each in explanation.evidence if each.kind == "answer"), None)
    found = None if answer is None else _ANSWER.fullmatch(answer.text)
    if answer is not None and found is not None:
        return _failure(_answer_part(answer, found), explanation.cause, "high", (found["recorded"], found["live"]))
    if (failed := _failed_response(first)) is not None:
        return _failure(failed, explanation.cause, "high", values)
    candidate = next(iter(first.candidates or ()), None)
    if first.layer == "target" or candidate is not None:
        is_likely = candidate is not None and candidate.score >= _LIKELY_CANDIDATE
        return _failure(_target_part(first, candidate), explanation.cause, "high" if is_likely else "medium", values)
    return _failure(
        _other_part(first), explanation.cause, "low" if explanation.cause == "unknown" else "medium", values
    )


def _answer_part(answer: Evidence, found: re.Match[str]) -> _Part:
    """Return the part of a response that changed; a text of a document is identified by its content alone."""
    part, recorded, live = found["part"], found["recorded"], found["live"]
    if part == "status":
        return _Part("response", normalize_key(answer.title), f"status {live}")
    if part.startswith("body line"):
        return _Part("response", "text of a document", _pair(recorded, live))
    place = _INDEX.sub("[*]", part.removeprefix("body "))
    return _Part("response", f"{normalize_key(answer.title)}: {place}", _what_became(recorded, live))


def _what_became(recorded: str, live: str) -> str:
    if live == _ABSENT:
        return "gone"
    return "new" if recorded == _ABSENT else "another value"


def _failed_response(first: Divergence) -> _Part | None:
    """Return the request that failed, from a divergence about its status or error."""
    if first.code in {"response-failed", "resource-failed"}:
        found = _WITH_ENDING.fullmatch(first.observed)
        return None if found is None else _Part("response", normalize_key(found["request"]), found["ending"])
    end = first.observed.rpartition(_REDIRECTED)[2]
    loaded = _STATUS_OF_URL.fullmatch(end) if first.code == "status-changed" else None
    if loaded is None or read_digits(loaded["status"]) < _ERROR:
        return None
    return _Part("response", normalize_key(f"GET {loaded['url']}"), f"status {loaded['status']}")


def _target_part(first: Divergence, candidate: Candidate | None) -> _Part:
    """Return what is different about the target of an action, whatever locator found it."""
    subject = normalize_text(first.expected.partition(" at ")[0])
    differing = [
        f"{each.name} {_pair(each.recorded, each.observed)}"
        for each in (candidate.agreements if candidate is not None else ())
        if each.recorded != each.observed and (each.name in _COMPARED_PROPERTIES or each.name.startswith("attribute "))
    ]
    names = [each for each in differing if each.startswith(("name ", "text "))]
    return _Part("target", subject, (names or differing or [first.code])[0])


def _other_part(first: Divergence) -> _Part:
    match first.layer:
        case "network" | "lifecycle" if first.code.startswith("request-"):
            key = first.expected if first.code in {"request-missing", "request-changed"} else first.observed
            return _Part("request", normalize_key(key.split("\n", 1)[0]), first.code)
        case "dom" if (found := _FIRST_CHANGE.match(first.message)) is not None:
            steps = [_POSITION.sub("", each) for each in found["path"].split(" > ")]
            place = " > ".join(normalize_text(each) for each in steps[-_PATH_STEPS:])
            return _Part("page", f"{found['kind']} {place}", _pair(_line(first.expected), _line(first.observed)))
        case "skill":
            return _Part("skill", first.code, _pair(_line(first.expected), _line(first.observed)))
        case "environment":
            return _Part("environment", first.code, _pair(first.expected, first.observed))
        case _:
            return _Part("step", first.code, _pair(_line(first.expected), _line(first.observed)))


def _line(text: str) -> str:
    return text.split("\n", 1)[0]


def _pair(recorded: str, observed: str) -> str:
    """Describe a change by both texts; only that numbers differ, if nothing else does."""
    before, now = (shorten(normalize_text(each), MAX_LENGTH // 2 - 4) for each in (recorded, observed))
    return f"{before!r} with another number" if before == now else f"{before!r} -> {now!r}"


def normalize_text(text: str) -> str:
    """Return the start of a text in one line without hosts, ids, times and numbers.

    What is left may look like one of these only then (`A0-ABG0-0` without its number looks drawn at random), so the
    replacements are repeated until nothing changes. That ends: none adds digits, and those that keep them shorten.
    """
    words, before = text, None
    while words != before:
        words, before = _replace_once(words), words
    return words


def _replace_once(text: str) -> str:
    words = " ".join(text[:_MAX_READ].split())
    words = _TIME.sub("{time}", _HOST.sub("", words))
    words = _WORD.sub(lambda found: "{id}" if _is_id(found[0]) else found[0], words)
    return _NUMBER.sub("#", words)


def normalize_key(key: str) -> str:
    """Return the method and path of a request, with `{id}` for drawn segments and the names of its parameters."""
    method, _, rest = key.partition(" ")
    url = rest.split(" ", 1)[0]
    location = split_url(url)
    segments = ("{id}" if each.isdigit() or _is_id(each) else each for each in location.path.split("/"))
    names = sorted({name for name, _ in parse_qsl(location.query, keep_blank_values=True)})
    return f"{method} {'/'.join(segments)}{'?' + '&'.join(names) if names else ''}"


def _is_id(word: str) -> bool:
    return looks_random(word) or _HEXADECIMAL.fullmatch(word) is not None


def properties(outcome: ReplayOutcome, failure: SignedFailure) -> Iterator[tuple[str, str]]:
    """Yield the properties of a failed replay that others with the same cause may share, with their names."""
    yield "mission", outcome.mission_id
    yield "site", ", ".join(_sites(outcome))
    yield "recorded", shorten(" ".join(failure.recorded.split()), MAX_LENGTH)
    yield "observed", shorten(" ".join(failure.observed.split()), MAX_LENGTH)
    yield "network", outcome.network_mode
    yield "browser", outcome.browser
    yield "certificate", outcome.certified
    explanation = outcome.explanation
    yield "subgoal", explanation.subgoal_id if explanation is not None else ""


def _sites(outcome: ReplayOutcome) -> list[str]:
    """Return the hosts of the pages that the first steps showed."""
    for subgoal in outcome.subgoals:
        for step in subgoal.steps:
            if step.kind == "action" and step.observation is not None and step.observation.pages:
                return sorted({split_url(page.url).netloc for page in step.observation.pages})
    return []
