"""`eikon run` rejects invalid input before it does anything, with its position and exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.errors import YamlError
from eikon_engine.scenario.model import read_scenario
from tests.scenario.tried import THREE, Run


def test_a_run_id_is_used_once(run: Run) -> None:
    """A run id cannot be used twice."""
    run(THREE, "--run-id", "mine")

    ended = run(THREE, "--run-id", "mine")

    assert (ended.status, "a run with this id exists" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mode", "replay"), "expected one of --fixtures-dir DIR and --latest, got none"),
        (("--mode", "replay", "--latest", "--fixtures-dir", "x"), "got --fixtures-dir and --latest"),
        (("--latest",), "--latest has no effect with --mode record"),
        (("--mode", "replay", "--latest", "--debug-dir", "x"), "--debug-dir has no effect with --mode replay"),
        (("--run-id", "../x"), "--run-id: expected at most 100 letters"),
        (("--var", "x=1"), "--var x: unknown variable: expected one of tried.yaml"),
        (("--tools", "nowhere:tool"), "--tools nowhere:tool: expected MODULE:NAME of a tool"),
        (("--tools", "json"), "expected MODULE:NAME of a function or ToolBox"),
    ],
)
def test_wrong_usage_is_reported_before_anything_is_done(run: Run, arguments: tuple[str, ...], message: str) -> None:
    """Wrong usage is refused with its reason, and no run folder is created."""
    ended = run(THREE, *arguments)

    assert ended.status == 2
    assert message in ended.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("steps", "status", "message"),
    [
        ("- {tool: echo", 65, "invalid YAML"),
        ("- {tol: echo}", 65, "line 7, column 9: subgoals[0].steps[0]: expected exactly one of the keys action, tool"),
        ("- {tool: echo, note: x}", 65, "got tool and note"),
        ("- {tool: echo, arg: 1}", 65, "line 7, column 22: subgoals[0].steps[0].arg: this field is unknown"),
        ("- {tool: web_fetch}", 78, "line 7, column 16: tool 'web_fetch' is not allowed"),
        ("- {tool: echo, args: {valu: 1}}", 2, "line 7, column 28: tool echo: valu"),
        ("- {tool: fail, args: {why: 1}}", 2, "line 7, column 28: tool fail: why: expected a string, got 1"),
        (
            '- {note: "{{nothing}}"}',
            65,
            "line 7, column 16: subgoals[0].steps[0].note: expected a variable or an output",
        ),
        (
            '- {tool: echo, as: a}\n- {note: "{{a.rows[0]}}"}',
            65,
            "line 8, column 16: subgoals[0].steps[1].note: expected a reference {{name}} or {{name.path.0}}, got",
        ),
        ("- {tool: echo, as: a}\n- {tool: echo, as: a}", 65, "expected a new name, got the output of line 7"),
        ("- {skill: extract_tables}", 78, "unknown skill 'extract_tables'"),
        ("- {action: {type: clik}}", 65, "subgoals[0].steps[0].action.type: expected one of"),
        ("- {action: {type: click}}", 65, "subgoals[0].steps[0].action.target: this field is missing"),
        (
            '- {tool: echo, args: {value: "{{eikon-secret:KEY}}"}}',
            78,
            "secret KEY was not provided",
        ),
        ("- {completion: {}}", 65, "expected one of prompt and messages"),
    ],
)
def test_a_wrong_scenario_is_reported_with_its_position(run: Run, steps: str, status: int, message: str) -> None:
    """An error in the steps is one line with its position."""
    ended = run(steps)

    assert (ended.status, ended.err.count("\n")) == (status, 1), ended.err
    assert message in ended.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("rest", "status", "message"),
    [
        ("gates: {max_tool_cals: 1}", 65, "line 8, column 9: gates.max_tool_cals: expected the name of a gate"),
        (
            "gates: {max_tool_calls: {limit: 1, tool: ecko}}",
            65,
            "line 8, column 42: gates.max_tool_calls.tool: expected a",
        ),
        (
            "gates:\n  latency_ms: [{limit: 9, of: tool, name: ecko}]",
            65,
            "line 9, column 43: gates.latency_ms[0].name: ",
        ),
        ("gates: {output_matches: [{tool: x, schema: {}}]}", 65, "line 8, column 33: gates.output_matches[0].tool: "),
        ("variables: {x: null}", 78, "line 8, column 16: variable x has no value. Use --var x="),
        ("format_version: 2", 65, "format_version"),
        ("files: ..", 65, "line 8, column 8: files: expected a folder below that of the scenario, got '..'"),
        ("files: /", 65, "files: expected a folder below"),
        ("colour: red", 65, "line 8, column 1: colour: this field is unknown"),
    ],
)
def test_a_wrong_head_is_reported_with_its_position(run: Run, rest: str, status: int, message: str) -> None:
    """An error in the head is one line with its position."""
    ended = run("- {tool: echo}", rest=rest)

    assert (ended.status, ended.err.count("\n")) == (status, 1), ended.err
    assert message in ended.err


def test_a_module_of_tools_that_exits_is_reported(run: Run) -> None:
    """A tool module that exits on import is a usage error."""
    Path("leaving_at_once.py").write_text("raise SystemExit(0)")

    ended = run(THREE, "--tools", "leaving_at_once:tool")

    assert ended.status == 2
    assert "--tools leaving_at_once:tool: expected MODULE:NAME of a tool, got SystemExit: 0" in ended.err


def test_a_script_is_no_scenario(tmp_path: Path) -> None:
    """It is not read as YAML, which may need a library; the message says how to record a script."""
    (tmp_path / "agent.py").touch()

    with pytest.raises(YamlError, match=r"got a Python script; `eikon record --script .*agent\.py` records a script"):
        read_scenario(tmp_path / "agent.py")


def test_all_faults_of_a_scenario_are_reported_at_once(run: Run) -> None:
    """Each in a line of its own, with its place; those of names and references once the rest is valid."""
    ended = run("- {tol: echo}\n- {tool: echo, arg: 1}", rest="gaol: x\nvariables: [a]\n")

    assert ended.status == 65
    lines = ended.err.splitlines()
    assert len(lines) == 4
    for line, part in zip(
        lines,
        (
            "subgoals[0].steps[0]: expected exactly one of the keys",
            "subgoals[0].steps[1].arg: this field is unknown",
            "variables: expected an object",
            "gaol: this field is unknown",
        ),
        strict=True,
    ):
        assert part in line
        assert ": line " in line

    known = run('- {note: "{{nothing}}"}\n- {tool: web_fetch}\n- {skill: nowhere}')

    assert [part in known.err for part in ("{{nothing}}", "tool 'web_fetch' is not allowed", "nowhere")] == [True] * 3
