"""Replay a bundle of the format "v3.1", with every action of it, older skills and pages stored as HTML."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.import_recording import import_command
from eikon_engine.cli.replay import replay_command
from eikon_engine.cli.skills import rerun_command
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.trace.bundle import open_bundle
from tests.commands import run_here
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    import subprocess

TEA = Path(__file__).parents[1] / "data" / "traces" / "v3_1_shop"
RECORDED = "http://127.0.0.1:8642"


def replay(trace: Path, folder: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], ReplayOutcome]:
    """Replay a bundle and return the command with its outcome."""
    arguments = ("--trace", trace, "--artifacts-dir", folder, *options)
    done = run_here(replay_command, arguments, "eikon-replay")
    return done, ReplayOutcome.model_validate_json((folder / "outcome.json").read_bytes())


def skill_verdicts(outcome: ReplayOutcome) -> list[tuple[str, str]]:
    """Return the verdict of each skill."""
    steps = (step for subgoal in outcome.subgoals for step in subgoal.steps)
    return [(step.skill, step.verdict) for step in steps if step.kind == "skill"]


def test_stored_pages_belong_to_actions_and_skills() -> None:
    """The page after step N is in `step_NNN`; a skill ran on the last page of its attempt."""
    first, second, third = open_bundle(TEA).trace.subgoal_traces

    pages = [action.stored_page for action in first.actions_taken]
    assert [None if page is None else page.path[-18:] for page in pages][3:] == [
        "/step_004/dom.html",
        None,
        "/step_006/dom.html",
    ]
    assert [use.stored_page.url for use in second.skills_used if use.stored_page] == [f"{RECORDED}/"]
    assert [use.stored_page.path for use in third.skills_used if use.stored_page] == [
        "artifacts/subgoal_03/step_003/dom.html"
    ] * 2


def test_older_skills_are_mapped_where_they_mean_the_same(tmp_path: Path) -> None:
    """An output in the form of the successor is compared; anything else is unverifiable, with the reason."""
    done = run_here(rerun_command, (TEA,), "eikon skills rerun")

    assert done.returncode == 3
    assert "login_form_skill signed in on the page" in done.stdout
    assert "an older version recorded skill form_fill" in done.stdout
    assert "2 unchanged, 0 changed, 3 not rerun" in done.stdout + done.stderr
    bundle = Path(shutil.copytree(TEA, tmp_path / "tea"))
    page = bundle / "artifacts/subgoal_03/step_003/dom.html"
    page.write_text(page.read_text(encoding="utf-8").replace("€ 2.50", "€ 2.60"), encoding="utf-8")
    assert "1 changed" in run_here(rerun_command, (bundle,), "eikon skills rerun").stdout


@pytest.mark.browser
def test_an_older_bundle_replays_on_its_stored_pages(tmp_path: Path) -> None:
    """Snapshot playback finds every target in the stored pages, types no secret, and runs what skills there are."""
    done, outcome = replay(TEA, tmp_path / "run", "--network", "snapshot")

    assert done.returncode == 3, done.stderr
    assert (outcome.counts.actions, outcome.counts.skills, outcome.network.served) == (17, 4, 5)
    assert skill_verdicts(outcome) == [
        ("login_form_skill", "unverifiable"),
        ("extract_listing", "unverifiable"),
        ("extract_listing", "faithful"),
        ("form_fill", "unverifiable"),
    ]


@pytest.mark.browser
def test_a_target_that_a_stored_page_lacks_is_a_divergence(tmp_path: Path) -> None:
    """The stored pages are really used: without the field in one of them, the fill diverges."""
    bundle = Path(shutil.copytree(TEA, tmp_path / "tea"))
    page = bundle / "artifacts/subgoal_01/step_003/dom.html"
    page.write_text(page.read_text(encoding="utf-8").replace('id="password"', 'id="code"'), encoding="utf-8")

    done, outcome = replay(bundle, tmp_path / "run", "--network", "snapshot")

    assert done.returncode == 1
    assert [(each.code, each.sequence) for each in outcome.divergences] == [("target-missing", 4)]


@pytest.mark.browser
def test_an_older_bundle_replays_against_its_site(tmp_path: Path) -> None:
    """Every action is performed on the site; only the skill with an output to compare with is faithful."""
    site = tmp_path / "site"
    stored = {"login": "01/step_001", ".": "02/step_001", "offers": "03/step_003"}
    for name, place in stored.items():
        (site / name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TEA / f"artifacts/subgoal_{place}/dom.html", site / name / "index.html")

    with serve_folder(site) as url:
        options = ("--network", "live", "--base-url", f"{RECORDED}={url}", "--secret", "PASSWORD=green leaves")
        done, outcome = replay(TEA, tmp_path / "run", *options)

    assert done.returncode == 3, done.stderr
    assert (outcome.counts.actions, outcome.divergences) == (17, ())
    assert [verdict for _, verdict in skill_verdicts(outcome)].count("faithful") == 1


@pytest.mark.browser
def test_an_imported_bundle_keeps_the_stored_pages(tmp_path: Path) -> None:
    """`eikon import` writes the same mission in the current version, with the pages that it refers to."""
    imported = tmp_path / "tea"

    assert run_here(import_command, ("eikon", TEA, "-o", imported), "eikon import").returncode == 0
    done, outcome = replay(imported, tmp_path / "run", "--network", "snapshot")

    assert json.loads((imported / "trace.json").read_bytes())["trace_version"] == 4
    assert (done.returncode, outcome.network.served) == (3, 5)


@pytest.mark.browser
def test_messages_name_the_trace_as_it_was_given(tmp_path: Path) -> None:
    """A trace with a name of its own is named in the summary and in errors, not its folder."""
    bundle = Path(shutil.copytree(TEA, tmp_path / "tea"))
    older = (bundle / "trace.json").rename(bundle / "tea-2025.json")

    _, outcome = replay(older, tmp_path / "run", "--network", "snapshot")
    refused = run_here(replay_command, ("--trace", older, "--network", "sealed"), "eikon-replay")

    assert outcome.trace_path == str(older)
    assert str(older) in refused.stderr
    assert refused.returncode == 78
