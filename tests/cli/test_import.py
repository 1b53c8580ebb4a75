"""`eikon import`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from eikon_engine.cli.import_recording import import_command
from eikon_engine.errors import EikonError, ForeignFormatError, OutputError
from eikon_engine.trace.bundle import open_bundle
from tests.error_codes import has_code
from tests.missions.foreign import devtools_flow, side_project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

URL = "http://shop.test"


def run(*arguments: str) -> str:
    """Import, and return the output."""
    result = CliRunner().invoke(import_command, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.mark.parametrize("form", [(), ("named",)])
@pytest.mark.parametrize(("name", "content"), [("devtools", devtools_flow), ("side", side_project)])
def test_a_recording_becomes_a_bundle(
    tmp_path: Path, name: str, content: Callable[[str, str], bytes], form: tuple[str, ...]
) -> None:
    """The format is named or detected; the bundle has the actions, and a warning that it has no observations."""
    (tmp_path / "file").write_bytes(content(URL, "pass"))

    printed = run(*(name for _ in form), str(tmp_path / "file"), "-o", str(tmp_path / "bundle"))

    trace = open_bundle(tmp_path / "bundle").trace
    assert (trace.mission_text, len(trace.subgoal_traces[0].actions_taken)) == ("Order a banana", 13)
    assert trace.environment is not None
    assert trace.environment.viewport.width == 1200
    assert trace.warnings[0].startswith(f"imported from {name}")
    assert f"13 actions of {name}" in printed


def test_unsupported_steps_are_omitted_only_on_request(tmp_path: Path) -> None:
    """Without --partial nothing is written; with it, the trace lists what is missing."""
    file = tmp_path / "flow.json"
    steps = [{"type": "navigate", "url": URL}, {"type": "customStep", "name": "x", "parameters": {}}]
    file.write_text(json.dumps({"title": "x", "steps": steps}))
    out = tmp_path / "bundle"

    with pytest.raises(ForeignFormatError, match="--partial", check=has_code("foreign-step")):
        run(str(file), "-o", str(out))
    assert not out.exists()
    run(str(file), "-o", str(out), "--partial")

    assert any("customStep" in each for each in open_bundle(out).trace.warnings)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("missing.json",), "foreign-format"),
        (("sidee", "flow.json"), "usage"),
        (("side", "flow.json"), "foreign-format"),
        (("empty.json",), "foreign-step"),
        (("flow.json", "--test", "a"), "usage"),
    ],
)
def test_wrong_input_is_one_line(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    """Nothing is written, and the message is one line."""
    (tmp_path / "flow.json").write_bytes(devtools_flow(URL, "pass"))
    (tmp_path / "empty.json").write_text('{"title": "x", "steps": []}')
    given = [str(tmp_path / each) if each.endswith(".json") else each for each in arguments]

    with pytest.raises(EikonError, check=has_code(code)) as caught:
        run(*given, "-o", str(tmp_path / "bundle"))

    assert "\n" not in caught.value.message
    assert not (tmp_path / "bundle").exists()


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    """A folder with existing files is not changed."""
    (tmp_path / "flow.json").write_bytes(devtools_flow(URL, "pass"))
    run(str(tmp_path / "flow.json"), "-o", str(tmp_path / "bundle"))

    with pytest.raises(OutputError):
        run(str(tmp_path / "flow.json"), "-o", str(tmp_path / "bundle"))
