from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import NoMissionsError, TraceError, UsageError
from eikon_engine.suite.missions import (
    UNKNOWN_S,
    Selection,
    Shard,
    SuiteMission,
    changed_missions,
    find_missions,
    mission_id_of,
    recorded_seconds,
    shard_missions,
)
from tests.suite.bundles import TRACES, write_head


def mission(name: str, *tags: str) -> SuiteMission:
    """Return a mission without a bundle."""
    return SuiteMission(name=name, bundle=Path(name), tags=frozenset(tags))


def names(missions: object) -> list[str]:
    """Return the names of missions."""
    assert isinstance(missions, tuple)
    return [each.name for each in missions]


def test_missions_are_named_by_their_path(tmp_path: Path) -> None:
    """From the working directory, in order; a bundle that is named twice is one mission."""
    for name in ("b", "a/inner"):
        shutil.copytree(TRACES / "shop_failing", tmp_path / "traces" / name)

    found = find_missions([tmp_path / "traces" / "b", tmp_path / "traces"], here=tmp_path)

    assert names(found) == ["traces/b", "traces/a/inner"]
    assert names(find_missions([tmp_path / "traces" / "b" / "trace.json"], here=tmp_path / "other")) == [
        (tmp_path / "traces" / "b").as_posix()
    ]


def test_artifacts_of_replays_are_no_missions(tmp_path: Path) -> None:
    """A live replay keeps snapshots in its artifacts, as a bundle does."""
    blob = tmp_path / "run" / "dom" / f"{'0' * 64}.zst"
    blob.parent.mkdir(parents=True)
    blob.touch()
    (tmp_path / "run" / "outcome.json").touch()

    with pytest.raises(NoMissionsError, match="artifacts of replays only"):
        find_missions([tmp_path])


def test_a_folder_without_bundles_is_an_error_of_its_own(tmp_path: Path) -> None:
    """Its exit status is that of pytest for no tests."""
    with pytest.raises(NoMissionsError, match="expected bundles in or below the folder") as caught:
        find_missions([tmp_path])

    assert caught.value.exit_status == 5


def test_a_script_is_no_bundle(tmp_path: Path) -> None:
    """The message names the script and how to record it; another file is only refused."""
    for name, advice in (("agent.py", "record a script with `eikon suite record`"), ("notes.txt", "check the path")):
        (tmp_path / name).touch()

        with pytest.raises(TraceError, match=f"{name}: expected a bundle or a folder .*, got another file; {advice}"):
            find_missions([tmp_path / name])


def test_a_path_that_does_not_exist_is_the_error_of_a_replay_of_it(tmp_path: Path) -> None:
    """`eikon suite run nope` ends as `eikon replay nope` does."""
    with pytest.raises(TraceError, match="got no such path") as caught:
        find_missions([tmp_path / "nope"])

    assert (caught.value.code, caught.value.exit_status) == ("trace-missing", 65)


ALL = (mission("t/cart", "shop"), mission("t/login", "shop", "slow"), mission("u/board"))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), ["t/cart", "t/login", "u/board"]),
        (Selection(include=("t",)), ["t/cart", "t/login"]),
        (Selection(include=("*/cart", "u/*")), ["t/cart", "u/board"]),
        (Selection(include=("u/",)), ["u/board"]),
        (Selection(exclude=("t/c*",)), ["t/login", "u/board"]),
        (Selection(tags=frozenset({"shop"})), ["t/cart", "t/login"]),
        (Selection(tags=frozenset({"shop"}), skipped_tags=frozenset({"slow"})), ["t/cart"]),
        (Selection(names=frozenset({"u/board", "gone"})), ["u/board"]),
    ],
)
def test_missions_are_selected(selection: Selection, expected: list[str]) -> None:
    """By patterns of their names, by tags, by a set of names."""
    assert names(selection.choose(ALL)) == expected


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(include=("x",)), "no mission fits the pattern 'x'; the first one found is t/cart"),
        (Selection(exclude=("x*",)), "no mission fits the pattern"),
        (Selection(include=("t/[c]art",)), "no mission fits the pattern"),
        (Selection(tags=frozenset({"fast"})), "no mission has the tag 'fast'; known tags: shop, slow"),
        (Selection(names=frozenset()), "no mission is selected, of 3 that were found"),
    ],
)
def test_what_selects_nothing_is_an_error(selection: Selection, message: str) -> None:
    """A mistyped pattern or tag would pass for a green suite."""
    with pytest.raises(UsageError, match=message):
        selection.choose(ALL)


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_a_shard_is_one_of_several(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="expected a shard such as 2/8"):
        Shard.parse(text)


@given(st.lists(st.integers(0, 500), min_size=1, max_size=40), st.integers(1, 7))
def test_shards_are_all_missions_once_and_take_about_as_long(
    tmp_path_factory: pytest.TempPathFactory, seconds: list[int], count: int
) -> None:
    """No shard takes longer than the fair part and one mission."""
    folder = tmp_path_factory.mktemp("shards")
    missions = tuple(
        SuiteMission(name=f"m{number}", bundle=write_head(folder / f"m{number}", seconds=each))
        for number, each in enumerate(seconds)
    )

    shards = [shard_missions(missions, Shard(number=number, count=count)) for number in range(1, count + 1)]

    assert sorted(name for shard in shards for name in names(shard)) == sorted(names(missions))
    loads = [sum(recorded_seconds(each.bundle) for each in shard) for shard in shards]
    assert max(loads) <= sum(loads) / count + max(seconds)
    assert shards[0] == shard_missions(missions[::-1], Shard(number=1, count=count))[::-1]


def test_the_duration_of_a_recording_is_in_its_head(tmp_path: Path) -> None:
    """A mission that was not completed, or is unreadable, counts as one of average length."""
    assert recorded_seconds(TRACES / "shop_passing") == 63
    assert recorded_seconds(tmp_path) == UNKNOWN_S
    (tmp_path / "trace.json").write_text(json.dumps({"started_at": "2026-01-15T10:00:00Z", "ended_at": None}))
    assert recorded_seconds(tmp_path) == UNKNOWN_S


def test_the_id_of_a_mission_is_that_of_its_trace(tmp_path: Path) -> None:
    """Empty if it cannot be read."""
    assert mission_id_of(TRACES / "shop_passing") == "shop_passing"
    assert mission_id_of(tmp_path) == ""
    (tmp_path / "trace.json").write_text("[")
    assert mission_id_of(tmp_path) == ""


def git(folder: Path, *words: str) -> None:
    """Run git."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


def test_changed_missions_differ_from_a_revision(tmp_path: Path) -> None:
    """In any of their files, also in one that git does not know yet; a file of all missions counts for each."""
    missions = tuple(SuiteMission(name=name, bundle=write_head(tmp_path / name)) for name in ("a", "b", "c", "d"))
    settings = tmp_path / "eikon.toml"
    settings.write_text("")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    write_head(tmp_path / "a", seconds=5)
    (tmp_path / ".gitignore").write_text("*.toml\n")
    (tmp_path / "c" / "masks.toml").touch()

    assert changed_missions(missions, "HEAD", (settings,)) == {"a", "c"}
    settings.write_text("policy = 1")
    assert changed_missions(missions, "HEAD", (settings,)) == {"a", "b", "c", "d"}
    for revision in ("none", "--output=x"):
        with pytest.raises(UsageError, match="--changed-since: git rev-parse"):
            changed_missions(missions, revision, ())
