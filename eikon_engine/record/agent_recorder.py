"""Record the calls of an agent without delaying them: no agent call waits for a call of ours.

Page time runs naturally. An action starts when its call is sent and acts once its element is actionable, at the latest
when the call returns. It is closed when the next action starts, or `SETTLE_S` after its call returned.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eikon_engine.browser.attach.call_interceptor import (
    CallInterceptor,
    context_of_call,
    dialog_details,
    failure_from_error,
    frame_of_call,
    frame_path,
    page_of_call,
)
from eikon_engine.browser.playwright_internals import connection_of, context_options, impl_of
from eikon_engine.record.action_log import SETTLE_S, ActionLog
from eikon_engine.record.pending_action import UNKNOWN_RESULT, PendingAction
from eikon_engine.record.playwright_calls import action_for_call
from eikon_engine.record.target_probe import TargetProbe, is_mouse_button_call
from eikon_engine.record.weak_targets import find_weak_targets
from eikon_engine.trace.actions import UNBOUNDED_TIMEOUT_MS, AnswerDialog, FileInput
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.observation import ObservedDialog
from eikon_engine.trace.playwright_calls import CallContext, UnsupportedCallError, has_no_deadline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.browser.attach.call_interceptor import PlaywrightCall
    from eikon_engine.browser.attach.element_probe import ElementSnapshot
    from eikon_engine.record.recording import Recording
    from eikon_engine.trace.execution import ActionTrace, Result


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
        self._interceptor = CallInterceptor(connection_of(client_object), self, recording.errors.append)
        self._target_probe = TargetProbe(self._session, self._interceptor, self._on_probe_result)
        self._pending: dict[PlaywrightCall, PendingAction] = {}
        self._unsupported: Counter[tuple[str, str]] = Counter()
        self._without_deadline = 0
        """Number of actions without a deadline."""
        self._interceptor.start()

    def on_call_started(self, call: PlaywrightCall) -> None:
        """Open an action if the call is one."""
        if self.is_closed or context_of_call(call) is not self._context:
            return
        if call.name in {"Dialog.accept", "Dialog.dismiss"}:
            self._record_dialog_answer(call)
            return
        name, params = self._target_probe.as_frame_call(call)
        if not self._is_supported(name, params) or self._is_first_page(name):
            return
        self.close_current()
        page = self._page_ordinal(call, name)
        self._ensure_page_known(page, name)
        if "url" in params:
            self._session.detect_in_text(str(params["url"]), by_page=True)
        self._session.timeline.mark_begin()
        attempt = self.current_attempt()
        pending = self._current = self._pending[call] = PendingAction(
            call=call,
            method=name,
            params=params,
            page=page,
            frames=frame_path(frame_of_call(call)) if call.name.startswith(("Frame.", "ElementHandle.")) else (),
            base_url=self._base_url,
            attempt=attempt,
            sequence=attempt.next_sequence(),
            started_at=self._now(),
            files=self._read_files(params) if name == "Frame.setInputFiles" else (),
        )
        self._open_actions.add(pending)
        self._without_deadline += has_no_deadline(name, call.timeout_ms)
        self._target_probe.redact_named_password(pending)
        self._probe_target(pending)

    def on_call_finished(
        self, call: PlaywrightCall, response: Mapping[str, Any] | None, error: Exception | None
    ) -> None:
        """Store the result of an action if the call was one."""
        self._target_probe.remember_handle(call, response)
        pending = self._pending.pop(call, None)
        if pending is None:
            return
        pending.ended_at = self._now()
        pending.response = response or {}
        pending.result = self._result(pending, response, error)
        if pending is self._current:
            self._session.timeline.mark_acting()
            self._timer = asyncio.get_running_loop().call_later(SETTLE_S, self.close_current)
        self._target_probe.probe_after_call(pending)
        self.write_if_complete(pending)

    async def settle(self) -> None:
        """Wait until the pages are idle after the last action; skipped if its call is still running."""
        if self._current is None or self._current.result is not None:
            self._stop_timer()
            await self.wait_until_idle()

    def close(self) -> None:
        """Stop intercepting and write the summary warnings."""
        if self.is_closed:
            return
        super().close()
        self._interceptor.stop()
        for (name, why), times in self._unsupported.items():
            self._recording.warn(f"{name} was called {'once' if times == 1 else f'{times} times'}: {why}")
        if self._without_deadline:
            self._recording.warn(
                f"calls without a deadline (timeout=0): {self._without_deadline}; a replay times out after "
                f"{UNBOUNDED_TIMEOUT_MS / 1000:.0f} s"
            )

    def warnings_for(self, action: PendingAction, trace: ActionTrace) -> tuple[str, ...]:
        """Return the warnings about a written action."""
        return (*action.warnings, *map(str, find_weak_targets(trace)))

    def _is_supported(self, name: str, params: Mapping[str, Any]) -> bool:
        """Return whether a call can be recorded as an action; count calls with an effect that cannot."""
        if name == "Frame.waitForSelector" and params.get("state") == "attached":
            return False  # how locators resolve an element handle
        if is_mouse_button_call(name):
            return True  # the pointer position is probed later
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

    def _read_files(self, params: Mapping[str, Any]) -> tuple[FileInput, ...]:
        files = [
            (each["name"], each.get("mimeType"), base64.b64decode(each["buffer"]))
            for each in params.get("payloads") or ()
        ]
        paths = map(Path, params.get("localPaths") or ())
        files += [(path.name, None, path.read_bytes()) for path in paths if path.is_file()]
        return tuple(
            FileInput(
                name=name,
                mime_type=kind or mimetypes.guess_type(name)[0] or "application/octet-stream",
                content=self._recording.writer.store_file(content),
            )
            for name, kind, content in files
        )

    def _probe_target(self, pending: PendingAction) -> None:
        """Probe the target; an action without a target acts at once."""
        self._target_probe.probe(pending)
        if not pending.pending_replies or pending.method.startswith("Page.keyboard"):
            self._session.timeline.mark_acting()

    def _on_probe_result(self, pending: PendingAction, element: ElementSnapshot | None) -> None:
        """Process a probe result; an actionable element is acted on now."""
        is_ready = element is not None and element.is_actionable and pending is self._current
        if is_ready and pending.method != "Frame.waitForSelector":
            self._session.timeline.mark_acting()
        self.write_if_complete(pending)

    def close_current(self) -> None:
        """Close the current action, if there is one."""
        self._stop_timer()
        pending, self._current = self._current, None
        if pending is None:
            return
        self.close_action(pending, self._session.tracker.take_events())

    def _result(self, pending: PendingAction, response: Mapping[str, Any] | None, error: Exception | None) -> Result:
        if error is not None:
            code, message = failure_from_error(error, pending.method)
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
