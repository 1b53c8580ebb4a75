"""Every fuzzed reader, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.fuzz import of_bundles, of_commands, of_imports, of_runs, of_sessions, of_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.fuzz.target import Target

TARGETS: Final[Mapping[str, Target]] = {
    **of_bundles.TARGETS,
    **of_runs.TARGETS,
    **of_sessions.TARGETS,
    **of_imports.TARGETS,
    **of_texts.TARGETS,
    **of_commands.TARGETS,
}
