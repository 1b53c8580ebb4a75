"""A scenario with pages, tools and models is recorded, then replayed with every server stopped."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.scenario.workshop import ITEMS, PAGE, Ran, Workshop
from tests.sites.model_server import serve_model
from tests.sites.static import serve_folder

SCENARIO = """
id: stock_check
goal: Find what bananas cost
start_url: "{{site}}/index.html"
allowed_tools: [web_fetch, read_file, next_number]
variables: {site: null, fruit: banana}
subgoals:
  - id: look
    description: Look on the page
    steps:
      - action: {type: fill, target: {selector: "#query"}, text: "{{fruit}}"}
      - action: {type: click, target: {selector: "#find"}}
        as: found
      - skill: extract_table
        as: table
      - tool: web_fetch
        args: {url: "{{site}}/items.json"}
        as: answer
      - completion: {prompt: "Which is cheapest? {{answer.text}}"}
        as: cheapest
  - id: compare
    description: Compare with the list
    steps:
      - tool: read_file
        args: {path: list.txt}
        as: list
      - tool: next_number
        as: one
      - tool: next_number
        as: two
      - tool: next_number
        as: three
      - note: "{{fruit}} costs {{table.rows.0.price}}"
      - completion:
          messages:
            - {role: system, content: Be brief.}
            - {role: user, content: "Compare {{list.text}} with {{cheapest}} for {{table}}"}
        as: verdict
gates:
  max_tool_calls: 5
  max_completions: 2
  max_actions: 3
"""


@dataclass(frozen=True)
class Shown:
    """A recording, and two replays of it with all servers stopped."""

    shop: Workshop
    recorded: Ran
    replays: tuple[Ran, Ran]
    asked: int


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Record and replay once for all tests of this module."""
    folder = tmp_path_factory.mktemp("shown")
    site = folder / "site"
    site.mkdir()
    (site / "index.html").write_text(PAGE)
    (site / "items.json").write_text(json.dumps(ITEMS))
    (folder / "list.txt").write_text("banana: 0.30")
    shop = Workshop(folder)
    shop.write(SCENARIO)
    with serve_folder(site) as url, serve_model() as model:
        shop.environ = {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "gpt-test"}
        recorded = shop.run_apart("scenario.yaml", "--tools", "ours:next_number", "--var", f"site={url}")
        asked = len(model.asked)
    replays = (shop.replay(recorded), shop.run_apart("scenario.yaml", "--mode", "replay", "--latest"))
    return Shown(shop, recorded, replays, asked)


def test_the_scenario_is_recorded_with_its_mission_certified(shown: Shown) -> None:
    """The run is recorded, and its mission is certified."""
    assert shown.recorded.status == 0, shown.recorded.err
    note = json.loads((shown.recorded.folder / "run.json").read_text())
    assert (note["state"], note["certified"], note["mode"]) == ("complete", "certified", "record")
    assert shown.asked == 2


def test_both_replays_succeed(shown: Shown) -> None:
    """Both replays succeed."""
    assert [each.status for each in shown.replays] == [0, 0], [each.err for each in shown.replays]
    notes = [json.loads((each.folder / "run.json").read_text()) for each in shown.replays]
    assert [(each["state"], each["verdict"]) for each in notes] == [("complete", "faithful")] * 2


def test_the_fixtures_folder_of_a_replay_is_empty(shown: Shown) -> None:
    """The fixtures folder of a replay is empty."""
    for replay in shown.replays:
        assert list((replay.folder / "fixtures").iterdir()) == []


def test_outputs_are_equal_to_the_byte(shown: Shown) -> None:
    """The outputs of recording and replays are byte-identical."""
    texts = {(each.folder / "outputs.json").read_bytes() for each in (shown.recorded, *shown.replays)}
    assert len(texts) == 1
    outputs = json.loads(texts.pop())
    assert (outputs["one"], outputs["two"], outputs["three"]) == (1, 2, 3)
    assert outputs["table"]["rows"][0] == {"name": "banana", "price": "0.25"}
    assert outputs["cheapest"].startswith("WHICH IS CHEAPEST?")


def test_a_replay_answers_from_the_recording_at_once(shown: Shown) -> None:
    """A replay serves answers from the recording immediately."""
    for replay in shown.replays:
        results, completions = replay.events("tool_result"), replay.events("completion")
        assert {each["source"] for each in results} == {"fixture"}
        assert {each["source"] for each in completions} == {"replayed"}
        assert max(each["latency_ms"] for each in (*results, *completions)) < 5_000


def test_a_recording_and_its_replay_have_the_same_events(shown: Shown) -> None:
    """A recording and its replay write the same events."""

    def events_of(ran: Ran) -> list[tuple[str, int | None]]:
        numbered = ((each["type"], each) for each in ran.all_events())
        return [(kind, each.get("sequence", each.get("outcome", {}).get("sequence"))) for kind, each in numbered]

    assert events_of(shown.recorded) == events_of(shown.replays[0]) == events_of(shown.replays[1])


def test_a_changed_step_diverges_and_is_named(shown: Shown) -> None:
    """A changed step diverges, and the divergence names it."""
    shown.shop.write(SCENARIO.replace("#find", "#search"), "changed.yaml")

    replay = shown.shop.replay(shown.recorded, name="changed.yaml")

    assert replay.status == 1
    assert "look__attempt_1_action_003: click" in replay.err
    assert '$.target.selector: expected "#find", got "#search"' in replay.err
    assert "(code scenario-diverged)" in replay.err


def test_a_step_that_is_left_out_diverges_and_is_named(shown: Shown) -> None:
    """A removed step diverges, and the divergence names it."""
    lines = SCENARIO.replace("      - action: {type: fill", "      - note: nothing\n        # {type: fill")
    shown.shop.write(lines, "shorter.yaml")

    replay = shown.shop.replay(shown.recorded, name="shorter.yaml")

    assert replay.status == 1
    assert "click #find" in replay.err


def test_a_changed_prompt_is_reported_with_its_difference(shown: Shown) -> None:
    """A changed prompt fails the replay with its difference to the recorded one."""
    shown.shop.write(SCENARIO.replace("Which is cheapest?", "Which is dearest?"), "dearest.yaml")

    replay = shown.shop.replay(shown.recorded, name="dearest.yaml")

    assert replay.status == 78
    assert "no replay data for" in replay.err


def test_fixtures_without_their_run_do_not_serve_a_scenario_with_pages(shown: Shown, tmp_path: Path) -> None:
    """A scenario with pages cannot be replayed from fixtures without their run."""
    (tmp_path / "fixtures").symlink_to(tmp_path / "there")
    (shown.recorded.folder / "fixtures").rename(tmp_path / "there")
    try:
        replay = shown.shop.run("scenario.yaml", "--mode", "replay", "--fixtures-dir", str(tmp_path / "there"))
    finally:
        (tmp_path / "there").rename(shown.recorded.folder / "fixtures")

    assert replay.status == 65
    assert "expected the run folder" in replay.err
