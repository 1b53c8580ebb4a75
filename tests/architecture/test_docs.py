from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import fields
from html import unescape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, get_args

import click
import pytest
from pydantic import BaseModel

import eikon_engine
from eikon_engine import AttachOptions, RecordOptions, ReplayOptions
from eikon_engine.browser.executable import find_browser
from eikon_engine.cli.main import COMMANDS
from eikon_engine.errors import ActionError, EikonError
from eikon_engine.outcome import debug_events, divergence, events, outcomes
from eikon_engine.outcome import divergence as explanation
from eikon_engine.outcome import outcomes as gate_result
from eikon_engine.outcome import stored_values as stored
from eikon_engine.trace.actions import Action
from eikon_engine.trace.trace_file import read_trace
from tests.architecture.sources import PROJECT, sources
from tests.sites.shop import serve_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import DataclassInstance

README = PROJECT / "README.md"
DOCS = PROJECT / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"(?:^\* |, )`(\w+)` (?=[\w=\"])", re.MULTILINE)
CODE = re.compile(r"[a-z]+(-[a-z]+)+")
DETECTORS = "eikon_engine.divergence.detectors."
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ANCHORED = re.compile(r"\]\(([\w./-]*)#([\w-]+)\)")
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")


def test_generated_pages_are_up_to_date() -> None:
    """Running `scripts/build_reference` would change nothing: generated pages match the code."""
    done = subprocess.run(
        [sys.executable, PROJECT / "scripts" / "build_reference", "--check"],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "up to date\n", "")


def test_every_page_can_be_reached_from_the_index() -> None:
    """Each page in docs/ is linked from docs/index.md, each decision from docs/adr/README.md."""
    linked = set(LINK.findall(_pages()["index.md"]))
    linked |= {f"adr/{link}" for link in LINK.findall(_pages()["adr/README.md"])}

    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}

    assert sorted(pages - linked) == []


def test_every_link_has_a_target() -> None:
    """Every relative link in the documents of the project names a file that exists."""
    pages = (*PROJECT.glob("*.md"), *DOCS.rglob("*.md"), PROJECT / "replay_artifacts" / "README.md")

    broken = [
        f"{page.relative_to(PROJECT)} -> {link}"
        for page in pages
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]

    assert broken == []


def test_every_link_into_a_page_has_a_heading() -> None:
    """The part after `#` of a link between pages is a heading of that page, in the form that GitHub gives it."""
    headings = {
        path.resolve(): {_anchor(heading) for heading in HEADING.findall(path.read_text(encoding="utf-8"))}
        for path in (*PROJECT.glob("*.md"), *DOCS.rglob("*.md"))
    }

    broken = [
        f"{page.relative_to(PROJECT)} -> {link}#{anchor}"
        for page in headings
        for link, anchor in ANCHORED.findall(page.read_text(encoding="utf-8"))
        if anchor not in headings[(page.parent / link).resolve() if link else page]
    ]

    assert broken == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_is_documented(command: str) -> None:
    """A page of docs/ shows how `eikon COMMAND` is called."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))

    assert f"eikon {command}" in text


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_is_documented(command: str) -> None:
    """Each option of a command is on the page that shows how the command is called."""
    entry = COMMANDS[command]
    parsed: click.Command = getattr(import_module(entry.module), entry.attribute)
    pages = [text for text in _pages().values() if f"eikon {command}" in text]

    undocumented = [
        option
        for parameter in parsed.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if not any(re.search(rf"`{option}[`\s]", text) for text in pages)
    ]

    assert undocumented == []


def test_every_error_has_a_section() -> None:
    """Each code of an error is a heading of docs/errors.md."""
    assert sorted(set(_codes(EikonError)) - {EikonError.code} - _sections("errors.md")) == []


def test_every_divergence_has_a_section() -> None:
    """Each code of a detector, and each code of a failed action, is a heading of docs/divergences.md."""
    found = _divergence_codes() | set(_codes(ActionError))

    assert sorted(found - _sections("divergences.md")) == []


def test_every_documented_divergence_exists() -> None:
    """Each heading of docs/divergences.md is the code of a detector or of a failed action."""
    found = _divergence_codes() | set(_codes(ActionError))

    assert sorted(_sections("divergences.md") - found) == []


@pytest.mark.parametrize("model", get_args(get_args(Action)[0]), ids=lambda model: model.__name__)
def test_every_action_has_a_section(model: type[BaseModel]) -> None:
    """Each action is a heading of docs/actions.md, and the page names each of its fields."""
    page = _pages()["actions.md"]

    unnamed = [field for field in model.model_fields if f"`{field}`" not in page]

    assert model.model_fields["type"].default in _sections("actions.md")
    assert unnamed == []


@pytest.mark.parametrize(
    ("module", "name_of_page"),
    [
        (divergence, "outcome-format.md"),
        (explanation, "outcome-format.md"),
        (outcomes, "outcome-format.md"),
        (gate_result, "outcome-format.md"),
        (events, "events.md"),
        (debug_events, "events.md"),
        (stored, "events.md"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, ModuleType) else "",
)
def test_every_outcome_model_has_a_section(module: ModuleType, name_of_page: str) -> None:
    """Each model of an outcome or event has a section on its page, with exactly its fields."""
    page = _pages()[name_of_page]

    for name, model in _models(module).items():
        section = re.split(r"\n##+ ", page.partition(f"\n### {name}\n")[2], maxsplit=1)[0]
        tag = re.findall(r'^`"(\w+)": ', section, re.MULTILINE)
        assert sorted([*tag, *FIELD.findall(re.sub(r": .*", "", section))]) == sorted(model.model_fields), name


@pytest.mark.parametrize(
    ("options", "name_of_page"),
    [(AttachOptions, "recording-agents.md"), (RecordOptions, "recording.md"), (ReplayOptions, "replay.md")],
)
def test_every_field_of_the_options_is_documented(options: type[DataclassInstance], name_of_page: str) -> None:
    """Each option that can be set from Python has a row in a table."""
    rows = set(re.findall(r"^\| `(\w+)` \|", _pages()[name_of_page], re.MULTILINE))

    assert sorted({field.name for field in fields(options)} - rows) == []


@pytest.mark.parametrize("name", eikon_engine.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    """Every name that the package exports exists and is in the README or on a page."""
    assert getattr(eikon_engine, name).__name__ == name
    assert any(name in text for text in (*_pages().values(), README.read_text(encoding="utf-8")))


def test_every_decision_is_in_the_list() -> None:
    """docs/adr/README.md lists each decision with its title."""
    for path in sorted((DOCS / "adr").glob("0*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix(f"# {path.name[:4]} ")

        assert f"]({path.name}) | {title} |" in _pages()["adr/README.md"]


def test_the_picture_shows_the_command_of_the_readme_and_a_cause() -> None:
    """`scripts/build_picture` drew what the command in the README prints, which explains why the replay diverged."""
    picture = unescape(re.sub(r"<[^>]*>", "", (DOCS / "divergence.svg").read_text(encoding="utf-8")))

    command = re.search(r"^\$ (eikon replay .*)$", picture, re.MULTILINE)
    cause = re.search(r"^Cause +(\S+)$", picture, re.MULTILINE)
    assert command is not None
    assert f"\n{command[1]}\n" in README.read_text(encoding="utf-8")
    assert cause is not None
    assert cause[1] == "site-changed"


def test_commands_of_the_readme_exist() -> None:
    """Scripts, sub-commands and bundles that the README names exist."""
    text = README.read_text(encoding="utf-8")

    scripts = set(re.findall(r"\./(scripts/\w+)", text))
    commands = set(re.findall(r"`eikon (\w+)", text))
    bundles = set(re.findall(r"--trace (\S+)", text)) - {"…`"}

    assert scripts
    assert bundles
    assert [name for name in sorted(scripts) if not os.access(PROJECT / name, os.X_OK)] == []
    assert commands <= set(COMMANDS)
    assert [name for name in sorted(bundles) if not (PROJECT / name / "trace.json").is_file()] == []


def test_the_readme_names_the_extra_of_each_command_that_needs_one() -> None:
    """Who runs a command of the table knows what to install before."""
    needed = {"run": "scenario", "show": "ui", "gate": "scenario", "debug": "debug", "fix": "fix"}

    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]

    for command, extra in needed.items():
        row = next(line for line in rows if f"`eikon {command} " in line)
        assert f"(`{extra}`)" in row, row


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    """The README's Python records a mission on our shop and replays it faithfully without the shop."""
    record, replay = PYTHON.findall(README.read_text(encoding="utf-8"))

    with serve_shop() as shop:
        _run(record.replace("http://127.0.0.1:8000", shop.url), tmp_path)
    replayed = _run(replay, tmp_path)

    assert replayed == "faithful\n"


