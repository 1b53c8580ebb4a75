"""Commands killed at random moments, in short: `benchmarks.kills` does it at length."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random  # noqa: TID251 - seeded

import pytest

from benchmarks.kills import runs
from benchmarks.kills.__main__ import shares
from benchmarks.kills.checks import unreadable
from benchmarks.kills.commands import CASES, INPUT, Case
from benchmarks.kills.runs import Kill, Place, Usual, check_next_start, kill_once, new_place
from tests.until import GENEROUS_S

BUNDLE = Path(__file__).parents[1] / "data/traces/shop_failing"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are listed by /proc")


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """Return the folder of which each command gets a copy."""
    folder = tmp_path / "template"
    (folder / INPUT).mkdir(parents=True)
    shutil.copytree(BUNDLE, folder / INPUT / "bundle")
    return folder


def kill(place: Place, usual: Usual, seed: int) -> Iterator[Kill]:
    """Kill a command once with each signal, at moments that depend on the seed."""
    for number in SIGNALS:
        yield kill_once(place, usual, (number,), Random(f"{seed} {number}"))  # noqa: S311 - repeatable


@pytest.mark.browser
@pytest.mark.parametrize(("name", "seconds"), [("replay", 2.0), ("export bundle", 0.6)])
def test_killed_commands_lose_nothing_and_leave_nothing(
    name: str, seconds: float, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They end in time, with all that they started; what they wrote reads back, and they work at the next start."""
    monkeypatch.setattr(runs, "LIMIT_S", GENEROUS_S)
    case = next(each for each in CASES if each.name == name)
    place = new_place(case, tmp_path / "place", template, {})
    usual = Usual(0, seconds, frozenset({"input", "out", "out.zip"}))

    kills = list(kill(place, usual, seed=3))

    assert [each.findings for each in kills] == [(), (), ()]
    assert check_next_start(place, usual) == []


def test_what_a_command_does_wrong_is_found(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ignores signals, starts a process of its own, breaks a file and changes its input has all findings."""
    program = (
        "import pathlib, signal, subprocess, tempfile, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path('out.json').write_text('{')\n"
        "pathlib.Path('input/more').touch()\n"
        "tempfile.mkdtemp()\n"
        "subprocess.Popen(['sleep', '100'], start_new_session=True)\n"
        "time.sleep(100)\n"
    )
    monkeypatch.setattr(runs, "LIMIT_S", 0.3)
    case = Case("bad", (), program=("-c", program))
    place = new_place(case, tmp_path / "place", template, {})

    killed = kill_once(place, Usual(0, 2.0, frozenset()), (signal.SIGTERM,), Random(5))  # noqa: S311 - repeatable

    assert {kind for kind, _ in killed.findings} >= {"hang", "orphans", "lost"}


def test_an_incomplete_line_is_accepted_after_sigkill_only(tmp_path: Path) -> None:
    """And only as the last one."""
    (tmp_path / "log.jsonl").write_text('{"a":1}\n{"b"')

    assert list(unreadable(tmp_path, is_killed=True)) == []
    assert len(list(unreadable(tmp_path, is_killed=False))) == 1


def test_quick_commands_are_killed_more_often() -> None:
    """All kills are made."""
    divided = shares(100, (16.0, 4.0, 1.0))

    assert (sum(divided), sorted(divided)) == (100, list(divided))
