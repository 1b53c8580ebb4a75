"""Every command: its help, a wrong path, a missing extra, a closed pipe, Ctrl-C and SIGTERM.

The commands come from the table of `eikon`, so that a new one is tested without further ado.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import pytest

import eikon_engine
from eikon_engine.cli.main import eikon
from eikon_engine.files.extras import EXTRAS
from tests.commands import run_here
from tests.report.outcomes import make_outcome
from tests.until import GENEROUS_S, wait_until

ROOT: Final = Path(__file__).parents[2]
BUNDLE: Final = ROOT / "tests/data/traces/shop_failing"
NOWHERE: Final = "nowhere/at/all"
NO_BROWSER: Final = ("--browser-path", "/nowhere/chrome")
TRACES_OF_FAULTS: Final = ("Traceback", "BrokenPipeError", "Exception ignored", "ExceptionGroup", "never retrieved")
EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "accept": ("BUNDLE", "OUTCOME"),
    "compare": ("BUNDLE", "--base", "http://127.0.0.1:9", "--head", "http://127.0.0.1:9"),
    "completion": ("bash",),
    "debug start": ("BUNDLE", *NO_BROWSER),
    "demo": ("--agent", "agent.py"),
    "diff": ("BUNDLE", "BUNDLE"),
    "export playwright": ("BUNDLE", "-o", "test_shop.py"),
    "fix loop": ("--test-cmd", "pytest"),
    "gate": ("GATES", "OUTCOME"),
    "import": (str(ROOT / "tests/data/histories/browser_use.json"), "-o", "imported"),
    "learn": ("BUNDLE", "BUNDLE"),
    "record": ("BUNDLE", "-o", "recorded", *NO_BROWSER),
    "report": ("OUTCOME",),
    "run": ("SCENARIO", *NO_BROWSER),
    "schema": ("trace",),
    "show": (NOWHERE,),
    "skills run": ("extract_links", "BUNDLE"),
    "skills show": ("extract_links",),
    "suite record": (NOWHERE, "-o", "recorded"),
    "suite merge": (NOWHERE, "--artifacts-dir", "merged"),
    "trace apply": ("BUNDLE", NOWHERE),
    "trace set": ("BUNDLE", "mission_text=Buy something"),
    "triage": ("OUTCOME", "--no-history"),
}
"""Arguments with which a command does something without a browser; those of others follow from their parameters."""


def walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command, and each group, with the words that call it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=" ".join(("eikon", *words)))
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, (*words, name))


ALL: Final = {" ".join(words): command for words, command in walk(eikon)}
COMMANDS: Final = {name: command for name, command in ALL.items() if not isinstance(command, click.Group)}
GROUPS: Final = {name: command for name, command in ALL.items() if isinstance(command, click.Group)}
ENTRY_POINTS: Final = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in Path(eikon_engine.__file__).parent.rglob("__main__.py")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each command a home and a working directory of its own."""
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


def environment(folder: Path) -> dict[str, str]:
    """Return variables that keep a command away from the files of the user."""
    home = str(folder / "home")
    return {
        "HOME": home,
        "XDG_DATA_HOME": f"{home}/data",
        "XDG_CONFIG_HOME": f"{home}/config",
        "XDG_STATE_HOME": f"{home}/state",
        "EIKON_HISTORY": "off",
        "EIKON_FIX_DIR": str(folder.with_name(f"{folder.name}-sessions")),
        "PYTHONPATH": str(ROOT),
    }


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Ended]]:
    """Return how a command ended in a mode; one process runs all of them, each in a child of it."""
    folder = tmp_path_factory.mktemp("commands")
    known, results = _write_examples(folder), dict[tuple[str, str], Ended]()
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.command_host"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment(folder)},
    )
    given, printed = host.stdin, host.stdout
    assert given is not None
    assert printed is not None

    def run(name: str, mode: str) -> Ended:
        if (name, mode) not in results:
            words = [*name.split(), *example(name, known)]
            call = {"words": words, "mode": mode, "folder": str(folder / f"{len(results)}")}
            print(json.dumps(call), file=given, flush=True)
            results[name, mode] = Ended(**json.loads(printed.readline()))
        return results[name, mode]

    with host:
        yield run
        given.close()


