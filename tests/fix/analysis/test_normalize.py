from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.fix.analysis.normalize import RunPaths, normalize

PLACES = RunPaths(tree=Path("/work/copy"), cwd=Path("/work/copy"), others=((Path("/work/session"), "<session>"),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('File "/work/copy/a/b.py", line 3', 'File "a/b.py", line 3'),
        ("rootdir: /work/copy", "rootdir: ."),
        ("file:///work/copy/a.js:3", "a.js:3"),
        ("/work/copying/a.py", "/work/copying/a.py"),
        ("written to /work/session/run/junit.xml", "written to <session>/run/junit.xml"),
        ("/usr/lib/python3.11/json/decoder.py:353: X", "<python>/json/decoder.py:353: X"),
        ("../../opt/v/lib/python3.12/site-packages/a/b.py:1: X", "<python>/a/b.py:1: X"),
        ("<calc.Sum object at 0x7f3a2b1c>", "<calc.Sum object at 0x…>"),
        ("=== 1 failed, 2 passed in 0.12s ===", "=== 1 failed, 2 passed ==="),
        ("2 failed in 63.10s (0:01:03)", "2 failed"),
        ("Ran 3 tests in 0.001s", "Ran 3 tests"),
        ("  duration_ms: 2.05193", "  duration_ms: …"),
        ("2026-01-02T03:04:05.678Z started", "<time> started"),
        ("[2026-01-02 03:04:05,678] INFO", "[<time>] INFO"),
        ("/var/t/pytest-of-ada/pytest-12/test_a0/x", "<tmp>/test_a0/x"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a bell \x07 rings", r"a bell \x07 rings"),
        ("[gw3] linux -- Python", "[gw] linux -- Python"),
        ("10%\r20%\rdone\nnext\r\n", "done\nnext\n"),
        (f"token ghp_{'a1' * 18} used", "token ghp_<secret> used"),
    ],
)
def test_details_that_vary_between_runs_are_removed(text: str, expected: str) -> None:
    """Folders, addresses, times at the start of lines, durations of runs and known tokens are removed."""
    assert normalize(text, PLACES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "E   assert '2026-01-02T03:04:05' == '2026-01-02T03:04:06'",
        "assert took == 'in 0.12s'",
        "0x7f is a number",
        "python3.11 is a name",
        "a/lib/b.py:3: X",
    ],
)
def test_values_that_a_test_compares_are_kept(text: str) -> None:
    """Dates, numbers and names inside a line may be the cause of the failure."""
    assert normalize(text, PLACES) == text


PIECES = ("/work/copy", "/", "a", " ", "\n", "0x1234", " at ", "1 passed in 1.0s", "é", '"')


@pytest.mark.parametrize("piece", ["../", "a/", "/", "_ ", "=", "\r", "1 a", "0x", "ghp_", "(", "\x1b["])
def test_long_lines_are_normalized_in_linear_time(piece: str) -> None:
    """Lines beyond a limit are truncated, so no pattern takes long."""
    begun = time.process_time()

    found = normalize(piece * 200_000, PLACES)

    assert len(found) < 10_000
    assert time.process_time() - begun < 5


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_normalizing_twice_changes_nothing(text: str) -> None:
    """Normalizing is idempotent, and removes the folder of the copy."""
    once = normalize(text, PLACES)

    assert "/work/copy/a" not in once
    assert normalize(once, PLACES) == once
