"""Proposals for disagreements of simulated runs."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.certify.certify import certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.certify.propose_rules import propose_number_rules, propose_rules
from eikon_engine.certify.runs import ReplayedRun
from eikon_engine.dom import PageSnapshot
from eikon_engine.errors import UsageError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.matching import Hit, Miss, Playback
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.outcome.certification import Certification
from eikon_engine.outcome.outcomes import (
    DifferingPart,
    HermeticityViolation,
    NetworkMiss,
    NetworkOutcome,
    RequestDifference,
)
from eikon_engine.replay.collect import escape_reasons
from eikon_engine.report.certification import render_certification
from eikon_engine.trace.bundle import Bundle, open_bundle
from eikon_engine.trace.execution import ExecutionTrace
from eikon_engine.trace.masks import ConsoleErrorPart, TextPart, TitlePart
from eikon_engine.trace.patch import AddMask, AddRule, SetObservation, SetPageTime
from eikon_engine.trace.rules import (
    FormFieldRule,
    HeaderRule,
    JsonPathRule,
    QueryKeyRule,
    TimestampRule,
    VolatileRule,
    matches_pattern,
)
from tests.certify.rehearsal import NOW, Stage, page_of
from tests.network.factories import make_exchange

pytestmark = pytest.mark.browser

KEY = "POST http://shop.test/api?_=1 sha256:00"


def rehearse(stage: Stage, *, runs: int = 3, doublings: int = 3) -> Certification:
    """Certify a simulated mission."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage.record(folder, BlobStore(folder / "dom"))
        options = CertifyOptions(runs=runs, doublings=doublings, now=lambda: NOW)
        return asyncio.run(certify(open_bundle(folder), options, stage))


differs = RequestDifference.shortened


def miss(*differences: RequestDifference, key: str = KEY, more: int = 0) -> NetworkMiss:
    """Return a miss with a nearest request."""
    return NetworkMiss(
        key="POST x", reason="it was not recorded", nearest=key, differences=differences, more_differences=more
    )


def test_equal_runs_need_nothing() -> None:
    """Runs that equal each other and the recording are certified after one round."""
    report = rehearse(Stage(lambda _run, _budget: page_of("a"))).report

    assert (report.status, report.rounds, report.patch.operations) == ("certified", 1, ())
    assert report.certificate is not None
    assert len(report.certificate.actions) == 1


def test_runs_from_which_something_escaped_are_not_certified() -> None:
    """Equal runs with requests that left the sealed session prove nothing; the finding lists these requests."""
    escaped = HermeticityViolation(kind="page", method="CONNECT", target="shop.test:443")
    own = HermeticityViolation(kind="browser", method="GET", target="http://update.test/")

    report = rehearse(Stage(lambda _run, _budget: page_of("a"), violations=(escaped, own))).report

    assert (report.status, report.rounds, report.certificate) == ("unverifiable", 1, None)
    (finding,) = report.findings
    assert (finding.runs, finding.subgoal) == (3, "")
    assert finding.message.startswith("CONNECT shop.test:443 bypassed the recorded network")
    assert "unverifiable at the whole run: cannot be compared" in render_certification(report)


def test_late_misses_are_reported_beside_escaped_requests() -> None:
    """An escaped request is reported once, together with all other findings."""
    escaped = HermeticityViolation(kind="page", method="CONNECT", target="shop.test:443")
    late = "GET http://shop.test/late: it was not recorded; it was blocked after the last action was compared"
    reasons = (late, *escape_reasons(NetworkOutcome(violations=(escaped,)), "sealed"))

    report = rehearse(Stage(lambda _run, _budget: page_of("a"), violations=(escaped,), reasons=reasons)).report

    first, second = report.findings
    assert first.message.startswith("CONNECT shop.test:443 bypassed the recorded network")
    assert second.message == late


