"""Failed replays are grouped by their causes."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import UsageError
from eikon_engine.outcome.divergence import Evidence
from eikon_engine.outcome.triage import UNKNOWN_GROUP, CauseSignature
from eikon_engine.triage.groups import triage
from eikon_engine.triage.known_causes import KnownCauseRule, read_known_causes
from tests.report.outcomes import make_outcome
from tests.triage.failures import make_failure

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome

TODAY = date(2026, 1, 2)


def price(live: str, *, mission: str = "order", minute: int = 0) -> ReplayOutcome:
    """Make a replay that another price stopped."""
    text = f"body $.price: recorded 12, live {live}"
    return make_failure(
        Evidence(kind="answer", title="GET http://a.test/api/items/1", text=text), mission=mission, minute=minute
    )


def broken(*, mission: str = "order", status: str = "500") -> ReplayOutcome:
    """Make a replay that an error of the server stopped."""
    text = f"status: recorded 201, live {status}"
    return make_failure(
        Evidence(kind="answer", title="POST http://a.test/orders", text=text), mission=mission, cause="site-error"
    )


def unknown(text: str) -> ReplayOutcome:
    """Make a replay whose cause is unknown."""
    error = Evidence(kind="console", title="New console error", text=text)
    return make_failure(error, cause="unknown")


FAITHFUL = make_outcome().model_copy(update={"verdict": "faithful", "subgoals": (), "explanation": None})
NIGHT = {
    "a/1": price("13", minute=5),
    "a/2": price("14", mission="cart", minute=9),
    "a/3": price("13", minute=2),
    "b/1": broken(),
    "b/2": broken(mission="cart"),
    "c/1": unknown("one"),
    "d/1": FAITHFUL,
}


def test_each_cause_is_a_group_with_what_it_stops() -> None:
    """The largest one comes first, and the unknown ones are one group."""
    found = triage(NIGHT.items())

    prices, errors, rest = found.groups
    assert (found.outcomes, found.faithful, found.missions) == (7, 1, 3)
    assert prices.signature.subject == "GET /api/items/{id}: $.price"
    assert [run.path for run in prices.runs] == ["a/3", "a/1", "a/2"]
    assert [(each.value, each.runs) for each in prices.missions] == [("order", 2), ("cart", 1)]
    assert prices.representative == "a/3"
    assert prices.share == pytest.approx(2 / 3)
    assert (prices.first_seen, prices.last_seen) == (prices.runs[0].started_at, prices.runs[-1].started_at)
    assert (errors.signature.cause, errors.signature.change) == ("site-error", "status 500")
    assert (rest.id, rest.confidence, len(rest.runs)) == (UNKNOWN_GROUP, "low", 1)


def test_a_group_says_what_its_runs_share_and_how_they_differ() -> None:
    """Each value with its number of runs."""
    prices = triage(NIGHT.items()).groups[0]

    shared = {each.name: each.value for each in prices.shared}
    varying = {each.name: [(value.value, value.runs) for value in each.values] for each in prices.varying}
    assert shared["recorded"] == "12"
    assert shared["network"] == "live"
    assert varying == {"mission": [("order", 2), ("cart", 1)], "observed": [("13", 2), ("14", 1)]}


@given(st.permutations(list(NIGHT)))
def test_the_order_of_the_outcomes_does_not_matter(names: list[str]) -> None:
    """The same triage is the same text."""
    assert triage((name, NIGHT[name]) for name in names) == triage(NIGHT.items())


def test_groups_that_may_be_one_or_several_are_suggested_only() -> None:
    """One request that fails in two ways; one price that has two values; two unknown failures that are alike."""
    runs = [broken(), broken(status="503"), *(price(live) for live in ("13", "13", "14", "14"))]
    runs += [unknown("x"), unknown("y"), make_failure(cause="unknown", divergence=OTHER)]
    found = triage((str(number), run) for number, run in enumerate(runs))

    assert len(found.groups) == 4
    assert [(each.kind, each.why) for each in found.suggestions] == [
        ("merge", "all are about POST /orders"),
        ("split", "observed has few values: '13' (2), '14' (2)"),
        ("split", "2 runs have in common: unknown: text body > p: 'a' -> 'b'"),
    ]


OTHER = NIGHT["c/1"].divergences[0].model_copy(update={"expected": "c"})


def test_a_known_cause_has_an_owner_until_its_last_day(tmp_path: Path) -> None:
    """Afterwards it is a note."""
    file = tmp_path / "known.toml"
    file.write_text(
        '[[cause]]\nname = "Prices"\nsubject = "GET /api/items/*"\n'
        'owner = "Ann"\nticket = "SHOP-7"\nuntil = 2026-01-02\n'
        '[[cause]]\nname = "Orders"\ncause = "site-error"\n'
    )
    now = triage(NIGHT.items(), read_known_causes(file, TODAY))
    later = triage(NIGHT.items(), read_known_causes(file, date(2026, 1, 3)))

    known = now.groups[0].known
    assert known is not None
    assert (known.name, known.owner, known.ticket, known.until) == ("Prices", "Ann", "SHOP-7", "2026-01-02")
    assert [None if each.known is None else each.known.name for each in later.groups] == [None, "Orders", None]
    assert [each.name for each in later.expired] == ["Prices"]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("GET /api/items/{id}: $.lines[*].price", True),
        ("GET *: $.lines[[]*].price", False),
        ("GET *.price", True),
        ("GET /api/items/?id}: *", True),
        ("GET /api/items", False),
    ],
)
def test_a_subject_may_be_copied_as_a_pattern(pattern: str, *, fits: bool) -> None:
    """Brackets are no pattern: paths of JSON have them."""
    subject = "GET /api/items/{id}: $.lines[*].price"
    signature = CauseSignature(cause="test-data", kind="response", subject=subject, change="another value")

    assert KnownCauseRule(name="Prices", subject=pattern).fits(signature) is fits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[cause]]\nowner = 'Ann'", "cause 1: name: Field required"),
        ("[[cause]]\nname = 'a'\nowners = 'Ann'", "cause 1: owners: Extra inputs are not permitted"),
        ("[[cause]]\nname = 'a'\nuntil = 'soon'", "cause 1: until: "),
        ("[cause]", "expected only [[cause]] tables, got another type of cause"),
        ("[[mask]]", "expected only [[cause]] tables, got mask"),
        ("=", "expected a TOML file of [[cause]] tables"),
        (None, "expected a TOML file of [[cause]] tables"),
    ],
)
def test_a_file_of_known_causes_that_is_wrong_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    """With the place of the mistake."""
    file = tmp_path / "known.toml"
    if text is not None:
        file.write_text(text)

    with pytest.raises(UsageError) as refused:
        read_known_causes(file, TODAY)

    assert message in refused.value.message
    assert "\n" not in refused.value.message.strip()
