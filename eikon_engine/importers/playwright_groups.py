"""Group calls by `tracing.group` and by steps of the test runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eikon_engine.importers.playwright_lines import Call, TraceContents

_TRACING_GROUP: Final = "Tracing.tracingGroup"
_TEST_STEP: Final = "test.step"
_SEPARATOR: Final = " / "


class CallGroups:
    """Finds the groups of a call."""

    def __init__(self, lines: TraceContents, steps: TraceContents | None) -> None:
        """Read one context, and the steps of its test if the test runner wrote them."""
        self.title = steps.head.title if steps is not None else ""
        """Title of the test."""
        self._steps: dict[str, Call] = dict(steps.calls) if steps is not None else {}
        self._own: dict[str, Call] = {}
        for key, call in lines.calls.items():
            self._own[key] = call
            if call.step is not None:
                self._own[call.step] = call
        self._ids = {id(call): key for key, call in lines.calls.items()}

    def title_of(self, call: Call) -> str:
        """Return the titles of the groups around a call, outermost first; empty if there are none."""
        titles: list[str] = []
        above: str | None = call.parent
        if above is None:
            step = self._steps.get(call.step or self._ids[id(call)])
            above = step.parent if step is not None else None
        seen: set[str] = set()
        while above is not None and above not in seen:
            seen.add(above)
            group = self._steps.get(above) or self._own.get(above)
            if group is None:
                break
            if group.name == _TRACING_GROUP or group.name.endswith(_TEST_STEP):
                titles.insert(0, group.title)
            above = group.parent
        return _SEPARATOR.join(each for each in titles if each)
