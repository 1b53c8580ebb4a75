"""The content of a page decides whether it is an error or a login; ambiguous phrases need further evidence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

import pytest

from eikon_engine.dom.digest import frame_digest
from eikon_engine.dom.tree import DomNode, FrameExtras, FrameSnapshot, PageSnapshot, build_text_node
from eikon_engine.files.blobs import BlobStore
from eikon_engine.repair import diagnostic_replay as watched_replay
from eikon_engine.repair.diagnosis import Diagnosis, DivergedStep
from eikon_engine.repair.refusal import shown_cause
from eikon_engine.trace.actions import Reload
from eikon_engine.trace.bundle import Bundle, store_snapshot
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import FrameObservation, Observation, PageObservation
from tests.trace.trace_values import subgoal, trace

if TYPE_CHECKING:
    from pathlib import Path

URL: Final = "http://shop.test/"
PASSWORD: Final = DomNode(tag="form", children=(DomNode(tag="input", attributes=(("type", "password"),)),))
SHOP: Final = ("Shop", "Bread", "Cart", "Added")


def line(text: str, tag: str = "p", **attributes: str) -> DomNode:
    """Return an element with a text."""
    return DomNode(tag=tag, attributes=tuple(sorted(attributes.items())), children=(build_text_node(text),))


def page(*nodes: DomNode, flips: tuple[int, ...] = ()) -> PageSnapshot:
    """Return a page of these elements; the first one is node 2."""
    root = DomNode(tag="html", children=(DomNode(tag="body", children=nodes),))
    extras = FrameExtras(flips=flips)
    return PageSnapshot(frames=(FrameSnapshot(path="", url=URL, name="", doctype="html", root=root, extras=extras),))


def result_of(folder: Path, now: PageSnapshot) -> str | None:
    """Return the cause that the current page indicates; the recorded page is a shop."""
    store = BlobStore(folder)
    shop = page(*map(line, SHOP))
    then = store_snapshot(store, shop)
    frames = (FrameObservation(path="", url=URL, digest=frame_digest(shop.main)),)
    seen = Observation(pages=(PageObservation(page=0, url=URL, title="", frames=frames, snapshot=then),))
    action = ActionTrace(id="open", sequence=1, action=Reload(), result=Succeeded(), observation=seen)
    recorded = trace(subgoal_traces=(subgoal("do", actions_taken=(action,)),))
    place = (recorded.subgoal_traces[0].id, 1)
    bundle = Bundle(root=folder, trace=recorded, dom=store, files=store)
    tested = cast("watched_replay.DiagnosticReplay", SimpleNamespace(pages={place: {0: now}}))
    diagnosis = Diagnosis(bundle=bundle, replay=tested, steps=())
    diverged = cast("DivergedStep", SimpleNamespace(attempt=place[0], sequence=1))
    reported = shown_cause(diagnosis, diverged)
    return None if reported is None else reported[0]


@pytest.mark.parametrize(
    "new",
    ["Unable to decide? Ask us.", "Sorry, bread is sold out today", "What we failed to say: eat bread."],
)
def test_ambiguous_phrases_alone_are_not_an_error(tmp_path: Path, new: str) -> None:
    """A single ambiguous phrase on an otherwise unchanged page is not an error."""
    assert result_of(tmp_path, page(*map(line, SHOP), line(new))) is None


@pytest.mark.parametrize(
    "shown",
    [
        page(*map(line, SHOP), line("Sorry, we failed to add it")),
        page(*map(line, SHOP), line("Sorry"), line("We were unable to add it")),
        page(*map(line, SHOP), line("Unable to add bread", tag="h2")),
        page(*map(line, SHOP), line("Failed to add bread", tag="div", role="alert")),
        page(*map(line, SHOP[:2]), line("Sorry, no bread")),
        page(*map(line, SHOP), line("Something went wrong")),
    ],
    ids=["two phrases", "two sentences", "a heading", "an alert", "half is gone", "a phrase of errors alone"],
)
def test_ambiguous_phrases_with_further_evidence_are_an_error(tmp_path: Path, shown: PageSnapshot) -> None:
    """Further evidence is a second phrase, the position of a message, or the loss of half of the page's texts."""
    assert result_of(tmp_path, shown) == "site-error"


def test_only_a_visible_password_field_is_a_login(tmp_path: Path) -> None:
    """A login form in a closed menu is not a login page."""
    assert result_of(tmp_path, page(PASSWORD, *map(line, SHOP), flips=(2,))) is None
    assert result_of(tmp_path, page(PASSWORD, *map(line, SHOP))) == "session-expired"
