from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from anyio.from_thread import start_blocking_portal

from eikon_engine.debug.context_pool import ContextOptions, open_context_pool
from eikon_engine.debug.inspector import inspect_context, locate_in_context
from eikon_engine.debug.result_text import render_inspection, render_locate_result
from eikon_engine.errors import ActionRejectedError, PageMissingError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.outcome.events import verdict_of
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.trace.bundle import load_page, open_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.from_thread import BlockingPortal

    from eikon_engine.debug.context_pool import ContextPool
    from eikon_engine.debug.inspector import InspectedPart
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.debug.results import Inspection, LocateResult

pytestmark = pytest.mark.browser

TRACES = Path(__file__).parents[1] / "data" / "traces"
BEFORE_QUANTITY = 9
"""How many steps of the mission are done before the quantity is filled in."""
EVERY = ("pages", "picture", "next", "network", "storage", "console", "divergences")


class PausedContext(NamedTuple):
    """A paused context, its event loop, and the folder for files."""

    portal: BlockingPortal
    context: ReplayContext
    folder: Path

    def look(self, what: InspectedPart = "all", page: int = 0) -> Inspection:
        """Inspect it."""
        return self.portal.call(inspect_context, self.context, what, self.folder, page)

    def find(self, selector: str, frame: str = "") -> LocateResult:
        """Return what a selector matches in the first page."""
        return self.portal.call(locate_in_context, self.context, selector, 0, frame)

    def run_to(self, iteration: int) -> None:
        """Run steps."""
        self.portal.call(_advance, self.context, iteration)

    def run(self, expression: str) -> None:
        """Change the page with JavaScript."""
        assert self.portal.call(self.context.evaluate, expression).error is None


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[BlockingPortal, ContextPool]]:
    """Open one pool for all tests of this module."""
    with start_blocking_portal() as portal:
        bundle = open_bundle(TRACES / "shop_passing")
        with portal.wrap_async_context_manager(open_context_pool(bundle, ContextOptions())) as pool:
            yield portal, pool


def paused_at(opened: tuple[BlockingPortal, ContextPool], bundle: str, iteration: int, folder: Path) -> PausedContext:
    """Open a context of a bundled mission, and run it to an iteration."""
    portal, pool = opened
    made = PausedContext(portal, portal.call(pool.open, open_bundle(TRACES / bundle)), folder)
    made.run_to(iteration)
    return made


async def _advance(context: ReplayContext, iteration: int) -> None:
    while context.iteration < iteration:
        async for _ in context.advance():
            pass


def test_inspecting_shows_everything_and_does_not_affect_the_mission(
    opened: tuple[BlockingPortal, ContextPool], tmp_path: Path
) -> None:
    """Every step before and after an inspection is faithful."""
    paused = paused_at(opened, "shop_passing", 0, tmp_path)
    start = paused.look()
    paused.run_to(BEFORE_QUANTITY)
    seen, found = paused.look(), paused.find("#quantity")
    paused.run_to(paused.context.step_count)
    end = paused.look()

    verdicts = {verdict_of(each) for each in paused.context.outcomes}
    assert verdicts == {"faithful"}
    assert (start.iteration, seen.iteration, end.iteration) == (0, 9, 29)
    assert end.next is None
    assert (start.network.served, start.network.misses) if start.network else None == (0, ())
    shows_the_product(seen, tmp_path)
    assert (found.count, found.visible, found.matches[0].description) == (1, 1, '<input#quantity> "Quantity"')


def shows_the_product(seen: Inspection, folder: Path) -> None:
    """Check an inspection before the quantity is filled in."""
    assert seen.next is not None
    assert (seen.next.iteration, seen.next.tool, seen.next.label) == (10, "fill", seen.next.label)
    (target,) = seen.next.targets
    assert (target.role, target.selector, target.count, target.problem) == ("target", "#quantity", 1, None)
    assert target.identity is not None
    assert seen.pages is not None
    (page,) = seen.pages
    document = (folder / page.html).read_text()
    assert page.observation.title
    assert "quantity" in document
    stored = load_page(BlobStore(folder / "dom"), page.observation)
    assert stored is not None
    assert [each.path for each in stored.frames] == ["", "0", "0.0"]
    assert seen.picture is not None
    assert seen.picture.path is not None
    assert (folder / seen.picture.path).read_bytes().startswith(b"\x89PNG")
    assert seen.network is not None
    assert seen.network.served > 0
    assert seen.storage is not None
    assert {each.kind for each in seen.storage} >= {"cookie"}
    assert (seen.console, seen.divergences) == ((), ())


