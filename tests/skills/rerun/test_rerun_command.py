"""`eikon skills rerun`, as a skill author uses it: an installed skill is edited between two runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import invalidate_caches
from pathlib import Path
from textwrap import dedent

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.files.json_text import JsonValue
from eikon_engine.skills.rerun.results import RerunReport
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.execution import Failed, Result, Succeeded
from eikon_engine.trace.steps import MISSING_DOCUMENT
from tests.sites.model_server import Scripted, answer_error, answer_text, serve_model
from tests.skills.rerun.recorded import URL, element, page, use, write_bundle

ROOT = Path(__file__).resolve().parents[3]
BUNDLES, PAGES = 20, 12
SKILL = """
    from eikon_engine.skills import Output, Parameters, TypedSkill

    class Nothing(Parameters):
        pass

    class Price(Output):
        price: str | None

    class PriceOf(TypedSkill[Nothing, Price]):
        name = "price_of"
        version = 1
        description = "Find the price of a page."
        parameters = Nothing
        output = Price

        def analyze(self, document, parameters):
            found = document.tree.css_first(".price")
            return Price(price=None if found is None else found.text())
"""
CHANGED = SKILL.replace("version = 1", "version = 2").replace(
    'css_first(".price")', 'css_first(".offer") or document.tree.css_first(".price")'
)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of 20 bundles with 12 pages each; every seventh page also has an offer."""
    folder = tmp_path_factory.mktemp("bundles")
    for bundle in range(BUNDLES):
        uses = []
        for place in range(PAGES):
            number = bundle * PAGES + place
            offer = (element("b", f"€ {number}.49", class_="offer"),) if number % 7 == 0 else ()
            shown = page(element("p", f"€ {number}.99", class_="price"), *offer)
            uses.append((use(place + 1, "price_of", {"price": f"€ {number}.99"}), shown))
        write_bundle(folder / f"mission-{bundle:02}", uses)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one installed distribution that provides the skill."""
    site = tmp_path_factory.mktemp("site")
    info = site / "price_skills-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: price-skills\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[eikon_engine.skills]\nprice_of = price_skills:PriceOf\n")
    return site


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `eikon skills` in this process, with the current code of the skill."""
    monkeypatch.syspath_prepend(str(site))

    def run_here(source: str, *arguments: str) -> Done:
        write(site, source)
        sys.modules.pop("price_skills", None)
        invalidate_caches()
        status = run_command(eikon, ["skills", *arguments], "eikon")
        streams = capsys.readouterr()
        return Done(status, streams.out, streams.err)

    return run_here


def write(site: Path, source: str) -> None:
    """Edit the skill."""
    (site / "price_skills.py").write_text(dedent(source), encoding="utf-8")