def _write_examples(folder: Path) -> dict[str, str]:
    (folder / "run").mkdir()
    (folder / "run" / "outcome.json").write_text(make_outcome(folder=folder / "run").model_dump_json())
    (folder / "gates.yaml").write_text("gates:\n  max_actions: 100\n", encoding="utf-8")
    return {
        "BUNDLE": str(BUNDLE),
        "OUTCOME": str(folder / "run"),
        "GATES": str(folder / "gates.yaml"),
        "SCENARIO": str(ROOT / "scenarios/release_notes.yaml"),
    }


def example(name: str, known: Mapping[str, str]) -> list[str]:
    """Return arguments of a command: those of the table, else a value for each parameter that is required."""
    command = COMMANDS[name]
    if name in EXAMPLES:
        return [known.get(word, word) for word in EXAMPLES[name]]
    words: list[str] = []
    for param in command.params:
        if isinstance(param, click.Argument) and (param.required or param.nargs == -1):
            words.append(_value(param, known))
        elif param.required:
            words += [param.opts[-1], "made.zip"]
    return [*words, *(NO_BROWSER if any("--browser-path" in param.opts for param in command.params) else ())]


def _value(param: click.Argument, known: Mapping[str, str]) -> str:
    if isinstance(param.type, click.Choice):
        return str(param.type.choices[0])
    if isinstance(param.type, click.types.IntParamType):
        return "1"
    return known["BUNDLE"]


@pytest.mark.parametrize("name", sorted(ALL))
def test_help_is_printed_for_h(name: str) -> None:
    """`-h` prints the help of each command and group."""
    done = run_here(eikon, [*name.split(), "-h"], "eikon")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: eikon {name}".rstrip())


@pytest.mark.parametrize("module", ENTRY_POINTS)
def test_help_is_printed_for_h_by_modules(module: str) -> None:
    """`python -m MODULE -h` prints the help, too."""
    done = subprocess.run([sys.executable, "-m", module, "-h"], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ")


@pytest.mark.parametrize("name", sorted(GROUPS))
def test_each_command_has_a_line_of_help(name: str) -> None:
    """On 80 columns, no line of the list of commands is cut or wrapped, and each command is in it."""
    done = run_here(eikon, [*name.split(), "-h"], "eikon")

    context = click.Context(GROUPS[name], info_name="eikon")
    listed = done.stdout.partition("--help")[2]
    lines = [line for line in listed.splitlines() if line.startswith("  ")][1:]
    names = [line.split()[0] for line in lines if not line.startswith("   ")]
    assert sorted(names) == sorted(GROUPS[name].list_commands(context))
    assert [line for line in lines if line.startswith("   ") or "..." in line or len(line) > 80] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_wrong_path_is_one_line(name: str) -> None:
    """A path, or another argument, that does not exist ends the command with a line that says so."""
    arguments = [param for param in COMMANDS[name].params if isinstance(param, click.Argument)]
    required = [param for param in COMMANDS[name].params if isinstance(param, click.Option) and param.required]
    words = [word for param in required for word in (param.opts[-1], NOWHERE)]

    done = run_here(eikon, [*name.split(), *words, *(NOWHERE for _ in range(len(arguments) or 1))], "eikon")

    assert done.returncode in {2, 65, 69, 78}, done.stderr
    assert done.stdout == ""
    assert sum(line.startswith(("eikon: ", "Error: ")) for line in done.stderr.splitlines()) == 1, done.stderr
    assert_no_fault(done.stderr)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_missing_extra_is_one_line(name: str, ended: Callable[[str, str], Ended]) -> None:
    """Without the modules of extras, a command works, or names the extra and ends with 78."""
    done, plain = ended(name, "extras"), ended(name, "plain")

    assert_no_fault(done.err)
    if done.status == 78 and plain.status != 78:
        named = re.findall(r"pip install .*\[(\w+)\]", done.err.splitlines()[-1])
        assert [name in EXTRAS for name in named] == [True], done.err
    else:
        assert done.status == plain.status, done.err


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("fix loop", "fix"),
        ("gate", "scenario"),
        ("run", "scenario"),
    ],
)
def test_the_extra_is_named(name: str, extra: str, ended: Callable[[str, str], Ended]) -> None:
    """Commands that cannot do anything without an extra name it."""
    done = ended(name, "extras")

    assert (done.status, f"[{extra}]" in done.err, len(done.err.splitlines())) == (78, True, 1), done.err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_closed_pipe_is_no_error(name: str, ended: Callable[[str, str], Ended]) -> None:
    """A command whose output is closed ends quietly, with the status of SIGPIPE if it had something to print."""
    done, plain = ended(name, "pipe"), ended(name, "plain")

    assert_no_fault(done.err)
    assert done.status == (141 if plain.out else plain.status), done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_stopped_command_is_one_line(name: str, number: signal.Signals, ended: Callable[[str, str], Ended]) -> None:
    """The status is that of the signal, and one line names it."""
    done = ended(name, number.name)

    cause = "the user" if number is signal.SIGINT else number.name
    assert (done.status, done.out) == (128 + number, "")
    assert done.err == f"eikon: stopped by {cause} (code interrupted)\n"