def test_an_unbindable_target_is_reported_with_candidates(
    opened: tuple[BlockingPortal, ContextPool], tmp_path: Path
) -> None:
    """Missing, ambiguous, different and disabled targets are reported before the action runs."""
    paused = paused_at(opened, "shop_passing", BEFORE_QUANTITY, tmp_path)

    def problem_after(expression: str) -> str:
        paused.run(expression)
        seen = paused.look("next")
        assert seen.next is not None
        (target,) = seen.next.targets
        named = [each.description for each in target.candidates or ()]
        return f"{target.count}: {target.problem}; {named}"

    assert problem_after("quantity.disabled = true").startswith("1: #quantity: <input#quantity>")
    assert "is disabled" in problem_after("0")
    assert problem_after("quantity.disabled = false; quantity.id = 'amount'") == (
        "0: #quantity: expected one element, found none; ['<input#amount>']"
    )
    assert "expected one element, found 2" in problem_after(
        "amount.outerHTML += '<input id=amount>'; for (const each of [...document.querySelectorAll('#amount')])"
        " each.id = 'quantity'"
    )


def test_one_part_can_be_inspected_alone(opened: tuple[BlockingPortal, ContextPool], tmp_path: Path) -> None:
    """All other parts are omitted, and no file is written for them."""
    paused = paused_at(opened, "shop_failing", 1, tmp_path)
    paused.run("console.debug('\\0eikon-timer:GET /'); console.warn('careful')")
    paused.run("setTimeout(() => { throw new Error('late') }); localStorage.setItem('k', 'v')")

    asked: dict[str, InspectedPart] = {
        "pages": "page",
        "picture": "screenshot",
        "next": "next",
        "network": "network",
        "storage": "storage",
        "console": "console",
        "divergences": "divergences",
    }
    seen = {name: paused.look(what) for name, what in asked.items()}

    for name, inspection in seen.items():
        assert [each for each in EVERY if getattr(inspection, each) is not None] == [name]
        assert inspection.touched
    assert seen["console"].console is not None
    assert ("warning", "careful") in [(each.kind, each.text) for each in seen["console"].console]
    assert "eikon" not in "".join(each.text for each in seen["console"].console)  # a report of our own scripts
    assert seen["storage"].storage is not None
    assert ("local", "k", "v") in [(each.kind, each.name, each.value) for each in seen["storage"].storage]
    endings = sorted(each.suffix for each in (tmp_path / "inspections").iterdir())
    assert endings == [".html", ".png"]


def test_divergences_so_far_are_shown(opened: tuple[BlockingPortal, ContextPool], tmp_path: Path) -> None:
    """They are those of the done steps."""
    paused = paused_at(opened, "shop_diverging", 1, tmp_path)
    assert paused.look("divergences").divergences == ()

    while verdict_of(paused.context.outcomes[-1]) != "diverged":
        paused.run_to(paused.context.iteration + 1)

    output = paused.context.outcomes[-1].outcome
    assert isinstance(output, ActionOutcome)
    assert paused.look("divergences").divergences == output.divergences != ()


def test_unknown_pages_and_invalid_selectors_are_rejected(
    opened: tuple[BlockingPortal, ContextPool], tmp_path: Path
) -> None:
    """The message lists the open pages; no other page is used instead."""
    paused = paused_at(opened, "shop_passing", 0, tmp_path)

    for what in ("page", "storage", "all"):
        with pytest.raises(PageMissingError, match=r"page 4 .* is not open; open pages: 0"):
            paused.look(what, page=4)
    with pytest.raises(ActionRejectedError, match=r"looking for \[\["):
        paused.find("[[")
    with pytest.raises(PageMissingError, match="no frame '7'"):
        paused.find("p", frame="7")


def test_a_closed_first_page_hides_nothing_else(opened: tuple[BlockingPortal, ContextPool], tmp_path: Path) -> None:
    """An inspection of everything shows the remaining pages."""
    paused = paused_at(opened, "shop_passing", 0, tmp_path)
    first = paused.context.session.page(0)
    assert first is not None
    paused.portal.call(paused.context.session.context.new_page)
    paused.portal.call(first.close)

    seen = paused.look()

    assert seen.picture is not None
    assert (seen.picture.path, seen.picture.problem) == (None, "the page is not open")
    assert seen.storage == ()


def test_inspections_are_rendered_as_lines(opened: tuple[BlockingPortal, ContextPool], tmp_path: Path) -> None:
    """They show what to look at, and candidates for a target."""
    paused = paused_at(opened, "shop_passing", BEFORE_QUANTITY, tmp_path)
    paused.run("quantity.id = 'amount'; console.log('one\\n\\x1b[2Jtwo')")

    output = render_inspection(paused.look()).splitlines()
    found = render_locate_result(paused.find("rating-stars .star")).splitlines()

    assert output[0] == "9 of 29 steps done; JavaScript was run manually before this point"
    assert output[1].startswith("next: 10 fill #quantity")
    assert "  target #quantity matches 0 elements now" in output
    assert "    would not bind now: #quantity: expected one element, found none" in output
    assert any(context.startswith("    did you mean <input#amount>") for context in output)
    assert "divergences so far: none" in output
    assert any(context.startswith("  page 0 log: one \\x1b[2Jtwo") for context in output)
    assert found[0] == "rating-stars .star matches 5 elements of page 0"
    assert len(found) == 6
