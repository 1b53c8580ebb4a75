"""Record what an agent does while it does it, without being noticed: no call of its waits for one of ours.

Time runs by itself. An action begins when its call is sent; it acts as soon as its element is ready, or at the latest
when the call returns; its time is over when the next one begins, or `SETTLE_S` later. What its pages show is not waited
for: certifying gives what replays compare.
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
    """Hear of the calls of an agent, and write down what they come to."""

    def __init__(
        self,
        watched: Watched,
        writer: BundleWriter,
        attempts: Attempts,
        now: Callable[[], datetime],
        mission_text: str,
    ) -> None:
        """Begin with nothing under way; `mission_text` describes what is done outside of any subgoal."""
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
        """How many actions had no deadline."""
        self._is_closed = False

    def begun(self, call: Call) -> None:
        """Begin an action, if a call is one."""
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
        doing = self._current = self._doing[call] = Doing(
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
        self._timeline.begin(doing)
        self._unbounded += is_unbounded(name, call.timeout_ms)
        self.asking.keep_named_password(doing)
        self._look(doing)

    def ended(self, call: Call, answer: Mapping[str, Any] | None, error: Exception | None) -> None:
        """End an action, if a call was one."""
        self.asking.keep_handle(call, answer)
        doing = self._doing.pop(call, None)
        if doing is None:
            return
        doing.ended_at = self._now()
        doing.answer = answer or {}
        doing.result = self._result(doing, answer, error)
        if doing is self._current:
            self._session.rest.act()
            self._timer = asyncio.get_running_loop().call_later(SETTLE_S, self._finish)
        self.asking.look_after(doing)
        self._timeline.write(doing)

    async def settle(self) -> None:
        """Let the last action of a mission have its time, unless the mission broke off in its midst."""
        if self._current is None or self._current.result is not None:
            self._stop_timer()
            await self._timeline.settle()

    async def flush(self) -> None:
        """End what is under way, and write it."""
        self._finish()
        await self._timeline.flush(SETTLE_S)

    def give_up(self) -> None:
        """Write what has not ended, and will not: its page is gone, and answers nothing."""
        self._finish()
        self._timeline.give_up()

    def close(self) -> None:
        """Hear no more."""
        if self._is_closed:
            return
        self._is_closed = True
        for (name, why), times in self._unspoken.items():
            self._writer.warn(f"{name} was called {'once' if times == 1 else f'{times} times'}: {why}")
        if self._unbounded:
            self._writer.warn(
                f"calls without a deadline (timeout=0): {self._unbounded}; a replay gives up after "
                f"{NO_DEADLINE_MS / 1000:.0f} s"
            )

    def attempt(self) -> Attempt:
        """Return the attempt under way; what is done outside of any subgoal is one of its own."""
        return self._timeline.attempt()

    def leave_outside(self) -> None:
        """Leave what was done outside of any subgoal, as one begins."""
        self._timeline.leave_outside()

    def leave_attempt(self, error: BaseException | None = None) -> None:
        """Leave the attempt: its last action may still be under way."""
        self._timeline.leave_attempt(error)

    def _is_spoken(self, name: str, params: Mapping[str, Any]) -> bool:
        """Say whether a call is an action of ours; count those that do something and are none."""
        if name == "Frame.waitForSelector" and params.get("state") == "attached":
            return False  # how locators find the element of a handle
        if is_press(name):
            return True  # where the pointer is has to be asked for
        try:
            return action_of(name, params, page=0, timeout_ms=None) is not None
        except UnspokenError as error:
            self._unspoken[name, str(error)] += 1
            return False

    def _is_first_page(self, name: str) -> bool:
        """Say whether a call opens the page that a replay begins with."""
        return name == "BrowserContext.newPage" and not self._session.ledger.pages

    def _page_of(self, call: Call, name: str) -> int:
        if name == "BrowserContext.newPage":
            return len(self._session.ledger.pages)
        impl = page_impl(call)
        known = (number for number, page in enumerate(self._session.ledger.pages) if impl_of(page) is impl)
        return next(known, 0)

    def _switch_to(self, page: int, name: str) -> None:
        """Record that a page is waited for, before the first thing that is done to it."""
        if name == "BrowserContext.newPage":
            self._timeline.know_page(page)
        elif name not in {"Page.close", "Page.bringToFront"}:
            self._timeline.switch_to(page)

    def _files(self, params: Mapping[str, Any]) -> tuple[FileInput, ...]:
        given = [
            (each["name"], each.get("mimeType"), base64.b64decode(each["buffer"]))
            for each in params.get("payloads") or ()
        ]
        paths = map(Path, params.get("localPaths") or ())
        given += [(path.name, None, path.read_bytes()) for path in paths if path.is_file()]
        return tuple(
            FileInput(
                name=name,
                mime_type=kind or mimetypes.guess_type(name)[0] or "application/octet-stream",
                content=self._writer.store_file(content),
            )
            for name, kind, content in given
        )

    def _look(self, doing: Doing) -> None:
        """Ask which element it is about; what is about none acts at once."""
        self.asking.look(doing)
        if not doing.waits or doing.name.startswith("Page.keyboard"):
            self._session.rest.act()

    def _take(self, doing: Doing, seen: Element | None) -> None:
        """Go on with an answer; an element that is ready is acted on now."""
        is_ready = seen is not None and seen.is_ready and doing is self._current
        if is_ready and doing.name != "Frame.waitForSelector":
            self._session.rest.act()
        self._timeline.write(doing)

    def _finish(self) -> None:
        """Let the time of the action under way be over."""
        self._stop_timer()
        doing, self._current = self._current, None
        if doing is None:
            return
        self._timeline.end(doing, self._session.ledger.take())

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _result(self, doing: Doing, answer: Mapping[str, Any] | None, error: Exception | None) -> Result:
        if error is not None:
            code, message = failure_of(error, doing.name)
            return Failed(code=code, message=self._session.redactor.text(message))
        return Succeeded() if answer is not None else Failed(code=UNKNOWN, message="the agent gave it up")

    def _answer_dialog(self, call: Call) -> None:
        """Record how the agent answered a dialog: before the action that opened it, which begins again now."""
        kind, message, default = dialog_of(call)
        accept, text = call.name == "Dialog.accept", call.params.get("promptText")
        page = self._page_of(call, call.name)
        doing = self._current
        if kind in {"confirm", "prompt"} and accept:
            if doing is None or doing.result is not None:
                self._writer.warn(f"a {kind} that no action opened was accepted; a replay dismisses it")
            else:
                answer = AnswerDialog(page=page, accept=True, text=default if text is None else text)
                self._timeline.answer_before(doing, answer)
        clean = self._session.redactor.text
        if kind in {"alert", "beforeunload", "confirm", "prompt"}:
            answered = "accepted" if accept else "dismissed"
            self._session.ledger.note_dialog(
                DialogSeen(page=page, kind=kind, message=clean(message), answer=answered)  # type: ignore[arg-type] # the set above is the literal
            )


def _remarks(doing: Doing, trace: ActionTrace) -> tuple[str, ...]:
    return (*doing.warnings, *_weak(trace))


def _weak(trace: ActionTrace) -> list[str]:
    """Name the targets that could be taken for others."""
    found = []
    for target in (getattr(trace.action, name, None) for name in ("target", "to")):
        identity = getattr(target, "identity", None)
        why = None if identity is None else weakness(identity)
        if why is not None:
            found.append(f"{trace.id}: the target {target} is weak: {why}")
    return found
