from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.fix.analysis.normalize import RunPaths
from eikon_engine.fix.analysis.tracebacks import innermost_own_frame, pytest_frames
from tests.fix.analysis.running import write


@pytest.mark.parametrize(
    "line",
    [
        "12:34:56 INFO begun",
        "E   a.py:3: in the message",
        "    a.py:3: in a docstring",
        "> a.py:3: marked",
        "http://a.test:80: up",
        "a.py",
    ],
)
def test_lines_without_a_location_are_not_frames(line: str, tmp_path: Path) -> None:
    """Messages, source lines and logs may look like locations."""
    assert pytest_frames(line, _places(tmp_path)) == ()


def test_captured_output_contains_no_frames(tmp_path: Path) -> None:
    """Captured output follows a failure, and may contain anything."""
    text = "a.py:3: Boom\n----- Captured stdout call -----\nb.py:9: printed\n"

    assert [(each.file, each.line) for each in pytest_frames(text, _places(tmp_path))] == [("a.py", 3)]


def test_the_innermost_frame_of_the_project_is_the_location(tmp_path: Path) -> None:
    """Packages installed inside the tree are not project code; frames of the test runner are omitted."""
    text = 'File "<python>/runner.py", line 1, in run\na.py:3: in f\nsite-packages/lib.py:7: in g\n'
    places = _places(tmp_path)

    frames = pytest_frames(text, places)

    assert [each.file for each in frames] == ["a.py", "site-packages/lib.py"]
    assert innermost_own_frame(frames, places) == frames[0]


def _places(tree: Path) -> RunPaths:
    write(tree, {"a.py": "", "b.py": "", "site-packages/lib.py": ""})
    return RunPaths(tree=tree, cwd=tree)
