"""Group failed replays by the signatures of their causes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.next_step import next_step
from eikon_engine.outcome.triage import (
    UNKNOWN_GROUP,
    CauseSignature,
    SharedProperty,
    Triage,
    TriagedRun,
    TriageGroup,
    TriageSuggestion,
    UnreadableOutcome,
    ValueCount,
    VaryingProperty,
)
from eikon_engine.triage.known_causes import KnownCauses
from eikon_engine.triage.signature import properties, sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.outcome.triage import Confidence, KnownCause
    from eikon_engine.triage.signature import SignedFailure

SHOWN_VALUES: Final = 5
"""Values of a varying property that are listed."""
MIN_PART: Final = 2
"""Runs of a part of a group from which on it may be a group of its own."""
MAX_PARTS: Final = 5
"""Parts above which a property merely varies."""
_SPLITTING: Final = ("observed", "recorded", "site")
"""Properties that may tell two causes apart."""
_CONFIDENCES: Final[tuple[Confidence, ...]] = ("low", "medium", "high")
_UNKNOWN_SIGNATURE: Final = CauseSignature(cause="unknown", kind="unknown", subject="no known cause", change="")


@dataclass(slots=True)
class _Group:
    """The runs of a group so far."""

    runs: list[tuple[TriagedRun, SignedFailure, str]] = field(default_factory=list)
    """Each with what would settle its cause."""
    properties: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


class TriageBuilder:
    """Collects outcomes one after the other; of each, only what the groups need is kept."""

    def __init__(self, known_causes: KnownCauses | None = None) -> None:
        """Start without outcomes."""
        self._known_causes = known_causes or KnownCauses()
        self._groups: dict[str, _Group] = {}
        self._signatures: dict[str, CauseSignature] = {}
        self._missions: Counter[str] = Counter()
        self._faithful = 0
        self._unreadable: list[UnreadableOutcome] = []
        self._expired: dict[str, KnownCause] = {}

    def add(self, path: str, outcome: ReplayOutcome, folder: Path) -> None:
        """Add an outcome, by the name that reports show; `folder` has its artifacts, and may be in its next step."""
        self._missions[outcome.mission_id] += 1
        if outcome.exit_status == 0:
            self._faithful += 1
            return
        failure = sign(outcome)
        signature, explanation = failure.signature, outcome.explanation
        is_unknown = signature.cause == "unknown" and signature.kind != "run"
        name = UNKNOWN_GROUP if is_unknown else signature.id
        self._signatures[name] = _UNKNOWN_SIGNATURE if is_unknown else signature
        group = self._groups.setdefault(name, _Group())
        run = TriagedRun(
            path=path,
            mission_id=outcome.mission_id,
            verdict=outcome.verdict,
            subgoal="" if explanation is None else explanation.subgoal_id,
            step=_first_step(outcome),
            sentence=_sentence(outcome),
            started_at=outcome.started_at,
            consequences=0 if explanation is None else len(explanation.consequences),
            next_step=next_step(outcome, folder),
        )
        group.runs.append((run, failure, "" if explanation is None else explanation.settle))
        for key, value in properties(outcome, failure):
            group.properties[key][value] += 1

    def add_unreadable(self, path: str, why: str) -> None:
        """Note a file that could not be read."""
        self._unreadable.append(UnreadableOutcome(path=path, why=why))

    def build(self) -> Triage:
        """Return the groups, the largest first, and those of the same size in the order of their ids."""
        groups = [self._build_group(name, group) for name, group in self._groups.items()]
        groups.sort(key=lambda each: (-len(each.runs), each.id))
        return Triage(
            outcomes=self._missions.total(),
            faithful=self._faithful,
            missions=len(self._missions),
            groups=tuple(groups),
            suggestions=(*_merges(groups), *self._splits(groups)),
            unreadable=tuple(sorted(self._unreadable, key=lambda each: each.path)),
            expired=tuple(self._expired[name] for name in sorted(self._expired)),
        )

    def _build_group(self, name: str, group: _Group) -> TriageGroup:
        found = sorted(group.runs, key=lambda each: (each[0].started_at, each[0].path))
        runs = tuple(run for run, _, _ in found)
        settle = Counter(text for _, _, text in found if text)
        signature = self._signatures[name]
        confidence = min((failure.confidence for _, failure, _ in found), key=_CONFIDENCES.index)
        shared, varying = _compare_properties(group)
        return TriageGroup(
            id=name,
            signature=signature,
            confidence="low" if name == UNKNOWN_GROUP else confidence,
            settle="" if not settle else min(settle, key=lambda text: (-settle[text], text)),
            representative=_representative(runs),
            runs=runs,
            missions=_counted(Counter(run.mission_id for run in runs)),
            subgoals=_counted(Counter(run.subgoal for run in runs if run.subgoal)),
            first_seen=runs[0].started_at,
            last_seen=max(run.started_at for run in runs),
            share=len({run.mission_id for run in runs}) / len(self._missions),
            consequences=sum(run.consequences for run in runs),
            shared=shared,
            varying=varying,
            known=None if name == UNKNOWN_GROUP else self._find_known(signature),
        )

    def _find_known(self, signature: CauseSignature) -> KnownCause | None:
        rule = self._known_causes.find(signature)
        if rule is None:
            return None
        if self._known_causes.is_over(rule):
            self._expired[rule.name] = rule.to_known_cause()
            return None
        return rule.to_known_cause()

    def _splits(self, groups: Sequence[TriageGroup]) -> Iterator[TriageSuggestion]:
        """Yield the groups whose runs fall into a few parts."""
        for group in groups:
            if group.id == UNKNOWN_GROUP:
                parts = Counter(str(failure.signature) for _, failure, _ in self._groups[UNKNOWN_GROUP].runs)
                for text, runs in parts.most_common(MAX_PARTS):
                    if MIN_PART <= runs < len(group.runs):
                        yield TriageSuggestion(
                            kind="split", groups=(group.id,), why=f"{runs} runs have in common: {text}"
                        )
                continue
            for name in _SPLITTING:
                values = self._groups[group.id].properties[name]
                if 1 < len(values) <= MAX_PARTS and min(values.values()) >= MIN_PART:
                    shown = ", ".join(f"{value!r} ({runs})" for value, runs in values.most_common())
                    yield TriageSuggestion(kind="split", groups=(group.id,), why=f"{name} has few values: {shown}")
                    break


def triage(outcomes: Iterable[tuple[str, ReplayOutcome]], known_causes: KnownCauses | None = None) -> Triage:
    """Group outcomes, each given with the name that reports show, by the causes of their failures."""
    builder = TriageBuilder(known_causes)
    for path, outcome in outcomes:
        builder.add(path, outcome, Path(path).parent)
    return builder.build()


def _first_step(outcome: ReplayOutcome) -> str:
    for subgoal in outcome.subgoals:
        for step in subgoal.steps:
            if step.divergences:
                return step.label if step.kind == "action" else f"skill {step.skill}"
    return next(iter(outcome.reasons), outcome.ended_early or "")


def _sentence(outcome: ReplayOutcome) -> str:
    if outcome.explanation is not None:
        return outcome.explanation.sentence
    return next(iter(outcome.reasons), outcome.verdict)


def _representative(runs: Sequence[TriagedRun]) -> str:
    """Return the run to look at first: of the mission with most runs, the one with the fewest consequences."""
    missions = Counter(run.mission_id for run in runs)
    return min(runs, key=lambda run: (-missions[run.mission_id], run.consequences, run.started_at, run.path)).path


def _compare_properties(group: _Group) -> tuple[tuple[SharedProperty, ...], tuple[VaryingProperty, ...]]:
    shared, varying = list[SharedProperty](), list[VaryingProperty]()
    for name, values in group.properties.items():
        if len(values) > 1:
            varying.append(VaryingProperty(name=name, values=_counted(values)[:SHOWN_VALUES], distinct=len(values)))
        elif value := next(iter(values)):
            shared.append(SharedProperty(name=name, value=value))
    return tuple(shared), tuple(varying)


def _counted(values: Counter[str]) -> tuple[ValueCount, ...]:
    """Return values with their numbers, the most frequent first, and equally frequent ones in order."""
    return tuple(
        ValueCount(value=value, runs=runs)
        for value, runs in sorted(values.items(), key=lambda each: (-each[1], each[0]))
    )


def _merges(groups: Sequence[TriageGroup]) -> Iterator[TriageSuggestion]:
    """Yield groups with one request, or with one change of different elements."""
    by_request: defaultdict[str, list[str]] = defaultdict(list)
    by_change: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for group in groups:
        signature = group.signature
        if signature.kind in {"response", "request"} and " /" in signature.subject:
            by_request[signature.subject.partition(": ")[0]].append(group.id)
        elif signature.kind in {"target", "page", "step"} and "->" in signature.change:
            by_change[signature.kind, signature.change].append(group.id)
    for request, names in by_request.items():
        if len(names) > 1:
            yield TriageSuggestion(kind="merge", groups=tuple(names), why=f"all are about {request}")
    for (_, change), names in by_change.items():
        if len(names) > 1:
            yield TriageSuggestion(kind="merge", groups=tuple(names), why=f"all changed alike: {change}")