def assert_no_fault(text: str) -> None:
    """Check that nothing looks like a fault of the program."""
    assert [word for word in (*TRACES_OF_FAULTS, "code internal") if word in text] == [], text


# Commands that take long, stopped in the middle by what a terminal sends: a signal to all processes of the group.

WAITING_SCRIPT: Final = """
import pathlib, time
pathlib.Path("ready").touch()
time.sleep(100)
"""
SCENARIO: Final = """
id: waiting
goal: Wait
allowed_tools: [wait]
subgoals:
  - id: wait
    description: Wait
    steps:
      - tool: wait
        args: {}
"""
WAITING_TOOL: Final = """
import pathlib, time

def wait() -> str:
    \"\"\"Wait.\"\"\"
    pathlib.Path("ready").touch()
    time.sleep(100)
    return "done"
"""
LONG: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "certify": ((str(BUNDLE), "--runs", "1000"), "[CERTIFY]"),
    "compare": ((str(BUNDLE), "--base", "SILENT", "--head", "SILENT"), "[COMPARE]"),
    "debug start": ((str(BUNDLE),), "control it from another terminal"),
    "demo": (("--port", "0"), "http://"),
    "events": (("run", "--follow"), "run_start"),
    "fix loop": (
        ("--test-cmd", f"{sys.executable} waiting.py", "--target-file", "waiting.py", "--allow-dirty"),
        "cycle 1 of 3",
    ),
    "fix trace": ((str(BUNDLE), "--against", "recording", "--runs", "1000"), "[FIX]"),
    "record": (("--script", "waiting.py", "-o", "recorded"), "FILE"),
    "replay": ((str(BUNDLE),), "[REPLAY] mission"),
    "run": (("scenario.yaml", "--tools", "waiting_tool:wait"), "FILE"),
    "show": (("run",), "http://"),
    "suite record": (("waiting.py", "-o", "recorded"), "FILE"),
    "suite run": ((str(BUNDLE), "--repeat", "1000", "-j", "1"), "RESULTS"),
}
"""Arguments, and what is printed once the command is at work: a text, or a file that exists then."""
FILES: Final = {"FILE": "ready", "RESULTS": "suite_artifacts/results.jsonl"}
BRIEF: Final = frozenset({"doctor"})
"""Commands that start a browser for a moment only."""


