from __future__ import annotations

import re
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.debug.timeline import Timeline
from eikon_engine.debug.timeline_svg import MAX_LINES, WIDTH, render_timeline_svg
from eikon_engine.debug.timeline_text import render_timeline_text
from tests.debug.timelines import branch, checkpoint, shop_timeline, step

SVG = "{http://www.w3.org/2000/svg}"
TREE = """\
mission buy_a_banana, session s1
○ main: diverged ✗
├── ◆ automatic [cp_0_100]
├── ✓ 1 navigate to http://shop.test/
├── ✓ 2 type #search with 'banana'
├── ✓ 3 click #buy
├── ◆ before pay [cp_3_160], parked
│   └── ● with <coupon> & more (from main at [cp_3_160], active)
│       ├── ✓ 4 click #tab (new)
│       ├── ◆ automatic [cp_4_200]
│       │   └── ○ third (from with <coupon> & more at [cp_4_200], live): faithful ✓
│       │       └── ✓ 5 press Enter (new)
│       ├── ✓ 5 fill #coupon with 'FRUIT' (new)
│       ├── ▶ here: 5 of 7 steps done
│       └── · 2 steps left
├── ? 4 assert 1 of .card: unverifiable
├── ◆ divergence [cp_4_170]
├── ✗ 5 click #redeem: diverged
└── · 1 step left
"""

_LETTERS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)


def picture(timeline: Timeline) -> Element:
    """Draw a timeline, and parse the SVG."""
    return fromstring(render_timeline_svg(timeline))  # noqa: S314 - our own document


def written(drawn: Element) -> list[str]:
    """Return the texts of an SVG, from top to bottom."""
    return [each.text or "" for each in drawn.iter(f"{SVG}text")]


def test_the_text_timeline_shows_branches_at_their_forks() -> None:
    """It has checkpoints, verdicts, the position and upcoming steps."""
    assert render_timeline_text(shop_timeline()) == TREE


def test_the_active_branch_is_marked() -> None:
    """It is marked in words, and in colour on a terminal that has it."""
    bold_green = "\x1b[1;32m"

    assert f"{bold_green}● with <coupon> & more" in render_timeline_text(shop_timeline(), colour=True)
    assert bold_green not in render_timeline_text(
        shop_timeline().model_copy(update={"active_branch": "x"}), colour=True
    )
    assert "\x1b" not in render_timeline_text(shop_timeline())


def test_lines_wrap_on_a_narrow_terminal() -> None:
    """No text is truncated."""
    narrow = render_timeline_text(shop_timeline(), width=40)

    assert max(map(len, narrow.splitlines())) <= 40
    plain = re.sub(r"[\s│├└─]", "", narrow)
    assert plain == re.sub(r"[\s│├└─]", "", TREE)


def test_the_image_has_everything_that_the_text_has() -> None:
    """The order is the same; long texts wrap."""
    texts = "\n".join(written(picture(shop_timeline())))

    for line in TREE.splitlines()[1:]:
        words = re.sub(r"^[│├└─ ]*[●○◆✓✗?▶·] ", "", line)
        first = re.split(r" \(|: (?:faithful|diverged|unverifiable)", words)[0]
        assert first in texts


def test_the_image_marks_the_active_branch_and_the_position() -> None:
    """Its style has light and dark colours for their classes."""
    drawn = picture(shop_timeline())

    names = [each.text for each in drawn.iter(f"{SVG}text") if "active" in each.get("class", "").split()]
    assert names == ["with <coupon> & more", "here: 5 of 7 steps done"]
    assert [each.get("class") for each in drawn.iter(f"{SVG}rect")] == ["paper", "band"]
    assert "prefers-color-scheme: dark" in (drawn.findtext(f"{SVG}style") or "")


@pytest.mark.parametrize("draw", [render_timeline_text, render_timeline_svg])
def test_page_texts_are_escaped(draw: object) -> None:
    """They can inject neither terminal sequences nor markup."""
    evil = "</text><script>alert(1)</script>\x1b[2J\u202e\n\x00\ud800"
    timeline = Timeline(
        session_id=evil,
        mission_id=evil,
        branches=(branch(evil, checkpoints=(checkpoint("c", 0, evil),), steps=(step(1, evil),), iteration=1),),
        active_branch=evil,
    )
    assert callable(draw)

    drawn = str(draw(timeline))

    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", drawn)
    if draw is render_timeline_svg:
        assert "<script" not in drawn
        drawn.encode()


def test_branches_without_a_parent_are_drawn() -> None:
    """Each is drawn once, also if an edited file makes them circular."""
    timeline = Timeline(
        session_id="s",
        mission_id="m",
        branches=(
            branch("main"),
            branch("a", parent="b", fork=1),
            branch("b", parent="a", fork=1),
            branch("c", parent="gone", at="cp_x", fork=2),
            branch("d", parent="main", at="cp_gone", fork=2),
        ),
    )

    heads = [line.split("○ ")[1].split(" ")[0] for line in render_timeline_text(timeline).splitlines() if "○" in line]

    assert sorted(heads) == ["a", "b", "c", "d"]


def test_a_branch_is_drawn_once_if_two_checkpoints_name_it() -> None:
    """An edited file may contain this."""
    main = branch("main", checkpoints=(checkpoint("cp", 0), checkpoint("cp", 1)))
    timeline = Timeline(session_id="s", mission_id="m", branches=(main, branch("a", parent="main", at="cp")))

    assert render_timeline_text(timeline).count("○ a") == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), _LETTERS), min_size=1, max_size=6), st.data())
def test_every_timeline_can_be_drawn(shapes: list[tuple[int, int, str]], data: st.DataObject) -> None:
    """Every branch appears once, rows do not overlap, and no text has more than a few lines."""
    branches = [
        branch(
            f"b{number}",
            parent=None if number == 0 else f"b{parent}",
            fork=fork,
            iteration=fork + 1,
            steps=(step(fork + 1, label),),
        )
        for number, (parent, fork, label) in enumerate(shapes)
    ]
    active = data.draw(st.sampled_from(branches)).name
    timeline = Timeline(session_id="s", mission_id="m", branches=tuple(branches), active_branch=active)

    text, drawn = render_timeline_text(timeline), picture(timeline)

    for each in branches:
        assert len(re.findall(rf"[●○] {each.name}\b", text)) == 1
        assert written(drawn).count(each.name) == 1
    groups = [group for group in drawn.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    rows = [[float(each.get("y", "0")) for each in group.findall(f"{SVG}text")] for group in groups]
    assert all(len(row) <= MAX_LINES + 1 for row in rows)
    heights = [height for row in rows for height in row]
    assert heights == sorted(set(heights))
    assert all(float(each.get("x", "0")) < WIDTH - 100 for each in drawn.iter(f"{SVG}text"))
