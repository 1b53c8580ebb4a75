"""Record the calls of an agent without delaying them: only those that open or close a page wait for us.

Page time runs naturally. An action starts when its call is sent and acts once its element is actionable, at the latest
when the call returns. It is closed when the next action starts, or `SETTLE_S` after its call returned.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.attach.call_interceptor import (
    CallInterceptor,
    context_of_call,
    dialog_details,
    failure_from_error,
    frame_of_call,
    frame_selectors,
    handle_in_result,
    page_of_call,
)
from eikon_engine.browser.page_reports import add_report_listener, stop_listening
from eikon_engine.browser.playwright_errors import ASSERTION_FAILED, expectation_code
from eikon_engine.browser.playwright_internals import (
    connection_of,
    context_options,
    expectation_failure,
    impl_of,
    parse_result,
)
from eikon_engine.record.action_log import SETTLE_S, ActionLog
from eikon_engine.record.agent_waits import AgentWait, build_wait, unchecked_reason
from eikon_engine.record.pending_action import UNKNOWN_RESULT, PendingAction, action_for_call, read_for_call
from eikon_engine.record.target_probe import WAITS, TargetProbe, dispatches_event, is_call_at_pointer
from eikon_engine.record.weak_targets import find_weak_targets
from eikon_engine.trace.actions import (
    UNBOUNDED_TIMEOUT_MS,
    AnswerDialog,
    Evaluate,
    Expect,
    FileInput,
    Note,
    Read,
    WaitFor,
)
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.observation import ObservedDialog
from eikon_engine.trace.playwright_calls import (
    FILE_CALLS,
    CallContext,
    UnsupportedCallError,
    decode_result,
    effect_of,
    has_no_deadline,
    is_read,
    is_unrecorded_read,
)
from eikon_engine.trace.read_values import NotJsonError, to_read_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.browser.attach.call_interceptor import PlaywrightCall, PlaywrightWait
    from eikon_engine.browser.attach.element_probe import ElementSnapshot
    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.record.pending_action import ReadAction
    from eikon_engine.record.recording import Recording
    from eikon_engine.trace.actions import ReadValue
    from eikon_engine.trace.execution import ActionTrace, Result

_FINAL_PAUSE: Final = "the mission ended after a pause of"
_STATE_WAIT: Final = "ElementHandle.waitForElementState"
_STATE_WAIT_FAILURES: Final = ("target-not-actionable", "wait-timeout")
_PASSIVE_CALLS: Final = WAITS | {"Page.screenshot", "ElementHandle.screenshot"}
"""Calls that change no page, and are no reads."""
UNORDERED: Final = "it ran during another call, so that it has no position among the steps"
CLOCK_STEP_MS: Final = 2.0
"""Unix times of documents are whole milliseconds."""


class AgentRecorder(ActionLog[PendingAction]):
    """Turn the calls of an agent into recorded actions."""

    reply_timeout_s = SETTLE_S

    def __init__(self, recording: Recording, client_object: object) -> None:
        """Intercept the calls of the agent from now on.

        Raises:
            UsageError: this version of Playwright sends its calls differently.
        """
        super().__init__(recording)
        context = self._session.context
        self._context = impl_of(context)
        self._base_url = context_options(context).get("baseURL")
        self._interceptor = CallInterceptor(
            connection_of(client_object),
            self,
            recording.errors.append,
            prepare_new_page=recording.context.capture.wait_for_new_pages,
            prepare_close=self._finish_pages,
        )
        self._target_probe = TargetProbe(self._session, self._interceptor, self._on_probe_result)
        self._pending: dict[PlaywrightCall, PendingAction] = {}
        self._unsupported: Counter[tuple[str, str]] = Counter()
        self._differences: Counter[str] = Counter()
        """In which respects actions differ from their calls."""
        self._waits: dict[PlaywrightWait, AgentWait] = {}
        """Waits that have not ended."""
        self._ended_waits: list[AgentWait] = []
        """Waits that ended during a call, which they become steps after."""
        self._evaluated: dict[object, PendingAction] = {}
        """Scripts whose result the agent got as a handle, by that handle."""
        self._awaited_values: dict[PlaywrightCall, PendingAction] = {}
        """The same, by the calls that ask for the values of these handles."""
        self._overlapping_reads: dict[PlaywrightCall, tuple[str, Mapping[str, Any], ReadAction]] = {}
        """Reads that began during another call."""
        self._unordered_reads: dict[tuple[str, str], str] = {}
        """Reads that also ended during another call, so that they have no position among the steps: what to call each,
        by what it read and got."""
        self._ordered_reads: set[tuple[str, str]] = set()
        """What reads with a position read and got."""
        self._last_closed: PendingAction | None = None
        """The last action that was closed."""
        self._ended_ms = 0.0
        """Page time at which the last call that is a step, or wait, ended."""
        self._last_script: PendingAction | None = None
        """The last script that the agent ran."""
        self._without_deadline = 0
        """Number of actions without a deadline."""
        self._closes_browser = False
        """Whether the agent closed its context or browser."""
        self._is_browser_gone = False
        context.on("close", lambda _: self.note_browser_gone(was_closed=self._closes_browser))
        add_report_listener(context, self._on_report)
        self._interceptor.start()

    def on_call_started(self, call: PlaywrightCall) -> None:
        """Open an action if the call is one."""
        is_own = context_of_call(call) is self._context
        self._closes_browser |= call.name == "Browser.close" or (call.name == "BrowserContext.close" and is_own)
        if self.is_closed or not is_own:
            return
        if call.name in {"Dialog.accept", "Dialog.dismiss"}:
            self._record_dialog_answer(call)
            return
        name, params = self._target_probe.as_frame_call(call)
        read = self._read_of(call, name, params)
        if read is not None:
            self._start_read(call, name, params, read)
            return
        if self._asks_for_evaluated(call) or not self._is_supported(call, name, params) or self._is_first_page(name):
            return
        self._continue_during_wait()
        self.close_current()
        page = self._page_ordinal(call, name)
        self._ensure_page_known(page, name)
        if "url" in params:
            self._session.detect_in_text(str(params["url"]), by_page=True)
        self._session.timeline.mark_begin()
        attempt, deadline = self.current_attempt(), self._target_probe.deadline_of(call)
        pending = self._current = self._pending[call] = PendingAction(
            call=replace(call, timeout_ms=deadline),
            method=name,
            params=params,
            page=page,
            frames=frame_selectors(frame_of_call(call)) if call.name.startswith(("Frame.", "ElementHandle.")) else (),
            base_url=self._base_url,
            attempt=attempt,
            sequence=attempt.next_sequence(),
            started_at=self._now(),
            files=self._read_files(name, params) if name in FILE_CALLS else (),
        )
        self._open_actions.add(pending)
        self._without_deadline += has_no_deadline(name, deadline)
        self._target_probe.redact_named_password(pending)
        self._probe_target(pending)

    async def _finish_pages(self, call: PlaywrightCall) -> None:
        """Wait, for a bounded time, until the responses are written that pages are receiving which a call closes."""
        if self.is_closed or context_of_call(call) not in {self._context, None}:
            return
        pages = (page for _, page in self._session.tracker.open_pages())
        closed = [page for page in pages if call.name != "Page.close" or impl_of(page) is call.target]
        await asyncio.gather(*map(self._recording.context.capture.finish_page, closed))

    def on_call_finished(
        self, call: PlaywrightCall, response: Mapping[str, Any] | None, error: Exception | None
    ) -> None:
        """Store the result of an action if the call was one."""
        self._finish_call(call, response, error)
        self._record_ended_waits()

    def _finish_call(self, call: PlaywrightCall, response: Mapping[str, Any] | None, error: Exception | None) -> None:
        self._target_probe.remember_handles(call, response)
        if (evaluated := self._awaited_values.pop(call, None)) is not None:
            self._take_handle_value(evaluated, response)
            return
        pending = self._pending.pop(call, None)
        if pending is None:
            self._finish_overlapping_read(call, response, error)
            return
        if pending.read is not None:
            self._finish_read(pending, response, error)
            return
        pending.ended_at, self._ended_ms = self._now(), self._session.timeline.now_ms
        pending.response = response or {}
        pending.files = self._session.request_bodies.with_browser_types(pending.files)
        pending.result = self._result(pending, response, error)
        if pending is self._current:
            self._session.timeline.mark_acting()
            self._start_timer()
        self._target_probe.probe_after_call(pending)
        self.write_if_complete(pending)

    def on_wait_started(self, wait: PlaywrightWait) -> None:
        """Follow a wait; it becomes a step once the agent does nothing else."""
        if self.is_closed or context_of_call(wait.call) is not self._context:
            return
        page, since = self._page_ordinal(wait.call, wait.call.name), self._session.timeline.steps_begun
        self._waits[wait] = AgentWait(wait=wait, page=page, since=since, begun_ms=self._session.timeline.now_ms)
        if self._timer is None and not self._is_in_call:
            self._start_timer()

    def on_wait_ended(self, wait: PlaywrightWait) -> None:
        """Record what a wait got, unless it is an effect of the current action."""
        waited = self._waits.pop(wait, None)
        if waited is None or self.is_closed:
            return
        if self._current is not None and self._current.call is wait.call:
            self._finish_wait(self._current, waited)
        elif waited.has_condition or self._current is None:
            self._ended_waits.append(waited)
        self._record_ended_waits()

    @property
    def _is_in_call(self) -> bool:
        """Return whether a call, or a wait that is a step, is in progress."""
        return self._current is not None and self._current.result is None

    def _is_passive(self, running: PendingAction) -> bool:
        """Return whether a call in progress changes no page, as far as is known of the scripts of an agent."""
        if isinstance(running.read, Evaluate):
            return not self._session.traffic_log.has_unsafe_request_since(self._session.timeline.steps_begun)
        return running.read is not None or running.waited is not None or running.method in _PASSIVE_CALLS

    def _record_ended_waits(self) -> None:
        """Record waits that have ended as steps, unless a call is in progress."""
        while self._ended_waits and not self._is_in_call and not self.is_closed:
            waited = self._ended_waits.pop(0)
            self._finish_wait(self._open_wait(waited), waited)

    def _open_wait(self, waited: AgentWait) -> PendingAction:
        self.close_current()
        call = waited.wait.call
        self._ensure_page_known(waited.page, call.name)
        return self._open_step(
            call,
            method=call.api_name,
            page=waited.page,
            waited=Note(page=waited.page, text=f"{waited.label}, when the recording ended"),
        )

    def _finish_wait(self, pending: PendingAction, waited: AgentWait) -> None:
        pending.ended_at, self._ended_ms = self._now(), self._session.timeline.now_ms
        pending.waited, result = build_wait(waited, self._session)
        if isinstance(result, Failed):
            result = result.model_copy(update={"message": self._recording.redact(result.message)})
        pending.result = result
        if (why := unchecked_reason(waited, pending.waited)) is not None:
            pending.warnings.append(f"{pending.id}: {waited.label}: replays do not check that it times out: {why}")
        if isinstance(pending.waited, WaitFor):
            self._without_deadline += not waited.wait.timeout_ms
        self._session.timeline.begin_acting_phase()
        self._start_timer()
        self.write_if_complete(pending)

    def _continue_during_wait(self, why: str = "the agent continued meanwhile") -> None:
        """End the step of a wait that has not ended, because the agent does something else, or the mission ends."""
        current = self._current
        if current is None or current.waited is None or current.result is not None:
            return
        waited = next(each for each in self._waits.values() if each.wait.call is current.call)
        current.waited = Note(page=current.page, text=f"{waited.label}: {why}")
        current.ended_at, current.result = self._now(), Succeeded()
        self._ended_ms = self._session.timeline.now_ms
        self._session.timeline.begin_acting_phase()

    def _has_paused(self) -> bool:
        """Return whether the agent has done nothing for longer than it takes to close an action."""
        is_over = self._current is None or self._current.result is not None
        return is_over and self._session.timeline.now_ms - self._ended_ms > SETTLE_S * 1000

    def _open_final_pause(self) -> None:
        """Open a note at the end of a mission that went on after its last action was closed."""
        last, page = self._last_closed, next((number for number, _ in self._session.tracker.open_pages()), None)
        if last is None or page is None or self._session.tracker.is_dead:
            return
        if self._session.page(last.page) is not None:
            page = last.page
        paused_s = (self._session.timeline.now_ms - self._ended_ms) / 1000
        self._session.timeline.mark_begin()
        pending = self._current = PendingAction(
            call=last.call,
            method=last.method,
            page=page,
            frames=(),
            base_url=None,
            attempt=last.attempt,
            sequence=last.attempt.next_sequence(),
            started_at=self._now(),
            ended_at=self._now(),
            waited=Note(page=page, text=f"{_FINAL_PAUSE} {paused_s:.1f} s"),
            result=Succeeded(),
        )
        self._open_actions.add(pending)

    def _unfinished_attempts(self) -> set[Attempt]:
        """Return the attempt of the last action until the recording ends: a final pause belongs to it."""
        return set() if self.is_closed or self._last_closed is None else {self._last_closed.attempt}

    def _start_timer(self) -> None:
        """Start the time after which the agent counts as waiting, or the current action as closed."""
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(SETTLE_S, self._on_settled)

    def _on_settled(self) -> None:
        self.close_current()
        waited = next((each for each in self._waits.values() if each.has_condition), None)
        if waited is not None:
            self._open_wait(waited)

    def _read_of(self, call: PlaywrightCall, name: str, params: Mapping[str, Any]) -> ReadAction | None:
        """Return the action of a call that reads from a page, without its value; None if it does not."""
        if not is_read(name, params):
            return None
        has_frame = call.name.startswith(("Frame.", "ElementHandle."))
        context = CallContext(
            page=self._page_ordinal(call, name),
            timeout_ms=call.timeout_ms or None if call.name.startswith("ElementHandle.") else call.timeout_ms,
            frames=frame_selectors(frame_of_call(call)) if has_frame else (),
        )
        try:
            return read_for_call(name, params, context)
        except UnsupportedCallError as error:
            if effect_of(name) != "unsupported":  # else it is counted as a call that replays skip
                self._unsupported[name, str(error)] += 1
            return None

    def _start_read(self, call: PlaywrightCall, name: str, params: Mapping[str, Any], read: ReadAction) -> None:
        """Open a step for a read; one that repeats the step before is added to it.

        A read during another call is a step of its own once it has ended, unless that call may change pages.
        """
        self._continue_during_wait()
        current = self._current
        if current is not None and current.result is None:
            self._overlapping_reads[call] = (name, params, read)
            return
        if current is not None and self._is_repeated(current, read):
            current.times += 1
            current.result = None
            self._pending[call] = current
            return
        self._open_read(call, name, params, read)

    def _is_repeated(self, current: PendingAction, read: ReadAction) -> bool:
        """Return whether the current step is the same read, and nothing else was recorded since."""
        is_last = current.attempt is self._attempts.current and current.attempt.last_sequence == current.sequence
        return isinstance(read, Read) and current.read == read and current.value is not None and is_last

    def _open_read(self, call: PlaywrightCall, name: str, params: Mapping[str, Any], read: ReadAction) -> PendingAction:
        if isinstance(read, Evaluate) and self._is_polled(read):
            read = read.model_copy(update={"is_poll": True})
        self.close_current()
        self._ensure_page_known(read.page, name)
        pending = self._pending[call] = self._open_step(call, method=name, params=params, page=read.page, read=read)
        if isinstance(read, Evaluate):
            self._last_script = pending
            self._session.timeline.mark_acting()
        return pending

    def _open_step(self, call: PlaywrightCall, **fields: Any) -> PendingAction:  # noqa: ANN401 - fields of the step
        """Begin a step that acts on no page."""
        self._session.timeline.mark_begin()
        attempt = self.current_attempt()
        pending = self._current = PendingAction(
            call=call,
            frames=(),
            base_url=None,
            attempt=attempt,
            sequence=attempt.next_sequence(),
            started_at=self._now(),
            begun_ms=self._session.timeline.begun_ms,
            **fields,
        )
        self._open_actions.add(pending)
        return pending

    def _is_polled(self, read: Evaluate) -> bool:
        """Return whether the last recorded step is the same script, which only looks at the page."""
        last = self._last_script
        if last is None or last.attempt is not self._attempts.current or last.attempt.last_sequence != last.sequence:
            return False
        if self._session.traffic_log.has_unsafe_request_since(self._session.timeline.steps_begun):
            return False
        return isinstance(last.read, Evaluate) and last.read.model_copy(update={"is_poll": False}) == read

    def _finish_overlapping_read(
        self, call: PlaywrightCall, response: Mapping[str, Any] | None, error: Exception | None
    ) -> None:
        waiting = self._overlapping_reads.pop(call, None)
        if waiting is None or self.is_closed:
            return
        if not self._is_in_call:
            self._finish_read(self._open_read(call, *waiting), response, error)
            self._pending.pop(call, None)
            return
        if response is None and error is None:
            return  # the agent cancelled it, and learned nothing
        running = self._current
        assert running is not None  # noqa: S101 - it is in progress
        if self._is_passive(running):
            self._insert_read(running, call, waiting, response, error)
        else:
            self._note_unordered_read(*waiting, response, error)

    def _insert_read(
        self,
        running: PendingAction,
        call: PlaywrightCall,
        waiting: tuple[str, Mapping[str, Any], ReadAction],
        response: Mapping[str, Any] | None,
        error: Exception | None,
    ) -> None:
        """Record a read as a step before a passive call that is still in progress, whose step starts over."""
        name, params, read = waiting
        timeline = self._session.timeline
        has_acted = timeline.acted_ms is not None
        if self.needs_page_switch(read.page):
            self.insert_page_switch(running, read.page)
        pending = self._current = PendingAction(
            call=call,
            method=name,
            params=params,
            page=read.page,
            read=read,
            frames=(),
            base_url=None,
            attempt=running.attempt,
            sequence=running.sequence,
            started_at=self._now(),
            begun_ms=timeline.begun_ms,
        )
        self._open_actions.add(pending)
        running.sequence = running.attempt.next_sequence()
        self._finish_read(pending, response, error)
        self.close_current()
        timeline.mark_begin()
        if has_acted:
            timeline.begin_acting_phase()
        self._current = running

    def _note_unordered_read(
        self,
        name: str,
        _params: Mapping[str, Any],
        read: ReadAction,
        response: Mapping[str, Any] | None,
        error: Exception | None,
    ) -> None:
        """Note a read that no step can hold; it is no loss if a step reads the same and gets the same."""
        assert self._current is not None  # noqa: S101 - it ended during that call
        what = f"what {name} returned during {self._current.method} ({self._current.id})"
        value: ReadValue | None = None
        try:
            if response is not None and not isinstance(read, Expect):
                value = to_read_value(
                    decode_result(name, response, parse_result), redact=self._session.redactor.redact_json
                )
        except UnsupportedCallError:  # a handle
            pass
        except NotJsonError:
            self._recording.lose(what, UNORDERED)
            return
        except ValueError as failure:  # the agent gets the same error
            self._recording.warn(f"replays do not compare {what}: {failure}")
            return
        self._unordered_reads.setdefault(_read_key(read, value, is_failed=error is not None), what)

    def _finish_read(self, pending: PendingAction, response: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Store what a read returned; it stays open for repetitions until the next step."""
        if error is not None and pending.times > 1:
            pending.times -= 1
            pending.result = Succeeded()
            call, repeated = pending.call, pending.read
            assert repeated is not None  # noqa: S101 - only reads are repeated
            pending = self._open_read(call, pending.method, pending.params, repeated)
            self._pending.pop(call, None)
        read = pending.read
        assert read is not None  # noqa: S101 - it is the step of a read
        pending.ended_at = self._now()
        pending.last_read_ms = self._ended_ms = self._session.timeline.now_ms
        if response is None and error is None and not isinstance(pending.read, Evaluate):
            pending.is_cancelled, pending.result = True, Succeeded()
        elif isinstance(pending.read, Expect):
            pending.result, received = self._expect_result(pending, response, error)
            pending.value = None if received is None else self._read_value(pending, received[0])
        else:
            pending.result = self._result(pending, response, error)
            pending.value = None if response is None else self._returned_value(pending, pending.method, response)
            if isinstance(pending.read, Evaluate) and pending.read.returns_handle and response is not None:
                open_ones = {handle: each for handle, each in self._evaluated.items() if each in self._open_actions}
                self._evaluated = {**open_ones, handle_in_result(response.get("handle")): pending}
        if pending is self._current:
            self._session.timeline.mark_acting()
            if not isinstance(pending.read, Read):
                self._start_timer()
        is_failed = isinstance(pending.result, Failed)
        self._ordered_reads.add(_read_key(read, pending.value, is_failed=is_failed))
        self.write_if_complete(pending)

    def _expect_result(
        self, pending: PendingAction, response: Mapping[str, Any] | None, error: Exception | None
    ) -> tuple[Result, tuple[object] | None]:
        """Return the result of an assertion, and what the page had instead, if it failed."""
        failed = None if error is None else expectation_failure(error)
        if failed is None:
            return self._result(pending, response, error), None
        message = self._recording.redact(f"{pending.method}: {failed.message}")
        return Failed(code=expectation_code(failed), message=message), failed.received

    def _returned_value(self, pending: PendingAction, method: str, response: Mapping[str, Any]) -> ReadValue | None:
        try:
            return self._read_value(pending, decode_result(method, response, parse_result))
        except UnsupportedCallError:  # a handle
            return None
        except ValueError as error:  # the agent gets the same error
            pending.warnings.append(f"{pending.id}: replays do not compare what {pending.method} returned: {error}")
            return None

    def _read_value(self, pending: PendingAction, value: object) -> ReadValue | None:
        """Return a redacted value; None if it is lost, because JSON cannot represent it."""
        redact = self._session.redactor.redact_json
        try:
            return to_read_value(value, store=self._recording.writer.store_file, redact=redact)
        except NotJsonError as error:
            self._recording.lose(f"what {pending.method} returned ({pending.id})", str(error))
            return None

    async def settle(self) -> None:
        """Wait until the pages are idle after the last action; skipped if its call is still running.

        Time that passed since that action is a step of its own, during which pages may have changed.
        """
        self._continue_during_wait("the mission ended meanwhile")
        if self._has_paused():
            self.close_current()
            self._open_final_pause()
        if self._current is None or self._current.result is not None:
            self._stop_timer()
            await self.wait_until_idle()

    def close(self) -> None:
        """Stop intercepting and write the summary warnings."""
        if self.is_closed:
            return
        super().close()
        self._write_attempt_ends()
        self._interceptor.stop()
        self._target_probe.stop()
        stop_listening(self._session.context, self._on_report)
        for (name, why), times in self._unsupported.items():
            self._recording.warn(f"{name} was called {'once' if times == 1 else f'{times} times'}: {why}")
        for difference, times in self._differences.items():
            self._recording.warn(difference + (f" ({times} times)" if times > 1 else ""))
        for key, what in self._unordered_reads.items():
            if key not in self._ordered_reads:
                self._recording.lose(what, UNORDERED)
        if self._without_deadline:
            self._recording.warn(
                f"calls without a deadline (timeout=0): {self._without_deadline}; a replay times out after "
                f"{UNBOUNDED_TIMEOUT_MS / 1000:.0f} s"
            )

    def note_browser_gone(self, *, was_closed: bool) -> None:
        """Warn that the agent closed its browser, or that the browser exited, before the recording ended."""
        if self.is_closed or self._is_browser_gone:
            return
        self._is_browser_gone = True
        what = "was closed" if was_closed else "exited unexpectedly"
        self._recording.warn(
            f"the agent's browser {what} before the recording ended; requests that were running have no response"
        )

    def warnings_for(self, action: PendingAction, trace: ActionTrace) -> tuple[str, ...]:
        """Return the warnings about a written action; those about its call are counted, and written at the end."""
        self._differences.update(action.notes)
        return (*action.warnings, *map(str, find_weak_targets(trace)))

    def _asks_for_evaluated(self, call: PlaywrightCall) -> bool:
        """Return whether a call asks for the value of a handle whose script can still get it as its result."""
        evaluated = self._evaluated.get(call.target) if call.name.endswith("Handle.jsonValue") else None
        if evaluated is None or evaluated not in self._open_actions:
            return False
        evaluated.pending_replies += 1
        self._awaited_values[call] = evaluated
        return True

    def _take_handle_value(self, evaluated: PendingAction, response: Mapping[str, Any] | None) -> None:
        """Store the value of a handle as the result of its script."""
        evaluated.pending_replies -= 1
        if response is not None and isinstance(evaluated.read, Evaluate):
            evaluated.read = evaluated.read.model_copy(update={"returns_handle": False})
            evaluated.value = self._returned_value(evaluated, "Frame.evaluateExpression", response)
        self.write_if_complete(evaluated)

    def _is_supported(self, call: PlaywrightCall, name: str, params: Mapping[str, Any]) -> bool:
        """Return whether a call can be recorded as an action; count calls with an effect or a result that cannot."""
        is_wait = call.api_name.endswith((".wait_for", ".wait_for_selector"))
        if name == "Frame.waitForSelector" and params.get("state") == "attached" and not is_wait:
            return False  # how locators resolve an element handle
        if is_call_at_pointer(name):
            return True  # the pointer position is probed later
        if is_unrecorded_read(name):
            self._unsupported[name, "replays do not compare what it returned"] += 1
        try:
            return action_for_call(name, params, CallContext()) is not None
        except UnsupportedCallError as error:
            self._unsupported[name, str(error)] += 1
            return False

    def _is_first_page(self, name: str) -> bool:
        """Return whether a call opens the page that every replay starts with."""
        return name == "BrowserContext.newPage" and not self._session.tracker.pages

    def _page_ordinal(self, call: PlaywrightCall, name: str) -> int:
        if name == "BrowserContext.newPage":
            return len(self._session.tracker.pages)
        impl = page_of_call(call)
        known = (number for number, page in enumerate(self._session.tracker.pages) if impl_of(page) is impl)
        return next(known, 0)

    def _ensure_page_known(self, page: int, name: str) -> None:
        """Record a `switch_page` before the first action on a new page."""
        if name == "BrowserContext.newPage":
            self.mark_page_known(page)
        elif name not in {"Page.close", "Page.bringToFront"}:
            self.record_page_switch(page)

    def _read_files(self, call: str, params: Mapping[str, Any]) -> tuple[FileInput, ...]:
        files: list[tuple[str, str | None, bytes, int | None]] = [
            (each["name"], each.get("mimeType"), base64.b64decode(each["buffer"]), None)
            for each in params.get("payloads") or ()
        ]
        for path in filter(Path.is_file, map(Path, params.get("localPaths") or ())):
            changed_ms = path.stat().st_mtime_ns // 1_000_000 if call == "Frame.drop" else None
            files.append((path.name, None, path.read_bytes(), changed_ms))
        bodies = self._session.request_bodies
        for name, _, content, _ in files:
            bodies.add_file(name, content)
        return tuple(
            FileInput(
                name=name,
                mime_type=kind or mimetypes.guess_type(name)[0] or "application/octet-stream",
                content=self._recording.writer.store_file(content),
                last_modified_ms=changed_ms,
            )
            for name, kind, content, changed_ms in files
        )

    def _probe_target(self, pending: PendingAction) -> None:
        """Probe the target; an action without a target acts at once."""
        self._target_probe.probe(pending)
        is_immediate = not pending.pending_replies and pending.method not in WAITS
        if is_immediate or pending.method.startswith("Page.keyboard"):
            self._session.timeline.mark_acting()

    def _on_probe_result(self, pending: PendingAction, element: ElementSnapshot | None) -> None:
        """Process a probe result; an actionable element is acted on now."""
        if element is not None and element.is_actionable and pending is self._current and pending.method not in WAITS:
            self._session.timeline.mark_acting()
            if element.unix_ms is not None and not pending.is_hit_reported:
                self._correct_acting(element.unix_ms)
        self.write_or_keep_error(pending)

    def _on_report(self, page: object, _document: tuple[object, ...], report: Mapping[str, Any]) -> None:
        """Note when the current action acted, if its page was busy after it was probed."""
        pending = self._current
        if (
            report["subject"] != "hit"
            or pending is None
            or pending.is_hit_reported
            or not dispatches_event(pending.method)
        ):
            return
        if impl_of(page) is page_of_call(pending.call) and self._correct_acting(report["at"]):
            pending.is_hit_reported = True

    def _correct_acting(self, unix_ms: float) -> bool:
        """Correct when the current action acted; return whether a document reports a time during this action."""
        timeline = self._session.timeline
        acted_ms = timeline.page_ms(unix_ms)
        if not timeline.begun_ms - CLOCK_STEP_MS <= acted_ms <= timeline.now_ms + CLOCK_STEP_MS:
            return False
        timeline.correct_acting(min(max(timeline.begun_ms, acted_ms), timeline.now_ms))
        return True

    def close_current(self) -> None:
        """Close the current action, if there is one."""
        self._stop_timer()
        pending, self._current = self._current, None
        if pending is None:
            return
        self.close_action(pending, self._session.tracker.take_events())
        self._last_closed = pending

    def _result(self, pending: PendingAction, response: Mapping[str, Any] | None, error: Exception | None) -> Result:
        if error is not None:
            code, message = failure_from_error(error, pending.method)
            if pending.call.name == _STATE_WAIT and code in _STATE_WAIT_FAILURES:  # replayed on the element's selector
                code = "wait-timeout" if pending.read is None else ASSERTION_FAILED
            return Failed(code=code, message=self._recording.redact(message))
        return Succeeded() if response is not None else Failed(code=UNKNOWN_RESULT, message="cancelled by the agent")

    def _record_dialog_answer(self, call: PlaywrightCall) -> None:
        """Record how the agent answered a dialog, before the action that opened the dialog."""
        kind, message, default = dialog_details(call)
        accept, text = call.name == "Dialog.accept", call.params.get("promptText")
        page = self._page_ordinal(call, call.name)
        pending = self._current
        if kind in {"confirm", "prompt"} and accept:
            if pending is None or pending.result is not None:
                self._recording.warn(f"a {kind} that no action opened was accepted; replays dismiss it")
            else:
                answer = AnswerDialog(page=page, accept=True, text=default if text is None else text)
                self.insert_dialog_answer(pending, answer)
        clean = self._recording.redact
        if kind in {"alert", "beforeunload", "confirm", "prompt"}:
            answered = "accepted" if accept else "dismissed"
            self._session.tracker.note_dialog(
                ObservedDialog(page=page, kind=kind, message=clean(message), answer=answered)  # type: ignore[arg-type] # the set above is the literal
            )


def _read_key(read: ReadAction, value: ReadValue | None, *, is_failed: bool) -> tuple[str, str]:
    """Return what identifies a read and what the agent got; how long and how often it waited for that is no part."""
    got = "failed" if is_failed else "" if value is None else value.model_dump_json()
    return read.model_dump_json(exclude={"is_poll", "timeout_ms", "times"}), got