def run_apart(site: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `eikon skills` in a separate process, with the current code of the skill."""
    write(site, source)
    return subprocess.run(
        [sys.executable, "-B", "-m", "eikon_engine", "skills", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"},
    )


def test_a_change_of_a_skill_shows_exactly_the_pages_it_changes(bundles: Path, site: Path, run: Run) -> None:
    """Of 240 stored pages exactly every seventh changes; after accepting, none does."""
    before = run_apart(site, SKILL, "rerun", str(bundles), "--jobs", "2")
    after = run(CHANGED, "rerun", str(bundles), "--jobs", "1", "--json")
    shown = run(CHANGED, "rerun", str(bundles), "--jobs", "1")

    report = RerunReport.model_validate_json(after.stdout)
    changed = [
        (Path(bundle.path).name, each.id)
        for bundle in report.bundles
        for each in bundle.uses
        if each.status == "changed"
    ]
    expected = [
        (f"mission-{number // PAGES:02}", f"use-{number % PAGES + 1}")
        for number in range(BUNDLES * PAGES)
        if number % 7 == 0
    ]
    assert (before.returncode, before.stdout) == (0, "")
    assert "20 bundles, 240 skill uses: 240 unchanged, 0 changed, 0 not rerun" in before.stderr
    assert after.returncode == 1
    assert changed == expected
    assert report.count("unchanged") == 240 - len(expected)
    assert shown.returncode == 1
    assert shown.stdout.startswith(
        f"{bundles}/mission-00: 2 changed of 12 skill uses\n"
        "  look #1 price_of (version 1 when recorded, 2 now): the output differs in 1 place\n"
        '    $.price: changed\n      - "€ 0.99"\n      + "€ 0.49"\n'
    )


def test_accepted_outputs_are_the_new_baseline(run: Run, tmp_path: Path) -> None:
    """The trace gets only the new outputs and their version; a stale certificate is reported."""
    folder = write_bundle(
        tmp_path / "mission",
        [
            (
                use(1, "price_of", {"price": "€ 1"}),
                page(element("p", "€ 1", class_="price"), element("b", "€ 0", class_="offer")),
            ),
            (use(2, "price_of", {"price": "€ 2"}), page(element("p", "€ 2", class_="price"))),
        ],
    )
    (folder / CERTIFICATE_FILE).write_text("{}")
    untouched = open_bundle(folder).trace.subgoal_traces[0].skills_used[1]

    accepted = run(CHANGED, "rerun", str(tmp_path), "--accept")
    again = run(CHANGED, "rerun", str(folder / "trace.json"))

    first, second = open_bundle(folder).trace.subgoal_traces[0].skills_used
    assert accepted.returncode == 0, accepted.stderr
    assert "1 changed of 2 skill uses; accepted" in accepted.stdout
    assert "1 certificate invalidated, first" in accepted.stderr
    assert (first.output, first.version, second) == ({"price": "€ 0"}, 2, untouched)
    assert (again.returncode, again.stdout) == (0, "")


@pytest.mark.parametrize("named", [".", "run/mission", "run/mission/trace.json"])
def test_the_mission_of_a_run_is_not_accepted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """A replay of the run would end at its outputs, so nothing is written to a bundle; showing is allowed."""
    shown = page(element("p", "€ 1", class_="price"))
    bundles = [
        write_bundle(tmp_path / name, [(use(1, "price_of", {"price": "€ 2"}), shown)]) for name in ("a", "run/mission")
    ]
    (tmp_path / "run" / "run.json").write_text("{}")
    before = [(each / "trace.json").read_bytes() for each in bundles]
    monkeypatch.chdir(tmp_path)

    refused = run(SKILL, "rerun", named, "--accept")
    compared = run(SKILL, "rerun", named)

    assert (refused.returncode, compared.returncode) == (2, 1)
    assert "the mission of a scenario run, whose outputs.json would no longer match" in refused.stderr
    assert [(each / "trace.json").read_bytes() for each in bundles] == before


@pytest.mark.parametrize("recorded", [1, True, 1.0], ids=["whole", "truth", "decimal"])
def test_equal_numbers_of_another_kind_have_changed(run: Run, tmp_path: Path, recorded: JsonValue) -> None:
    """1, true and 1.0 are three different values, although Python considers them equal."""
    link: JsonValue = {"url": f"{URL}a", "text": "a", "kind": "internal", "rel": [], "new_window": False}
    shown = page(element("a", "a", href="/a"))
    write_bundle(tmp_path / "a", [(use(1, "extract_links", {"links": [link], "count": recorded}), shown)])

    done = run(SKILL, "rerun", str(tmp_path))

    assert done.returncode == (0 if type(recorded) is int else 1)


def test_an_unreadable_bundle_hides_no_other_and_decides_the_status(run: Run, tmp_path: Path) -> None:
    """The other bundles are rerun and shown; the exit status is 65, whatever else was found."""
    shown = page(element("p", "€ 1", class_="price"))
    write_bundle(tmp_path / "a", [(use(1, "price_of", {"price": "€ 2"}), shown)])
    broken = write_bundle(tmp_path / "b", [(use(1, "price_of", {"price": "€ 1"}), shown)])
    (broken / "trace.json").write_text('{"trace_version": 4,')
    corrupt = write_bundle(tmp_path / "c", [(use(1, "price_of", {"price": "€ 1"}), shown)])
    for blob in (corrupt / "dom").iterdir():
        blob.write_bytes(b"nothing")

    done = run(SKILL, "rerun", str(tmp_path))

    assert done.returncode == 65
    assert "a: 1 changed of 1 skill use" in done.stdout
    assert "b: cannot be read: " in done.stdout
    assert "look #1 price_of: cannot be read: " in done.stdout
    assert "3 bundles, 2 skill uses: 0 unchanged, 1 changed, 0 not rerun, 2 unreadable" in done.stderr


@pytest.mark.parametrize("left", ["dom", CERTIFICATE_FILE])
def test_a_bundle_without_a_trace_is_reported_beside_another(run: Run, tmp_path: Path, left: str) -> None:
    """A folder with pages or a certificate is recognized as a bundle, and reported as unreadable."""
    shown = page(element("p", "€ 1", class_="price"))
    for name in ("a", "b"):
        write_bundle(tmp_path / name, [(use(1, "price_of", {"price": "€ 1"}), shown)])
    gone = tmp_path / "b"
    (gone / CERTIFICATE_FILE).write_text("{}")
    (gone / "trace.json").unlink()
    for each in {"dom", CERTIFICATE_FILE} - {left}:
        (gone / each).rename(tmp_path / "away")

    done = run(SKILL, "rerun", str(tmp_path))

    assert done.returncode == 65
    assert f"{gone}: cannot be read: {gone}: expected a bundle with trace.json" in done.stdout


def test_what_cannot_be_rerun_is_reported_and_never_a_pass(run: Run, tmp_path: Path) -> None:
    """A missing page, output, skill, frame or model ends with status 3, each with its reason."""
    shown = page(element("p", "€ 1", class_="price"))
    folder = write_bundle(
        tmp_path / "mission",
        [
            (use(1, "price_of", None), None),
            (use(2, "price_of", None, output_recorded=False), shown),
            (use(3, "price_off", None), shown),
            (use(4, "ask_page", None, parameters={"question": "What does it cost?"}), shown),
            (use(5, "price_of", {"price": "€ 1"}), shown),
        ],
    )

    done = run(SKILL, "rerun", str(folder))
    broken = run("import nowhere", "rerun", str(folder))

    assert (done.returncode, broken.returncode) == (3, 3)
    for line in (
        f"look #1 price_of: not rerun: {MISSING_DOCUMENT}",
        "look #2 price_of: not rerun: the recording contains no output of the skill to compare with",
        "look #3 price_off: not rerun: unknown skill 'price_off'",
        "look #4 ask_page: not rerun: ",
    ):
        assert line in done.stdout
    assert "look #5 price_of: not rerun: skill 'price_of' of price-skills 1.0" in broken.stdout


def test_a_skill_that_fails_now_has_changed(run: Run, tmp_path: Path) -> None:
    """An error of a skill ends only its run, and counts as a change of a run that succeeded."""
    shown = page(element("p", "€ 1", class_="price"))
    folder = write_bundle(tmp_path / "mission", [(use(1, "price_of", {"price": "€ 1"}), shown)])

    done = run(SKILL.replace('css_first(".price")', "nothing"), "rerun", str(folder))

    assert done.returncode == 1
    assert "succeeded when recorded, failed (price_of: the skill of price-skills 1.0 raised" in done.stdout


def test_a_skill_that_ends_the_process_has_failed(run: Run, tmp_path: Path) -> None:
    """A skill or module that exits ends only itself, whatever its exit status."""
    html = tmp_path / "page.html"
    html.write_text("<p class=price>€ 5</p>", encoding="utf-8")

    done = run(SKILL.replace("found = ", "raise SystemExit(0)\n            found = "), "run", "price_of", str(html))
    imported = run("raise SystemExit(0)", "run", "price_of", str(html))

    assert (done.returncode, imported.returncode) == (1, 78)
    assert "price_of: the skill of price-skills 1.0 raised SystemExit: 0" in done.stderr
    assert "cannot be imported: SystemExit: 0" in imported.stderr


def test_questions_to_a_model_are_captured_once_and_replayed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--debug-dir` the first rerun calls the model; the second uses the stored answers, without a model."""
    shown = page(element("p", "€ 1", class_="price"))
    asked = use(1, "ask_page", {"answer": "one euro", "cut": False}, parameters={"question": "What does it cost?"})
    folder = write_bundle(tmp_path / "mission", [(asked, shown)])
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_MODEL", "loopback")
    options = ("rerun", str(folder), "--debug-dir", str(tmp_path / "responses"))

    with serve_model(answer_text("one euro")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        captured = run(SKILL, *options)
    replayed = run(SKILL, *options)
    without = run(SKILL, "rerun", str(folder))

    assert (captured.returncode, replayed.returncode, without.returncode) == (0, 0, 3)
    assert "no-replay-data" in without.stdout or "no replay data" in without.stdout


@pytest.mark.parametrize("recorded", [Succeeded(), Failed(code="completion-unreachable", message="away")])
@pytest.mark.parametrize("scripted", [None, answer_error(500, "out of order")], ids=["away", "failing"])
def test_a_model_that_gives_no_answer_is_no_result_of_a_skill(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: Result, scripted: Scripted | None
) -> None:
    """The skill run is not rerun, the status is 3, and `--accept` writes nothing for it."""
    shown = page(element("p", "€ 1", class_="price"))
    parameters: JsonValue = {"question": "What does it cost?"}
    asked = use(1, "ask_page", {"answer": "one euro", "cut": False}, parameters=parameters, result=recorded)
    trace = write_bundle(tmp_path / "mission", [(asked, shown)]) / "trace.json"
    before = trace.read_bytes()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_MODEL", "loopback")

    with serve_model(*([] if scripted is None else [scripted])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1" if scripted is None else server.url)
        done = run(SKILL, "rerun", str(trace.parent), "--accept", "--debug-dir", str(tmp_path / "responses"))

    assert done.returncode == 3, done.stdout + done.stderr
    assert "look #1 ask_page: not rerun: " in done.stdout
    assert trace.read_bytes() == before


def test_folders_and_names_that_lead_nowhere_are_errors(run: Run, tmp_path: Path) -> None:
    """A folder without bundles, an unknown skill and a truncated recording each cause one line and their own status."""
    empty = run(SKILL, "rerun", str(tmp_path))
    unknown = run(SKILL, "rerun", str(tmp_path), "--skill", "nope")
    lone = write_bundle(
        tmp_path / "m", [(use(1, "price_of", {"price": "€ 1"}), page(element("p", "€ 1", class_="price")))]
    )
    none = run(SKILL, "rerun", str(lone), "--skill", "extract_table")

    assert (empty.returncode, unknown.returncode, none.returncode) == (65, 78, 3)
    assert "the folder contains no bundle" in empty.stderr
    assert "no skill use found; nothing was compared" in none.stderr
    assert all(len(each.stderr.splitlines()) == 1 for each in (empty, unknown))


def test_a_file_in_another_encoding_is_read_as_declared_or_refused(run: Run, tmp_path: Path) -> None:
    """No character is replaced silently."""
    html = tmp_path / "page.html"
    html.write_bytes("<p class=price>5 é</p>".encode("latin-1"))
    refused = run(SKILL, "run", "price_of", str(html))
    html.write_bytes("<meta charset=iso-8859-1><p class=price>5 é</p>".encode("latin-1"))
    done = run(SKILL, "run", "price_of", str(html))

    assert (refused.returncode, json.loads(done.stdout)) == (65, {"price": "5 é"})
    assert "got byte 0xe9" in refused.stderr


def test_installed_skills_are_listed_shown_and_run(run: Run, tmp_path: Path) -> None:
    """The list marks broken skills and continues; a skill requested by name must be valid."""
    html = tmp_path / "page.html"
    html.write_text("<p class=price>€ 5</p>", encoding="utf-8")

    listed = run(SKILL, "list")
    shown = run(SKILL, "show", "price_of", "--json")
    done = run(SKILL, "run", "price_of", str(html))
    broken = run("import nowhere", "list")
    refused = run("import nowhere", "run", "price_of", str(html))
    other = run("import nowhere", "run", "extract_links", str(html), "--param", "limit=1")

    assert "price_of              1  price-skills 1.0  Find the price of a page." in listed.stdout
    assert json.loads(shown.stdout)["output"]["properties"]["price"]["anyOf"][0] == {"type": "string"}
    assert json.loads(done.stdout) == {"price": "€ 5"}
    assert "broken: skill 'price_of' of price-skills 1.0" in broken.stderr
    assert "extract_table" in broken.stdout
    assert (listed.returncode, broken.returncode, refused.returncode, other.returncode) == (0, 0, 78, 0)
    assert (other.stderr, json.loads(other.stdout)) == ("", {"count": 0, "links": []})
