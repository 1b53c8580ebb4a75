from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.snapshot_playback import open_snapshot_playback
from eikon_engine.errors import RequirementError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.trace.actions import (
    Action,
    Assert,
    AssertCount,
    AssertText,
    Check,
    Click,
    Fill,
    Hover,
    Navigate,
    Press,
    ScrollIntoViewIfNeeded,
    SelectOption,
    SelectorCondition,
    WaitFor,
)
from eikon_engine.trace.bundle import Bundle, store_snapshot
from eikon_engine.trace.execution import ExecutionTrace
from eikon_engine.trace.target import Target
from tests.browser.desk import Desk, at, environment
from tests.error_codes import has_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

    from eikon_engine.browser.snapshot_playback import SnapshotPlayback
    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.trace.observation import Observation
    from tests.browser.desk import Room

pytestmark = pytest.mark.browser


@dataclass(frozen=True, slots=True)
class Stage:
    """A player, and the page before the action."""

    portal: BlockingPortal
    player: SnapshotPlayback

    def do(self, action: Action, recorded: Observation | None = None) -> PerformedAction:
        """Play one action."""
        return self.portal.call(self.player.perform, action, recorded)


def stored(desk: Desk, html: str, folder: Path) -> Observation:
    """Show a document, and return its snapshot."""
    performed = desk.do(Navigate(url=desk.site.put(html)))
    assert performed.observation is not None
    assert performed.captured is not None
    dom = BlobStore(folder / "dom")
    pages = tuple(
        page.model_copy(update={"snapshot": store_snapshot(dom, performed.captured.snapshots[page.page])})
        for page in performed.observation.pages
    )
    return performed.observation.model_copy(update={"pages": pages})


@contextmanager
def playing(room: Room, folder: Path) -> Iterator[Stage]:
    """Play a bundle that contains only snapshots."""
    trace = ExecutionTrace(
        id="t", mission_id="m", mission_text="look", started_at=datetime(2026, 1, 1, tzinfo=UTC), status="complete"
    )
    bundle = Bundle(root=folder, trace=trace, dom=BlobStore(folder / "dom"), files=BlobStore(folder / "files"))
    opening = open_snapshot_playback(room.browser, SessionOptions(environment=environment()), bundle)
    with room.portal.wrap_async_context_manager(opening) as player:
        yield Stage(room.portal, player)


def test_a_target_is_bound_on_the_stored_page(
    desk: Desk, live_browser: Room, sealed_browser: Room, tmp_path: Path
) -> None:
    """The page before the action is enough to find and to identify its element."""
    recorded = stored(
        desk, "<script>document.write('<button id=b>Buy</button>')</script><input id=t value=1>", tmp_path
    )
    identity = desk.do(Click(target=at("#b"))).identity
    asked = len(desk.site.asked)

    with playing(sealed_browser, tmp_path) as stage:
        stage.do(Navigate(url="http://anywhere.test/"), recorded)
        clicked = stage.do(Click(target=Target(selector="#b", identity=identity)), recorded)
        filled = stage.do(Fill(target=at("#t"), text="x"))

    assert (clicked.error, filled.error) == (None, None)
    assert clicked.identity is not None
    assert clicked.identity.name == "Buy"
    assert len(desk.site.asked) == asked


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (Click(target=at("#none")), "target-missing"),
        (Click(target=at("i")), "target-ambiguous"),
        (Click(target=at("#off")), "target-not-actionable"),
        (Fill(target=at("#gone"), text="x"), "target-not-actionable"),
        (Assert(expectation=AssertCount(target=at("i"), count=3)), "assertion-failed"),
    ],
)
def test_a_target_that_does_not_match_fails(
    desk: Desk, sealed_browser: Room, tmp_path: Path, action: Action, code: str
) -> None:
    """A snapshot follows the rules of a page."""
    recorded = stored(desk, "<i>1</i><i>2</i><button id=off disabled>x</button><input id=gone hidden>", tmp_path)

    with playing(sealed_browser, tmp_path) as stage:
        stage.do(Navigate(url="http://anywhere.test/"), recorded)
        performed = stage.do(action)

    assert performed.error is not None
    assert performed.error.code == code


def test_targets_in_frames_and_shadow_trees_are_bound(desk: Desk, sealed_browser: Room, tmp_path: Path) -> None:
    """Frames, open shadow roots and typed values are in the snapshot."""
    inner = desk.site.put("<button id=b>In a frame</button>")
    recorded = stored(
        desk,
        f"<iframe id=f src={inner}></iframe><x-a id=host></x-a><script>"
        "host.attachShadow({mode: 'open'}).innerHTML = '<p class=deep>In the shadow</p>'</script>",
        tmp_path,
    )

    with playing(sealed_browser, tmp_path) as stage:
        stage.do(Navigate(url="http://anywhere.test/"), recorded)
        framed = stage.do(Click(target=at("#b", "#f")))
        shadowed = stage.do(Assert(expectation=AssertText(target=at(".deep"), text="In the shadow")))

    assert (framed.error, shadowed.error) == (None, None)


def test_a_page_without_a_snapshot_is_refused(desk: Desk, sealed_browser: Room, tmp_path: Path) -> None:
    """The message says that the recording lacks it, and what to do instead."""
    with (
        playing(sealed_browser, tmp_path) as stage,
        pytest.raises(RequirementError, match="Replay it sealed", check=has_code("network-part-missing")),
    ):
        stage.do(Click(target=at("b")))


def test_a_wait_is_not_repeated(desk: Desk, sealed_browser: Room, tmp_path: Path) -> None:
    """Time does not pass on a snapshot, so nothing can change."""
    recorded = stored(desk, "<p>before", tmp_path)

    with playing(sealed_browser, tmp_path) as stage:
        stage.do(Navigate(url="http://anywhere.test/"), recorded)
        performed = stage.do(WaitFor(condition=SelectorCondition(target=at("#later"))))

    assert performed.error is None


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (Hover(target=at("#off")), None),
        (Press(target=at("#field"), key="a"), None),
        (ScrollIntoViewIfNeeded(target=at("#empty")), None),
        (Check(target=at("#box")), "target-not-actionable"),
        (Check(target=at("#box"), force=True), None),
        (SelectOption(target=at("#list"), options=("a",)), "target-not-actionable"),
    ],
    ids=["hover", "press", "scroll", "check", "forced check", "select"],
)
def test_a_target_needs_what_it_needs_in_a_browser(
    desk: Desk, sealed_browser: Room, tmp_path: Path, action: Action, code: str | None
) -> None:
    """A disabled element can be hovered over, but neither checked nor changed."""
    html = (
        "<button id=off disabled>off</button><input id=field disabled><input id=box type=checkbox disabled>"
        "<p id=empty></p><select id=list disabled><option value=a>a</select>"
    )
    recorded = stored(desk, html, tmp_path)

    with playing(sealed_browser, tmp_path) as stage:
        stage.do(Navigate(url="http://anywhere.test/"), recorded)
        error = stage.do(action).error

    assert (error.code if error else None) == code
