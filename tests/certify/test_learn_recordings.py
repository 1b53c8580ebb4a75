"""Two recordings of one mission teach what a site varies, without a replay."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.learn_recordings import learn_from_recordings
from eikon_engine.cli.main import eikon
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.store import NetworkWriter
from eikon_engine.outcome.learning import LearningReport
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import AddMask
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import TRACE_FILE, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.certify.rehearsal import Stage, page_of
from tests.commands import run_here
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from eikon_engine.dom import PageSnapshot
    from eikon_engine.trace.bundle import Bundle
    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

LIST = """<!doctype html><title>Items ({visit})</title><h1 id=title>Items</h1><a id=item href="/item/{item}">First</a>
<form method=post action=/note><input type=hidden name=csrf_token value={token}><button id=note>Note</button></form>
<p id=answer></p><p id=visit>Visit number {visit} of this page.</p><p id=mine></p><aside>{word}</aside>
<script>mine.id = 'own-' + Math.random().toString(36).slice(2, 12).padEnd(10, 'x')</script>"""
ITEM = """<!doctype html><title>Item</title><h1>Item</h1><a id=link href="/item/{item}/edit">Edit</a>"""


@contextmanager
def items() -> Iterator[tuple[PageSite, list[str]]]:
    """Serve a list whose item has another id, and whose form has another token, at each visit.

    The last of the words that are yielded is shown beside it.
    """
    visits, words = count(8), ["Welcome"]
    with serve_pages() as site:

        def show(asked: Asked) -> Answer:
            return Answer(body=ITEM.format(item=asked.path.rpartition("/")[2]))

        def start(_asked: Asked) -> Answer:
            item = secrets.token_hex(6)
            site.answers[f"/item/{item}"] = show
            token = secrets.token_hex(16)
            return Answer(body=LIST.format(item=item, token=token, visit=next(visits), word=words[-1]))

        site.answers["/"] = start
        yield site, words


async def _open_first_item(folder: Path, url: str, seed: int) -> None:
    options = RecordOptions(random_seed=seed)
    recorder = open_recorder(folder, mission_text="Look", mission_id="look", options=options)
    async with recorder as mission, mission.subgoal("Look", subgoal_id="look"):
        await mission.perform(Navigate(url=url))
        await mission.perform(Click(target=Target(selector="#item")))


def learn(bundle: Path, other: Path, *options: Path | str) -> CompletedProcess[str]:
    """Run the command."""
    return run_here(eikon, ["learn", bundle, other, *options], "eikon")


def masks_of(report: LearningReport) -> list[AddMask]:
    """Return the proposed masks."""
    return [each for each in report.patch.operations if isinstance(each, AddMask)]


def test_two_values_do_not_tell_a_counter_from_a_change(tmp_path: Path) -> None:
    """The report shows the number that it cannot type, and what would tell."""
    first, second = tmp_path / "first", tmp_path / "second"
    with items() as (site, _):
        asyncio.run(_open_first_item(first, site.url, seed=1))
        asyncio.run(_open_first_item(second, site.url, seed=2))
    ended = learn(first, second)

    assert ended.returncode == 1
    assert "'Items (8)' in one recording, 'Items (9)' in the other" in ended.stderr
    assert "2 values do not tell a counter from a change: record the mission again" in ended.stderr
    assert "text at html > body > p#visit: 'Visit number 8 of this page.' in one recording" in ended.stderr
    assert "visit" not in ended.stdout


def test_what_a_site_varies_gets_rules_and_masks(tmp_path: Path) -> None:
    """An id gets a rule, a counter a mask with the words around it; tokens and numbers that pages draw need none."""
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    with items() as (site, _):
        for seed, folder in enumerate((first, second, third), start=1):
            asyncio.run(_open_first_item(folder, site.url, seed=seed))
        ended = learn(first, second, third, "--json")
        report = LearningReport.model_validate_json(ended.stdout)

        assert ended.returncode == 3
        assert report.status == "proposed", report.differences
        changed = report.patch.model_dump_json()
        assert 'href=\\"/item/([0-9a-f]{12})(?=\\")' in changed
        evidence = "counter from 8: 8, 9, 10 in 3 observations"
        counters = [each.mask for each in masks_of(report) if each.mask.reason == evidence]
        assert [each.part.kind for each in counters] == ["title", "text", "text"]
        assert r"Visit\\ number\\ (?:[8-9]|" in changed
        assert "csrf" not in changed
        assert "own-" not in changed

        before = replay(first, tmp_path / "before", network="live")
        accepted = learn(first, second, third, "--accept")
        assert accepted.returncode == 0, accepted.stderr
        after = [replay(first, tmp_path / f"after-{number}", network="live") for number in range(2)]

    assert before.verdict == "diverged"
    assert [each.verdict for each in after] == ["faithful", "faithful"], after[0].divergences


def test_a_difference_of_no_known_type_is_shown(tmp_path: Path) -> None:
    """Other words are nothing that varies by nature: the report has both, and no mask."""
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    with items() as (site, words):
        asyncio.run(_open_first_item(first, site.url, seed=1))
        asyncio.run(_open_first_item(second, site.url, seed=1))
        words.append("Closed today")
        asyncio.run(_open_first_item(third, site.url, seed=1))
    before = (first / TRACE_FILE).read_bytes()
    ended = learn(first, second, third)

    assert ended.returncode == 1
    assert "look: different, the pages of 2 actions compared" in ended.stderr
    assert "'Welcome' in one recording, 'Closed today' in another" in ended.stderr
    assert "aside" not in ended.stdout
    assert (first / TRACE_FILE).read_bytes() == before


def test_a_recording_is_equal_to_itself(tmp_path: Path) -> None:
    """Nothing is proposed, and nothing is written."""
    with items() as (site, _):
        asyncio.run(_open_first_item(tmp_path / "first", site.url, seed=1))
    before = (tmp_path / "first" / TRACE_FILE).read_bytes()

    ended = learn(tmp_path / "first", tmp_path / "first", "--accept")

    assert ended.returncode == 0
    assert "look: equal" in ended.stderr
    assert (tmp_path / "first" / TRACE_FILE).read_bytes() == before


def simulated(folder: Path, page: PageSnapshot) -> Bundle:
    """Simulate the recording of a page."""
    folder.mkdir()
    Stage(lambda _run, _budget: page).record(folder, BlobStore(folder / "dom"))
    NetworkWriter(folder / "network").close()
    return open_bundle(folder)


def record_without_snapshot(folder: Path, page: PageSnapshot) -> Bundle:
    """Simulate the recording of a page of which only digests are stored."""
    trace = simulated(folder, page).trace
    (attempt,) = trace.subgoal_traces
    (step,) = attempt.actions_taken
    assert step.observation is not None
    pages = tuple(each.model_copy(update={"snapshot": None}) for each in step.observation.pages)
    observation = step.observation.model_copy(update={"pages": pages})
    changed = attempt.model_copy(update={"actions_taken": (step.model_copy(update={"observation": observation}),)})
    write_trace(trace.model_copy(update={"subgoal_traces": (changed,)}), folder / TRACE_FILE)
    return open_bundle(folder)


def test_pages_differ_also_if_no_snapshot_shows_where(tmp_path: Path) -> None:
    """A page without a stored snapshot is reported with its digests."""
    first = record_without_snapshot(tmp_path / "first", page_of("Welcome"))
    second = record_without_snapshot(tmp_path / "second", page_of("Closed"))

    report = learn_from_recordings(first, second).report
    same = learn_from_recordings(first, first).report

    assert (report.status, same.status) == ("different", "equal")
    (difference,) = report.differences
    assert difference.message.startswith("The DOM of page 0 differs; no snapshot was stored")
    assert "'DOM digest " in difference.message


def test_another_recording_is_asked_for_only_if_it_may_tell(tmp_path: Path) -> None:
    """Neither an amount of money nor an id has a type, whatever further recordings show."""
    shown = ("Visits: {}", "Price: {}", "{} EUR", "Load {}.5", "Agent 00{}")
    pages = ([each.format(number) for each in shown] for number in (7, 8))
    first, second = (simulated(tmp_path / str(number), page_of(*texts)) for number, texts in enumerate(pages))

    differences = learn_from_recordings(first, second).report.differences

    asked = [each.message.partition(": ")[2] for each in differences if "learn from 3 recordings" in each.message]
    assert len(differences) == len(shown)
    assert [each.split(" in one recording")[0] for each in asked] == ["'Visits: 7'", "'Load 7.5'"]


def test_recordings_of_different_missions_are_refused(tmp_path: Path) -> None:
    """One line names the first step that differs, or the numbers of steps."""
    first, second = tmp_path / "first", tmp_path / "second"
    with items() as (site, _):
        asyncio.run(_open_first_item(first, site.url, seed=1))
    shutil.copytree(first, second)
    bundle = open_bundle(first)
    (attempt,) = bundle.trace.subgoal_traces

    for steps, message in (
        (tuple(reversed(attempt.actions_taken)), "but step 1 is"),
        (attempt.actions_taken[:1], "has 2 steps and"),
    ):
        renumbered = tuple(step.model_copy(update={"sequence": n}) for n, step in enumerate(steps, start=1))
        changed = attempt.model_copy(update={"actions_taken": renumbered})
        write_trace(bundle.trace.model_copy(update={"subgoal_traces": (changed,)}), second / TRACE_FILE)
        ended = learn(first, second)
        assert ended.returncode == 2
        assert "expected two recordings of one mission" in ended.stderr
        assert message in ended.stderr


def test_what_an_agent_typed_belongs_to_the_mission(tmp_path: Path) -> None:
    """Recordings that differ in a text, a key or a URL are of different missions."""
    first, second = tmp_path / "first", tmp_path / "second"
    with items() as (site, _):
        asyncio.run(_open_first_item(first, site.url, seed=1))
        asyncio.run(_open_first_item(second, f"{site.url}/?page=2", seed=1))

    ended = learn(first, second)

    assert ended.returncode == 2
    assert "but step 1 is" in ended.stderr
    assert "/?page=2" in ended.stderr


def test_recordings_without_baselines_teach_nothing(tmp_path: Path) -> None:
    """None is an error; some without make the result unverifiable, not equal."""
    first, second = tmp_path / "first", tmp_path / "second"
    with items() as (site, _):
        asyncio.run(_open_first_item(first, site.url, seed=1))
    shutil.copytree(first, second)
    trace = open_bundle(first).trace
    (attempt,) = trace.subgoal_traces
    for count_without, status, message in ((1, 1, "look: unverifiable"), (2, 2, "Certify the bundle first")):
        steps = tuple(
            step.model_copy(update={"observation": None}) if number < count_without else step
            for number, step in enumerate(attempt.actions_taken)
        )
        changed = attempt.model_copy(update={"actions_taken": steps})
        write_trace(trace.model_copy(update={"subgoal_traces": (changed,)}), second / TRACE_FILE)
        ended = learn(first, second, "--accept")
        assert ended.returncode == status
        assert message in ended.stderr


def test_a_damaged_recording_is_refused(tmp_path: Path) -> None:
    """The exit status is that of unreadable data."""
    with items() as (site, _):
        asyncio.run(_open_first_item(tmp_path / "first", site.url, seed=1))
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / TRACE_FILE).write_text("{")

    ended = learn(tmp_path / "first", tmp_path / "second")

    assert ended.returncode == 65
    assert ended.stderr.count("\n") == 1
