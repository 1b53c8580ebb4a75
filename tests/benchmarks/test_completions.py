from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.completions import measure

if TYPE_CHECKING:
    from pathlib import Path


def test_the_benchmark_measures_what_it_claims(tmp_path: Path) -> None:
    """A short run gives a figure for each part; how fast it is depends on the machine and is not judged here."""
    measured = measure(tmp_path, responses=20, kilobytes=1)

    assert min(measured.captured, measured.captured_in_threads, measured.loaded, measured.replayed) > 0
    assert len(list((tmp_path / "one").glob("*.json"))) == 21