def test_the_example_of_recording_runs(tmp_path: Path) -> None:
    """The Python of docs/recording.md records a mission on our shop."""
    (example,) = PYTHON.findall(_pages()["recording.md"])
    (tmp_path / "prices.csv").write_text("name;price\n", encoding="utf-8")

    with serve_shop() as shop:
        _run(f"{example}\n\nimport asyncio\n\nasyncio.run(report_prices({shop.url!r}, 'ada'))\n", tmp_path)

    trace = read_trace(tmp_path / "bundles" / "prices")
    assert trace.status == "failed"
    assert [extraction.name for extraction in trace.extractions] == ["prices"]


def test_the_examples_of_recording_agents_run(tmp_path: Path) -> None:
    """The Python of docs/recording-agents.md records two agents on our shop, and certifies the first."""
    with serve_shop() as shop:
        for example in PYTHON.findall(_pages()["recording-agents.md"]):
            chosen = example.replace(
                ".launch()", f".launch(executable_path={str(find_browser(None, environ=os.environ).path)!r})"
            )
            chosen = chosen.replace(
                "    print(mission.report.status)", "    print(mission.report.status, *mission.report.findings)"
            )
            printed = _run(chosen.replace("http://127.0.0.1:8000", shop.url), tmp_path)
            assert printed in {"certified\n", ""}

    banana, prices = (read_trace(tmp_path / "bundles" / name) for name in ("banana", "prices"))
    assert (banana.status, prices.status) == ("complete", "complete")
    assert [extraction.value for extraction in banana.extractions] != [""]
    assert [tool.tool for tool in prices.subgoal_traces[0].tools_used] == ["store_prices"]


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _pages() -> dict[str, str]:
    return {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}


def _sections(page: str) -> set[str]:
    return set(re.findall(r"^### `([\w-]+)`$", _pages()[page], re.MULTILINE))


def _codes(error: type[EikonError]) -> Iterator[str]:
    """Yield the codes of a class and of its subclasses."""
    yield from (error.code, *error.codes)
    for below in error.__subclasses__():
        yield from _codes(below)


def _divergence_codes() -> set[str]:
    """Find the codes in the text of the detectors: words joined by hyphens, two of them without their last word."""
    found = {
        node.value
        for source in sources()
        if source.name.startswith(DETECTORS)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value)
    }
    errors = {"page-error", "console-error"}
    return (found - errors) | {f"{code}-changed" for code in found & errors}


def _models(module: ModuleType) -> dict[str, type[BaseModel]]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__
    }


def _run(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