@pytest.mark.parametrize("body", ["saved {} by us", '{{"at":"{}","n":1}}'])
def test_a_body_that_differs_in_times_alone_gets_a_timestamp_rule(body: str, tmp_path: Path) -> None:
    """The miss is explained by a timestamp, and the proposed rule makes the request match."""
    recorded, now = (body.format(time).encode() for time in ("2025-03-14T09:30:00Z", "2026-01-01 10:00:07.25+01:00"))
    headers = (("content-type", "application/json" if body.startswith("{") else "text/plain"),)
    url = "http://shop.test/save"
    with NetworkWriter(tmp_path) as writer:
        sent = {"sent": recorded, "request_body": writer.write_blob(recorded)}
        writer.append(make_exchange(url, method="POST", headers=headers, **sent))  # type: ignore[arg-type] # as named
    recording = read_network(tmp_path)
    asked = ("POST", url, now, headers[0][1], headers)

    missed = Playback(recording.exchanges, read_body=recording.body).match(*asked)
    assert isinstance(missed, Miss)
    assert missed.nearest is not None
    found = miss(*missed.nearest.differences, key=missed.nearest.exchange.key)
    rules = propose_rules([(found,)], ())

    assert [(type(rule), rule.url, rule.method) for rule in rules] == [(TimestampRule, url, "POST")]
    assert isinstance(Playback(recording.exchanges, read_body=recording.body, rules=rules).match(*asked), Hit)


def test_time_is_tried_before_anything_is_masked() -> None:
    """A page that needs 1.5 s of page time in some runs and less in others gets 2 s, and no mask."""
    stage = Stage(lambda run, budget: page_of("ready" if budget >= 1500 or run % 2 == 0 else "loading"))

    report = rehearse(stage).report

    (operation,) = report.patch.operations
    assert isinstance(operation, SetPageTime)
    assert (operation.virtual_ms, report.rounds) == (2000.0, 3)
    assert "dom-changed" in operation.reason
    assert stage.asked == [3, 2, 2, 1]  # two runs show whether the time suffices


def test_all_runs_must_agree_after_two_that_got_more_time() -> None:
    """A run that differs from the two is a finding like any other: there is no certificate."""
    stage = Stage(
        lambda run, budget: page_of("ready" if budget >= 1000 or run % 2 == 0 else "loading"),
        lambda run: {"requests": ("GET http://shop.test/1",)} if run == 1 and stage.asked[-1:] != [2] else {},
    )

    report = rehearse(stage).report

    assert 1 in stage.asked
    assert (report.status, report.certificate) == ("unstable", None)


def test_time_that_does_not_help_is_given_back() -> None:
    """If runs still differ after three doublings, masks are proposed and the recorded page time is restored."""
    certification = rehearse(Stage(lambda run, _budget: page_of("same", f"run {run}")))

    (operation,) = certification.report.patch.operations
    assert isinstance(operation, AddMask)
    assert operation.mask.part == TextPart(path="html > body > p:nth(2)")
    assert operation.mask.url == "http://shop.test/cart*"
    assert operation.mask.reason == "differed in 2 of 3 runs: 'run 1', 'run 2', 'run 3'"
    assert (certification.report.status, certification.report.rounds) == ("proposed", 6)


def test_an_animation_is_in_another_state_than_before_there_was_a_baseline() -> None:
    """All runs agree against a baseline of the first round: that is tried with twice the page time, once."""
    stage = Stage(lambda _run, _budget: page_of("grey" if len(stage.asked) == 1 else "blue"), is_observed=False)

    report = rehearse(stage).report

    (operation,) = report.patch.operations
    assert isinstance(operation, SetObservation)
    assert operation.reason == "3 of 3 runs agreed, and more page time did not help"
    assert (report.status, report.rounds, stage.asked) == ("proposed", 4, [1, 3, 2, 3])


