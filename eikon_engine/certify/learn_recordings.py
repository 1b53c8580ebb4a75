"""Learn which values a site changes from run to run, from two or more recordings, without replaying them.

Values that look drawn and have the same place in two responses to one request stand for each other. Wherever another
recording has such a value, it is rewritten to that of the first one; what differs then is compared as in several runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.certify.compare_runs import compare_action, recorded_outcome, remove_present_times
from eikon_engine.certify.money import is_about_money
from eikon_engine.certify.propose_masks import maskable_part, propose_typed_masks
from eikon_engine.certify.propose_rules import merge_rules, propose_number_rules
from eikon_engine.certify.runs import page_key
from eikon_engine.divergence.comparison import StepPosition
from eikon_engine.dom import render_plain_html
from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.network.drawn_values import differ_in_numbers
from eikon_engine.network.matching import Hit, Playback, RuleUsage
from eikon_engine.network.response_values import DrawnValues, comparable_text, header_lines, url_location
from eikon_engine.network.rule_learner import RuleLearner
from eikon_engine.network.store import read_network
from eikon_engine.network.varying_numbers import MIN_VALUES
from eikon_engine.network.websocket import SocketMessage
from eikon_engine.outcome.certification import CertificationFinding
from eikon_engine.outcome.learning import Learning, LearningReport
from eikon_engine.redact.export_bundle import copy_without_links
from eikon_engine.redact.rewrite_bundle import redact_bundle
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import RecordedStandIns, looks_like_stand_in
from eikon_engine.trace.base_urls import BaseUrlMap, build_redactor
from eikon_engine.trace.bundle import load_page, open_bundle
from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.labels import action_label, step_label
from eikon_engine.trace.masks import AttributePart, TextPart
from eikon_engine.trace.patch import AddMask, AddRule, TracePatch, apply_patch, render_patch
from eikon_engine.trace.trace_file import TRACE_FILE, find_trace_file, write_trace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.certify.compare_runs import ActionComparison
    from eikon_engine.certify.runs import PageKey
    from eikon_engine.dom import FrameSnapshot, PageSnapshot
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.divergence import Divergence, Layer
    from eikon_engine.outcome.learning import LearningStatus
    from eikon_engine.outcome.outcomes import NetworkMiss
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.masks import Mask

LEARNING_PASSES: Final = 3
"""How often the requests are matched: a rule that one response teaches may let another request match."""
MIN_RECORDINGS: Final = 2
COMPARED_LAYERS: Final[frozenset[Layer]] = frozenset({"target", "result", "value", "dom", "lifecycle"})
"""What recordings are compared in. Requests and storage depend on when an agent acted."""

SAME_URLS: Final = BaseUrlMap()


def learn_from_recordings(bundle: Bundle, *others: Bundle) -> Learning:
    """Return rules and masks for what recordings of one mission differ in; nothing is written.

    Raises:
        UsageError: they are recordings of different missions.
        TraceError: a recording is damaged.
    """
    for each in (bundle, *others):
        _require_certified(each)
    known = bundle.trace
    learner = RuleLearner(known.started_at.timestamp(), is_live=True)
    by_time = sorted(others, key=lambda each: each.trace.started_at)
    misses: list[tuple[NetworkMiss, ...]] = []
    with temporary_folder("learn") as folder:
        rewritten = []
        for number, other in enumerate(by_time):
            stand_ins = RecordedStandIns(each.stand_in for each in known.redaction.found)
            misses.append(_learn_values(bundle, other, learner, stand_ins))
            rewritten.append(_rewrite_like(bundle, other, folder / str(number), stand_ins))
        masks, differences, compared = _compare_pages(bundle, rewritten)
    known_rules = () if known.network is None else known.network.rules
    recorded_place = sum(each.trace.started_at < known.started_at for each in by_time)
    numbers = propose_number_rules(misses, (*known_rules, *learner.rules), recorded_place)
    rules = (*merge_rules(learner.rules), *numbers)
    patch = TracePatch(operations=(*(AddRule(rule=each) for each in rules), *(AddMask(mask=each) for each in masks)))
    steps = len(_actions(known))
    report = LearningReport(
        status=_status(patch, differences, steps - compared),
        mission_id=known.mission_id,
        trace_path=str(bundle.root),
        other_paths=tuple(str(other.root) for other in others),
        steps=compared,
        steps_without_baseline=steps - compared,
        patch=patch,
        diff=render_patch(known, patch),
        differences=differences,
    )
    return Learning(report=report, trace=apply_patch(known, patch))


def _status(patch: TracePatch, differences: tuple[CertificationFinding, ...], not_compared: int) -> LearningStatus:
    if differences:
        return "different"
    if not_compared:
        return "unverifiable"
    return "proposed" if patch.operations else "equal"


def _require_certified(bundle: Bundle) -> None:
    """Check that a recording has what is compared.

    Raises:
        RequirementError: it has no recorded network.
        UsageError: it has no baselines.
    """
    if bundle.trace.network is None:
        message = f"{bundle.root}: expected a recorded network, but the trace has none. Record the mission again."
        raise RequirementError(message, code="network-part-missing")
    if all(step.baseline is None for _, step in _actions(bundle.trace)):
        message = f"{bundle.root}: expected baselines to compare, but no action has one. Certify the bundle first."
        raise UsageError(message)


def accept_learning(bundle: Bundle, learning: Learning) -> LearningReport:
    """Write the proposed rules and masks, and return the updated report; a certificate becomes stale.

    Raises:
        UsageError: the recording was interrupted and has no `trace.json`.
        OutputError: the bundle cannot be written.
    """
    if not learning.report.patch.operations:
        return learning.report
    if find_trace_file(bundle.root).name != TRACE_FILE:
        message = f"{bundle.root}: the recording was interrupted and cannot be changed. Record the mission again."
        raise UsageError(message)
    write_trace(learning.trace, bundle.root / TRACE_FILE)
    return learning.report.model_copy(update={"accepted": True})


def require_same_mission(bundle: Bundle, other: Bundle, name: str) -> None:
    """Check that two recordings have the same actions and skills; `name` is that of the other one in messages.

    Raises:
        UsageError: they have not.
    """
    ours, theirs = (
        [step for subgoal in each.trace.subgoal_traces for step in subgoal.steps] for each in (bundle, other)
    )
    for number, (one, two) in enumerate(zip(ours, theirs, strict=False), start=1):
        if _instruction(one) != _instruction(two):
            message = (
                f"expected two recordings of one mission, but step {number} is {step_label(one)!r} in {bundle.root} "
                f"and {step_label(two)!r} in {name}"
            )
            raise UsageError(message)
    if len(ours) != len(theirs):
        message = (
            f"expected two recordings of one mission, but {bundle.root} has {len(ours)} steps and {name} has "
            f"{len(theirs)}"
        )
        raise UsageError(message)


def _instruction(step: ActionTrace | SkillUsage) -> JsonValue:
    """Return what a step does, without what it found or got."""
    if isinstance(step, SkillUsage):
        return {"skill": step.skill, "parameters": step.parameters}
    results = {"received", "times", "value"}
    given = {name: value for name, value in step.action.model_dump(mode="json").items() if name not in results}
    for name in given.keys() & {"target", "to"}:
        target = given[name]
        given[name] = target["selector"] if isinstance(target, dict) else target
    if isinstance(given.get("text"), str) and looks_like_stand_in(given["text"]):
        given["text"] = "secret"  # each recording has a stand-in of its own
    return {**given, "result": step.result.kind}


def _actions(trace: ExecutionTrace) -> list[tuple[StepPosition, ActionTrace]]:
    return [
        (StepPosition(subgoal=subgoal.id, subgoal_id=subgoal.subgoal_id, sequence=step.sequence), step)
        for subgoal in trace.subgoal_traces
        for step in sorted(subgoal.actions_taken, key=lambda each: each.sequence)
    ]


def _learn_values(
    bundle: Bundle, other: Bundle, learner: RuleLearner, stand_ins: RecordedStandIns
) -> tuple[NetworkMiss, ...]:
    """Pair the requests of two recordings, and learn the values that differ in them and in their responses.

    Return the requests of the other recording that have no partner then.
    """
    ours, theirs = map(_recording, (bundle, other))
    if ours is None or theirs is None or bundle.trace.network is None:
        return ()
    rules = bundle.trace.network.rules
    misses: list[NetworkMiss] = []
    for _ in range(LEARNING_PASSES):
        before = len(learner.rules)
        misses.clear()
        playback = Playback(ours.exchanges, read_body=ours.body, rules=(*rules, *learner.rules), learner=learner)
        known = (*rules, *learner.rules)
        drawn = DrawnValues(known, learner, playback.rule_use, stand_ins.substitute, ours.exchanges)
        for exchange in sorted(theirs.exchanges, key=lambda each: each.ordinal):
            misses += learn_exchange(exchange, (ours, theirs), playback, (drawn, stand_ins))
        if len(learner.rules) == before:
            break
    return tuple(misses)


def _recording(bundle: Bundle) -> NetworkRecording | None:
    network = bundle.trace.network
    return None if network is None else read_network(resolve_inside(bundle.root, network.folder, "network.folder"))


def learn_exchange(
    exchange: Exchange,
    recordings: tuple[NetworkRecording, NetworkRecording],
    playback: Playback,
    learned: tuple[DrawnValues, RecordedStandIns],
    urls: BaseUrlMap = SAME_URLS,
) -> tuple[NetworkMiss, ...]:
    """Learn from an exchange of the other recording; return it if no recorded request is its partner.

    `playback` matches it with one of the first recording, whose URLs `urls` map to those of the other.
    """
    ours, theirs = recordings
    drawn, stand_ins = learned
    as_ours, redactor = urls.to_old.replace_text, build_redactor({}, urls, stand_ins)
    request = exchange.request
    body = None if request.body is None else redactor.redact_bytes(theirs.body(request.body))
    headers = tuple((name, redactor.redact_text(value)) for name, value in request.headers)
    content_type = next((value for name, value in headers if name.lower() == "content-type"), None)
    match = playback.match(request.method, redactor.redact_text(request.url), body, content_type, headers)
    if not isinstance(match, Hit):
        return (match.to_network_miss(),)
    if exchange.response is None or match.exchange.response is None:
        return ()
    before, after = match.exchange.response, exchange.response
    pair = before.url, as_ours(after.url)
    stand_ins.learn(header_lines(before.url, before.headers), as_ours(header_lines(after.url, after.headers)))
    drawn.learn(pair, url_location(pair[0]), url_location(pair[1]), match.exchange)
    if before.body is not None and after.body is not None and before.body != after.body:
        texts = comparable_text(ours.body(before.body)), as_ours(comparable_text(theirs.body(after.body)))
        stand_ins.learn(*texts)
        drawn.learn(pair, *texts, match.exchange)
    return ()


def _rewrite_like(bundle: Bundle, other: Bundle, folder: Path, stand_ins: RecordedStandIns) -> Bundle:
    """Return a copy of another recording with the values of the first one where they stand for each other.

    Raises:
        UsageError: they are recordings of different missions.
    """
    rewritten = _rewrite(other, folder / "1", stand_ins)
    require_same_mission(bundle, rewritten, str(other.root))
    return (
        _rewrite(other, folder / "2", stand_ins) if _learn_values_of_pages(bundle, rewritten, stand_ins) else rewritten
    )


def _rewrite(other: Bundle, folder: Path, stand_ins: RecordedStandIns) -> Bundle:
    """Copy a recording, with the values that stand for others replaced by them."""
    copy_without_links(other.root, folder)
    redact_bundle(folder, Redactor({}, stand_ins), {})
    return open_bundle(folder)


def _learn_values_of_pages(bundle: Bundle, other: Bundle, stand_ins: RecordedStandIns) -> bool:
    """Let the values that pages drew stand for each other, too; return whether there are any.

    They need no rule: the random numbers of pages repeat in each replay of a recording. A value that occurs in a
    response is none of them.
    """
    traffic = tuple(_traffic(other))
    drawn: dict[str, str] = {}

    def note(values: Mapping[str, str], _urls: Collection[str]) -> None:
        for value, one in values.items():
            first = next((from_server for from_server, text in traffic if value in text), False)
            if not first:
                drawn[value] = one

    pages = DrawnValues((), RuleLearner(), RuleUsage(()), note)
    for (_, one), (_, two) in zip(_actions(bundle.trace), _actions(other.trace), strict=True):
        ours, theirs = dict(_frames(bundle, one)), dict(_frames(other, two))
        for frame in ours.keys() & theirs.keys():
            texts = render_plain_html(ours[frame]), render_plain_html(theirs[frame])
            pages.learn((ours[frame].url, theirs[frame].url), *texts)
    stand_ins.substitute(drawn)
    return bool(drawn)


def _traffic(bundle: Bundle) -> Iterator[tuple[bool, str]]:
    """Yield what pages and servers sent, in the order in which the pages did or got it; True for servers."""
    recording = _recording(bundle)
    if recording is None:
        return
    found: list[tuple[float, bool, str]] = []
    for exchange in recording.exchanges:
        request, response = exchange.request, exchange.response
        body = b"" if request.body is None else recording.body(request.body)
        found.append((exchange.started_ms, False, f"{request.url}\n{body.decode(errors='replace')}"))
        parts = [header_lines(each.url, each.headers) for each in exchange.hops]
        if response is not None:
            parts.append(header_lines(response.url, response.headers))
            parts += [] if response.body is None else [recording.body(response.body).decode(errors="replace")]
        found.append((exchange.completed_ms or exchange.started_ms, True, "\n".join(parts)))
    for event in recording.sockets:
        if isinstance(event, SocketMessage):
            text = event.text if event.body is None else recording.body(event.body).decode(errors="replace")
            found.append((event.moment.at_ms, event.sender == "server", text or ""))
    yield from ((from_server, text) for _, from_server, text in sorted(found, key=lambda each: each[:2]))


def _frames(bundle: Bundle, step: ActionTrace) -> Iterator[tuple[tuple[int, str], FrameSnapshot]]:
    for page in step.baseline.pages if step.baseline is not None else ():
        snapshot = load_page(bundle.dom, page)
        yield from (((page.page, each.path), each) for each in (snapshot.frames if snapshot is not None else ()))


def _compare_pages(
    bundle: Bundle, others: Sequence[Bundle]
) -> tuple[tuple[Mask, ...], tuple[CertificationFinding, ...], int]:
    """Return masks for what differs in the pages, what no mask covers, and the number of compared actions."""
    masks: list[Mask] = []
    findings: list[CertificationFinding] = []
    by_time = sorted((bundle, *others), key=lambda each: each.trace.started_at)
    places = [place for place, _ in _actions(bundle.trace)]
    steps = [[step for _, step in _actions(each.trace)] for each in by_time]
    compared = 0
    for place, *found in zip(places, *steps, strict=True):
        if any(step.baseline is None for step in found):
            continue
        compared += 1
        known = (*bundle.trace.masks, *masks)
        comparison = _compare(place, found, by_time, known)
        new = propose_typed_masks(comparison, known)
        masks.extend(new)
        if new:
            comparison = _compare(place, found, by_time, (*known, *new))
        findings.extend(_findings(place, found[0], comparison))
    return tuple(masks), tuple(findings), compared


def _compare(
    place: StepPosition, steps: Sequence[ActionTrace], bundles: Sequence[Bundle], masks: tuple[Mask, ...]
) -> ActionComparison:
    """Compare one action of several recordings, given by their time, like that of several runs."""
    snapshots = {
        key: snapshot for each, step in zip(bundles, steps, strict=True) for key, snapshot in _snapshots(each, step)
    }
    ends = [
        step.ended_at or step.started_at or each.trace.started_at for each, step in zip(bundles, steps, strict=True)
    ]
    adapt = remove_present_times(bundles[0].trace, bundles[0].trace.started_at, ends)
    return compare_action(place, steps[0], tuple(map(recorded_outcome, steps)), (masks, snapshots), adapt)


def _snapshots(bundle: Bundle, step: ActionTrace) -> Iterator[tuple[PageKey, PageSnapshot]]:
    for page in step.baseline.pages if step.baseline is not None else ():
        snapshot = load_page(bundle.dom, page)
        if snapshot is not None:
            yield page_key(page), snapshot


def _findings(place: StepPosition, step: ActionTrace, compared: ActionComparison) -> Iterator[CertificationFinding]:
    """Yield the differences that no mask covers; those of a document one by one, if snapshots show them."""
    recordings = len(compared.outcomes)
    changes = {change.change.key[:4]: change for change in reversed(compared.dom_changes)}
    for each in compared.unstable:
        if each.layer == "dom" and changes:
            for page_change in reversed(changes.values()):
                change = page_change.change
                where = " ".join(filter(None, (change.kind, change.name, "at", change.frame, change.path)))
                may_vary = isinstance(maskable_part(change), TextPart | AttributePart) and not page_change.is_money
                values = _both_values(change.expected, change.observed, recordings, may_vary=may_vary)
                yield _finding(place, step, each, f"{where}: {values}", recordings)
        elif each.layer in COMPARED_LAYERS:
            may_vary = each.code == "title-changed" and not is_about_money(each.expected)
            values = _both_values(each.expected, each.observed, recordings, may_vary=may_vary)
            yield _finding(place, step, each, f"{each.message} {values}", recordings)


def _both_values(one: str, other: str, recordings: int, *, may_vary: bool) -> str:
    """Show two different values, and if one more may tell their type, how to get it."""
    text = f"{one!r} in one recording, {other!r} in {'the other' if recordings == MIN_RECORDINGS else 'another'}"
    if may_vary and recordings < MIN_VALUES and differ_in_numbers(one, other):
        text += (
            f". {recordings} values do not tell a counter from a change: "
            f"record the mission again, and learn from {MIN_VALUES} recordings"
        )
    return text


def _finding(
    place: StepPosition, step: ActionTrace, difference: Divergence, message: str, recordings: int
) -> CertificationFinding:
    return CertificationFinding(
        kind="unstable",
        subgoal=place.subgoal,
        sequence=place.sequence,
        step=action_label(step.action),
        layer=difference.layer,
        code=difference.code,
        runs=recordings,
        message=message,
    )
