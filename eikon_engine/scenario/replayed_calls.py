"""Serve tool calls from fixtures, in the recorded order, without executing them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, ReplayError, RequirementError, ToolArgumentsError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.text import pluralize
from eikon_engine.scenario.calls import NullObserver, RecordedResult, ToolCallEnd, ToolCallStart, tool_error
from eikon_engine.scenario.fixtures import BLOBS_FOLDER, RECORDING_FILE, args_hash, restore_result
from eikon_engine.scenario.mismatch import explain_miss, format_call
from eikon_engine.scenario.redaction import KnownSecrets, redact_args, restore_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.calls import ToolCallObserver
    from eikon_engine.scenario.fixtures import Fixture, FixtureFolder, ToolResultValue

_MAX_LISTED = 5
"""Maximum number of calls listed in one message."""


class ReplayingCalls:
    """Serve the calls of one run."""

    is_replay = True

    def __init__(
        self,
        folder: FixtureFolder,
        secrets: Mapping[str, str],
        reader: ToolCallObserver | None = None,
        *,
        is_ordered: bool = True,
    ) -> None:
        """Serve calls from `folder`; with `is_ordered`, they must be made in the recorded order."""
        self.folder = folder
        self.secrets = KnownSecrets(secrets, folder.info.secrets)
        self.observer: ToolCallObserver = reader or NullObserver()
        self._is_ordered = is_ordered
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._served: list[Fixture] = []
        self._fault: EikonError | None = None

    def start_call(self, tool: str, args: Mapping[str, JsonValue]) -> RecordedResult:
        """Serve a call; if that fails and the agent continues, `close` raises the error again.

        Raises:
            RequirementError: it was not recorded; the message names the nearest recorded call.
            FixtureFolderError: its fixture is not usable.
        """
        try:
            return self._serve(tool, args)
        except ToolArgumentsError:
            raise
        except EikonError as error:
            with self._lock:
                self._fault = self._fault or error
            raise

    def _serve(self, tool: str, args: Mapping[str, JsonValue]) -> RecordedResult:
        started = time.perf_counter()
        with self._lock:
            clean = redact_args(args, self.secrets.redactor)
            digest = args_hash(clean)
            self._counts[tool, digest] += 1
            occurrence, order = self._counts[tool, digest], sum(self._counts.values())
        made = ToolCallStart(
            call_id=f"call_{order}", tool=tool, args=clean, args_hash=digest, occurrence=occurrence, order=order
        )
        self.observer.on_call_started(made)
        key = (tool, digest, occurrence)
        if key not in self.folder:
            raise RequirementError(explain_miss(self.folder, made), code="fixture-missing")
        fixture = self.folder.use(key, clean)
        result = self._restore_result(fixture)
        with self._lock:
            self._served.append(fixture)
        latency_ms = (time.perf_counter() - started) * 1000
        self.observer.on_call_finished(
            ToolCallEnd(start=made, source="fixture", result=fixture.result, error=fixture.error, latency_ms=latency_ms)
        )
        error = None if fixture.error is None else tool_error(tool, fixture.error)
        return RecordedResult(result, error)

    def close(self) -> None:
        """Check that exactly the recorded calls were made, in order.

        Raises:
            RequirementError: an unrecorded call was made, or an unused fixture is missing.
            ReplayError: recorded calls were not made, or in another order.
            FixtureFolderError: an unused fixture is not usable.
        """
        if self._fault is not None:
            raise self._fault
        self._require_all_fixtures()
        lines = self.findings()
        if lines:
            raise ReplayError(f"{self.folder.folder}: {'; '.join(lines)}", code="tool-calls-diverged")

    def _require_all_fixtures(self) -> None:
        """Check the number of fixtures against `recording.json`."""
        calls = self.folder.info.calls or 0
        if len(self.folder) == calls:
            return
        there = {each.order for each in (*self._served, *self.folder.unused())}
        gone = ", ".join(str(order) for order in range(1, calls + 1) if order not in there) or "none"
        message = (
            f"{self.folder.folder}: expected {pluralize(calls, 'fixture')} as in {RECORDING_FILE}, got "
            f"{len(self.folder)}. Missing calls: {gone}. Restore them, or record again."
        )
        raise RequirementError(message, code="fixture-missing")

    def findings(self) -> tuple[str, ...]:
        """Describe the recorded calls that were not made, or made in another order; empty if there are none."""
        unused = sorted(self.folder.unused(), key=lambda each: each.order)
        lines = []
        if unused:
            listed = ", ".join(
                f"{format_call(each.tool, each.args)} (call {each.order})" for each in unused[:_MAX_LISTED]
            )
            more = f" and {len(unused) - _MAX_LISTED} more" if len(unused) > _MAX_LISTED else ""
            kind = "1 recorded tool call was" if len(unused) == 1 else f"{len(unused)} recorded tool calls were"
            lines.append(f"{kind} not made: {listed}{more}")
        if self._is_ordered:
            lines.extend(self._order_findings())
        return tuple(lines)

    def _order_findings(self) -> list[str]:
        recorded = sorted(self._served, key=lambda each: each.order)
        for place, (given, expected_text) in enumerate(zip(self._served, recorded, strict=True), start=1):
            if given is not expected_text:
                found, expected = (
                    format_call(given.tool, given.args),
                    format_call(expected_text.tool, expected_text.args),
                )
                return [f"tool calls were made in another order: expected call {place} to be {expected}, got {found}"]
        return []

    def _restore_result(self, fixture: Fixture) -> ToolResultValue:
        blobs = BlobStore(self.folder.folder / fixture.tool / BLOBS_FOLDER)
        result = restore_result(fixture.result, blobs)
        return result if self.secrets.redactor.is_noop else restore_value(result, self.secrets.redactor)