def test_more_time_that_changes_something_is_tried_again() -> None:
    """A page that loads its parts one after the other comes to its first state, and keeps that as its baseline."""

    def play(_run: int, budget: float) -> PageSnapshot:
        left = 0 if len(stage.asked) == 1 else max(0, 3 - round(budget) // 1000)
        return page_of("done", *("loading" for _ in range(left)))

    stage = Stage(play, is_observed=False)

    report = rehearse(stage, doublings=6).report

    times = [each.virtual_ms for each in report.patch.operations if isinstance(each, SetPageTime)]
    assert len(times) == 1
    assert times[0] >= 3000


def test_titles_and_console_errors_get_masks_of_their_own() -> None:
    """A title and the beginning of a console error are masked, and nothing in the DOM."""
    stage = Stage(
        lambda _run, _budget: page_of("a"),
        lambda run: {"title": f"Cart {run}", "console_errors": (f"request id {run} lost", "boom")},
    )

    masks = [each.mask for each in rehearse(stage, doublings=0).report.patch.operations if isinstance(each, AddMask)]

    assert [mask.part for mask in masks] == [TitlePart(), ConsoleErrorPart(prefix="request id ")]
    assert masks[1].reason == "differed in 2 of 3 runs: 'request id 1 lost', 'request id 2 lost', 'request id 3 lost'"


def test_a_reason_shows_where_long_values_differ() -> None:
    """Two long texts that differ at their ends would look equal if both were cut there."""
    notice = "Prices include the value-added tax of your country. " * 8

    report = rehearse(Stage(lambda run, _budget: page_of(f"{notice}Number {run}"))).report

    (mask,) = (each.mask for each in report.patch.operations if isinstance(each, AddMask))
    shown = re.findall(r"'(…[^']*)'", mask.reason)
    assert len(set(shown)) == len(shown) > 1
    assert all("Number " in each for each in shown), mask.reason


def test_what_no_mask_can_hide_stays_unstable() -> None:
    """Requests that only some runs send are listed with their runs; nothing is proposed."""
    stage = Stage(lambda _run, _budget: page_of("a"), lambda run: {"requests": (f"GET http://shop.test/{run}",)})

    certification = rehearse(stage, doublings=1)

    report = certification.report
    text = render_certification(report)
    assert (report.status, report.patch.operations, report.certificate, report.exit_status) == ("unstable", (), None, 1)
    assert "unstable at s__attempt_1, sequence 1 (note look): network: request-missing" in text
    assert "2 of 3 runs differ from the first one" in text


def test_an_order_that_changes_has_no_mask() -> None:
    """A mask for reordered elements would hide their whole parent, so they are reported instead."""
    report = rehearse(Stage(lambda run, _budget: page_of(*("abc", "acb")[run % 2])), doublings=0).report

    assert (report.status, report.patch.operations) == ("unstable", ())


def test_a_rule_makes_a_miss_a_hit() -> None:
    """For a request that differs in one query parameter, a rule is proposed, and no page time."""

    def misses(run: int, trace: ExecutionTrace) -> tuple[NetworkMiss, ...]:
        ruled = trace.network is not None and bool(trace.network.rules)
        return () if ruled else (miss(RequestDifference(part="query", name="_", recorded="1", sent=str(run + 1))),)

    report = rehearse(Stage(lambda _run, _budget: page_of("a"), misses=misses)).report

    (operation,) = report.patch.operations
    assert isinstance(operation, AddRule)
    assert isinstance(operation.rule, QueryKeyRule)
    assert operation.rule.reason == "differed in 3 of 3 runs: recorded '1', sent '2'"
    assert (report.status, report.rounds) == ("proposed", 2)
    assert "do not compare query _ of POST http://shop.test/api" in render_certification(report)


def test_differences_that_are_not_listed_prevent_a_rule() -> None:
    """They may be differences that matter."""
    assert propose_rules([(miss(differs("query", "_", "1", "2"), more=1),)], ()) == ()


API = "http://shop.test/api"
IDS = ("3f2a9c1b77e0", "9b1c77fe20aa", "a04d1b2c3d4e", "0c9d8e7f6a5b")
NUMBER = r"-?[0-9]{1,17}(?:\.[0-9]{1,20})?"


@pytest.mark.parametrize(
    ("differences", "rules"),
    [
        (
            (differs("query", "_", "1", "2"),),
            (QueryKeyRule(name="_", reason="r", url=API, method="POST", pattern="[0-9]{1,20}"),),
        ),
        (
            (differs("body", "$.sent", "1", "2"), differs("header", "range", None, "2")),
            (
                JsonPathRule(path="$.sent", reason="r", url=API, method="POST", pattern=NUMBER),
                HeaderRule(name="range", reason="r", url=API, method="POST"),
            ),
        ),
        (
            tuple(differs("body", f"$.e[{n}].id", f'"{IDS[n]}"', f'"{IDS[n + 1]}"') for n in (0, 2)),
            (JsonPathRule(path="$.e[*].id", reason="r", url=API, method="POST", pattern="[0-9a-f]{12}"),),
        ),
        (
            (differs("body", "token[1]", IDS[0], IDS[1]),),
            (FormFieldRule(name="token", reason="r", url=API, method="POST", pattern="[0-9a-f]{12}"),),
        ),
        ((differs("body", "token[1]", IDS[0], None),), ()),
        ((differs("query", "page", "1", "2"),), ()),
        ((differs("body", "$.name", '"banana"', '"cherry"'),), ()),
        ((differs("path", "", "/a", "/b"), differs("query", "_", "1", "2")), ()),
        ((differs("occurrence", "", "1", "2"),), ()),
        ((differs("body", "", "sha256 0…", "sha256 1…"),), ()),
        ((differs("query", "a_very_long_name" * 4, "1", "2"),), ()),
        ((differs("body", "token", IDS[0] * 6, IDS[1] * 6),), ()),
        ((), ()),
    ],
)
def test_rules_are_for_values_only(differences: tuple[RequestDifference, ...], rules: tuple[VolatileRule, ...]) -> None:
    """Different values in query, body or header get one rule; a miss with other differences gets none."""
    found = propose_rules([(miss(*differences),)], ())

    assert tuple(rule.model_copy(update={"reason": "r"}) for rule in found) == rules
    assert propose_rules([(miss(*differences),)], found) == ()


def counted(*values: tuple[str, str]) -> list[tuple[NetworkMiss, ...]]:
    """Return a miss for each run, which differs in these names and numbers; 41 was recorded."""
    return [(miss(*(differs(*_place(name), "41", value) for name in names.split())),) for names, value in values]


def _place(name: str) -> tuple[DifferingPart, str]:
    return ("body", name) if name.startswith("$") else ("query", name)


def test_a_number_that_grows_from_run_to_run_gets_a_rule_with_its_evidence() -> None:
    """Also if the recording was made between two runs; the rule holds for no smaller number."""
    found = propose_number_rules(counted(("visit $.visit", "42"), ("visit $.visit", "43")), ())
    between = propose_number_rules(counted(("visit", "40"), ("visit", "43")), (), recorded_place=1)

    assert [(rule.kind, rule.reason) for rule in found] == [
        ("query_key", "counter from 41: 41, 42, 43 in 3 observations"),
        ("json_path", "counter from 41: 41, 42, 43 in 3 observations"),
    ]
    assert [matches_pattern(getattr(found[0], "pattern", ""), each) for each in ("40", "44", "1,000")] == [
        False,
        True,
        False,
    ]
    assert [rule.reason for rule in between] == ["counter from 40: 40, 41, 43 in 3 observations"]
    assert propose_number_rules(counted(("visit", "42"), ("visit", "43")), found[:1]) == ()


@pytest.mark.parametrize(
    "values",
    [
        (("visit", "42"),),
        (("visit", "42"), ("visit", "42")),
        (("price", "42"), ("price", "43")),
        (("$.items[0].unitPrice", "42"), ("$.items[0].unitPrice", "43")),
        (("$.price.value", "42"), ("$.price.value", "43")),
        (("visit", "40"), ("visit", "39")),
    ],
)
def test_other_numbers_of_requests_get_no_rule(values: tuple[tuple[str, str], ...]) -> None:
    """Two values, a price, also in a part of it, and a number that falls."""
    assert propose_number_rules(counted(*values), ()) == ()


def sent_by(*runs: tuple[str, ...]) -> list[tuple[NetworkMiss, ...]]:
    """Return a miss for each quantity that each run sends; 1 was recorded first."""
    return [tuple(miss(differs("body", "$.quantity", "1", value)) for value in run) for run in runs]


def test_values_that_every_run_sends_are_a_change() -> None:
    """Two requests of a run have two values because they are two requests, not because these vary."""
    assert propose_number_rules(sent_by(("3", "4"), ("3", "4")), ()) == ()
    assert propose_number_rules(sent_by(("3", "4"), ("4", "3")), ()) == ()
    assert propose_number_rules(sent_by(("3", "4", "5")), ()) == ()
    assert propose_number_rules(sent_by(("3", "4"), ("3", "5")), ()) == ()
    assert propose_number_rules(sent_by(("3",), ("3", "4")), ()) == ()


def test_each_of_several_requests_of_a_run_is_compared_with_its_own_counterparts() -> None:
    """The first requests sent 3 and 5, the second ones 4 and 6."""
    rules = propose_number_rules(sent_by(("3", "4"), ("5", "6")), ())

    assert [rule.reason for rule in rules] == ["counter from 1: 1, 3, 5 in 3 observations"]


@pytest.mark.parametrize(
    "other",
    [
        differs("header", "range", "bytes=0-1", "bytes=2-3"),
        differs("times", "", "2026-01-15T10:00:00Z", "2026-01-16T10:00:00Z"),
        differs("query", "1700000000000", None, "x"),
        differs("body", "$.name", '"banana"', '"cherry"'),
    ],
)
def test_a_counter_does_not_excuse_what_else_differs(other: RequestDifference) -> None:
    """A request that differs in a counter, and in anything else, gets no rule for either."""
    misses = [(miss(differs("query", "visit", "41", value), other),) for value in ("42", "43")]
    assert propose_number_rules(misses, ()) == ()

    plain = (miss(differs("query", "visit", "41", "44")),)
    rules = propose_number_rules([*misses, plain], ())
    assert [rule.kind for rule in rules] == ["query_key"]
    alone = (miss(other),)
    assert propose_number_rules([alone, *counted(("visit", "42"), ("visit", "43"))], ())[1:] == ()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=3, max_size=3), min_size=2, max_size=4))
