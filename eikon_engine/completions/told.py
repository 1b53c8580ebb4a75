"""Report lines about a folder of responses in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.completions.refresh import STAGING
from eikon_engine.outcome.printable import printable
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.completions.debug_dir import DebugDir
    from eikon_engine.completions.model_response import ModelResponse

_SHOWN: Final = 5


def told_at_open(used: DebugDir, left: int) -> Iterator[str]:
    """Yield the lines for opening; `left` is the number of responses of an interrupted refresh."""
    yield printable(_mode(used))
    if left:
        yield printable(
            f"{used.root / STAGING}: {counted(left, 'response')} of an interrupted refresh, unused; "
            "--refresh starts over"
        )


def _mode(used: DebugDir) -> str:
    recorded = counted(used.counts.recorded, "response")
    match used.mode:
        case "capture":
            return f"Capture mode: 0 responses recorded; new responses are saved to {used.root}"
        case "replay":
            return f"Replay mode: {recorded} from {used.root}; no model is asked"
        case "append":
            return f"Replay mode: {recorded} from {used.root}; missing responses are requested and saved (--append)"
        case "refresh":
            return f"Capture mode: every response is recorded again and replaces {used.root} at the end (--refresh)"
        case _:
            assert_never(used.mode)


def told_at_close(used: DebugDir, unused: tuple[ModelResponse, ...], *, whole: bool) -> Iterator[str]:
    """Yield what was saved, used and not used."""
    counts = used.counts
    if used.mode in {"replay", "append"}:
        yield printable(f"Replay mode: {counts.replayed} of {counted(counts.recorded, 'response')} used")
    if counts.missed:
        yield f"Replay mode: {counted(counts.missed, 'request')} had no recorded response"
    if unused and whole:
        yield printable(f"Replay mode: {counted(len(unused), 'response')} not used: {_listed(unused)}")
    if used.mode != "replay":
        yield printable(_saved(used, counted(counts.captured, "response"), whole=whole))


def _saved(used: DebugDir, count: str, *, whole: bool) -> str:
    if whole:
        return f"Capture mode: {count} saved to {used.root}"
    if used.mode == "refresh":
        return f"Capture mode: interrupted after {count}; the old responses in {used.root} are unchanged"
    if used.mode == "append" and not used.counts.captured:
        return f"Capture mode: interrupted after {count}; {used.root} is unchanged"
    return f"Capture mode: interrupted after {count}; {used.root} is marked as incomplete"


def _listed(responses: tuple[ModelResponse, ...]) -> str:
    names = ", ".join(each.file_name for each in responses[:_SHOWN])
    more = f" and {len(responses) - _SHOWN} more" if len(responses) > _SHOWN else ""
    return names + more
