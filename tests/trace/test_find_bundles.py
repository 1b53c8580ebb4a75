"""Bundles are found in folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.record.bundle_writer import BundleWriter
from eikon_engine.trace.find_bundles import find_bundles
from tests.trace.trace_values import START, trace

if TYPE_CHECKING:
    from pathlib import Path


def test_a_recording_that_was_moved_aside_is_found_only_by_name(tmp_path: Path) -> None:
    """The mission was recorded again; its unfinished recording is not another mission."""
    for _ in range(2):
        writer = BundleWriter(tmp_path / "b")
        writer.start(trace(status="running"))
        writer.close()
    finished = BundleWriter(tmp_path / "a")
    finished.start(trace(status="running"))
    finished.finish(START, "complete")
    aside = tmp_path / "b.unfinished-1"

    assert aside.is_dir()
    assert find_bundles([tmp_path]) == (tmp_path / "a", tmp_path / "b")
    assert find_bundles([aside]) == (aside,)