def test_masks_name_exactly_the_texts_that_differ(texts: list[list[str]]) -> None:
    """Of three paragraphs, those that differ between runs are masked, and no others."""
    pages = [page_of(*(f"{place}{text}" for place, text in enumerate(run))) for run in texts]
    stage = Stage(lambda run, _budget: pages[max(run, 1) - 1])
    differing = {place for place in range(3) if len({run[place] for run in texts}) > 1}

    report = rehearse(stage, runs=len(texts), doublings=0).report

    masked = {each.mask.part for each in report.patch.operations if isinstance(each, AddMask)}
    assert masked == {TextPart(path=f"html > body > p:nth({place + 1})") for place in differing}
    assert report.status == ("proposed" if differing else "certified")


def test_every_mask_has_a_name_of_its_own() -> None:
    """The masks of four paragraphs with the same tag are numbered."""
    report = rehearse(Stage(lambda run, _budget: page_of(*(f"{n} {run}" for n in range(4)))), doublings=0).report

    names = [each.mask.name for each in report.patch.operations if isinstance(each, AddMask)]
    assert names == ["p-text", "p-text-2", "p-text-3", "p-text-4"]


@pytest.mark.parametrize("name", ["trace.json", "network/index.jsonl"])
def test_bundle_that_changes_while_it_is_replayed_is_not_certified(tmp_path: Path, name: str) -> None:
    """A certificate is only valid for the files that were replayed, not for those on disk when the runs end."""
    stage = Stage(lambda _run, _budget: page_of("a"))
    stage.record(tmp_path, BlobStore(tmp_path / "dom"))

    async def run_many(bundle: Bundle, runs: int) -> tuple[ReplayedRun, ...]:
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write("\n")
        return await stage(bundle, runs)

    with pytest.raises(UsageError, match="changed during the replays"):
        asyncio.run(certify(open_bundle(tmp_path), CertifyOptions(now=lambda: NOW), run_many))


def test_a_single_run_is_refused() -> None:
    """A single replay cannot prove that replays agree."""
    with pytest.raises(UsageError, match=r"CertifyOptions\.runs: expected an integer of at least 2, got 1"):
        rehearse(Stage(lambda _run, _budget: page_of("a")), runs=1)
