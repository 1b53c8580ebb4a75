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

TRACES = Path(__file__).parents[1] / "data" / "traces"
BEFORE_QUANTITY = 9
"""How many steps of the mission are done before the quantity is filled in."""
EVERY = ("pages", "picture", "next", "network", "storage", "console", "divergences")


class Stand(NamedTuple):
    """A line that stands still, the loop that it lives in, and where files go."""

    portal: BlockingPortal
    line: ReplayContext
    folder: Path

    def look(self, what: InspectedPart = "all", page: int = 0) -> Inspection:
        """Inspect it."""
        return self.portal.call(inspect_context, self.line, what, self.folder, page)

    def find(self, selector: str, frame: str = "") -> LocateResult:
        """Ask what a selector matches in its first page."""
        return self.portal.call(locate_in_context, self.line, selector, 0, frame)

    def run_to(self, iteration: int) -> None:
        """Do steps."""
        self.portal.call(_advance, self.line, iteration)

    def run(self, expression: str) -> None:
        """Change the page by hand."""
        assert self.portal.call(self.line.evaluate, expression).error is None


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[BlockingPortal, ContextPool]]:
    """Run one browser for all lines of this module."""
    with start_blocking_portal() as portal:
        bundle = open_bundle(TRACES / "shop_passing")
        with portal.wrap_async_context_manager(open_context_pool(bundle, ContextOptions())) as lines:
            yield portal, lines


def stand(opened: tuple[BlockingPortal, ContextPool], bundle: str, iteration: int, folder: Path) -> Stand:
    """Bring a fresh line of a bundled mission to a place."""
    portal, lines = opened
    made = Stand(portal, portal.call(lines.open, open_bundle(TRACES / bundle)), folder)
    made.run_to(iteration)
    return made


async def _advance(line: ReplayContext, iteration: int) -> None:
    while line.iteration < iteration:
        async for _ in line.advance():
            pass


def test_everything_at_a_pause_is_shown_and_the_mission_goes_on_as_if_nobody_had_looked(
    opened: tuple[BlockingPortal, ContextPool], tmp_path: Path
) -> None:
    """At several places, before and after which every step is faithful."""
    here = stand(opened, "shop_passing", 0, tmp_path)
    start = here.look()
    here.run_to(BEFORE_QUANTITY)
    seen, found = here.look(), here.find("#quantity")
    here.run_to(here.line.step_count)
    end = here.look()

    verdicts = {verdict_of(each) for each in here.line.outcomes}
    assert verdicts == {"faithful"}
    assert (start.iteration, seen.iteration, end.iteration) == (0, 9, 29)
    assert end.next is None
    assert (start.network.served, start.network.misses) if start.network else None == (0, ())
    shows_the_product(seen, tmp_path)
    assert (found.count, found.visible, found.matches[0].description) == (1, 1, '<input#quantity> "Quantity"')


def shows_the_product(seen: Inspection, folder: Path) -> None:
    """Check what an inspection before the quantity is filled in tells."""
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


def test_a_target_that_would_not_bind_is_told_with_what_it_may_have_become(
    opened: tuple[BlockingPortal, ContextPool], tmp_path: Path
) -> None:
    """Nothing, several, another one, a disabled one: before the action finds out."""
    here = stand(opened, "shop_passing", BEFORE_QUANTITY, tmp_path)

    def problem_after(expression: str) -> str:
        here.run(expression)
        seen = here.look("next")
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


def test_one_part_alone_can_be_asked_for(opened: tuple[BlockingPortal, ContextPool], tmp_path: Path) -> None:
    """All others are left out, and no file is written for them."""
    here = stand(opened, "shop_failing", 1, tmp_path)
    here.run("console.warn('careful'); setTimeout(() => { throw new Error('late') }); localStorage.setItem('k', 'v')")

    asked: dict[str, InspectedPart] = {
        "pages": "page",
        "picture": "screenshot",
        "next": "next",
        "network": "network",
        "storage": "storage",
        "console": "console",
        "divergences": "divergences",
    }
    seen = {name: here.look(what) for name, what in asked.items()}

    for name, inspection in seen.items():
        assert [each for each in EVERY if getattr(inspection, each) is not None] == [name]
        assert inspection.touched
    assert seen["console"].console is not None
    assert ("warning", "careful") in [(each.kind, each.text) for each in seen["console"].console]
    assert seen["storage"].storage is not None
    assert ("local", "k", "v") in [(each.kind, each.name, each.value) for each in seen["storage"].storage]
    endings = sorted(each.suffix for each in (tmp_path / "inspections").iterdir())
    assert endings == [".html", ".png"]


def test_divergences_so_far_are_shown(opened: tuple[BlockingPortal, ContextPool], tmp_path: Path) -> None:
    """Those of the steps that were done, as soon as there are some."""
    here = stand(opened, "shop_diverging", 1, tmp_path)
    assert here.look("divergences").divergences == ()

    while verdict_of(here.line.outcomes[-1]) != "diverged":
        here.run_to(here.line.iteration + 1)

    told = here.line.outcomes[-1].outcome
    assert isinstance(told, ActionOutcome)
    assert here.look("divergences").divergences == told.divergences != ()


def test_pages_and_selectors_that_are_not_there_are_refused(
    opened: tuple[BlockingPortal, ContextPool], tmp_path: Path
) -> None:
    """With what is there; none is taken for another one."""
    here = stand(opened, "shop_passing", 0, tmp_path)

    for what in ("page", "storage", "all"):
        with pytest.raises(PageMissingError, match=r"page 4 .* is not open; open pages: 0"):
            here.look(what, page=4)
    with pytest.raises(ActionRejectedError, match=r"looking for \[\["):
        here.find("[[")
    with pytest.raises(PageMissingError, match="no frame '7'"):
        here.find("p", frame="7")


def test_a_first_page_that_is_closed_hides_nothing_else(
    opened: tuple[BlockingPortal, ContextPool], tmp_path: Path
) -> None:
    """Where everything is asked for, and no page by name, the rest is still shown."""
    here = stand(opened, "shop_passing", 0, tmp_path)
    first = here.line.session.page(0)
    assert first is not None
    here.portal.call(here.line.session.context.new_page)
    here.portal.call(first.close)

    seen = here.look()

    assert seen.picture is not None
    assert (seen.picture.path, seen.picture.problem) == (None, "the page is not open")
    assert seen.storage == ()


def test_what_was_found_is_told_in_lines(opened: tuple[BlockingPortal, ContextPool], tmp_path: Path) -> None:
    """With what to look at, and what a target may have become."""
    here = stand(opened, "shop_passing", BEFORE_QUANTITY, tmp_path)
    here.run("quantity.id = 'amount'; console.log('one\\n\\x1b[2Jtwo')")

    told = render_inspection(here.look()).splitlines()
    found = render_locate_result(here.find("rating-stars .star")).splitlines()

    assert told[0] == "9 of 29 steps done; JavaScript was run manually before this point"
    assert told[1].startswith("next: 10 fill #quantity")
    assert "  target #quantity matches 0 elements now" in told
    assert "    would not bind now: #quantity: expected one element, found none" in told
    assert any(line.startswith("    did you mean <input#amount>") for line in told)
    assert "divergences so far: none" in told
    assert any(line.startswith("  page 0 log: one \\x1b[2Jtwo") for line in told)
    assert found[0] == "rating-stars .star matches 5 elements of page 0"
    assert len(found) == 6
