"""Record the calls of an agent without delaying them: no agent call waits for a call of ours.

Page time runs naturally. An action starts when its call is sent and acts once its element is actionable, at the latest
when the call returns. It is closed when the next action starts, or `SETTLE_S` after its call returned. Observations are
taken immediately; certifying produces the ones that replays compare.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eikon_engine.browser.attached.client import (
    context_impl,
    dialog_of,
    failure_of,
    frame_impl,
    frames_to,
    page_impl,
)
from eikon_engine.browser.attached.view import impl_of
from eikon_engine.record.agent_actions import UnspokenError, action_of, is_unbounded
from eikon_engine.record.asking import Asking, is_press
from eikon_engine.record.doing import UNKNOWN, Doing
from eikon_engine.record.timeline import SETTLE_S, Timeline
from eikon_engine.trace.actions import AnswerDialog, FileInput
from eikon_engine.trace.deadlines import NO_DEADLINE_MS
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.identity import weakness
from eikon_engine.trace.observation import DialogSeen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.browser.attached.element import Element
    from eikon_engine.browser.attached.session import Watched
    from eikon_engine.browser.attached.tap import Call
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.record.attempts import Attempts
    from eikon_engine.record.write import BundleWriter
    from eikon_engine.trace.execution import ActionTrace, Result


class Onlooker:
    """Turn the calls of an agent into recorded actions."""

    def __init__(
        self,
        watched: Watched,
        writer: BundleWriter,
        attempts: Attempts,
        now: Callable[[], datetime],
        mission_text: str,
    ) -> None:
        """Start without a pending action; `mission_text` describes steps outside any subgoal."""
        self._session = watched.session
        self._writer = writer
        self._now = now
        self._timeline: Timeline[Doing] = Timeline(watched, writer, attempts, now, mission_text, _remarks)
        self.asking = Asking(self._session, self._take)
        self._context = impl_of(watched.session.context)
        self._base_url = self._context._options.get("baseURL")  # noqa: SLF001 - options have no public name
        self._doing: dict[Call, Doing] = {}
        self._current: Doing | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unspoken: Counter[tuple[str, str]] = Counter()
        self._unbounded = 0
        """Number of actions without a deadline."""
        self._is_closed = False

    def begun(self, call: Call) -> None:
        """Open an action if the call is one."""
        if self._is_closed or context_impl(call) is not self._context:
            return
        if call.name in {"Dialog.accept", "Dialog.dismiss"}:
            self._answer_dialog(call)
            return
        name, params = self.asking.on_frame(call)
        if not self._is_spoken(name, params) or self._is_first_page(name):
            return
        self._finish()
        page = self._page_of(call, name)
        self._switch_to(page, name)
        if "url" in params:
            self._session.learn_text(str(params["url"]), made=True)
        self._session.rest.mark()
        attempt = self._timeline.attempt()
        pending = self._current = self._doing[call] = Doing(
            call=call,
            name=name,
            params=params,
            page=page,
            frames=frames_to(frame_impl(call)) if call.name.startswith(("Frame.", "ElementHandle.")) else (),
            base_url=self._base_url,
            attempt=attempt,
            sequence=attempt.next_sequence(),
            started_at=self._now(),
            files=self._files(params) if name == "Frame.setInputFiles" else (),
        )
        self._timeline.begin(pending)
        self._unbounded += is_unbounded(name, call.timeout_ms)
        self.asking.keep_named_password(pending)
        self._look(pending)

    def ended(self, call: Call, answer: Mapping[str, Any] | None, error: Exception | None) -> None:
        """Store the result of an action if the call was one."""
        self.asking.keep_handle(call, answer)
        pending = self._doing.pop(call, None)
        if pending is None:
            return
        pending.ended_at = self._now()
        pending.answer = answer or {}
        pending.result = self._result(pending, answer, error)
        if pending is self._current:
            self._session.rest.act()
            self._timer = asyncio.get_running_loop().call_later(SETTLE_S, self._finish)
        self.asking.look_after(pending)
        self._timeline.write(pending)

    async def settle(self) -> None:
        """Wait until the pages are idle after the last action; skipped if its call is still running."""
        if self._current is None or self._current.result is not None:
            self._stop_timer()
            await self._timeline.settle()

    async def flush(self) -> None:
        """Close the current action and write everything pending."""
        self._finish()
        await self._timeline.flush(SETTLE_S)

    def give_up(self) -> None:
        """Write pending actions as they are: their page is gone and will not reply."""
        self._finish()
        self._timeline.give_up()

    def close(self) -> None:
        """Stop recording and write the summary warnings."""
        if self._is_closed:
            return
        self._is_closed = True
        for (name, why), times in self._unspoken.items():
            self._writer.warn(f"{name} was called {'once' if times == 1 else f'{times} times'}: {why}")
        if self._unbounded:
            self._writer.warn(
                f"calls without a deadline (timeout=0): {self._unbounded}; a replay times out after "
                f"{NO_DEADLINE_MS / 1000:.0f} s"
            )

    def attempt(self) -> Attempt:
        """Return the current attempt; steps outside any subgoal get an attempt of their own."""
        return self._timeline.attempt()

    def leave_outside(self) -> None:
        """Close the attempt for steps outside any subgoal, because a subgoal starts."""
        self._timeline.leave_outside()

    def leave_attempt(self, error: BaseException | None = None) -> None:
        """Close the attempt; its last action may still be pending."""
        self._timeline.leave_attempt(error)

    def _is_spoken(self, name: str, params: Mapping[str, Any]) -> bool:
        """Return whether a call can be recorded as an action; count calls with an effect that cannot."""
        if name == "Frame.waitForSelector" and params.get("state") == "attached":
            return False  # how locators resolve an element handle
        if is_press(name):
            return True  # the pointer position is probed later
        try:
            return action_of(name, params, page=0, timeout_ms=None) is not None
        except UnspokenError as error:
            self._unspoken[name, str(error)] += 1
            return False

    def _is_first_page(self, name: str) -> bool:
        """Return whether a call opens the page that every replay starts with."""
        return name == "BrowserContext.newPage" and not self._session.ledger.pages

    def _page_of(self, call: Call, name: str) -> int:
        if name == "BrowserContext.newPage":
            return len(self._session.ledger.pages)
        impl = page_impl(call)
        known = (number for number, page in enumerate(self._session.ledger.pages) if impl_of(page) is impl)
        return next(known, 0)

    def _switch_to(self, page: int, name: str) -> None:
        """Record a `switch_page` before the first action on a new page."""
        if name == "BrowserContext.newPage":
            self._timeline.know_page(page)
        elif name not in {"Page.close", "Page.bringToFront"}:
            self._timeline.switch_to(page)

    def _files(self, params: Mapping[str, Any]) -> tuple[FileInput, ...]:
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
                content=self._writer.store_file(content),
            )
            for name, kind, content in files
        )

    def _look(self, doing: Doing) -> None:
        """Probe the target; an action without a target acts at once."""
        self.asking.look(doing)
        if not doing.waits or doing.name.startswith("Page.keyboard"):
            self._session.rest.act()

    def _take(self, doing: Doing, seen: Element | None) -> None:
        """Process a probe result; an actionable element is acted on now."""
        is_ready = seen is not None and seen.is_ready and doing is self._current
        if is_ready and doing.name != "Frame.waitForSelector":
            self._session.rest.act()
        self._timeline.write(doing)

    def _finish(self) -> None:
        """Close the current action."""
        self._stop_timer()
        pending, self._current = self._current, None
        if pending is None:
            return
        self._timeline.end(pending, self._session.ledger.take())

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _result(self, doing: Doing, answer: Mapping[str, Any] | None, error: Exception | None) -> Result:
        if error is not None:
            code, message = failure_of(error, doing.name)
            return Failed(code=code, message=self._session.redactor.text(message))
        return Succeeded() if answer is not None else Failed(code=UNKNOWN, message="cancelled by the agent")

    def _answer_dialog(self, call: Call) -> None:
        """Record how the agent answered a dialog, before the action that opened the dialog."""
        kind, message, default = dialog_of(call)
        accept, text = call.name == "Dialog.accept", call.params.get("promptText")
        page = self._page_of(call, call.name)
        pending = self._current
        if kind in {"confirm", "prompt"} and accept:
            if pending is None or pending.result is not None:
                self._writer.warn(f"a {kind} that no action opened was accepted; replays dismiss it")
            else:
                answer = AnswerDialog(page=page, accept=True, text=default if text is None else text)
                self._timeline.answer_before(pending, answer)
        clean = self._session.redactor.text
        if kind in {"alert", "beforeunload", "confirm", "prompt"}:
            answered = "accepted" if accept else "dismissed"
            self._session.ledger.note_dialog(
                DialogSeen(page=page, kind=kind, message=clean(message), answer=answered)  # type: ignore[arg-type] # the set above is the literal
            )


def _remarks(doing: Doing, trace: ActionTrace) -> tuple[str, ...]:
    return (*doing.warnings, *_weak(trace))


def _weak(trace: ActionTrace) -> list[str]:
    """Return a warning for each target that may match another element."""
    found = []
    for target in (getattr(trace.action, name, None) for name in ("target", "to")):
        identity = getattr(target, "identity", None)
        why = None if identity is None else weakness(identity)
        if why is not None:
            found.append(f"{trace.id}: the target {target} is weak: {why}")
    return found
