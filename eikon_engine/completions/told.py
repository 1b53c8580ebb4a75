"""Report lines about a folder of responses in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.completions.refresh import STAGING_FOLDER
from eikon_engine.outcome.printable import escape_control_characters
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.completions.debug_dir import DebugDir
    from eikon_engine.completions.model_response import ModelResponse

_MAX_FILES_SHOWN: Final = 5


def opening_lines(debug_dir: DebugDir, stale_count: int) -> Iterator[str]:
    """Yield the lines for opening; `left` is the number of responses of an interrupted refresh."""
    yield escape_control_characters(_mode_line(debug_dir))
    if stale_count:
        yield escape_control_characters(
            f"{debug_dir.root / STAGING_FOLDER}: {pluralize(stale_count, 'response')} of an interrupted refresh, unused; "
            "--refresh starts over"
        )


def _mode_line(debug_dir: DebugDir) -> str:
    recorded = pluralize(debug_dir.counts.recorded, "response")
    match debug_dir.mode:
        case "capture":
            return f"Capture mode: 0 responses recorded; new responses are saved to {debug_dir.root}"
        case "replay":
            return f"Replay mode: {recorded} from {debug_dir.root}; no model is asked"
        case "append":
            return (
                f"Replay mode: {recorded} from {debug_dir.root}; missing responses are requested and saved (--append)"
            )
        case "refresh":
            return (
                f"Capture mode: every response is recorded again and replaces {debug_dir.root} at the end (--refresh)"
            )
        case _:
            assert_never(debug_dir.mode)


def closing_lines(debug_dir: DebugDir, unused: tuple[ModelResponse, ...], *, is_complete: bool) -> Iterator[str]:
    """Yield what was saved, used and not used."""
    counts = debug_dir.counts
    if debug_dir.mode in {"replay", "append"}:
        yield escape_control_characters(
            f"Replay mode: {counts.replayed} of {pluralize(counts.recorded, 'response')} used"
        )
    if counts.missed:
        yield f"Replay mode: {pluralize(counts.missed, 'request')} had no recorded response"
    if unused and is_complete:
        yield escape_control_characters(
            f"Replay mode: {pluralize(len(unused), 'response')} not used: {_join_file_names(unused)}"
        )
    if debug_dir.mode != "replay":
        yield escape_control_characters(
            _saved_line(debug_dir, pluralize(counts.captured, "response"), is_complete=is_complete)
        )


def _saved_line(debug_dir: DebugDir, count: str, *, is_complete: bool) -> str:
    if is_complete:
        return f"Capture mode: {count} saved to {debug_dir.root}"
    if debug_dir.mode == "refresh":
        return f"Capture mode: interrupted after {count}; the old responses in {debug_dir.root} are unchanged"
    if debug_dir.mode == "append" and not debug_dir.counts.captured:
        return f"Capture mode: interrupted after {count}; {debug_dir.root} is unchanged"
    return f"Capture mode: interrupted after {count}; {debug_dir.root} is marked as incomplete"


def _join_file_names(responses: tuple[ModelResponse, ...]) -> str:
    names = ", ".join(each.file_name for each in responses[:_MAX_FILES_SHOWN])
    more = f" and {len(responses) - _MAX_FILES_SHOWN} more" if len(responses) > _MAX_FILES_SHOWN else ""
    return names + more
