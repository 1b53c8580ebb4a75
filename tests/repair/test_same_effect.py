"""A replaced element must have the recorded effect, and that effect must be observable."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

import pytest

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.dom.digest import frame_digest
from eikon_engine.dom.tree import DomNode, FrameSnapshot, PageSnapshot, build_text_node
from eikon_engine.files.blobs import BlobStore
from eikon_engine.repair import diagnostic_replay as watched_replay
from eikon_engine.repair.replacement import ReplacedElement
from eikon_engine.repair.same_effect import effect_difference
from eikon_engine.trace.actions import Click, Reload
from eikon_engine.trace.bundle import Bundle, store_snapshot
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.masks import AttributePart, SubtreePart
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation, StoredItem
from tests.missions.shop import css
from tests.trace.trace_values import subgoal, trace

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome

URL: Final = "http://shop.test/"
OK: Final = Succeeded()


@dataclass(frozen=True)
class Seen:
    """A page with one button, before or after a click."""

    label: str
    id: str = "go"
    beside: str = "Shop"
    kept: str = ""
    requests: tuple[str, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    section: str = "card"
    cookie: str = ""
    databases: frozenset[str] = frozenset()

    @property
    def page(self) -> PageSnapshot:
        """Return the page as a snapshot."""
        attributes = tuple(sorted((("id", self.id), *self.more)))
        button = DomNode(tag="button", attributes=attributes, children=(build_text_node(self.label),))
        section = DomNode(tag="section", attributes=(("id", self.section),), children=(button,))
        heading = DomNode(tag="h1", children=(build_text_node(self.beside),))
        root = DomNode(tag="html", children=(DomNode(tag="body", children=(heading, section)),))
        return PageSnapshot(frames=(FrameSnapshot(path="", url=URL, name="", doctype="html", root=root),))

    def observation(self, store: BlobStore) -> Observation:
        """Return the page as a recorded observation."""
        kept: tuple[StoredItem, ...] = ()
        kept += (StoredItem(kind="local", place=URL, name="cart", digest=self.kept),) if self.kept else ()
        kept += (StoredItem(kind="cookie", place="shop.test/", name="c", digest=self.cookie),) if self.cookie else ()
        frames = (FrameObservation(path="", url=URL, digest=frame_digest(self.page.main)),)
        page = PageObservation(page=0, url=URL, title="", frames=frames, snapshot=store_snapshot(store, self.page))
        return Observation(pages=(page,), storage=kept, requests=self.requests)

    @property
    def path(self) -> str:
        """Return the path of the button."""
        return f"html > body > section#{self.section} > button#{self.id}"


def difference(
    folder: Path, then: tuple[Seen, Seen], now: tuple[Seen, Seen], again: tuple[Seen, ...] | None = None
) -> str | None:
    """Compare a recorded click with a replayed one, each given as the page before and after it.

    `again` is what a replay of the unchanged recording observed; by default what was recorded.
    """
    store = BlobStore(folder)
    actions = (
        ActionTrace(id="open", sequence=1, action=Reload(), result=OK, observation=then[0].observation(store)),
        ActionTrace(
            id="press", sequence=2, action=Click(target=css("#go")), result=OK, observation=then[1].observation(store)
        ),
    )
    recorded = trace(subgoal_traces=(subgoal("do", actions_taken=actions),))
    attempt = recorded.subgoal_traces[0].id
    bundle = Bundle(root=folder, trace=recorded, dom=store, files=store)
    replays = [replayed(attempt, store, shown) for shown in (now, then if again is None else again)]
    return effect_difference(bundle, replays[0], replacement(then[0], now[0]), replays[1])


def replayed(attempt: str, store: BlobStore, shown: tuple[Seen, ...]) -> watched_replay.DiagnosticReplay:
    """Return a replay with these observed pages."""
    numbered = list(enumerate(shown, start=1))
    steps = tuple(
        SimpleNamespace(kind="action", sequence=number, observation=seen.observation(store))
        for number, seen in numbered
    )
    done = SimpleNamespace(id=attempt, steps=steps)
    return watched_replay.DiagnosticReplay(
        outcome=cast("ReplayOutcome", SimpleNamespace(subgoals=(done,))),  # the only attribute that is read
        pages={(attempt, number): {0: seen.page} for number, seen in numbered},
        databases={(attempt, number): seen.databases for number, seen in numbered},
    )


def replacement(then: Seen, now: Seen) -> ReplacedElement:
    """Return a replacement of one button by another."""
    before, after = (
        next(each for each in locate_elements(seen.page.main) if each.node.tag == "button") for seen in (then, now)
    )
    return ReplacedElement(
        step="press",
        page=0,
        url=URL,
        frame="",
        recorded_path=then.path,
        replacement_path=now.path,
        recorded_identity=before.identity,
        identity=after.identity, node=after.node,
    )  # fmt: skip


SAVE: Final = Seen("Save", requests=())
STORE: Final = Seen("Store", id="store")


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        ((SAVE, Seen("Saved")), (STORE, Seen("Stored", id="store")), "expected text 'Saved', got text 'Stored'"),
        ((SAVE, Seen("Save", more=(("class", "on"),))), (STORE, STORE), "expected class on 'set', got no change"),
        (
            (SAVE, SAVE),
            (STORE, Seen("Store", id="store", more=(("disabled", ""),))),
            "expected no change, got attribute disabled",
        ),
        (
            (SAVE, Seen("Save", kept="1")),
            (STORE, Seen("Store", id="store", kept="2")),
            "stores different data in the browser: local item",
        ),
        ((SAVE, Seen("Save", kept="1")), (STORE, STORE), "stores different data in the browser: local item"),
        (
            (SAVE, Seen("Save", cookie="1")),
            (STORE, Seen("Store", id="store", cookie="2")),
            "stores different data in the browser: cookie 'c'",
        ),
        ((SAVE, Seen("Save", cookie="1")), (STORE, STORE), "stores different data in the browser: cookie 'c'"),
        (
            (SAVE, Seen("Save", databases=frozenset({"cache bread"}))),
            (STORE, Seen("Store", id="store", databases=frozenset({"cache wine"}))),
            "stores different data in the browser: cache bread, cache wine",
        ),
        ((SAVE, SAVE), (STORE, STORE), "its effect cannot be verified: its name and text differ"),
        ((SAVE, SAVE), (Seen("Save", section="news"),) * 2, "its effect cannot be verified: its ancestors differ"),
        ((SAVE, Seen("Saved")), (STORE, Seen("Saved", id="store")), "its effect cannot be verified"),
    ],
)
def test_a_different_or_unobservable_effect_is_reported(
    tmp_path: Path, then: tuple[Seen, Seen], now: tuple[Seen, Seen], message: str
) -> None:
    """An element with another label counts as the same one only if it has the same effect."""
    assert message in (difference(tmp_path, then, now) or "")


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ((SAVE, SAVE), (Seen("Save", id="other"),) * 2),
        ((SAVE, Seen("Save", requests=("POST /save",))), (STORE, Seen("Store", id="store", requests=("POST /save",)))),
        ((SAVE, Seen("Save", beside="Done")), (STORE, Seen("Store", id="store", beside="Done"))),
        ((SAVE, Seen("Save", kept="1")), (STORE, Seen("Store", id="store", kept="1"))),
        (
            (SAVE, Seen("Save", kept="1", requests=("GET /key",))),
            (STORE, Seen("Store", id="store", kept="2", requests=("GET /key",))),
        ),
        ((SAVE, Seen("Save", cookie="1")), (STORE, Seen("Store", id="store", cookie="1"))),
        (
            (SAVE, Seen("Save", cookie="1", requests=("GET /key",))),
            (STORE, Seen("Store", id="store", cookie="2", requests=("GET /key",))),
        ),
        (
            (SAVE, Seen("Saved", beside="Done", more=(("class", "on"),))),
            (Seen("Store", more=(("class", "new"),)), Seen("Saved", beside="Done", more=(("class", "new on"),))),
        ),
        ((SAVE, Seen("Away", id="away", beside="Done")), (STORE, Seen("Away", id="away", beside="Done"))),
    ],
)
def test_the_same_effect_is_accepted(tmp_path: Path, then: tuple[Seen, Seen], now: tuple[Seen, Seen]) -> None:
    """Requests, changes elsewhere and stored data are an effect; an element with only another id needs none."""
    assert difference(tmp_path, then, now) is None


def test_a_value_that_varies_between_runs_is_no_difference(tmp_path: Path) -> None:
    """A replay of the unchanged recording shows which values vary."""
    then = (SAVE, Seen("Save", cookie="1", beside="Done"))
    now = (STORE, Seen("Store", id="store", cookie="2", beside="Done"))

    assert difference(tmp_path, then, now, again=(SAVE, Seen("Save", cookie="3", beside="Done"))) is None


def test_without_a_replay_of_the_recording_the_effect_is_unverifiable(tmp_path: Path) -> None:
    """Recordings contain no databases, so they are compared with a replay."""
    shown = (STORE, Seen("Store", id="store", beside="Done"))

    assert "does not replay up to this step" in (difference(tmp_path, (SAVE, shown[1]), shown, again=(SAVE,)) or "")


def test_the_content_of_an_element_is_compared_with_the_page() -> None:
    """Only a labelled control is masked completely; of other elements, only the identifying attributes are masked."""
    button = replacement(SAVE, STORE)
    panel = DomNode(
        tag="div", attributes=(("id", "board"),), children=(DomNode(tag="p", children=(build_text_node("300"),)),)
    )
    other_one = ReplacedElement(
        step="press",
        page=0,
        url=URL,
        frame="",
        recorded_path="html > div#panel",
        replacement_path="html > div#board",
        recorded_identity=None,
        identity=button.identity.model_copy(update={"tag": "div", "role": ""}), node=panel,
    )  # fmt: skip

    assert [each.part for each in button.masks] == [SubtreePart(path=SAVE.path), SubtreePart(path=STORE.path)]
    assert [each.part for each in other_one.masks] == [
        AttributePart(path="html > div#panel", name="id"),
        AttributePart(path="html > div#board", name="id"),
    ]
