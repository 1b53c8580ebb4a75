"""Text of a page or of a trace is part of the line that contains it, and cannot look like a line of ours."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from pathlib import Path

import click
import pytest

from eikon_engine.cli.shell import run_command
from eikon_engine.cli.trace_listing import render_listing
from eikon_engine.errors import UsageError
from eikon_engine.outcome.terminal import safe_lines
from eikon_engine.report.replay_summary import render_summary
from eikon_engine.trace.bundle import open_bundle
from tests.report.outcomes import make_outcome

SHOP = Path(__file__).parents[1] / "data" / "traces" / "shop_passing"
LINE_ENDS = ("\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029", "\x1b[1A\r")
FORGED = "Verdict      faithful"


@pytest.mark.parametrize("end", LINE_ENDS)
def test_no_line_of_a_summary_can_be_forged(end: str) -> None:
    """Neither by a line end, nor by moving the cursor of a terminal."""
    lines = render_summary(make_outcome(f"Save{end}{FORGED}"), Path("runs/m")).splitlines()

    assert [each for each in lines if each.startswith("Verdict")] == ["Verdict      diverged"]
    assert not any("\x1b" in each for each in lines)


@pytest.mark.parametrize("end", LINE_ENDS)
def test_no_line_of_a_listing_can_be_forged(end: str) -> None:
    """The text of a mission and its warnings are of the trace."""
    trace = open_bundle(SHOP).trace
    hostile = trace.model_copy(
        update={"mission_text": f"Buy{end}subgoal 9: forged", "warnings": (f"one{end}warning: two",)}
    )

    lines = render_listing(hostile).splitlines()

    assert len(lines) == len(render_listing(trace).splitlines()) + 1 - len(trace.warnings)
    assert "subgoal 9: forged" not in lines


@pytest.mark.parametrize("end", LINE_ENDS)
def test_an_error_is_one_line(end: str) -> None:
    """An error names what was found."""

    @click.command
    def fail() -> None:
        raise UsageError(f"expected a name, got 'a{end}eikon: all is well'")

    with redirect_stderr(io.StringIO()) as printed:
        status = run_command(fail, [], "eikon")

    assert status == UsageError.exit_status
    assert len(printed.getvalue().splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("::error::forged", "\\x3a:error::forged"),
        ("    ::add-mask::the", "    \\x3a:add-mask::the"),
        ("a ##[error]forged", "a \\x23#[error]forged"),
        ("##vso[task.setvariable variable=a]b", "\\x23#vso[task.setvariable variable=a]b"),
        ("##teamcity[message]", "\\x23#teamcity[message]"),
        ("li::before { color: red } ::after", "li::before { color: red } ::after"),
        ("## [heading]", "## [heading]"),
    ],
)
def test_no_service_obeys_a_line(line: str, printed: str) -> None:
    """Services for continuous integration read commands from the log of a job."""
    assert safe_lines(["first", line]) == f"first\n{printed}\n"


def test_each_text_is_one_line() -> None:
    """Tabs and words of any language stay."""
    assert safe_lines(["a\tb", "é\n中"]) == "a\tb\né 中\n"
