"""Options that mean the same in each command that has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from eikon_engine.cli.command import BundleArgument, OutputOption, command, group
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shared_options import bundle_argument, headless_option, output_option
from eikon_engine.cli.standard_streams import print_essential
from tests.cli.test_every_command import ALL, COMMANDS
from tests.commands import run_here
from tests.report.outcomes import make_outcome

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "tests/data/traces/shop_failing"


@command("show")
@bundle_argument()
@click.argument("step", required=False)
@click.option("--policy", type=click.Choice(["strict", "effects"]))
@click.option("--tag", "tags", multiple=True)
@click.option("--format", "kind", type=click.Choice(["text", "json"]), default="text")
@headless_option
def show_values(**values: object) -> None:
    """Print the values."""
    click.echo("a remark", err=True)
    print_essential("a result")
    click.echo(json.dumps(values, default=str))


@command("write")
@click.option("--source", type=click.Path(path_type=Path))
@output_option("File.", required=True)
def write_file(*, source: Path | None, output: Path) -> None:
    """Write a file."""
    output.write_text(f"new {source or ''}", encoding="utf-8")


@command("record")
@output_option("Bundle.", holds="bundle", required=True)
@click.option("--fails", is_flag=True)
def write_bundle(*, output: Path, fails: bool) -> None:
    """Write a bundle, or fail before it is complete."""
    output.mkdir(exist_ok=True)
    (output / "part").touch()
    if fails:
        raise KeyboardInterrupt
    (output / "trace.json").write_text("new", encoding="utf-8")


@group("tool")
def tool() -> None:
    """Have both."""


tool.add_command(show_values)
tool.add_command(write_file)


def shown(*words: str) -> dict[str, object]:
    """Return the values that the command got."""
    done = run_here(show_values, words, "show")
    assert done.returncode == 0, done.stderr
    values: dict[str, object] = json.loads(done.stdout)
    return values


@pytest.mark.parametrize("words", [("b", "s"), ("--trace", "b", "s"), ("s", "--trace=b")])
def test_a_bundle_is_given_by_position_or_by_option(words: tuple[str, ...]) -> None:
    """With --trace, the positions are those of the other arguments."""
    values = shown(*words)

    assert (values["bundle"], values["step"]) == ("b", "s")


def test_a_bundle_given_twice_is_refused() -> None:
    """The message has both names."""
    done = run_here(show_values, ["a", "s", "--trace", "b"], "show")

    assert done.returncode == 2
    assert "expected either BUNDLE or --trace, got both" in done.stderr


def test_each_bundle_argument_has_the_option() -> None:
    """Each argument that is a bundle may be given with --trace."""
    named = {
        name: {option for param in each.params for option in param.opts}
        for name, each in COMMANDS.items()
        if any(
            isinstance(param, BundleArgument) or param.human_readable_name.startswith("BUNDLE") for param in each.params
        )
    }

    assert len(named) > 20
    assert [name for name, options in named.items() if "--trace" not in options] == []


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_same_options_everywhere(name: str) -> None:
    """Each command has --quiet and --no-color; -o is --output, --json --format json, --headed goes with --headless."""
    options = {option for param in ALL[name].params for option in (*param.opts, *param.secondary_opts)}
    formats = [param.type for param in ALL[name].params if "--format" in param.opts]
    outputs = [param for param in ALL[name].params if "--output" in param.opts]

    assert {"--quiet", "--no-color"} <= options
    assert ("-o" in options) == ("--output" in options)
    assert (
        ("--headed" in options) == ("--headless" in options) == ("--browser-path" in options or name == "suite record")
    )
    assert "--force" in options or not outputs
    assert all(isinstance(each, OutputOption) for each in outputs) or name == "suite record"
    for each in formats:
        assert isinstance(each, click.Choice)
        assert "json" not in each.choices or "--json" in options


@pytest.mark.parametrize("words", [["--policy", "strict", "--policy", "effects"], ["--headless", "--headed"]])
def test_a_single_option_is_not_repeated(words: list[str]) -> None:
    """The last one would win without a word."""
    done = run_here(show_values, ["b", *words], "show")

    assert done.returncode == 2
    assert f"{words[0]}" in done.stderr
    assert "expected once, got it several times" in done.stderr


def test_a_repeatable_option_is_repeated() -> None:
    """Options for several values stay as they are."""
    assert shown("b", "--tag", "x", "--tag", "y")["tags"] == ["x", "y"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), True),
        (("--headless",), True),
        (("--headed",), False),
        (("--headless=false",), False),
        (("--headless", "false"), False),
        (("--headless", "true"), True),
    ],
)
def test_headless_has_several_forms(words: tuple[str, ...], *, expected: bool) -> None:
    """A flag, its opposite, or a value."""
    assert shown(*words, "b")["headless"] is expected


def test_another_value_of_headless_is_refused() -> None:
    """The message has the values that it takes."""
    done = run_here(show_values, ["b", "--headless=maybe"], "show")

    assert (done.returncode, "expected true or false, got 'maybe'" in done.stderr) == (2, True)


def test_json_is_a_format() -> None:
    """--json is --format json, and contradicts any other."""
    assert shown("b", "--json")["kind"] == "json"
    assert shown("b", "--json", "--format", "json")["kind"] == "json"
    assert run_here(show_values, ["b", "--json", "--format", "text"], "show").returncode == 2


@pytest.mark.parametrize("words", [["--quiet", "show", "b"], ["show", "b", "--quiet"]])
def test_quiet_omits_remarks(words: list[str]) -> None:
    """Results and errors are printed, whether the option is before or after the name."""
    done = run_here(tool, words, "tool")
    wrong = run_here(tool, [*words, "--policy", "no"], "tool")

    assert (done.returncode, done.stderr) == (0, "a result\n")
    assert json.loads(done.stdout)["bundle"] == "b"
    assert wrong.returncode == 2
    assert "'no' is not one of" in wrong.stderr
    assert sys.stderr is not None
    assert run_here(tool, ["show", "b"], "tool").stderr == "a remark\na result\n"


def test_no_color_is_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option sets it for the programs that the command starts, and for no longer than the command takes."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    program = command("env")(lambda: click.echo(os.environ.get("NO_COLOR")))

    done = run_here(program, ["--no-color"], "env")

    assert done.stdout == "1\n"
    assert "NO_COLOR" not in os.environ


def test_an_existing_file_is_replaced_on_request_only(tmp_path: Path) -> None:
    """One line names --force; with it, the file is new."""
    file = tmp_path / "file"
    file.write_text("old", encoding="utf-8")

    refused = run_here(write_file, ["-o", file], "write")

    assert (refused.returncode, file.read_text()) == (2, "old")
    expected = "expected a new file, got an existing one; add --force to replace it (code output-not-writable)"
    assert refused.stderr == f"write: {file}: {expected}\n"
    assert run_here(write_file, ["-o", file, "--force"], "write").returncode == 0
    assert file.read_text() == "new "


def test_what_is_read_is_not_replaced(tmp_path: Path) -> None:
    """A command would lose what it reads."""
    file = tmp_path / "file"
    file.write_text("old", encoding="utf-8")

    refused = run_here(write_file, ["--source", file, "-o", file, "--force"], "write")

    assert (refused.returncode, file.read_text()) == (2, "old")
    assert "is what the command reads" in refused.stderr


def test_an_existing_bundle_is_replaced_when_the_new_one_is_complete(tmp_path: Path) -> None:
    """A command that fails leaves the earlier bundle; no other folder remains."""
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "trace.json").write_text("old", encoding="utf-8")

    refused = run_here(write_bundle, ["-o", bundle], "record")
    failed = run_here(write_bundle, ["-o", bundle, "--force", "--fails"], "record")

    assert (refused.returncode, failed.returncode) == (2, 130)
    assert [(path.name, path.read_text()) for path in bundle.iterdir()] == [("trace.json", "old")]
    assert run_here(write_bundle, ["-o", bundle, "--force"], "record").returncode == 0
    assert (bundle / "trace.json").read_text() == "new"
    assert list(tmp_path.iterdir()) == [bundle]


def test_reports_are_replaced_on_request_only(tmp_path: Path) -> None:
    """`eikon report` is one of the commands that write a file."""
    (tmp_path / "outcome.json").write_text(make_outcome(folder=tmp_path).model_dump_json(), encoding="utf-8")
    (tmp_path / "report.html").write_text("mine", encoding="utf-8")
    words = ["report", tmp_path, "--format", "html", "-o", tmp_path / "report.html"]

    refused = run_here(eikon, words, "eikon")

    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    assert (tmp_path / "report.html").read_text() == "mine"
    assert run_here(eikon, [*words, "--force"], "eikon").returncode == 0
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "hint"), [(["replya"], "replay"), (["fix", "trase"], "trace"), (["debug", "checkpoint", "lst"], "list")]
)
def test_a_mistyped_command_gets_a_hint(words: list[str], hint: str) -> None:
    """The nearest names, in groups at any depth."""
    done = run_here(eikon, words, "eikon")

    assert done.returncode == 2
    assert "Did you mean" in done.stderr
    assert f"'{hint}'" in done.stderr


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "data/bash-completion/completions/eikon"),
        ("zsh", "data/zsh/site-functions/_eikon"),
        ("fish", "config/fish/completions/eikon.fish"),
    ],
)
def test_completion_is_printed_or_installed(
    shell: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is where the shell finds it; a second installation changes nothing; another file is not replaced."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    printed = run_here(eikon, ["completion", shell], "eikon")
    installed = run_here(eikon, ["completion", shell, "--install"], "eikon")
    again = run_here(eikon, ["completion", shell, "--install"], "eikon")

    assert (tmp_path / place).read_text() == printed.stdout
    assert installed.stdout == f"{tmp_path / place}: written; it holds for new shells\n"
    assert again.stdout == f"{tmp_path / place}: already installed\n"
    (tmp_path / place).write_text("mine", encoding="utf-8")
    assert run_here(eikon, ["completion", shell, "--install"], "eikon").returncode == 2
    assert run_here(eikon, ["completion", shell, "--install", "--force"], "eikon").returncode == 0


def test_a_shell_is_answered() -> None:
    """The script asks with an environment variable; commands and options are completed."""
    done = subprocess.run(
        [sys.executable, "-m", "eikon_engine"],
        env={**os.environ, "_EIKON_COMPLETE": "bash_complete", "COMP_WORDS": "eikon cert", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "plain,certify\n")
