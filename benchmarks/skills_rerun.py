"""Measure `eikon skills rerun`: how many stored pages of about 100 kB one core processes per second.

Run with ``python -m benchmarks.skills_rerun [--bundles N] [--pages M] [--jobs J]``. Every page is different, as in
missions on a shop: a style sheet, navigation, cards, a table and a footer. Times are processor time, so that
waiting for other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

from eikon_engine.dom import DomNode, FrameSnapshot, PageSnapshot, build_text_node, render_plain_html
from eikon_engine.dom.digest import snapshot_json
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.json_text import JsonValue
from eikon_engine.skills import SkillInput, default_skills
from eikon_engine.skills.rerun.rerun import RerunOptions, rerun_bundles
from eikon_engine.skills.rerun.results import RerunReport
from eikon_engine.trace.bundle import store_snapshot
from eikon_engine.trace.execution import ExecutionTrace, SkillInputRef, SkillUsage, SubgoalTrace, Succeeded
from eikon_engine.trace.trace_file import TRACE_FILE, write_trace

SIZE: Final = 100_000
"""Size of a page's stored JSON in bytes."""
SKILLS: Final[tuple[tuple[str, dict[str, JsonValue]], ...]] = (
    ("extract_listing", {}),
    ("extract_table", {}),
    ("extract_links", {}),
)
START: Final = datetime(2025, 1, 1, tzinfo=UTC)
TEXT: Final = "Grown on the southern slope, picked by hand in the early morning and carried here by ship & rail. "


def element(tag: str, *children: DomNode | str, **attributes: str) -> DomNode:
    """Make an element; `_` in an attribute's name becomes a hyphen, one at its end is dropped."""
    nodes = tuple(build_text_node(child) if isinstance(child, str) else child for child in children)
    named = sorted((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    return DomNode(tag=tag, attributes=tuple(named), children=nodes)


def page_of(seed: int, size: int = SIZE) -> PageSnapshot:
    """Make a page of about `size` bytes, different for every seed."""
    cards: list[DomNode] = []
    for number in count(seed * 1000):
        cards.append(_card(number))
        if len(cards) % 10 == 0:
            page = _page(seed, cards)
            if len(snapshot_json(page)) >= size:
                return page
    raise AssertionError


def make_bundles(folder: Path, bundles: int, pages: int, size: int = SIZE) -> tuple[Path, ...]:
    """Write bundles with runs of each skill in turn, one run per page."""
    return tuple(_bundle(folder / f"bundle-{number:04}", number * pages, pages, size) for number in range(bundles))


def _bundle(root: Path, first: int, pages: int, size: int) -> Path:
    store = BlobStore(root / "dom")
    registry = default_skills()
    uses = []
    for place in range(pages):
        page = page_of(first + place, size)
        name, parameters = SKILLS[place % len(SKILLS)]
        skill = registry.get(name)
        url = page.main.url
        given = SkillInput(html=render_plain_html(page.main), url=url, parameters=parameters)
        uses.append(
            SkillUsage(
                id=f"use-{place:03}",
                sequence=place + 1,
                skill=name,
                version=skill.version,
                parameters=parameters,
                source=SkillInputRef(snapshot=store_snapshot(store, page), url=url),
                result=Succeeded(),
                output=skill.run(given),
            )
        )
    attempt = SubgoalTrace(id="look", subgoal_id="look", description="look", status="complete", skills_used=tuple(uses))
    trace = ExecutionTrace(
        id=root.name,
        mission_id=root.name,
        mission_text="look at many pages",
        started_at=START,
        status="complete",
        subgoal_traces=(attempt,),
    )
    write_trace(trace, root / TRACE_FILE)
    return root


def _card(number: int) -> DomNode:
    return element(
        "li",
        element(
            "article",
            element(
                "a",
                element(
                    "img", alt=f"Crate {number}", loading="lazy", src=f"/media/crates/{number}.webp?w=320", width="320"
                ),
                class_="card__picture",
                href=f"/crates/{number}?ref=listing&pos={number % 97}",
            ),
            element(
                "div",
                element(
                    "h3", element("a", f"Crate number {number} of fruit", href=f"/crates/{number}"), class_="card__name"
                ),
                element("p", TEXT * 2, class_="card__text"),
                element(
                    "div",
                    element("span", f"€ {number % 90 + 1}.99", class_="price__now"),
                    element("del", f"€ {number % 90 + 9}.99", class_="price__old"),
                    class_="price",
                ),
                element("button", "Add to cart", class_="button button--primary", data_id=str(number), type="button"),
                class_="card__body",
            ),
            class_="card",
            data_sku=f"SKU-{number:06}",
        ),
        class_="listing__item",
    )


def _page(seed: int, cards: list[DomNode]) -> PageSnapshot:
    rows = [
        element("tr", *(element("td", f"{name} {seed + row}") for name in ("Harbour", "Ship", "Tons")))
        for row in range(40)
    ]
    navigation = [element("li", element("a", f"Section {each}", href=f"/sections/{each}")) for each in range(40)]
    style = "".join(f".listing__item--{each}{{margin:{each}px;color:rgb({each},0,0)}}\n" for each in range(250))
    head = element("head", element("title", f"Fruit, page {seed}"), element("style", style))
    body = element(
        "body",
        element("nav", element("ul", *navigation), class_="main-navigation"),
        element("main", element("h1", "Fruit"), element("ul", *cards, class_="listing"), id="main"),
        element("table", element("tbody", *rows)),
        element("footer", element("p", "All prices include taxes.")),
    )
    html = element("html", head, body, lang="en")
    frame = FrameSnapshot(path="", url=f"https://shop.example/fruit?page={seed}", name="", doctype="html", root=html)
    return PageSnapshot(frames=(frame,))


def measure(folders: tuple[Path, ...], only: str, jobs: int) -> str:
    """Return one line of the table."""
    begin, busy = time.perf_counter(), _busy()
    options = RerunOptions(skill_names=frozenset((only,) if only else ()), jobs=jobs)
    report = RerunReport(bundles=tuple(rerun_bundles(folders, options)))
    seconds, busy = time.perf_counter() - begin, _busy() - busy
    uses = report.count("unchanged")
    if report.exit_status or not uses:
        raise SystemExit(f"wanted nothing to change, found {report.count('changed')} changes of {uses}")
    return f"{only or 'all three':>16} {jobs:>5} {uses:>6} {seconds:>8.2f} {uses / seconds:>9.0f} {uses / busy:>9.0f}"


def _busy() -> float:
    """Return the seconds of processor time of this process and its ended children, their start included."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundles", type=int, default=40)
    parser.add_argument("--pages", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folders = make_bundles(Path(folder), given.bundles, given.pages)
        sys.stdout.write(f"{'skill':>16} {'jobs':>5} {'pages':>6} {'seconds':>8} {'a second':>9} {'a core':>9}\n")
        for only in (*(name for name, _ in SKILLS), ""):
            sys.stdout.write(f"{measure(folders, only, 1)}\n")
        sys.stdout.write(f"{measure(folders, '', given.jobs)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