def test_each_command_that_opens_a_browser_is_stopped_at_work() -> None:
    """A new one needs an entry in the table."""
    opening = {name for name, command in COMMANDS.items() if any("--headed" in each.opts for each in command.params)}
    opening |= {
        name
        for name, command in COMMANDS.items()
        if any("--headed" in each.secondary_opts for each in command.params if isinstance(each, click.Option))
    }

    assert sorted(opening - BRIEF - set(LONG)) == []


@pytest.mark.browser
@pytest.mark.parametrize("name", sorted(LONG))
def test_ctrl_c_at_work_is_one_line(name: str, tmp_path: Path) -> None:
    """Nothing looks like a fault, the last line says what happened, and each file is whole."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = _begin(name, tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        os.killpg(process.pid, signal.SIGINT)
        try:
            assert process.wait(timeout=GENEROUS_S) == 130, _printed(tmp_path)
        finally:
            process.kill()
            process.wait()

    printed = _printed(tmp_path)
    assert printed.splitlines()[-1].startswith("eikon: "), printed
    assert printed.splitlines()[-1].endswith("(code interrupted)"), printed
    assert_no_fault(printed)
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []
    for path in tmp_path.rglob("*.json"):
        json.loads(path.read_bytes())


@pytest.mark.parametrize("name", sorted(set(LONG) - {"demo", "events", "fix loop", "run", "show", "suite record"}))
def test_too_few_open_files_are_one_line(name: str, tmp_path: Path) -> None:
    """A command that opens a browser says at once how many files it needs; a browser with fewer would hang."""
    _write_inputs(tmp_path)
    given = ["http://127.0.0.1:9" if word == "SILENT" else word for word in LONG[name][0]]
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh", sys.executable, "-m", "eikon_engine", *name.split(), *given],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=GENEROUS_S,
        check=False,
    )

    assert done.returncode == 69, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "eikon: the limit of open files is too low for a browser: expected at least 256, got 64. "
        "Run `ulimit -n 1024` first. (code browser)"
    )
    assert_no_fault(done.stderr)


@pytest.mark.browser
def test_sigterm_at_work_has_a_status_of_its_own(tmp_path: Path) -> None:
    """A replay stopped by SIGTERM ends with 143, like a program that the signal has killed."""
    process = _begin("replay", tmp_path, "")
    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=GENEROUS_S) == 143, _printed(tmp_path)
    assert "was stopped by SIGTERM" in _printed(tmp_path).splitlines()[-1]


def _begin(name: str, folder: Path, silent: str) -> subprocess.Popen[bytes]:
    """Begin a command, and wait until it is at work."""
    _write_inputs(folder)
    words, sign = LONG[name]
    with (folder / "printed").open("wb") as file:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "eikon_engine",
                *name.split(),
                *(silent if word == "SILENT" else word for word in words),
            ],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )

    def is_at_work() -> bool:
        assert process.poll() is None, _printed(folder)
        return (folder / FILES[sign]).exists() if sign in FILES else sign in _printed(folder)

    try:
        wait_until(is_at_work, sign, GENEROUS_S)
    except AssertionError:
        process.kill()
        process.wait()
        raise
    return process


def _write_inputs(folder: Path) -> None:
    (folder / "waiting.py").write_text(WAITING_SCRIPT, encoding="utf-8")
    (folder / "waiting_tool.py").write_text(WAITING_TOOL, encoding="utf-8")
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    (folder / "run").mkdir()
    lines = (ROOT / "tests/data/events/version_1.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "run" / "events.jsonl").write_text("".join(lines[:2]), encoding="utf-8")
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.com"]
    for words in (["init", "-q"], ["add", "waiting.py"], ["commit", "-q", "-m", "begin"]):
        subprocess.run([*git, *words], cwd=folder, check=True, timeout=GENEROUS_S)


def _printed(folder: Path) -> str:
    return (folder / "printed").read_text(encoding="utf-8", errors="replace")
