"""Serve tool calls from fixtures, in the recorded order, without executing them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, FixtureMissingError, ToolArgumentsError, ToolCallsDivergedError
from eikon_engine.scenario.args_hash import args_hash
from eikon_engine.scenario.calls import CallAnswered, CallMade, Recorded, SilentReader
from eikon_engine.scenario.executed import public_error
from eikon_engine.scenario.fixture import BLOBS, RECORDING_FILE
from eikon_engine.scenario.hidden_secrets import KnownSecrets, hidden_args, shown
from eikon_engine.scenario.nearest_call import called, explain_miss
from eikon_engine.scenario.stored_result import restore_result
from eikon_engine.trace.blobs import BlobStore
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.calls import Reader
    from eikon_engine.scenario.fixture import Fixture
    from eikon_engine.scenario.fixture_folder import FixtureFolder
    from eikon_engine.scenario.stored_result import Result

_LISTED = 5
"""Maximum number of calls listed in one message."""


class ReplayedCalls:
    """Serve the calls of one run."""

    is_replay = True

    def __init__(
        self,
        folder: FixtureFolder,
        secrets: Mapping[str, str],
        reader: Reader | None = None,
        *,
        is_ordered: bool = True,
    ) -> None:
        """Serve calls from `folder`; with `is_ordered`, they must be made in the recorded order."""
        self.folder = folder
        self.secrets = KnownSecrets(secrets, folder.note.secrets)
        self.reader: Reader = reader or SilentReader()
        self._is_ordered = is_ordered
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._given: list[Fixture] = []
        self._fault: EikonError | None = None

    def begin(self, tool: str, args: Mapping[str, JsonValue]) -> Recorded:
        """Serve a call; if that fails and the agent continues, `close` raises the error again.

        Raises:
            FixtureMissingError: it was not recorded; the message names the nearest recorded call.
            FixtureError: its fixture is not usable.
        """
        try:
            return self._answer(tool, args)
        except ToolArgumentsError:
            raise
        except EikonError as error:
            with self._lock:
                self._fault = self._fault or error
            raise

    def _answer(self, tool: str, args: Mapping[str, JsonValue]) -> Recorded:
        started = time.perf_counter()
        with self._lock:
            clean = hidden_args(args, self.secrets.redactor)
            digest = args_hash(clean)
            self._counts[tool, digest] += 1
            occurrence, order = self._counts[tool, digest], sum(self._counts.values())
        made = CallMade(
            call_id=f"call_{order}", tool=tool, args=clean, args_hash=digest, occurrence=occurrence, order=order
        )
        self.reader.called(made)
        key = (tool, digest, occurrence)
        if key not in self.folder:
            raise FixtureMissingError(explain_miss(self.folder, made))
        fixture = self.folder.take(key, clean)
        result = self._result(fixture)
        with self._lock:
            self._given.append(fixture)
        latency_ms = (time.perf_counter() - started) * 1000
        self.reader.answered(
            CallAnswered(made=made, source="fixture", result=fixture.result, error=fixture.error, latency_ms=latency_ms)
        )
        error = None if fixture.error is None else public_error(tool, fixture.error)
        return Recorded(result, error)

    def close(self) -> None:
        """Check that exactly the recorded calls were made, in order.

        Raises:
            FixtureMissingError: an unrecorded call was made, or an unused fixture is missing.
            ToolCallsDivergedError: recorded calls were not made, or in another order.
            FixtureError: an unused fixture is not usable.
        """
        if self._fault is not None:
            raise self._fault
        self._demand_whole()
        lines = self.findings()
        if lines:
            raise ToolCallsDivergedError(f"{self.folder.folder}: {'; '.join(lines)}")

    def _demand_whole(self) -> None:
        """Check the number of fixtures against `recording.json`."""
        calls = self.folder.note.calls or 0
        if len(self.folder) == calls:
            return
        there = {each.order for each in (*self._given, *self.folder.unused())}
        gone = ", ".join(str(order) for order in range(1, calls + 1) if order not in there) or "none"
        message = (
            f"{self.folder.folder}: expected {counted(calls, 'fixture')} as in {RECORDING_FILE}, got "
            f"{len(self.folder)}. Missing calls: {gone}. Restore them, or record again."
        )
        raise FixtureMissingError(message)

    def findings(self) -> tuple[str, ...]:
        """Describe the recorded calls that were not made, or made in another order; empty if there are none."""
        unused = sorted(self.folder.unused(), key=lambda each: each.order)
        lines = []
        if unused:
            listed = ", ".join(f"{called(each.tool, each.args)} (call {each.order})" for each in unused[:_LISTED])
            more = f" and {len(unused) - _LISTED} more" if len(unused) > _LISTED else ""
            kind = "1 recorded tool call was" if len(unused) == 1 else f"{len(unused)} recorded tool calls were"
            lines.append(f"{kind} not made: {listed}{more}")
        if self._is_ordered:
            lines.extend(self._reordered())
        return tuple(lines)

    def _reordered(self) -> list[str]:
        recorded = sorted(self._given, key=lambda each: each.order)
        for place, (given, wanted) in enumerate(zip(self._given, recorded, strict=True), start=1):
            if given is not wanted:
                found, expected = called(given.tool, given.args), called(wanted.tool, wanted.args)
                return [f"tool calls were made in another order: expected call {place} to be {expected}, got {found}"]
        return []

    def _result(self, fixture: Fixture) -> Result:
        blobs = BlobStore(self.folder.folder / fixture.tool / BLOBS)
        result = restore_result(fixture.result, blobs)
        return result if self.secrets.redactor.is_idle else shown(result, self.secrets.redactor)
